// Owns what clients are warned of when they write pods and templates: fields that do nothing, doubles, old names.
import type {
  PersistentVolumeClaimSpec,
  PodAffinityTerm,
  Pod,
  PodSpec,
  PodTemplateSpec,
  Volume,
  VolumeProjection,
} from '../../../api/generated/core.v1.ts';
import type { ObjectMeta } from '../../../api/generated/meta.v1.ts';
import type { Frozen, KubeObject } from '../../../api/meta.ts';
import { dnsLabel } from '../../../api/names.ts';
import { addressWarnings } from '../../../api/validation/addresses.ts';
import { type AnyContainer, containersOf } from '../../../api/validation/operating-system.ts';
import { appArmorPrefix } from '../../../api/validation/pod-annotations.ts';
import { nano } from '../../../api/validation/quantities.ts';
import { labelWarnings, termWarnings } from '../node-labels.ts';

const oldVolumes: Readonly<Partial<Record<keyof Volume, string>>> = {
  photonPersistentDisk: 'deprecated in v1.11, non-functional in v1.16+',
  gitRepo: 'deprecated in v1.11',
  scaleIO: 'deprecated in v1.16, non-functional in v1.22+',
  flocker: 'deprecated in v1.22, non-functional in v1.25+',
  storageos: 'deprecated in v1.22, non-functional in v1.25+',
  quobyte: 'deprecated in v1.22, non-functional in v1.25+',
  glusterfs: 'deprecated in v1.25, non-functional in v1.26+',
  cephfs: 'deprecated in v1.28, non-functional in v1.31+',
  rbd: 'deprecated in v1.28, non-functional in v1.31+',
};

const deadAnnotations = {
  'scheduler.alpha.kubernetes.io/critical-pod': 'non-functional in v1.16+; use the "priorityClassName" field instead',
  'security.alpha.kubernetes.io/sysctls': 'non-functional in v1.11+; use the "sysctls" field instead',
  'security.alpha.kubernetes.io/unsafe-sysctls': 'non-functional in v1.11+; use the "sysctls" field instead',
} as const;

/** Told when a pod is made: those who change pods are mostly controllers. */
export function podWarnings(pod: Frozen<Pod>, prev?: Frozen<Pod>): string[] {
  if (prev !== undefined) return [];
  const warnings = podSpecWarnings('', pod.metadata, pod.spec);
  warnings.push(...appArmorWarnings('metadata.annotations', pod.metadata.annotations, pod.spec, false));
  const wrong = dnsLabel(pod.metadata.name);
  if (wrong.length > 0)
    warnings.push(
      `metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended: [${wrong.join(' ')}]`,
    );
  return warnings;
}

/** `prefix` is "" for pods, "spec.template." for most templates. */
export function podSpecWarnings(
  prefix: string,
  metadata: Partial<Frozen<ObjectMeta>> | undefined,
  spec: Frozen<PodSpec> | undefined,
): string[] {
  if (spec === undefined) return [];
  const path = `${prefix}spec`;
  return [
    ...placementWarnings(path, spec),
    ...annotationWarnings(`${prefix}metadata.annotations`, metadata?.annotations, spec),
    ...(prefix === '' ? [] : appArmorWarnings(`${prefix}metadata.annotations`, metadata?.annotations, spec, true)),
    ...listWarnings(path, spec),
    ...(spec.volumes ?? []).flatMap((volume, at) => [...volumeWarnings(`${path}.volumes[${at}]`, volume)]),
    ...[...containersOf(path, spec)].flatMap(([here, container]) => [...containerWarnings(here, container)]),
    ...atMost(portWarnings(path, spec)),
  ];
}

const noSelector = 'a null labelSelector results in matching no pod';

function* placementWarnings(path: string, spec: Frozen<PodSpec>): Generator<string> {
  for (const label in spec.nodeSelector) yield* labelWarnings(`${path}.nodeSelector[${label}]`, label);
  const node = spec.affinity?.nodeAffinity;
  const required = `${path}.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms`;
  for (const [at, term] of (node?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? []).entries())
    yield* termWarnings(`${required}[${at}]`, term, false);
  const preferred = `${path}.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution`;
  for (const [at, term] of (node?.preferredDuringSchedulingIgnoredDuringExecution ?? []).entries())
    yield* termWarnings(`${preferred}[${at}].preference`, term.preference, true);
  for (const [at, constraint] of (spec.topologySpreadConstraints ?? []).entries()) {
    const here = `${path}.topologySpreadConstraints[${at}]`;
    yield* labelWarnings(`${here}.topologyKey`, constraint.topologyKey);
    if (constraint.labelSelector === undefined) yield `${here}.labelSelector: ${noSelector}`;
  }
  for (const kind of ['podAffinity', 'podAntiAffinity'] as const) {
    const affinity = spec.affinity?.[kind];
    for (const when of [
      'requiredDuringSchedulingIgnoredDuringExecution',
      'preferredDuringSchedulingIgnoredDuringExecution',
    ] as const)
      for (const [at, item] of (affinity?.[when] ?? []).entries()) {
        const term = 'podAffinityTerm' in item ? item.podAffinityTerm : (item as Frozen<PodAffinityTerm>);
        if (term.labelSelector === undefined)
          yield `${path}.affinity.${kind}.${when}[${at}].labelSelector: ${noSelector}`;
      }
  }
}

