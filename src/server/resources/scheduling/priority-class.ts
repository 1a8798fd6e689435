// Owns the kind PriorityClass.
import { priorityClasses } from '../../../api/generated/resources.ts';
import type { PriorityClass } from '../../../api/generated/scheduling.v1.ts';
import type { Frozen } from '../../../api/meta.ts';
import { Problems } from '../../../api/validation/problems.ts';
import { same } from '../../../api/validation/same.ts';
import { ageColumn, nameColumn } from '../columns.ts';
import { defineResource } from '../define.ts';

const maxUserPriority = 1_000_000_000;
const systemPrefix = 'system-';

/** The classes that every cluster has: only these may have names and values that are kept for the system. */
const systemClasses: Readonly<Record<string, number>> = {
  'system-cluster-critical': 2_000_000_000,
  'system-node-critical': 2_000_001_000,
};

export function isSystemPriorityClass(name: string): boolean {
  return Object.hasOwn(systemClasses, name);
}

function validate({ metadata, value, preemptionPolicy }: Frozen<PriorityClass>): Problems {
  const problems = new Problems();
  const { name = '' } = metadata;
  if (name.startsWith(systemPrefix)) {
    const known = Object.hasOwn(systemClasses, name) && systemClasses[name] === value;
    if (!known) problems.forbidden('metadata.name', `priority class names with '${systemPrefix}' prefix are reserved`);
  } else if (value > maxUserPriority)
    problems.forbidden('value', `maximum allowed value of a user defined priority is ${maxUserPriority}`);
  if (preemptionPolicy === '') problems.required('preemptionPolicy');
  else if (preemptionPolicy !== undefined && preemptionPolicy !== null)
    problems.optionalOneOf('preemptionPolicy', preemptionPolicy, ['Never', 'PreemptLowerPriority']);
  return problems;
}

export const priorityClass = defineResource<PriorityClass>(priorityClasses, {
  shortNames: ['pc'],
  applyDefaults(obj) {
    obj.preemptionPolicy ??= 'PreemptLowerPriority';
  },
  prepareForCreate(obj) {
    obj.metadata.generation = 1;
  },
  prepareForUpdate: () => undefined,
  validate: (obj) => validate(obj).list,
  validateUpdateAlone: true,
  validateUpdate(next, prev) {
    const problems = new Problems();
    if (next.value !== prev.value) problems.forbidden('value', 'may not be changed in an update.');
    problems.immutable('preemptionPolicy', next.preemptionPolicy, prev.preemptionPolicy, same);
    return problems.list;
  },
  columns: [
    nameColumn,
    { name: 'Value', type: 'integer', cell: ({ value }) => value },
    { name: 'Global-Default', type: 'boolean', cell: ({ globalDefault }) => globalDefault ?? false },
    ageColumn,
    { name: 'PreemptionPolicy', type: 'string', cell: ({ preemptionPolicy }) => preemptionPolicy ?? '' },
  ],
});
