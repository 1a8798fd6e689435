// Owns the kind PersistentVolumeClaim.
import { schemaOfType } from '../../../api/schema/builtin.ts';
import type { PersistentVolumeClaim, PersistentVolumeClaimSpec } from '../../../api/generated/core.v1.ts';
import { persistentVolumeClaims } from '../../../api/generated/resources.ts';
import { applyClaimSpecDefaults } from '../../../api/defaults/claim.ts';
import { type Frozen, thaw } from '../../../api/meta.ts';
import { validateClaimSpec } from '../../../api/validation/claim-spec.ts';
import { qualifiedName } from '../../../api/names.ts';
import { Problems } from '../../../api/validation/problems.ts';
import { nano, roundResources } from '../../../api/validation/quantities.ts';
import { isNativeResource } from '../../../api/validation/resource-names.ts';
import { same, sameAs } from '../../../api/validation/same.ts';
import { ageColumn, nameColumn } from '../columns.ts';
import { defineResource, keep } from '../define.ts';
import { claimWarnings } from './pod-warnings.ts';
import { accessModesText } from './access-modes.ts';

const betaClass = 'volume.beta.kubernetes.io/storage-class';

/**
 * What a claim may be filled from: snapshots and other claims; anything else only through dataSourceRef. Where a source was named before,
 * nothing is dropped: it may not change.
 */
function normalizeDataSources(spec: PersistentVolumeClaimSpec, prev: Frozen<PersistentVolumeClaimSpec> = {}): void {
  const { dataSource } = spec;
  const wasNamed = prev.dataSource !== undefined || prev.dataSourceRef !== undefined;
  if (dataSource !== undefined && !wasNamed && spec.dataSourceRef === undefined) {
    const isClaim = !dataSource.apiGroup && dataSource.kind === 'PersistentVolumeClaim';
    const isSnapshot = dataSource.apiGroup === 'snapshot.storage.k8s.io' && dataSource.kind === 'VolumeSnapshot';
    if (!isClaim && !isSnapshot) delete spec.dataSource;
  }
  // Sources in other namespaces are behind a gate that is off.
  if (spec.dataSourceRef?.namespace && prev.dataSourceRef === undefined) delete spec.dataSourceRef;
  if (spec.dataSource !== undefined && spec.dataSourceRef === undefined) spec.dataSourceRef = { ...spec.dataSource };
  else if (spec.dataSource === undefined && spec.dataSourceRef !== undefined && !spec.dataSourceRef.namespace) {
    const { namespace: _none, ...local } = spec.dataSourceRef;
    spec.dataSource = local;
  }
}

/** A claim's class may be set once where it had none; its size may grow while it is bound; its attributes may change. */
function validateChange(
  problems: Problems,
  next: Frozen<PersistentVolumeClaim>,
  prev: Frozen<PersistentVolumeClaim>,
): void {
  const after = thaw<PersistentVolumeClaimSpec>(next.spec);
  const before = thaw<PersistentVolumeClaimSpec>(prev.spec);
  if (!before.volumeName && after.volumeName) before.volumeName = after.volumeName;
  const oldAnnotation = prev.metadata.annotations?.[betaClass];
  const newAnnotation = next.metadata.annotations?.[betaClass];
  const upgrades =
    oldAnnotation !== undefined &&
    before.storageClassName === undefined &&
    after.storageClassName === oldAnnotation &&
    (newAnnotation === undefined || newAnnotation === oldAnnotation);
  if (upgrades) {
    delete after.storageClassName;
  } else {
    if ((newAnnotation ?? '') !== (oldAnnotation ?? ''))
      problems.invalid(`metadata.annotations.${betaClass}`, newAnnotation, 'field is immutable');
    const fromNothing = after.storageClassName !== undefined && before.storageClassName === undefined;
    if (fromNothing && (oldAnnotation === undefined || after.storageClassName === oldAnnotation))
      delete after.storageClassName;
  }
  const [newSize, oldSize] = [next.spec.resources?.requests?.['storage'], prev.spec.resources?.requests?.['storage']];
  if (next.status?.phase === 'Bound' && after.resources?.requests !== undefined)
    if (oldSize === undefined) delete after.resources.requests['storage'];
    else after.resources.requests['storage'] = oldSize;
  if (next.status?.phase !== 'Bound') {
    // Only bound claims change their class.
  } else if (before.volumeAttributesClassName === undefined) delete after.volumeAttributesClassName;
  else after.volumeAttributesClassName = before.volumeAttributesClassName;
  const shape = schemaOfType('core.v1.PersistentVolumeClaimSpec');
  if (!sameAs(shape, after, before) || (before.storageClassName === '') !== (after.storageClassName === ''))
    problems.forbidden(
      'spec',
      'spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims',
    );
  if (nano(newSize) < nano(oldSize) && nano(newSize) <= nano(prev.status?.capacity?.['storage']))
    problems.forbidden('spec.resources.requests.storage', 'field can not be less than status.capacity');
  problems.immutable('volumeMode', next.spec.volumeMode, prev.spec.volumeMode, same);
  if (next.status?.phase !== 'Bound' || prev.spec.volumeAttributesClassName === undefined) return;
  const wanted = next.spec.volumeAttributesClassName;
  if (wanted === undefined)
    problems.forbidden('spec.volumeAttributesClassName', 'update from non-nil value to nil is forbidden');
  else if (wanted === '')
    problems.forbidden('spec.volumeAttributesClassName', 'update from non-nil value to an empty string is forbidden');
}

