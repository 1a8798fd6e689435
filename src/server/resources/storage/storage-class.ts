// Owns the kind StorageClass.
import type { TopologySelectorLabelRequirement, TopologySelectorTerm } from '../../../api/generated/core.v1.ts';
import { storageClasses } from '../../../api/generated/resources.ts';
import type { StorageClass } from '../../../api/generated/storage.v1.ts';
import type { Frozen } from '../../../api/meta.ts';
import { qualifiedName } from '../../../api/names.ts';
import { Problems } from '../../../api/validation/problems.ts';
import { same } from '../../../api/validation/same.ts';
import { ageColumn, nameColumn } from '../columns.ts';
import { defineResource, requiredLast } from '../define.ts';
import { labelWarnings } from '../node-labels.ts';
import { validateParameters } from './parameters.ts';

function validateProvisioner(problems: Problems, provisioner: string | undefined): void {
  if (!provisioner) problems.required('provisioner');
  else problems.each('provisioner', provisioner, qualifiedName(provisioner.toLowerCase()));
}

function validateRequirement(
  problems: Problems,
  path: string,
  requirement: Frozen<TopologySelectorLabelRequirement>,
): ReadonlySet<string> {
  const values = new Set<string>();
  const given = requirement.values ?? [];
  if (given.length === 0) problems.required(`${path}.values`);
  given.forEach((value, at) => {
    if (values.has(value)) problems.duplicate(`${path}.values[${at}]`, value);
    values.add(value);
  });
  problems.each(`${path}.key`, requirement.key, qualifiedName(requirement.key ?? ''));
  return values;
}

/** What a term selects, in one form: to tell equal terms. */
function validateTerm(problems: Problems, path: string, term: Frozen<TopologySelectorTerm>): string {
  const selected = new Map<string, readonly string[]>();
  term.matchLabelExpressions?.forEach((requirement, at) => {
    const here = `${path}.matchLabelExpressions[${at}]`;
    const values = validateRequirement(problems, here, requirement);
    if (selected.has(requirement.key)) problems.duplicate(`${here}.key`, requirement.key);
    selected.set(requirement.key, [...values].sort());
  });
  return JSON.stringify([...selected].sort(([a], [b]) => (a < b ? -1 : 1)));
}

function validate(obj: Frozen<StorageClass>): Problems {
  const problems = new Problems();
  validateProvisioner(problems, obj.provisioner);
  validateParameters(problems, 'parameters', obj.parameters, { mayBeEmpty: true });
  if (obj.reclaimPolicy) problems.optionalOneOf('reclaimPolicy', obj.reclaimPolicy, ['Delete', 'Retain']);
  if (obj.volumeBindingMode === undefined || obj.volumeBindingMode === null) problems.required('volumeBindingMode');
  else problems.optionalOneOf('volumeBindingMode', obj.volumeBindingMode, ['Immediate', 'WaitForFirstConsumer']);
  const seen = new Set<string>();
  obj.allowedTopologies?.forEach((term, at) => {
    const selected = validateTerm(problems, `allowedTopologies[${at}]`, term);
    // Upstream compares with maps that it has not filled yet too.
    if (selected === '[]' || seen.has(selected))
      problems.duplicate(`allowedTopologies[${at}].matchLabelExpressions`, '');
    seen.add(selected);
  });
  return problems;
}

function topologyWarnings({ allowedTopologies }: Frozen<StorageClass>): string[] {
  return (allowedTopologies ?? []).flatMap(({ matchLabelExpressions }, i) =>
    (matchLabelExpressions ?? []).flatMap(({ key }, j) => [
      ...labelWarnings(`allowedTopologies[${i}].matchLabelExpressions[${j}].key`, key),
    ]),
  );
}

const provisionerLast = requiredLast('provisioner');

export const storageClass = defineResource<StorageClass>(storageClasses, {
  shortNames: ['sc'],
  applyDefaults(obj) {
    obj.reclaimPolicy ??= 'Delete';
    obj.volumeBindingMode ??= 'Immediate';
  },
  validate: (obj) => validate(obj).list,
  place: (error, change) => (change ? 0 : provisionerLast(error)),
  validateUpdate(next, prev) {
    const problems = new Problems();
    for (const field of ['provisioner', 'parameters', 'reclaimPolicy', 'volumeBindingMode'] as const)
      problems.immutable(field, next[field], prev[field], same);
    return problems.list;
  },
  warnings: topologyWarnings,
  columns: [
    nameColumn,
    { name: 'Provisioner', type: 'string', cell: ({ provisioner }) => provisioner },
    { name: 'ReclaimPolicy', type: 'string', cell: ({ reclaimPolicy }) => reclaimPolicy ?? 'Delete' },
    { name: 'VolumeBindingMode', type: 'string', cell: ({ volumeBindingMode }) => volumeBindingMode ?? '<unset>' },
    {
      name: 'AllowVolumeExpansion',
      type: 'string',
      cell: ({ allowVolumeExpansion }) => allowVolumeExpansion ?? false,
    },
    ageColumn,
  ],
  deleteReturnsObject: true,
});
