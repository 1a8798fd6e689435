// Owns the kind PersistentVolume.
import type {
  CSIPersistentVolumeSource,
  PersistentVolume,
  PersistentVolumeSpec,
} from '../../../api/generated/core.v1.ts';
import { persistentVolumes } from '../../../api/generated/resources.ts';
import type { Frozen } from '../../../api/meta.ts';
import { validateAccessModes, volumeModes } from '../../../api/validation/claim-spec.ts';
import { dnsLabel, dnsSubdomain, labelName, subdomainName } from '../../../api/names.ts';
import { validateNodeSelector } from '../../../api/validation/node-selector.ts';
import { validateNoBacksteps } from '../../../api/validation/paths.ts';
import { Problems } from '../../../api/validation/problems.ts';
import { nano, roundResources } from '../../../api/validation/quantities.ts';
import { same } from '../../../api/validation/same.ts';
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
} from '../../../api/validation/volume-sources.ts';
import { ageColumn, nameColumn } from '../columns.ts';
import { defineResource, keep } from '../define.ts';
import { renamedLabels, termWarnings } from '../node-labels.ts';
import { accessModesText } from './access-modes.ts';

type Spec = Frozen<PersistentVolumeSpec>;
type Check = (problems: Problems, path: string, spec: Spec, name: string) => void;

interface SourceRule {
  readonly field: keyof PersistentVolumeSpec;
  readonly check: Check;
  /** Where upstream's path is spelled otherwise than the field. */
  readonly path?: string;
  readonly surplusPath?: string;
}

const needs =
  (field: keyof PersistentVolumeSpec, ...fields: string[]): Check =>
  (problems, path, spec) =>
    validateRequired(problems, path, { ...(spec[field] as object) }, fields);

/** In upstream's order of looking at them. */
const sources: readonly SourceRule[] = [
  { field: 'hostPath', check: (problems, path, { hostPath }) => validateHostPath(problems, path, hostPath!) },
  {
    field: 'gcePersistentDisk',
    path: 'persistentDisk',
    check: (problems, path, spec) => validateDisk(problems, path, { ...spec.gcePersistentDisk }, 'pdName'),
  },
  {
    field: 'awsElasticBlockStore',
    check: (problems, path, spec) => validateDisk(problems, path, { ...spec.awsElasticBlockStore }, 'volumeID'),
  },
  { field: 'glusterfs', check: validateGlusterfs },
  { field: 'flocker', check: (problems, path, { flocker }) => validateFlocker(problems, path, flocker!) },
  { field: 'nfs', check: (problems, path, { nfs }) => validateNfs(problems, path, nfs!) },
  { field: 'rbd', check: needs('rbd', 'monitors', 'image') },
  { field: 'quobyte', check: (problems, path, { quobyte }) => validateQuobyte(problems, path, quobyte!) },
  { field: 'cephfs', surplusPath: 'cephFS', check: needs('cephfs', 'monitors') },
  { field: 'iscsi', check: (problems, path, { iscsi }, name) => validateIscsi(problems, path, iscsi!, name) },
  { field: 'cinder', check: validateCinder },
  { field: 'fc', check: (problems, path, { fc }) => validateFibreChannel(problems, path, fc!) },
  { field: 'flexVolume', check: (problems, path, { flexVolume }) => validateFlex(problems, path, flexVolume!) },
  { field: 'azureFile', check: validateAzureFile },
  { field: 'vsphereVolume', check: needs('vsphereVolume', 'volumePath') },
  { field: 'photonPersistentDisk', check: needs('photonPersistentDisk', 'pdID') },
  { field: 'portworxVolume', check: needs('portworxVolume', 'volumeID') },
  { field: 'azureDisk', check: (problems, path, { azureDisk }) => validateAzureDisk(problems, path, azureDisk!) },
  { field: 'scaleIO', check: needs('scaleIO', 'gateway', 'system', 'volumeName') },
  { field: 'local', check: validateLocal },
  {
    field: 'storageos',
    check: (problems, path, { storageos }) => validateStorageOs(problems, path, storageos!, true),
  },
  { field: 'csi', check: (problems, path, { csi }) => validateCsi(problems, path, csi!) },
];

