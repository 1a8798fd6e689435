// Owns the kind ReplicationController, the forerunner of ReplicaSet: its selector is a plain map and may be left out.
import type { ReplicationController } from '../../../api/generated/core.v1.ts';
import { replicationControllers } from '../../../api/generated/resources.ts';
import { applyPodSpecDefaults } from '../../../api/defaults/pod-spec.ts';
import type { Frozen } from '../../../api/meta.ts';
import { mapPredicate } from '../../../api/selector.ts';
import { validatePodTemplate } from '../../../api/validation/pod-template.ts';
import { Problems } from '../../../api/validation/problems.ts';
import { same } from '../../../api/validation/same.ts';
import { validateRunsForever } from '../../../api/validation/workload.ts';
import { replicaStatusErrors } from '../apps/replica-set.ts';
import { ageColumn, mapText, nameColumn, templateColumns } from '../columns.ts';
import { defineResource, keepSpec, specStrategy } from '../define.ts';
import { nameWarnings, templateWarnings } from './pod-warnings.ts';

type Spec = Frozen<ReplicationController>['spec'];

function validateTemplate(
  problems: Problems,
  selector: Spec['selector'],
  template: NonNullable<Spec['template']>,
): void {
  if (!same(selector, {}) && !mapPredicate(selector)(template.metadata?.labels))
    problems.invalid(
      'spec.template.metadata.labels',
      template.metadata?.labels,
      '`selector` does not match template `labels`',
    );
  validatePodTemplate(problems, 'spec.template', template);
  validateRunsForever(problems, 'spec.template', template);
}

export const replicationController = defineResource<ReplicationController>(replicationControllers, {
  shortNames: ['rc'],
  categories: ['all'],
  ...specStrategy<ReplicationController>(() => ({ replicas: 0 })),
  applyDefaults(obj) {
    const spec = (obj.spec ??= {});
    spec.replicas ??= 1;
    if (spec.template === undefined) return;
    const labels = spec.template.metadata?.labels;
    if (labels !== undefined) {
      if (same(spec.selector, {})) spec.selector = { ...labels };
      if (same(obj.metadata.labels, {})) obj.metadata.labels = { ...labels };
    }
    spec.template.spec ??= { containers: [] };
    applyPodSpecDefaults(spec.template.spec);
  },
  validate({ spec = {} }) {
    const problems = new Problems();
    const { selector, template } = spec;
    if (same(selector, {})) problems.required('spec.selector');
    if (template === undefined) {
      problems.required('spec.template');
    } else {
      validateTemplate(problems, selector, template);
    }
    problems.notNegative('spec.replicas', spec.replicas);
    problems.notNegative('spec.minReadySeconds', spec.minReadySeconds);
    return problems.list;
  },
  // What is declared of fields comes last; that there is no name at all is not.
  place: ({ field, reason }) =>
    Number(
      ['spec.replicas', 'spec.minReadySeconds'].includes(field) ||
        (field === 'metadata.name' && reason !== 'FieldValueRequired'),
    ),
  warnings: (obj, prev) => [...nameWarnings(obj, prev), ...templateWarnings(obj, prev)],
  selectable: { 'status.replicas': ({ status }) => String(status?.replicas ?? 0) },
  columns: [
    nameColumn,
    { name: 'Desired', type: 'integer', cell: ({ spec }) => spec.replicas ?? 0 },
    { name: 'Current', type: 'integer', cell: ({ status }) => status?.replicas ?? 0 },
    { name: 'Ready', type: 'integer', cell: ({ status }) => status?.readyReplicas ?? 0 },
    ageColumn,
    ...templateColumns<ReplicationController>(),
    { name: 'Selector', type: 'string', priority: 1, cell: ({ spec }) => mapText(spec.selector) },
  ],
  defaultPropagation: 'orphan',
  subresources: {
    status: {
      prepareForUpdate: (next, prev) => keepSpec(next, prev),
      validateUpdate: (next) => replicaStatusErrors(next.status ?? {}),
    },
  },
});