/** Templates are told when they have no field; pods, whose field is made from the annotation, when they are created. */
function* appArmorWarnings(
  path: string,
  annotations: Frozen<ObjectMeta>['annotations'],
  spec: Frozen<PodSpec>,
  fieldCounts: boolean,
): Generator<string> {
  if (annotations === undefined) return;
  for (const [, { name, securityContext }] of containersOf('', spec)) {
    const key = appArmorPrefix + name;
    const hasField = (securityContext?.appArmorProfile ?? spec.securityContext?.appArmorProfile) !== undefined;
    if (annotations[key] !== undefined && !(fieldCounts && hasField))
      yield `${path}[${key}]: deprecated since v1.30; use the "appArmorProfile" field instead`;
  }
}

function* annotationWarnings(
  path: string,
  annotations: Frozen<ObjectMeta>['annotations'],
  spec: Frozen<PodSpec>,
): Generator<string> {
  if (annotations === undefined) return;
  for (const [key, text] of Object.entries(deadAnnotations))
    if (annotations[key] !== undefined) yield `${path}[${key}]: ${text}`;
  const seccomp = 'seccomp.security.alpha.kubernetes.io/pod';
  const moved = 'non-functional in v1.27+; use the "seccompProfile" field instead';
  if (annotations[seccomp] !== undefined && spec.securityContext?.seccompProfile === undefined)
    yield `${path}[${seccomp}]: ${moved}`;
  for (const [, { name, securityContext }] of containersOf('', spec)) {
    const own = `container.${seccomp.replace(/pod$/, '')}${name}`;
    if (annotations[own] !== undefined && securityContext?.seccompProfile === undefined)
      yield `${path}[${own}]: ${moved}`;
  }
}

function* listWarnings(path: string, spec: Frozen<PodSpec>): Generator<string> {
  const ips = new Set<string>();
  for (const [at, { ip }] of (spec.hostAliases ?? []).entries()) {
    const here = `${path}.hostAliases[${at}].ip`;
    if (ips.has(ip)) yield `${here}: duplicate ip "${ip}"`;
    ips.add(ip);
    yield* addressWarnings(here, ip);
  }
  const secrets = new Set<string>();
  for (const [at, { name = '' }] of (spec.imagePullSecrets ?? []).entries()) {
    const here = `${path}.imagePullSecrets[${at}].name`;
    if (name === '') yield `${here}: invalid empty name`;
    if (secrets.has(name)) yield `${here}: duplicate name "${name}"`;
    secrets.add(name);
  }
  yield* fractionWarnings(`${path}.overhead`, spec.overhead, byteResources);
  for (const [at, server] of (spec.dnsConfig?.nameservers ?? []).entries())
    yield* addressWarnings(`${path}.dnsConfig.nameservers[${at}]`, server);
  if ((spec.terminationGracePeriodSeconds ?? 0) < 0)
    yield `${path}.terminationGracePeriodSeconds: must be >= 0; negative values are treated as 1`;
}

const byteResources = ['memory', 'ephemeral-storage'];

/** Of claims, and of what makes them. */
export function* claimWarnings(path: string, spec: Frozen<PersistentVolumeClaimSpec> | undefined): Generator<string> {
  for (const list of ['requests', 'limits'] as const)
    yield* fractionWarnings(`${path}.resources.${list}`, spec?.resources?.[list], ['storage']);
}

/** Bytes have no parts. */
function* fractionWarnings(
  path: string,
  amounts: Readonly<Record<string, string>> | undefined,
  names: readonly string[],
): Generator<string> {
  for (const name of names) {
    const value = amounts?.[name];
    if (value !== undefined && nano(value) % 1_000_000_000n !== 0n)
      yield `${path}[${name}]: fractional byte value "${value}" is invalid, must be an integer`;
  }
}

function* volumeWarnings(path: string, volume: Frozen<Volume>): Generator<string> {
  for (const field in oldVolumes)
    if (volume[field as keyof Volume] !== undefined) yield `${path}.${field}: ${oldVolumes[field as keyof Volume]}`;
  yield* claimWarnings(`${path}.ephemeral.volumeClaimTemplate.spec`, volume.ephemeral?.volumeClaimTemplate?.spec);
  for (const items of [volume.configMap?.items, volume.secret?.items, volume.downwardAPI?.items])
    yield* atMost(overlapWarnings(volume.name, items ?? []));
  const projected: { path: string }[] = [];
  for (const source of volume.projected?.sources ?? []) {
    if (Object.keys(source).length === 0) yield `volume "${volume.name}": a projected source says nothing`;
    projected.push(...filesOf(source));
  }
  yield* atMost(overlapWarnings(volume.name, projected));
}