function validateGlusterfs(problems: Problems, path: string, { glusterfs }: Spec): void {
  validateRequired(problems, path, { ...glusterfs }, ['endpoints', 'path']);
  const namespace = glusterfs?.endpointsNamespace;
  if (namespace === '') problems.invalid(`${path}.endpointsNamespace`, namespace, 'must be a valid namespace name');
  else if (namespace !== undefined) problems.each(`${path}.endpointsNamespace`, namespace, labelName(namespace));
}

function validateCinder(problems: Problems, path: string, { cinder }: Spec): void {
  validateRequired(problems, path, { ...cinder }, ['volumeID']);
  if (cinder?.secretRef !== undefined)
    validateRequired(problems, `${path}.secretRef`, cinder.secretRef, ['name', 'namespace']);
}

function validateAzureFile(problems: Problems, path: string, { azureFile }: Spec): void {
  validateRequired(problems, path, { ...azureFile }, ['secretName', 'shareName']);
  if (azureFile?.secretNamespace === '') problems.required(`${path}.secretNamespace`);
}

function validateLocal(problems: Problems, path: string, { local, nodeAffinity }: Spec): void {
  if (!local?.path) problems.required(`${path}.path`);
  else validateNoBacksteps(problems, `${path}.path`, local.path);
  if (nodeAffinity === undefined) problems.required('spec.nodeAffinity', 'Local volume requires node affinity');
}

const csiSecrets = [
  'controllerPublishSecretRef',
  'controllerExpandSecretRef',
  'nodePublishSecretRef',
  'nodeExpandSecretRef',
] as const;

function validateCsi(problems: Problems, path: string, csi: Frozen<CSIPersistentVolumeSource>): void {
  validateCsiDriver(problems, `${path}.driver`, csi.driver);
  if (!csi.volumeHandle) problems.required(`${path}.volumeHandle`);
  for (const field of csiSecrets) {
    const ref = csi[field];
    if (ref === undefined) continue;
    if (!ref.name) problems.required(`${path}.${field}.name`);
    else problems.each(`${path}.${field}.name`, ref.name, dnsSubdomain(ref.name));
    if (!ref.namespace) problems.required(`${path}.${field}.namespace`);
    else problems.each(`${path}.${field}.namespace`, ref.namespace, dnsLabel(ref.namespace));
  }
}

function validateCapacity(problems: Problems, capacity: Spec['capacity'] = {}): void {
  const names = Object.keys(capacity);
  if (names.length === 0) problems.required('spec.capacity');
  if (capacity['storage'] === undefined || names.length > 1)
    problems.notSupported('spec.capacity', capacity, ['storage']);
  for (const name of names) {
    const amount = nano(capacity[name]);
    const here = `spec.capacity[${name}]`;
    if (amount < 0n) problems.invalid(here, capacity[name], 'must be a valid resource quantity');
    if (amount <= 0n) problems.invalid(here, capacity[name], 'must be greater than zero');
  }
}

/** Exactly one source, and what it needs. `path` is that of the spec. */
export function validateVolumeSources(problems: Problems, spec: Spec, name: string, path = 'spec'): void {
  let found = false;
  for (const rule of sources) {
    if (spec[rule.field] === undefined) continue;
    // Upstream does not count flexVolume as one too many.
    if (found && rule.field !== 'flexVolume')
      problems.forbidden(`${path}.${rule.surplusPath ?? rule.field}`, 'may not specify more than 1 volume type');
    else rule.check(problems, `${path}.${rule.path ?? rule.field}`, spec, name);
    found = true;
  }
  if (!found) problems.required(path, 'must specify a volume type');
}

