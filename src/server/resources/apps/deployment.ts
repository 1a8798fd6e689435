// Owns the kind Deployment.
import type { Deployment, DeploymentStrategy } from '../../../api/generated/apps.v1.ts';
import { deployments } from '../../../api/generated/resources.ts';
import { applyTemplateDefaults } from '../../../api/defaults/pod-spec.ts';
import type { Frozen } from '../../../api/meta.ts';
import { Problems } from '../../../api/validation/problems.ts';
import { same } from '../../../api/validation/same.ts';
import {
  amountOf,
  validateAtMost100Percent,
  validateCounts,
  validateIntOrPercent,
  validateNoMoreThan,
  validateNotDecremented,
  validateRunningTemplate,
  validateWorkloadSelector,
} from '../../../api/validation/workload.ts';
import { ageColumn, nameColumn, selectorText, templateColumns } from '../columns.ts';
import { nameWarnings, templateWarnings } from '../core/pod-warnings.ts';
import { defineResource, keep, keepSpec, raiseGeneration, sameSpec } from '../define.ts';

function applyDefaults(obj: Deployment): void {
  const spec = (obj.spec ??= {} as Deployment['spec']);
  spec.replicas ??= 1;
  const strategy = (spec.strategy ??= {});
  strategy.type ||= 'RollingUpdate';
  if (strategy.type === 'RollingUpdate') {
    const rolling = (strategy.rollingUpdate ??= {});
    rolling.maxUnavailable ??= '25%';
    rolling.maxSurge ??= '25%';
  }
  spec.revisionHistoryLimit ??= 10;
  spec.progressDeadlineSeconds ??= 600;
  applyTemplateDefaults(spec);
}

function validateStrategy(problems: Problems, path: string, strategy: Frozen<DeploymentStrategy> | undefined): void {
  const rolling = strategy?.rollingUpdate;
  if (strategy?.type === 'Recreate') {
    if (rolling !== undefined) problems.forbidden(`${path}.rollingUpdate`, 'may not be specified with type Recreate');
  } else if (strategy?.type === 'RollingUpdate') {
    if (rolling === undefined) return problems.required(`${path}.rollingUpdate`, 'this should be defaulted');
    const here = `${path}.rollingUpdate`;
    validateIntOrPercent(problems, `${here}.maxUnavailable`, rolling.maxUnavailable);
    validateIntOrPercent(problems, `${here}.maxSurge`, rolling.maxSurge);
    if (amountOf(rolling.maxUnavailable) === 0 && amountOf(rolling.maxSurge) === 0)
      problems.invalid(`${here}.maxUnavailable`, rolling.maxUnavailable, 'may not be 0 when `maxSurge` is 0');
    validateAtMost100Percent(problems, `${here}.maxUnavailable`, rolling.maxUnavailable);
  } else {
    problems.notSupported(path, strategy?.type ?? '', ['Recreate', 'RollingUpdate']);
  }
}

const noSpec = {} as Frozen<Deployment>['spec'];

function validateSpec(problems: Problems, { spec = noSpec }: Frozen<Deployment>): void {
  problems.notNegative('spec.replicas', spec.replicas);
  if (validateWorkloadSelector(problems, 'spec.selector', spec.selector))
    validateRunningTemplate(problems, 'spec.template', spec.template, spec.selector);
  else problems.invalid('spec.selector', spec.selector, 'invalid label selector');
  validateStrategy(problems, 'spec.strategy', spec.strategy);
  problems.notNegative('spec.minReadySeconds', spec.minReadySeconds);
  problems.notNegative('spec.revisionHistoryLimit', spec.revisionHistoryLimit);
  const deadline = spec.progressDeadlineSeconds;
  if (deadline === undefined) return;
  problems.notNegative('spec.progressDeadlineSeconds', deadline);
  if (deadline <= (spec.minReadySeconds ?? 0))
    problems.invalid('spec.progressDeadlineSeconds', deadline, 'must be greater than minReadySeconds');
}

export const deployment = defineResource<Deployment>(deployments, {
  shortNames: ['deploy'],
  categories: ['all'],
  applyDefaults,
  prepareForCreate(obj) {
    obj.status = {};
    obj.metadata.generation = 1;
  },
  prepareForUpdate(next, prev) {
    keep(next, prev, 'status');
    // Annotations count too: rollouts are told by them.
    const changed =
      !sameSpec(next as Frozen<Deployment>, prev) || !same(next.metadata.annotations, prev.metadata.annotations);
    raiseGeneration(next, prev, changed);
  },
  validate(obj) {
    const problems = new Problems();
    validateSpec(problems, obj);
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
    {
      name: 'Ready',
      type: 'string',
      cell: ({ spec, status }) => `${status?.readyReplicas ?? 0}/${spec.replicas ?? 0}`,
    },
    { name: 'Up-to-date', type: 'string', cell: ({ status }) => status?.updatedReplicas ?? 0 },
    { name: 'Available', type: 'string', cell: ({ status }) => status?.availableReplicas ?? 0 },
    ageColumn,
    ...templateColumns<Deployment>(),
    { name: 'Selector', type: 'string', priority: 1, cell: ({ spec }) => selectorText(spec.selector) },
  ],
  subresources: {
    status: {
      prepareForUpdate: (next, prev) => keepSpec(next, prev, { labels: true }),
      validateUpdate(next, prev) {
        const problems = new Problems();
        const status = next.status ?? {};
        validateCounts(problems, 'status', status, [
          'observedGeneration',
          'replicas',
          'updatedReplicas',
          'readyReplicas',
          'availableReplicas',
          'unavailableReplicas',
          'terminatingReplicas',
          'collisionCount',
        ]);
        validateNoMoreThan(problems, 'status', status, [
          ['updatedReplicas', 'replicas'],
          ['readyReplicas', 'replicas'],
          ['availableReplicas', 'replicas'],
          ['availableReplicas', 'readyReplicas'],
        ]);
        validateNotDecremented(problems, 'status.collisionCount', status.collisionCount, prev.status?.collisionCount);
        return problems.list;
      },
    },
  },
});
