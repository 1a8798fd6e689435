// Owns the validation of volumes whose files come from the API: secrets, config maps, the pod itself, tokens, trust bundles.
import type {
  ClusterTrustBundleProjection,
  DownwardAPIVolumeFile,
  KeyToPath,
  PodCertificateProjection,
  ProjectedVolumeSource,
  ServiceAccountTokenProjection,
  VolumeProjection,
} from '../generated/core.v1.ts';
import type { Frozen } from '../meta.ts';
import { validateFieldRef, validateResourceFieldRef, volumeFieldPaths } from './downward.ts';
import { dnsSubdomain } from '../names.ts';
import { validateLabelSelector, validateUserAnnotations } from './labels.ts';
import { validateLocalPath } from './paths.ts';
import type { Problems } from './problems.ts';
import { validateSignerName } from './signer-name.ts';

export function validateMode(problems: Problems, path: string, mode: number | undefined): void {
  if (mode !== undefined && (mode < 0 || mode > 0o777))
    problems.invalid(path, mode, 'must be a number between 0 and 0777 (octal), both inclusive');
}

export function validateItems(problems: Problems, path: string, items: Frozen<KeyToPath[]> | undefined): void {
  items?.forEach((item, at) => validateItem(problems, `${path}[${at}]`, item));
}

function validateItem(problems: Problems, path: string, item: Frozen<KeyToPath>): void {
  if (!item.key) problems.required(`${path}.key`);
  if (!item.path) problems.required(`${path}.path`);
  validateLocalPath(problems, `${path}.path`, item.path ?? '');
  validateMode(problems, `${path}.mode`, item.mode);
}

export function validateDownwardFile(problems: Problems, path: string, file: Frozen<DownwardAPIVolumeFile>): void {
  if (!file.path) problems.required(`${path}.path`);
  validateLocalPath(problems, `${path}.path`, file.path ?? '');
  if (file.fieldRef) {
    validateFieldRef(problems, `${path}.fieldRef`, file.fieldRef, volumeFieldPaths);
    if (file.resourceFieldRef)
      problems.invalid(path, 'resource', 'fieldRef and resourceFieldRef can not be specified simultaneously');
  } else if (file.resourceFieldRef) {
    validateResourceFieldRef(problems, `${path}.resourceFieldRef`, file.resourceFieldRef, true);
  } else {
    problems.required(path, 'one of fieldRef and resourceFieldRef is required');
  }
  validateMode(problems, `${path}.mode`, file.mode);
}

export function validateProjected(problems: Problems, path: string, volume: Frozen<ProjectedVolumeSource>): void {
  validateMode(problems, `${path}.defaultMode`, volume.defaultMode);
  const taken = new Set<string>();
  /** Two sources must not write the same file; the error stands at the volume. */
  const claim = (file: string): void => {
    if (taken.has(file)) problems.invalid(path, file, 'conflicting duplicate paths');
    taken.add(file);
  };
  volume.sources?.forEach((source, at) => {
    const here = `${path}.sources[${at}]`;
    validateSource(problems, path, here, source, claim);
    const count = Object.values(source).filter((value) => value !== undefined && value !== null).length;
    if (count > 1) problems.forbidden(here, 'may not specify more than 1 volume type');
  });
}

function validateSource(
  problems: Problems,
  volume: string,
  path: string,
  source: Frozen<VolumeProjection>,
  claim: (file: string) => void,
): void {
  for (const field of ['secret', 'configMap'] as const) {
    const named = source[field];
    if (named === undefined) continue;
    if (!named.name) problems.required(`${path}.${field}.name`);
    named.items?.forEach((item, at) => {
      validateItem(problems, `${path}.${field}.items[${at}]`, item);
      if (item.path) claim(item.path);
    });
  }
  for (const file of source.downwardAPI?.items ?? []) {
    validateDownwardFile(problems, `${path}.downwardAPI`, file);
    if (file.path) claim(file.path);
  }
  if (source.serviceAccountToken) validateToken(problems, volume, path, source.serviceAccountToken);
  if (source.clusterTrustBundle)
    validateTrustBundle(problems, `${path}.clusterTrustBundle`, source.clusterTrustBundle, claim);
  if (source.podCertificate) validateCertificate(problems, `${path}.podCertificate`, source.podCertificate, claim);
}