function validate({ metadata, spec = {} }: Frozen<PersistentVolume>): Problems {
  const problems = new Problems();
  const modes = spec.accessModes ?? [];
  if (modes.length === 0) problems.required('spec.accessModes');
  validateAccessModes(problems, 'spec.accessModes', modes);
  validateCapacity(problems, spec.capacity);
  if (spec.persistentVolumeReclaimPolicy)
    problems.oneOf('spec.persistentVolumeReclaimPolicy', spec.persistentVolumeReclaimPolicy, [
      'Delete',
      'Recycle',
      'Retain',
    ]);
  if (spec.nodeAffinity !== undefined)
    if (spec.nodeAffinity.required === undefined) problems.required('spec.nodeAffinity.required');
    else validateNodeSelector(problems, 'spec.nodeAffinity.required', spec.nodeAffinity.required);
  validateVolumeSources(problems, spec, metadata.name);
  const isRoot = spec.hostPath !== undefined && /^\/[/.]*$/.test(spec.hostPath.path ?? '');
  if (isRoot && spec.persistentVolumeReclaimPolicy === 'Recycle')
    problems.forbidden('spec.persistentVolumeReclaimPolicy', "may not be 'recycle' for a hostPath mount of '/'");
  if (spec.storageClassName)
    problems.each('spec.storageClassName', spec.storageClassName, subdomainName(spec.storageClassName));
  problems.optionalOneOf('spec.volumeMode', spec.volumeMode, volumeModes);
  const attributes = spec.volumeAttributesClassName;
  if (attributes === undefined) return problems;
  if (attributes === '') problems.required('spec.volumeAttributesClassName', 'an empty string is disallowed');
  else problems.each('spec.volumeAttributesClassName', attributes, subdomainName(attributes));
  if (spec.csi === undefined) problems.required('spec.csi', 'has to be specified when using volumeAttributesClassName');
  return problems;
}

/** The source alone, with one secret that may be added later taken away. */
function sourceOf(spec: Spec, other: Spec): object {
  const source = Object.fromEntries(sources.map(({ field }) => [field, spec[field]]));
  if (spec.csi?.controllerExpandSecretRef !== undefined && other.csi?.controllerExpandSecretRef === undefined) {
    const { controllerExpandSecretRef: _added, ...csi } = spec.csi;
    source['csi'] = csi;
  }
  return source;
}

function validateUpdate(next: Frozen<PersistentVolume>, prev: Frozen<PersistentVolume>): Problems {
  const problems = validate(next);
  const [after, before] = [next.spec, prev.spec];
  if (!same(sourceOf(after, before), sourceOf(before, before)))
    problems.forbidden('spec.persistentvolumesource', 'spec.persistentvolumesource is immutable after creation');
  problems.immutable('volumeMode', after.volumeMode, before.volumeMode, same);
  if (
    before.nodeAffinity !== undefined &&
    !same(modernLabels(after.nodeAffinity, before.nodeAffinity), before.nodeAffinity)
  )
    problems.invalid(
      'nodeAffinity',
      after.nodeAffinity,
      'field is immutable, except for updating from beta label to GA',
    );
  if (before.volumeAttributesClassName !== undefined && after.volumeAttributesClassName === undefined)
    problems.forbidden('spec.volumeAttributesClassName', 'update from non-nil value to nil is forbidden');
  return problems;
}

/** The new affinity with labels under their old names where the old affinity has those. */
function modernLabels(next: Spec['nodeAffinity'], prev: Spec['nodeAffinity']): Spec['nodeAffinity'] {
  const terms = next?.required?.nodeSelectorTerms;
  if (!terms) return next;
  const restored = terms.map((term, at) => {
    const before = prev?.required?.nodeSelectorTerms?.[at]?.matchExpressions;
    const matchExpressions = term.matchExpressions?.map((expression, i) => {
      const old = before?.[i]?.key;
      // As upstream looks it up, no name at all is the new one of what was not renamed.
      return old !== undefined && (renamedLabels[old]?.[0] ?? '') === expression.key
        ? { ...expression, key: old }
        : expression;
    });
    return matchExpressions === undefined ? term : { ...term, matchExpressions };
  });
  return { required: { nodeSelectorTerms: restored } };
}

const claimText = ({ spec }: Frozen<PersistentVolume>): string =>
  spec.claimRef === undefined ? '' : `${spec.claimRef.namespace ?? ''}/${spec.claimRef.name ?? ''}`;

const betaClass = 'volume.beta.kubernetes.io/storage-class';

