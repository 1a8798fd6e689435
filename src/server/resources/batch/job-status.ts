// Owns the validation of jobs' status: counters that only rise, conditions that exclude each other, indexes.
import type { Job, JobStatus } from '../../../api/generated/batch.v1.ts';
import type { Frozen } from '../../../api/meta.ts';
import type { Problems } from '../../../api/validation/problems.ts';
import { readIndexes } from './job-policies.ts';

type Status = Frozen<JobStatus>;

const has = (status: Status, type: string): boolean =>
  (status.conditions ?? []).some((condition) => condition.type === type && condition.status === 'True');

const timeOf = (time: unknown): number | undefined => (time ? Date.parse(time as string) : undefined);

export function validateJobStatusChange(problems: Problems, next: Frozen<Job>, prev: Frozen<Job>): void {
  const status = next.status ?? {};
  const before = prev.status ?? {};
  for (const field of ['active', 'succeeded', 'failed', 'ready', 'terminating'] as const)
    problems.notNegative(`status.${field}`, status[field]);
  validateUncounted(problems, status);
  validateFinish(problems, status, prev.spec?.suspend === true);
  validateIndexes(problems, status, prev);
  if ((status.ready ?? 0) > (status.active ?? 0))
    problems.invalid('status.ready', status.ready, 'cannot set more ready pods than active');
  validateExclusions(problems, status);
  validateProgress(problems, status, before, prev.spec?.suspend === true);
}

function validateUncounted(problems: Problems, { uncountedTerminatedPods }: Status): void {
  const seen = new Set<string>();
  for (const field of ['succeeded', 'failed'] as const)
    uncountedTerminatedPods?.[field]?.forEach((uid, at) => {
      const here = `status.uncountedTerminatedPods.${field}[${at}]`;
      if (uid === '') problems.invalid(here, uid, 'must not be empty');
      else if (seen.has(uid)) problems.duplicate(here, uid);
      seen.add(uid);
    });
}

function validateFinish(problems: Problems, status: Status, suspended: boolean): void {
  const conditions = (detail: string): void => problems.invalid('status.conditions', status.conditions, detail);
  const complete = has(status, 'Complete');
  const finished = complete || has(status, 'Failed');
  if (complete && has(status, 'Failed')) conditions('cannot set Complete=True and Failed=true conditions');
  if (complete && has(status, 'FailureTarget'))
    conditions('cannot set Complete=True and FailureTarget=true conditions');
  if (!complete && status.completionTime)
    problems.invalid('status.completionTime', status.completionTime, 'cannot be set when there is no Complete=True');
  if (complete && !status.completionTime) problems.required('status.completionTime', 'is required for Complete jobs');
  const [start, end] = [timeOf(status.startTime), timeOf(status.completionTime)];
  if (start !== undefined && end !== undefined && end < start)
    problems.invalid('status.completionTime', status.completionTime, 'cannot be set before `startTime`');
  if (has(status, 'Failed') && !has(status, 'FailureTarget'))
    conditions('cannot set Failed=True condition without the FailureTarget condition');
  if (complete && !has(status, 'SuccessCriteriaMet'))
    conditions('cannot set Complete=True condition without the SuccessCriteriaMet condition');
  if (!finished) return;
  if ((status.active ?? 0) > 0)
    problems.invalid('status.active', status.active, 'active>0 is invalid for finished job');
  if ((status.terminating ?? 0) > 0)
    problems.invalid('status.terminating', status.terminating, 'terminating>0 is invalid for finished job');
  if (!status.startTime && !suspended) problems.required('status.startTime', 'is required for finished jobs');
  const { succeeded = [], failed = [] } = status.uncountedTerminatedPods ?? {};
  if (succeeded.length + failed.length > 0)
    problems.invalid(
      'status.uncountedTerminatedPods',
      status.uncountedTerminatedPods,
      'uncountedTerminatedPods needs to be empty for finished job',
    );
}

function validateIndexes(problems: Problems, status: Status, job: Frozen<Job>): void {
  const { completedIndexes, failedIndexes } = status;
  const { completionMode, completions = Number.POSITIVE_INFINITY, backoffLimitPerIndex } = job.spec ?? {};
  const completed: number[] = [];
  const failed: number[] = [];
  if (!readIndexes(completedIndexes ?? '', completions, completed))
    problems.invalid('status.completedIndexes', completedIndexes, 'must be ascending intervals of indexes');
  if (!readIndexes(failedIndexes ?? '', completions, failed) && backoffLimitPerIndex !== undefined)
    problems.invalid('status.failedIndexes', failedIndexes, 'must be ascending intervals of indexes');
  if (completedIndexes && completionMode !== 'Indexed')
    problems.invalid('status.completedIndexes', completedIndexes, 'cannot set for a non-indexed job');
  if (failedIndexes !== undefined && backoffLimitPerIndex === undefined)
    problems.invalid('status.failedIndexes', failedIndexes, 'cannot set without backoffLimitPerIndex');
  // Also of what could be read only in part.
  if (failed.some((index) => completed.includes(index)))
    problems.invalid('status.failedIndexes', failedIndexes, 'failedIndexes and completedIndexes overlap');
}

function validateExclusions(problems: Problems, status: Status): void {
  if (!has(status, 'SuccessCriteriaMet')) return;
  for (const other of ['Failed', 'FailureTarget'])
    if (has(status, other))
      problems.invalid('status.conditions', status.conditions, `SuccessCriteriaMet=True excludes ${other}=True`);
}

function validateProgress(problems: Problems, status: Status, before: Status, suspended: boolean): void {
  for (const type of ['Complete', 'Failed', 'FailureTarget', 'SuccessCriteriaMet'])
    if (has(before, type) && !has(status, type))
      problems.invalid('status.conditions', status.conditions, `cannot disable the ${type}=True condition`);
  for (const field of ['failed', 'succeeded'] as const)
    if ((status[field] ?? 0) < (before[field] ?? 0))
      problems.invalid(`status.${field}`, status[field] ?? 0, `cannot decrease the ${field} counter`);
  const changed = (field: 'startTime' | 'completionTime'): boolean =>
    timeOf(before[field]) !== undefined && timeOf(status[field]) !== timeOf(before[field]);
  if (changed('startTime') && !suspended)
    if (status.startTime) problems.invalid('status.startTime', status.startTime, 'field is immutable');
    else problems.required('status.startTime', 'cannot be removed for unsuspended job');
  if (has(before, 'Complete') && status.completionTime && changed('completionTime'))
    problems.invalid('status.completionTime', status.completionTime, 'field is immutable');
}
