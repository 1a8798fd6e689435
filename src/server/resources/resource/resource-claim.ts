// Owns the kinds ResourceClaim and ResourceClaimTemplate.
import type { ResourceClaim, ResourceClaimTemplate } from '../../../api/generated/resource.v1.ts';
import { resourceClaims, resourceClaimTemplates } from '../../../api/generated/resources.ts';
import type { Frozen } from '../../../api/meta.ts';
import { validateAnnotations, validateLabels } from '../../../api/validation/labels.ts';
import { Problems } from '../../../api/validation/problems.ts';
import { same } from '../../../api/validation/same.ts';
import { ageColumn, nameColumn } from '../columns.ts';
import { defineResource, keep, onlyStatus } from '../define.ts';
import { deviceKey, validateClaimStatus } from './allocation-rules.ts';
import { defaultClaim, dropDisabled, validateDeviceClaim } from './claim-rules.ts';
import { Findings } from './findings.ts';

type Claim = ResourceClaim;

const immutableSpec = (next: { readonly spec: unknown }, prev: { readonly spec: unknown }): Problems => {
  const problems = new Problems();
  problems.immutable('spec', next.spec, prev.spec, same);
  return problems;
};

/** What drivers told of devices goes with the devices. */
function dropDeallocated(next: Claim, prev: Frozen<Claim>): void {
  if (!next.status?.devices) return;
  const after = new Set((next.status.allocation?.devices?.results ?? []).map(deviceKey));
  const gone = new Set(
    (prev.status?.allocation?.devices?.results ?? []).map(deviceKey).filter((key) => !after.has(key)),
  );
  if (gone.size === 0) return;
  next.status.devices = next.status.devices.filter((device) => !gone.has(deviceKey(device)));
  if (next.status.devices.length === 0) delete next.status.devices;
}

function stateText({ metadata, status }: Frozen<Claim>): string {
  const deleted = metadata.deletionTimestamp !== undefined;
  const states = deleted ? ['deleted'] : [];
  if (!status?.allocation) {
    if (!deleted) states.push('pending');
  } else {
    states.push('allocated');
    if ((status.reservedFor ?? []).length > 0) states.push('reserved');
  }
  return states.join(',');
}

export const resourceClaim = defineResource<Claim>(resourceClaims, {
  applyDefaults: ({ spec, status }) => {
    defaultClaim(spec?.devices);
    for (const result of status?.allocation?.devices?.results ?? [])
      for (const toleration of result.tolerations ?? []) toleration.operator ||= 'Equal';
  },
  prepareForCreate(obj) {
    obj.status = {};
    dropDisabled(obj.spec?.devices);
  },
  prepareForUpdate(next, prev) {
    keep(next, prev, 'status');
    dropDisabled(next.spec?.devices);
  },
  validate({ spec }) {
    const found = new Findings();
    validateDeviceClaim(found, 'spec.devices', spec?.devices);
    return found.list;
  },
  validateUpdateAlone: true,
  validateUpdate: (next, prev) => immutableSpec(next, prev).list,
  columns: [nameColumn, { name: 'State', type: 'string', cell: stateText }, ageColumn],
  subresources: {
    status: {
      hasTable: false,
      prepareForUpdate(next, prev) {
        onlyStatus(next, prev);
        for (const result of next.status?.allocation?.devices?.results ?? []) delete result.skipNodeOperations;
        dropDeallocated(next, prev);
      },
      validateUpdate: (next, prev) => validateClaimStatus(next, prev).list,
    },
  },
  deleteReturnsObject: true,
});

const templateFields = ['labels', 'annotations'];
/** In the order of ObjectMeta. */
const otherFields = [
  'name',
  'generateName',
  'namespace',
  'selfLink',
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'ownerReferences',
  'finalizers',
  'managedFields',
];

function validateTemplate({ spec }: Frozen<ResourceClaimTemplate>): Findings {
  const found = new Findings();
  const metadata = (spec?.metadata ?? {}) as Readonly<Record<string, unknown>>;
  const path = 'spec.metadata';
  const [labels, annotations] = templateFields.map((field) => metadata[field] as Record<string, string> | undefined);
  validateAnnotations(found.own, `${path}.annotations`, annotations);
  validateLabels(found.own, `${path}.labels`, labels);
  for (const field of otherFields) {
    const value = metadata[field];
    const isEmpty = value === undefined || value === null || value === '' || value === 0;
    if (!isEmpty) found.own.forbidden(`${path}.${field}`, 'may not be set in a template');
  }
  validateDeviceClaim(found, 'spec.spec.devices', spec?.spec?.devices);
  return found;
}

export const resourceClaimTemplate = defineResource<ResourceClaimTemplate>(resourceClaimTemplates, {
  applyDefaults: ({ spec }) => defaultClaim(spec?.spec?.devices),
  prepareForCreate: (obj) => dropDisabled(obj.spec?.spec?.devices),
  prepareForUpdate: (next) => dropDisabled(next.spec?.spec?.devices),
  validate: (obj) => validateTemplate(obj).list,
  validateUpdateAlone: true,
  validateUpdate(next, prev) {
    const { own, declared } = validateTemplate(next);
    return [...own.list, ...immutableSpec(next, prev).list, ...declared.list];
  },
  columns: [nameColumn, ageColumn],
  deleteReturnsObject: true,
});