const resizeStates = [
  'ControllerResizeInProgress',
  'ControllerResizeInfeasible',
  'NodeResizePending',
  'NodeResizeInProgress',
  'NodeResizeInfeasible',
];

/** True: the name is good. */
function validateAllocatedName(problems: Problems, path: string, name: string): boolean {
  const before = problems.count;
  problems.each(path, name, qualifiedName(name));
  if (problems.count === before && isNativeResource(name) && name !== 'storage')
    problems.notSupported(path, name, ['storage']);
  return problems.count === before;
}

function validateStatus(problems: Problems, { spec, status }: Frozen<PersistentVolumeClaim>): void {
  if (!spec.accessModes?.length) problems.required('Spec.accessModes');
  const amount = (path: string, value: string): void => {
    if (nano(value) < 0n) problems.invalid(path, value, 'must be a valid resource quantity');
  };
  for (const name in status?.capacity) amount(`status.capacity[${name}]`, status.capacity[name]!);
  for (const name in status?.allocatedResourceStatuses) {
    const path = 'status.allocatedResourceStatuses';
    validateAllocatedName(problems, path, name);
    if (!resizeStates.includes(status.allocatedResourceStatuses[name]!))
      problems.notSupported(path, name, resizeStates);
  }
  for (const name in status?.allocatedResources) {
    if (!validateAllocatedName(problems, 'status.allocatedResources', name)) continue;
    amount(`status.allocatedResources[${name}]`, status.allocatedResources[name]!);
  }
}

const statusText = ({ metadata, status }: Frozen<PersistentVolumeClaim>): string =>
  metadata.deletionTimestamp ? 'Terminating' : (status?.phase ?? '');

export const persistentVolumeClaim = defineResource<PersistentVolumeClaim>(persistentVolumeClaims, {
  shortNames: ['pvc'],
  applyDefaults(obj) {
    applyClaimSpecDefaults((obj.spec ??= {}));
    obj.status ??= {};
    obj.status.phase ||= 'Pending';
    roundResources(obj.status.capacity);
    roundResources(obj.status.allocatedResources);
  },
  prepareForCreate(obj) {
    obj.status = { phase: 'Pending' };
    normalizeDataSources(obj.spec);
  },
  prepareForUpdate(next, prev) {
    keep(next, prev, 'status');
    normalizeDataSources(next.spec, prev.spec);
  },
  validate({ spec }) {
    const problems = new Problems();
    validateClaimSpec(problems, 'spec', spec);
    return problems.list;
  },
  validateUpdateAlone: true,
  validateUpdate(next, prev) {
    const problems = new Problems();
    const anyApiGroup = (prev.spec.dataSource?.apiGroup ?? prev.spec.dataSourceRef?.apiGroup) !== undefined;
    validateClaimSpec(problems, 'spec', next.spec, { anyApiGroup });
    validateChange(problems, next, prev);
    return problems.list;
  },
  warnings({ metadata, spec }) {
    const warnings: string[] = [];
    if (metadata.annotations?.[betaClass] !== undefined)
      warnings.push(
        `metadata.annotations[${betaClass}]: deprecated since v1.8; use "storageClassName" attribute instead`,
      );
    warnings.push(...claimWarnings('spec', spec));
    return warnings;
  },
  columns: [
    nameColumn,
    { name: 'Status', type: 'string', cell: statusText },
    { name: 'Volume', type: 'string', cell: ({ spec }) => spec.volumeName ?? '' },
    {
      name: 'Capacity',
      type: 'string',
      cell: ({ spec, status }) => (spec.volumeName ? (status?.capacity?.['storage'] ?? '0') : ''),
    },
    {
      name: 'Access Modes',
      type: 'string',
      cell: ({ spec, status }) => (spec.volumeName ? accessModesText(status?.accessModes) : ''),
    },
    {
      name: 'StorageClass',
      type: 'string',
      cell: ({ metadata, spec }) => metadata.annotations?.[betaClass] ?? spec.storageClassName ?? '',
    },
    { name: 'VolumeAttributesClass', type: 'string', cell: ({ spec }) => spec.volumeAttributesClassName ?? '<unset>' },
    ageColumn,
    { name: 'VolumeMode', type: 'string', priority: 1, cell: ({ spec }) => spec.volumeMode ?? '<unset>' },
  ],
  subresources: {
    status: {
      prepareForUpdate: (next, prev) => keep(next, prev, 'spec'),
      validateUpdate(next) {
        const problems = new Problems();
        validateStatus(problems, next);
        return problems.list;
      },
    },
  },
  deleteReturnsObject: true,
});
