// Owns the kind StorageVersionMigration.
import { storageVersionMigrations } from '../../../api/generated/resources.ts';
import type { StorageVersionMigration } from '../../../api/generated/storagemigration.v1.ts';
import type { Frozen } from '../../../api/meta.ts';
import { dnsLabel, dnsSubdomain } from '../../../api/names.ts';
import { validateConditions } from '../../../api/validation/conditions.ts';
import { Problems } from '../../../api/validation/problems.ts';
import { same } from '../../../api/validation/same.ts';
import { nameColumn } from '../columns.ts';
import { defineResource, keep, onlyStatus } from '../define.ts';

function validate({ spec }: Frozen<StorageVersionMigration>): Problems {
  const problems = new Problems();
  const { group = '', resource = '' } = spec?.resource ?? {};
  if (resource === '') problems.required('spec.resource.resource', 'resource is required');
  else problems.each('spec.resource.resource', resource, dnsLabel(resource));
  if (group !== '') problems.each('spec.resource.group', group, dnsSubdomain(group));
  return problems;
}

function validateStatus(next: Frozen<StorageVersionMigration>, prev: Frozen<StorageVersionMigration>): Problems {
  const problems = new Problems();
  const { conditions = [], resourceVersion = '' } = next.status ?? {};
  const path = 'status.conditions';
  validateConditions(problems, path, conditions);
  const isTrue = (wanted: string, of = conditions): boolean =>
    of?.some(({ type, status }) => type === wanted && status === 'True') ?? false;
  if (isTrue('Succeeded') && isTrue('Failed'))
    problems.invalid(path, conditions, 'Both success and failed conditions cannot be true at the same time');
  for (const done of ['Succeeded', 'Failed'])
    if (isTrue(done, prev.status?.conditions ?? []) && !isTrue(done))
      problems.invalid(path, conditions, `${done} condition cannot be set to false once it is true`);
  if (resourceVersion !== '' && !/^\d+$/.test(resourceVersion))
    problems.invalid('status.resourceVersion', resourceVersion, 'must be a version');
  const before = prev.status?.resourceVersion ?? '';
  if (before !== '' && before !== resourceVersion)
    problems.invalid('status.resourceVersion', resourceVersion, 'field is immutable');
  return problems;
}

function statusText({ status }: Frozen<StorageVersionMigration>): string {
  const isTrue = (wanted: string): boolean =>
    (status?.conditions ?? []).some((condition) => condition.type === wanted && condition.status === 'True');
  return ['Succeeded', 'Failed', 'Running'].find(isTrue) ?? 'Unknown';
}

export const storageVersionMigration = defineResource<StorageVersionMigration>(storageVersionMigrations, {
  prepareForCreate(obj) {
    obj.status = {};
  },
  prepareForUpdate: (next, prev) => keep(next, prev, 'status'),
  validate: (obj) => validate(obj).list,
  validateUpdateAlone: true,
  validateUpdate(next, prev) {
    const problems = validate(next);
    problems.immutable('spec', next.spec, prev.spec, same);
    return problems.list;
  },
  columns: [
    { ...nameColumn, format: '' },
    {
      name: 'Resource',
      type: 'string',
      cell: ({ spec }) => {
        const { group = '', resource = '' } = spec?.resource ?? {};
        return group === '' ? resource : `${resource}.${group}`;
      },
    },
    { name: 'Status', type: 'string', cell: statusText },
  ],
  subresources: {
    status: {
      prepareForUpdate: onlyStatus,
      validateUpdate: (next, prev) => validateStatus(next, prev).list,
    },
  },
  unconditionalUpdate: false,
});
