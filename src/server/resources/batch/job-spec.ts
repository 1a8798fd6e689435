// Owns the validation of jobs' specs, in jobs and in cron jobs' templates.
import { schemaOfType } from '../../../api/schema/builtin.ts';
import type { Job, JobSpec } from '../../../api/generated/batch.v1.ts';
import type { PodTemplateSpec } from '../../../api/generated/core.v1.ts';
import type { Frozen } from '../../../api/meta.ts';
import { validateDomainPrefixedPath } from '../../../api/validation/domain-path.ts';
import { validateLabelSelector } from '../../../api/validation/labels.ts';
import { validatePodTemplate } from '../../../api/validation/pod-template.ts';
import type { Problems } from '../../../api/validation/problems.ts';
import { same, sameAs } from '../../../api/validation/same.ts';
import { validateTemplateLabels } from '../../../api/validation/workload.ts';
import { validateFailurePolicy, validateSuccessPolicy } from './job-policies.ts';

const maxParallelism = 100_000;
const maxManyFailed = 10_000;
const maxManagedBy = 63;

/** `path` ends in "spec". Selectors are those of jobs only. */
export function validateJobSpec(problems: Problems, path: string, spec: Frozen<JobSpec>): void {
  for (const field of [
    'parallelism',
    'completions',
    'activeDeadlineSeconds',
    'backoffLimit',
    'ttlSecondsAfterFinished',
    'backoffLimitPerIndex',
  ] as const)
    problems.notNegative(`${path}.${field}`, spec[field]);
  validateMaxFailed(problems, path, spec);
  if (spec.managedBy !== undefined) validateManagedBy(problems, `${path}.managedBy`, spec.managedBy);
  validateMode(problems, path, spec);
  if (spec.podFailurePolicy !== undefined) validateFailurePolicy(problems, `${path}.podFailurePolicy`, spec);
  if (spec.successPolicy !== undefined) validateSuccessPolicy(problems, `${path}.successPolicy`, spec);
  const policies = spec.podFailurePolicy === undefined ? ['Failed', 'TerminatingOrFailed'] : ['Failed'];
  problems.optionalOneOf(`${path}.podReplacementPolicy`, spec.podReplacementPolicy, policies);
  validatePodTemplate(problems, `${path}.template`, spec.template);
  validateRestartPolicy(problems, `${path}.template.spec.restartPolicy`, spec);
}

/** "Always" is what templates default to, so it is taken for nothing said. */
function validateRestartPolicy(problems: Problems, path: string, spec: Frozen<JobSpec>): void {
  const policy = spec.template?.spec?.restartPolicy ?? '';
  if (policy === 'Always') problems.required(path, 'valid values: "OnFailure", "Never"');
  else if (policy !== 'OnFailure' && policy !== 'Never') problems.notSupported(path, policy, ['OnFailure', 'Never']);
  else if (spec.podFailurePolicy !== undefined && policy !== 'Never')
    problems.invalid(path, policy, 'only "Never" is supported when podFailurePolicy is specified');
}

function validateMaxFailed(problems: Problems, path: string, spec: Frozen<JobSpec>): void {
  const { maxFailedIndexes: max } = spec;
  if (max === undefined) return;
  if (spec.backoffLimitPerIndex === undefined)
    problems.required(`${path}.backoffLimitPerIndex`, 'when maxFailedIndexes is specified');
  problems.notNegative(`${path}.maxFailedIndexes`, max);
  if (spec.completions !== undefined && max > spec.completions)
    problems.invalid(`${path}.maxFailedIndexes`, max, 'must be less than or equal to completions');
  if (max > maxParallelism)
    problems.invalid(`${path}.maxFailedIndexes`, max, `must be less than or equal to ${maxParallelism}`);
}

/** "example.com/controller". */
function validateManagedBy(problems: Problems, path: string, name: string): void {
  validateDomainPrefixedPath(problems, path, name);
  if (name.length > maxManagedBy) problems.tooLong(path, maxManagedBy);
}

