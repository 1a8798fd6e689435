// Owns the validation of pods' volumes: one source each, in upstream's order of looking at them.
import type { Volume } from '../generated/core.v1.ts';
import type { Frozen } from '../meta.ts';
import { validateClaimTemplate } from './claim-spec.ts';
import { dnsLabel, subdomainName } from '../names.ts';
import { validateDescendingPath } from './paths.ts';
import type { Problems } from './problems.ts';
import { validateDownwardFile, validateItems, validateMode, validateProjected } from './projected.ts';
import { nano } from './quantities.ts';
import {
  validateAzureDisk,
  validateCsiDriver,
  validateDisk,
  validateFibreChannel,
  validateFlex,
  validateFlocker,
  validateHostPath,
  validateIscsi,
  validateNfs,
  validateQuobyte,
  validateRequired,
  validateStorageOs,
} from './volume-sources.ts';

type Source = Exclude<keyof Volume, 'name'>;

/** The pod that volumes are checked for; templates have none. */
export interface VolumeOwner {
  readonly name?: string;
}

type Check = (problems: Problems, path: string, volume: Frozen<Volume>, owner: VolumeOwner | undefined) => void;

interface SourceRule {
  readonly field: Source;
  readonly check: Check;
  /** Where upstream's path of errors, or of "more than one", is spelled otherwise than the field. */
  readonly path?: string;
  readonly surplusPath?: string;
}

const needs =
  (field: Source, ...fields: string[]): Check =>
  (problems, path, volume) =>
    validateRequired(problems, path, { ...volume[field] }, fields);

const rules: readonly SourceRule[] = [
  { field: 'hostPath', check: (problems, path, { hostPath }) => validateHostPath(problems, path, hostPath!) },
  { field: 'gitRepo', check: validateGitRepo },
  {
    field: 'gcePersistentDisk',
    path: 'persistentDisk',
    check: (problems, path, volume) => validateDisk(problems, path, { ...volume.gcePersistentDisk }, 'pdName'),
  },
  {
    field: 'awsElasticBlockStore',
    check: (problems, path, volume) => validateDisk(problems, path, { ...volume.awsElasticBlockStore }, 'volumeID'),
  },
  { field: 'secret', check: (problems, path, { secret }) => validateKeyed(problems, path, 'secretName', secret!) },
  { field: 'nfs', check: (problems, path, { nfs }) => validateNfs(problems, path, nfs!) },
  { field: 'iscsi', check: (problems, path, { iscsi }) => validateIscsi(problems, path, iscsi!) },
  { field: 'glusterfs', check: needs('glusterfs', 'endpoints', 'path') },
  { field: 'flocker', check: (problems, path, { flocker }) => validateFlocker(problems, path, flocker!) },
  { field: 'persistentVolumeClaim', check: needs('persistentVolumeClaim', 'claimName') },
  { field: 'rbd', check: needs('rbd', 'monitors', 'image') },
  { field: 'cinder', check: validateCinder },
  { field: 'cephfs', surplusPath: 'cephFS', check: needs('cephfs', 'monitors') },
  { field: 'quobyte', check: (problems, path, { quobyte }) => validateQuobyte(problems, path, quobyte!) },
  {
    field: 'downwardAPI',
    surplusPath: 'downwarAPI',
    check: (problems, path, { downwardAPI }) => {
      validateMode(problems, `${path}.defaultMode`, downwardAPI!.defaultMode);
      for (const file of downwardAPI!.items ?? []) validateDownwardFile(problems, path, file);
    },
  },
  { field: 'fc', check: (problems, path, { fc }) => validateFibreChannel(problems, path, fc!) },
  { field: 'flexVolume', check: (problems, path, { flexVolume }) => validateFlex(problems, path, flexVolume!) },
  { field: 'configMap', check: (problems, path, { configMap }) => validateKeyed(problems, path, 'name', configMap!) },
  { field: 'azureFile', check: needs('azureFile', 'secretName', 'shareName') },
  { field: 'vsphereVolume', check: needs('vsphereVolume', 'volumePath') },
  { field: 'photonPersistentDisk', check: needs('photonPersistentDisk', 'pdID') },
  { field: 'portworxVolume', check: needs('portworxVolume', 'volumeID') },
  { field: 'azureDisk', check: (problems, path, { azureDisk }) => validateAzureDisk(problems, path, azureDisk!) },
  {
    field: 'storageos',
    check: (problems, path, { storageos }) => validateStorageOs(problems, path, storageos!, false),
  },
  { field: 'projected', check: (problems, path, { projected }) => validateProjected(problems, path, projected!) },
  { field: 'scaleIO', check: needs('scaleIO', 'gateway', 'system', 'volumeName') },
  { field: 'csi', check: validateCsi },
  { field: 'ephemeral', check: validateEphemeral },
  { field: 'image', check: validateImage },
];