function filesOf(source: Frozen<VolumeProjection>): readonly { readonly path: string }[] {
  const { configMap, secret, downwardAPI, serviceAccountToken, clusterTrustBundle, podCertificate } = source;
  const items = configMap?.items ?? secret?.items ?? downwardAPI?.items;
  if (items !== undefined) return items;
  const file = serviceAccountToken ?? clusterTrustBundle;
  if (file !== undefined) return [file];
  const { certificateChainPath, keyPath, credentialBundlePath } = podCertificate ?? {};
  return [certificateChainPath, keyPath, credentialBundlePath].map((path = '') => ({ path }));
}

/** What each is compared with: enough for every pod that is meant, few enough for those that are not. */
const maxCompared = 100;
/** Of pairs that are alike: more do not go into headers. */
const maxTold = 100;

function* atMost(texts: Iterable<string>): Generator<string> {
  let told = 0;
  for (const text of texts) {
    yield text;
    if (++told === maxTold) return;
  }
}

/** Files of one volume where one hides the other, or would have to be a directory. */
function* overlapWarnings(volume: string, files: readonly { readonly path: string }[]): Generator<string> {
  const seen: string[] = [];
  for (const { path } of files) {
    let end = path.length;
    while (path[end - 1] === '/') end--;
    const file = path.slice(0, end);
    if (file === '') continue;
    for (const other of seen)
      if (`${file}/`.startsWith(`${other}/`) || `${other}/`.startsWith(`${file}/`))
        yield `volume "${volume}": overlapping paths: "${file}" with "${other}"`;
    if (seen.length < maxCompared) seen.push(file);
  }
}

function* containerWarnings(path: string, container: AnyContainer): Generator<string> {
  const names = new Set<string>();
  for (const [at, { name, value = '', valueFrom }] of (container.env ?? []).entries()) {
    const reference = `$(${name})`;
    // What only adds to the value before is meant.
    const extends_ = valueFrom === undefined && value !== reference && value.includes(reference);
    if (names.has(name) && !extends_)
      yield `${path}.env[${at}]: hides previous definition of "${name}", which may be dropped when using apply`;
    names.add(name);
  }
  for (const list of ['limits', 'requests'] as const)
    yield* fractionWarnings(`${path}.resources.${list}`, container.resources?.[list], byteResources);
}

interface KnownPort {
  readonly path: string;
  readonly hostIP: string;
  readonly hostPort: number;
}

/** Ports of all containers share the pod's network. */
function* portWarnings(path: string, spec: Frozen<PodSpec>): Generator<string> {
  const known = new Map<string, KnownPort[]>();
  const names = new Map<string, string>();
  for (const [container, { ports = [] }] of containersOf(path, spec))
    for (const [at, { name, containerPort, protocol, hostPort = 0, hostIP = '' }] of (ports ?? []).entries()) {
      const here = `${container}.ports[${at}]`;
      if (hostIP !== '' && hostPort === 0) yield `${here}: hostIP set without hostPort`;
      const key = `${containerPort}/${protocol}`;
      const others = known.get(key) ?? [];
      for (const other of others) {
        const relation = relationOf({ hostIP, hostPort }, other);
        if (relation !== undefined) yield `${here}: ${relation} port definition with ${other.path}`;
      }
      if (others.length < maxCompared) others.push({ path: here, hostIP, hostPort });
      known.set(key, others);
      if (!name) continue;
      const first = names.get(name);
      if (first !== undefined)
        yield `${here}: duplicate port name "${name}" with ${first}, which is the one that counts`;
      else names.set(name, here);
    }
}

function relationOf(port: Omit<KnownPort, 'path'>, other: KnownPort): string | undefined {
  const isSameAddress = port.hostIP === other.hostIP;
  if (isSameAddress && port.hostPort === other.hostPort) return 'duplicate';
  if (port.hostPort === 0 || other.hostPort === 0) return 'overlapping';
  const isAnyAddress = port.hostIP === '' || other.hostIP === '';
  return port.hostPort === other.hostPort && isAnyAddress ? 'dangerously ambiguous' : undefined;
}

interface WithTemplate extends KubeObject {
  readonly spec?: { readonly template?: PodTemplateSpec };
}

/** Of what makes pods: whether what counts has changed, or it is new. */
export function isNews(obj: Frozen<KubeObject>, prev: Frozen<KubeObject> | undefined): boolean {
  return prev === undefined || prev.metadata.generation !== obj.metadata.generation;
}

/** Of names that pods' names and hostnames are made from, when they are made. */
export function nameWarnings({ metadata }: Frozen<KubeObject>, prev?: Frozen<KubeObject>): string[] {
  const wrong = prev === undefined ? dnsLabel(metadata.name) : [];
  if (wrong.length === 0) return [];
  return [
    `metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: [${wrong.join(' ')}]`,
  ];
}

/** Of what makes pods: told when it is made, and when it is changed. */
export function templateWarnings(obj: Frozen<WithTemplate>, prev?: Frozen<WithTemplate>): string[] {
  if (!isNews(obj, prev)) return [];
  const template = obj.spec?.template as Frozen<PodTemplateSpec> | undefined;
  return podSpecWarnings('spec.template.', template?.metadata, template?.spec);
}