/** The path of the token is reported at the volume, as upstream does. */
function validateToken(
  problems: Problems,
  volume: string,
  path: string,
  token: Frozen<ServiceAccountTokenProjection>,
): void {
  const seconds = token.expirationSeconds ?? 0;
  const field = `${path}.serviceAccountToken.expirationSeconds`;
  if (seconds < 600) problems.invalid(field, seconds, 'may not specify a duration less than 10 minutes');
  if (seconds > 2 ** 32) problems.invalid(field, seconds, 'may not specify a duration larger than 2^32 seconds');
  if (!token.path) problems.required(`${volume}.path`);
  else validateLocalPath(problems, `${volume}.path`, token.path);
}

function validateTrustBundle(
  problems: Problems,
  path: string,
  bundle: Frozen<ClusterTrustBundleProjection>,
  claim: (file: string) => void,
): void {
  const { name, signerName, labelSelector } = bundle;
  if (name !== undefined && signerName !== undefined) {
    problems.invalid(path, bundle, 'only one of name and signerName may be used');
  } else if (name !== undefined) {
    if (name === '') problems.required(`${path}.name`, 'must be a valid object name');
    problems.each(`${path}.name`, name, trustBundleName(name));
    if (labelSelector !== undefined)
      problems.invalid(`${path}.labelSelector`, labelSelector, 'labelSelector must be unset if name is specified');
  } else if (signerName !== undefined) {
    if (signerName === '') problems.required(`${path}.signerName`, 'must be a valid signer name');
    validateSignerName(problems, `${path}.signerName`, signerName);
    validateLabelSelector(problems, `${path}.labelSelector`, labelSelector);
  } else {
    problems.required(path, 'either name or signerName must be specified');
  }
  if (!bundle.path) problems.required(`${path}.path`);
  validateLocalPath(problems, `${path}.path`, bundle.path ?? '');
  claim(bundle.path ?? '');
}

/** "name", or "signer.example:path:name" for bundles of a signer. */
function trustBundleName(name: string): readonly string[] {
  const colon = name.lastIndexOf(':');
  const signer = name.slice(0, Math.max(colon, 0));
  if (colon === 0) return ['ClusterTrustBundle without signer name must not have ":" in its name'];
  return signer.includes('/')
    ? [`ClusterTrustBundle for signerName ${signer} must be named with prefix ${signer.replaceAll('/', ':')}:`]
    : dnsSubdomain(name.slice(colon + 1));
}

const keyTypes = ['ECDSAP256', 'ECDSAP384', 'ECDSAP521', 'ED25519', 'RSA3072', 'RSA4096'];
const daySeconds = 24 * 3600;

function validateCertificate(
  problems: Problems,
  path: string,
  certificate: Frozen<PodCertificateProjection>,
  claim: (file: string) => void,
): void {
  const { signerName = '', keyType = '', maxExpirationSeconds: seconds } = certificate;
  if (signerName === '') problems.required(`${path}.signerName`);
  else validateSignerName(problems, `${path}.signerName`, signerName);
  validateUserAnnotations(problems, `${path}.userAnnotations`, certificate.userAnnotations);
  if (!keyTypes.includes(keyType)) problems.notSupported(`${path}.keyType`, keyType, keyTypes);
  const longest = signerName.startsWith('kubernetes.io/') ? daySeconds : 91 * daySeconds;
  if (seconds !== undefined && (seconds < 3600 || seconds > longest))
    problems.invalid(`${path}.maxExpirationSeconds`, seconds, `must be in the range [3600, ${longest}]`);
  let files = 0;
  for (const field of ['credentialBundlePath', 'keyPath', 'certificateChainPath'] as const) {
    const file = certificate[field];
    if (!file) continue;
    files++;
    validateLocalPath(problems, `${path}.${field}`, file);
    claim(file);
  }
  if (files === 0)
    problems.required(path, 'specify at least one of credentialBundlePath, keyPath, certificateChainPath');
}