/** Fills `valid` with the volumes that mounts may name: those without errors. */
export function validateVolumes(
  problems: Problems,
  path: string,
  volumes: Frozen<Volume[]> | undefined,
  owner: VolumeOwner | undefined,
): Map<string, Frozen<Volume>> {
  const valid = new Map<string, Frozen<Volume>>();
  if (volumes === undefined) return valid;
  const created = new Set<string>();
  if (owner?.name)
    for (const volume of volumes) if (volume.ephemeral !== undefined) created.add(`${owner.name}-${volume.name}`);
  volumes.forEach((volume, at) => {
    const here = `${path}[${at}]`;
    const name = volume.name ?? '';
    const before = problems.count;
    validateSources(problems, here, volume, owner);
    if (name === '') problems.required(`${here}.name`);
    else problems.each(`${here}.name`, name, dnsLabel(name));
    if (valid.has(name)) problems.duplicate(`${here}.name`, name);
    if (problems.count === before) valid.set(name, volume);
    const claim = volume.persistentVolumeClaim?.claimName;
    if (claim !== undefined && created.has(claim))
      problems.invalid(
        `${here}.persistentVolumeClaim.claimName`,
        claim,
        'must not reference a PVC that gets created for an ephemeral volume',
      );
  });
  return valid;
}

function validateSources(
  problems: Problems,
  path: string,
  volume: Frozen<Volume>,
  owner: VolumeOwner | undefined,
): void {
  let found = volume.emptyDir !== undefined;
  const limit = volume.emptyDir?.sizeLimit;
  if (limit !== undefined && nano(limit) < 0n)
    problems.forbidden(`${path}.emptyDir.sizeLimit`, 'must be a valid resource quantity');
  for (const rule of rules) {
    if (volume[rule.field] === undefined) continue;
    if (found)
      problems.forbidden(`${path}.${rule.surplusPath ?? rule.field}`, 'may not specify more than 1 volume type');
    else rule.check(problems, `${path}.${rule.path ?? rule.field}`, volume, owner);
    found = true;
    if (rule.field === 'iscsi') validateInitiatorLength(problems, path, volume);
  }
  if (!found) problems.required(path, 'must specify a volume type');
}

function validateInitiatorLength(problems: Problems, path: string, { name, iscsi }: Frozen<Volume>): void {
  if (iscsi?.initiatorName !== undefined && `${name}:${iscsi.targetPortal}`.length > 64)
    problems.invalid(`${path}.name`, name, 'name and iscsi.targetPortal must be under 64 characters together');
}

function validateKeyed(
  problems: Problems,
  path: string,
  nameField: string,
  source: NonNullable<Frozen<Volume>['secret'] | Frozen<Volume>['configMap']>,
): void {
  validateRequired(problems, path, { ...source }, [nameField]);
  validateMode(problems, `${path}.defaultMode`, source.defaultMode);
  validateItems(problems, `${path}.items`, source.items);
}

function validateGitRepo(problems: Problems, path: string, { gitRepo }: Frozen<Volume>): void {
  validateRequired(problems, path, { ...gitRepo }, ['repository']);
  validateDescendingPath(problems, `${path}.directory`, gitRepo?.directory ?? '');
}

function validateCinder(problems: Problems, path: string, { cinder }: Frozen<Volume>): void {
  validateRequired(problems, path, { ...cinder }, ['volumeID']);
  if (cinder?.secretRef !== undefined && !cinder.secretRef.name) problems.required(`${path}.secretRef.name`);
}

function validateCsi(problems: Problems, path: string, { csi }: Frozen<Volume>): void {
  validateCsiDriver(problems, `${path}.driver`, csi?.driver);
  const secret = csi?.nodePublishSecretRef;
  if (secret === undefined) return;
  if (!secret.name) problems.required(`${path}.nodePublishSecretRef.name`);
  else problems.each(`${path}.name`, secret.name, subdomainName(secret.name));
}

function validateEphemeral(
  problems: Problems,
  path: string,
  volume: Frozen<Volume>,
  owner: VolumeOwner | undefined,
): void {
  const template = volume.ephemeral?.volumeClaimTemplate;
  if (template === undefined) problems.required(`${path}.volumeClaimTemplate`);
  else validateClaimTemplate(problems, `${path}.volumeClaimTemplate`, template);
  if (!owner?.name || !volume.name) return;
  const claim = `${owner.name}-${volume.name}`;
  const at = path.slice(0, -'.ephemeral'.length);
  for (const wrong of subdomainName(claim)) problems.invalid(`${at}.name`, volume.name, `PVC name ${claim}: ${wrong}`);
}

function validateImage(problems: Problems, path: string, { image }: Frozen<Volume>): void {
  if (!image?.reference) problems.required(`${path}.reference`);
  problems.oneOf(`${path}.pullPolicy`, image?.pullPolicy, ['Always', 'IfNotPresent', 'Never']);
}