export const persistentVolume = defineResource<PersistentVolume>(persistentVolumes, {
  shortNames: ['pv'],
  applyDefaults(obj) {
    const spec = (obj.spec ??= {});
    obj.status ??= {};
    obj.status.phase ||= 'Pending';
    spec.persistentVolumeReclaimPolicy ||= 'Retain';
    spec.volumeMode ??= 'Filesystem';
    if (spec.hostPath) spec.hostPath.type ??= '';
    roundResources(spec.capacity);
  },
  prepareForCreate(obj, { nowMs }) {
    const now = `${new Date(nowMs).toISOString().slice(0, 19)}Z`;
    obj.status = {
      phase: 'Pending',
      lastPhaseTransitionTime: now as unknown as NonNullable<typeof obj.status.lastPhaseTransitionTime>,
    };
  },
  prepareForUpdate: (next, prev) => keep(next, prev, 'status'),
  validate: (obj) => validate(obj).list,
  validateUpdateAlone: true,
  validateUpdate: (next, prev) => validateUpdate(next, prev).list,
  warnings({ metadata, spec }) {
    const warnings: string[] = [];
    if (metadata.annotations?.[betaClass] !== undefined)
      warnings.push(
        `metadata.annotations[${betaClass}]: deprecated since v1.8; use "storageClassName" attribute instead`,
      );
    if (metadata.annotations?.['volume.beta.kubernetes.io/mount-options'] !== undefined)
      warnings.push(
        'metadata.annotations[volume.beta.kubernetes.io/mount-options]: deprecated since v1.31; use "mountOptions"',
      );
    if (spec.persistentVolumeReclaimPolicy === 'Recycle')
      warnings.push(
        'spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.',
      );
    for (const [field, text] of Object.entries(oldSources))
      if (spec[field as keyof PersistentVolumeSpec] !== undefined) warnings.push(`spec.${field}: ${text}`);
    const path = 'spec.nodeAffinity.required.nodeSelectorTerms';
    for (const [at, term] of (spec.nodeAffinity?.required?.nodeSelectorTerms ?? []).entries())
      warnings.push(...termWarnings(`${path}[${at}]`, term, false));
    return warnings;
  },
  columns: [
    nameColumn,
    { name: 'Capacity', type: 'string', cell: ({ spec }) => spec.capacity?.['storage'] ?? '0' },
    { name: 'Access Modes', type: 'string', cell: ({ spec }) => accessModesText(spec.accessModes) },
    { name: 'Reclaim Policy', type: 'string', cell: ({ spec }) => spec.persistentVolumeReclaimPolicy ?? '' },
    {
      name: 'Status',
      type: 'string',
      cell: ({ metadata, status }) => (metadata.deletionTimestamp ? 'Terminating' : (status?.phase ?? '')),
    },
    { name: 'Claim', type: 'string', cell: claimText },
    {
      name: 'StorageClass',
      type: 'string',
      cell: ({ metadata, spec }) => metadata.annotations?.[betaClass] ?? spec.storageClassName ?? '',
    },
    { name: 'VolumeAttributesClass', type: 'string', cell: ({ spec }) => spec.volumeAttributesClassName ?? '<unset>' },
    { name: 'Reason', type: 'string', cell: ({ status }) => status?.reason ?? '' },
    ageColumn,
    { name: 'VolumeMode', type: 'string', priority: 1, cell: ({ spec }) => spec.volumeMode ?? '<unset>' },
  ],
  subresources: {
    status: {
      prepareForUpdate(next, prev, { nowMs }) {
        keep(next, prev, 'spec');
        if (next.status === undefined) return;
        const given = next.status.lastPhaseTransitionTime;
        const before = prev.status?.lastPhaseTransitionTime;
        if (next.status.phase === prev.status?.phase) {
          if (given === undefined && before !== undefined) next.status.lastPhaseTransitionTime = before;
          return;
        }
        if (given !== undefined && !same(given, before)) return;
        const now = `${new Date(nowMs).toISOString().slice(0, 19)}Z`;
        next.status.lastPhaseTransitionTime = now as unknown as NonNullable<typeof given>;
      },
    },
  },
  deleteReturnsObject: true,
});

const oldSources: Readonly<Partial<Record<keyof PersistentVolumeSpec, string>>> = {
  photonPersistentDisk: 'deprecated in v1.11, non-functional in v1.16+',
  scaleIO: 'deprecated in v1.16, non-functional in v1.22+',
  storageos: 'deprecated in v1.22, non-functional in v1.25+',
  glusterfs: 'deprecated in v1.25, non-functional in v1.26+',
  cephfs: 'deprecated in v1.28, non-functional in v1.31+',
  rbd: 'deprecated in v1.28, non-functional in v1.31+',
};
