// Owns the kind ReplicaSet, and the status rules that replication controllers share.
import type { ReplicaSet } from '../../../api/generated/apps.v1.ts';
import { replicaSets } from '../../../api/generated/resources.ts';
import { applyTemplateDefaults } from '../../../api/defaults/pod-spec.ts';
import type { FieldError } from '../../../api/status-error.ts';
import { Problems } from '../../../api/validation/problems.ts';
import { same } from '../../../api/validation/same.ts';
import {
  validateCounts,
  validateNoMoreThan,
  validateRunningTemplate,
  validateWorkloadSelector,
} from '../../../api/validation/workload.ts';
import { ageColumn, nameColumn, selectorText, templateColumns } from '../columns.ts';
import { nameWarnings, templateWarnings } from '../core/pod-warnings.ts';
import { defineResource, keepSpec, specStrategy } from '../define.ts';

export function replicaStatusErrors(status: object): FieldError[] {
  const problems = new Problems();
  validateCounts(problems, 'status', status, [
    'replicas',
    'fullyLabeledReplicas',
    'readyReplicas',
    'availableReplicas',
    'observedGeneration',
    'terminatingReplicas',
  ]);
  validateNoMoreThan(problems, 'status', status, [
    ['fullyLabeledReplicas', 'replicas'],
    ['readyReplicas', 'replicas'],
    ['availableReplicas', 'replicas'],
    ['availableReplicas', 'readyReplicas'],
  ]);
  return problems.list;
}

export const replicaSet = defineResource<ReplicaSet>(replicaSets, {
  shortNames: ['rs'],
  categories: ['all'],
  ...specStrategy<ReplicaSet>(() => ({ replicas: 0 })),
  applyDefaults(obj) {
    const spec = (obj.spec ??= {} as ReplicaSet['spec']);
    spec.replicas ??= 1;
    applyTemplateDefaults(spec);
  },
  validate({ spec = {} as ReplicaSet['spec'] }) {
    const problems = new Problems();
    problems.notNegative('spec.replicas', spec.replicas);
    problems.notNegative('spec.minReadySeconds', spec.minReadySeconds);
    if (validateWorkloadSelector(problems, 'spec.selector', spec.selector))
      validateRunningTemplate(problems, 'spec.template', spec.template, spec.selector);
    else problems.invalid('spec.selector', spec.selector, 'invalid label selector');
    return problems.list;
  },
  validateUpdate(next, prev) {
    const problems = new Problems();
    problems.immutable('spec.selector', next.spec?.selector, prev.spec?.selector, same);
    return problems.list;
  },
  warnings: (obj, prev) => [...nameWarnings(obj, prev), ...templateWarnings(obj, prev)],
  columns: [
    nameColumn,
    { name: 'Desired', type: 'integer', cell: ({ spec }) => spec.replicas ?? 0 },
    { name: 'Current', type: 'integer', cell: ({ status }) => status?.replicas ?? 0 },
    { name: 'Ready', type: 'integer', cell: ({ status }) => status?.readyReplicas ?? 0 },
    ageColumn,
    ...templateColumns<ReplicaSet>(),
    { name: 'Selector', type: 'string', priority: 1, cell: ({ spec }) => selectorText(spec.selector) },
  ],
  subresources: {
    status: {
      prepareForUpdate: (next, prev) => keepSpec(next, prev),
      validateUpdate: (next) => replicaStatusErrors(next.status ?? {}),
    },
  },
});