function validateMode(problems: Problems, path: string, spec: Frozen<JobSpec>): void {
  const { completionMode, completions, parallelism = 0, backoffLimitPerIndex, maxFailedIndexes } = spec;
  if (completionMode !== undefined && completionMode !== 'Indexed' && completionMode !== 'NonIndexed')
    return problems.notSupported(`${path}.completionMode`, completionMode, ['NonIndexed', 'Indexed']);
  if (completionMode !== 'Indexed') {
    for (const field of ['backoffLimitPerIndex', 'maxFailedIndexes'] as const)
      if (spec[field] !== undefined && (field === 'backoffLimitPerIndex' || backoffLimitPerIndex !== undefined))
        problems.invalid(`${path}.${field}`, spec[field], 'requires indexed completion mode');
    return;
  }
  if (completions === undefined) problems.required(`${path}.completions`, 'when completion mode is Indexed');
  if (parallelism > maxParallelism)
    problems.invalid(`${path}.parallelism`, parallelism, `must be less than or equal to ${maxParallelism}`);
  if ((completions ?? 0) <= maxParallelism || backoffLimitPerIndex === undefined) return;
  if (maxFailedIndexes === undefined)
    problems.required(`${path}.maxFailedIndexes`, `must be specified when completions is above ${maxParallelism}`);
  if (parallelism > maxManyFailed)
    problems.invalid(`${path}.parallelism`, parallelism, `must be less than or equal to ${maxManyFailed}`);
  if ((maxFailedIndexes ?? 0) > maxManyFailed)
    problems.invalid(`${path}.maxFailedIndexes`, maxFailedIndexes, `must be less than or equal to ${maxManyFailed}`);
}

/** A job's own selector, which is generated unless the client insists. */
export function validateJobSelector(problems: Problems, path: string, spec: Frozen<JobSpec>): void {
  if (spec.selector === undefined) problems.required(`${path}.selector`);
  else validateLabelSelector(problems, `${path}.selector`, spec.selector);
  validateTemplateLabels(problems, `${path}.template`, spec.template, spec.selector);
}

export function validateJobSpecChange(problems: Problems, next: Frozen<Job>, prev: Frozen<Job>): void {
  const [after, before] = [next.spec, prev.spec];
  validateCompletions(problems, after, before);
  problems.immutable('spec.selector', after.selector, before.selector, same);
  validateTemplateChange(problems, next, prev);
  for (const field of [
    'completionMode',
    'podFailurePolicy',
    'backoffLimitPerIndex',
    'managedBy',
    'successPolicy',
  ] as const) {
    const changed =
      (after[field] === undefined) !== (before[field] === undefined) || !same(after[field], before[field]);
    if (changed) problems.invalid(`spec.${field}`, after[field], 'field is immutable');
  }
}

/** Indexed jobs are elastic: completions and parallelism may change together, to the same number. */
function validateCompletions(problems: Problems, next: Frozen<JobSpec>, prev: Frozen<JobSpec>): void {
  if (next.completions === prev.completions) return;
  const tandem =
    next.completionMode === 'Indexed' && next.completions !== undefined && next.completions === next.parallelism;
  if (next.completionMode === 'Indexed' && next.completions === undefined) return;
  if (!tandem)
    problems.invalid('spec.completions', next.completions, 'can only be modified in tandem with parallelism');
}

/** While a job is suspended and no pod of it runs, where and with what they will run may change, also when it is resumed with that. */
function validateTemplateChange(problems: Problems, next: Frozen<Job>, prev: Frozen<Job>): void {
  const shape = schemaOfType('core.v1.PodTemplateSpec');
  if (sameAs(shape, next.spec.template, prev.spec.template)) return;
  const { startTime, active = 0, conditions = [] } = prev.status ?? {};
  const hasStopped = conditions.some(({ type, status }) => type === 'Suspended' && status === 'True');
  const isIdle = prev.spec.suspend === true && (startTime === undefined || hasStopped) && active === 0;
  if (!isIdle) return problems.invalid('spec.template', next.spec.template, 'field is immutable');
  if (!same(maskDirectives(next.spec.template), maskDirectives(prev.spec.template)))
    problems.invalid('spec.template.spec', next.spec.template?.spec, 'field is immutable');
}

function maskDirectives(template: Frozen<PodTemplateSpec> | undefined): object {
  const {
    nodeSelector: _nodeSelector,
    tolerations: _tolerations,
    schedulingGates: _gates,
    affinity,
    containers,
    initContainers,
    ...spec
  } = template?.spec ?? {};
  const { nodeAffinity: _nodeAffinity, ...otherAffinity } = affinity ?? {};
  const masked = [containers, initContainers].map((list) =>
    (list ?? []).map((container) => ({ ...container, resources: {} })),
  );
  return { spec, affinity: otherAffinity, containers: masked[0], initContainers: masked[1] };
}
