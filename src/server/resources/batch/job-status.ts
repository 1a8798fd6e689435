// Owns the validation of jobs' status: counters that only rise, conditions that exclude each other, indexes. Most is judged only when what
// it is about has changed: a status that a change of the spec made wrong is the controller's to mend.
import type { Job, JobSpec, JobStatus } from '../../../api/generated/batch.v1.ts';
import type { Frozen } from '../../../api/meta.ts';
import type { Problems } from '../../../api/validation/problems.ts';
import { readIndexes } from './job-policies.ts';

type Status = Frozen<JobStatus>;

const has = (status: Status, type: string): boolean =>
  (status.conditions ?? []).some((condition) => condition.type === type && condition.status === 'True');

const timeOf = (time: unknown): number | undefined => (time ? Date.parse(time as string) : undefined);

const isFinished = (status: Status): boolean => has(status, 'Complete') || has(status, 'Failed');

/** What a rule is about, as it is compared with how it was. */
const aspects = {
  finished: isFinished,
  complete: (status: Status) => has(status, 'Complete'),
  failed: (status: Status) => has(status, 'Failed'),
  failureTarget: (status: Status) => has(status, 'FailureTarget'),
  successCriteriaMet: (status: Status) => has(status, 'SuccessCriteriaMet'),
  completedIndexes: (status: Status) => status.completedIndexes ?? '',
  failedIndexes: (status: Status) => status.failedIndexes,
  active: (status: Status) => status.active ?? 0,
  ready: (status: Status) => status.ready,
  terminating: (status: Status) => status.terminating,
  startTime: (status: Status) => timeOf(status.startTime),
  completionTime: (status: Status) => timeOf(status.completionTime),
  uncounted: (status: Status) => JSON.stringify(status.uncountedTerminatedPods ?? {}),
} satisfies Readonly<Record<string, (status: Status) => unknown>>;

interface Rule {
  /** One of these must have changed. */
  readonly of: readonly (keyof typeof aspects)[];
  readonly judge: (problems: Problems, status: Status, spec: Frozen<JobSpec>) => void;
}

const conditions = (problems: Problems, { conditions: all }: Status, detail: string): void =>
  problems.invalid('status.conditions', all, detail);

/** In upstream's order. */
const rules: readonly Rule[] = [
  {
    of: ['complete', 'failed'],
    judge(problems, status) {
      if (has(status, 'Complete') && has(status, 'Failed'))
        conditions(problems, status, 'Complete=True excludes Failed=True');
    },
  },
  {
    of: ['complete', 'failureTarget'],
    judge(problems, status) {
      if (has(status, 'Complete') && has(status, 'FailureTarget'))
        conditions(problems, status, 'Complete=True excludes FailureTarget=True');
    },
  },
  {
    of: ['complete', 'completionTime'],
    judge(problems, status) {
      const { completionTime } = status;
      if (completionTime && !has(status, 'Complete'))
        problems.invalid('status.completionTime', completionTime, 'cannot be set when there is no Complete=True');
      if (!completionTime && has(status, 'Complete'))
        problems.required('status.completionTime', 'is required for Complete jobs');
    },
  },
  {
    of: ['startTime', 'completionTime'],
    judge(problems, { startTime, completionTime }) {
      const [start, end] = [timeOf(startTime), timeOf(completionTime)];
      if (start !== undefined && end !== undefined && end < start)
        problems.invalid('status.completionTime', completionTime, 'cannot be set before `startTime`');
    },
  },
  {
    of: ['failed', 'failedIndexes'],
    judge(problems, status) {
      if (has(status, 'Failed') && !has(status, 'FailureTarget'))
        conditions(problems, status, 'cannot set Failed=True condition without the FailureTarget condition');
    },
  },
  {
    of: ['complete', 'successCriteriaMet'],
    judge(problems, status) {
      if (has(status, 'Complete') && !has(status, 'SuccessCriteriaMet'))
        conditions(problems, status, 'cannot set Complete=True condition without the SuccessCriteriaMet condition');
    },
  },
  {
    of: ['finished', 'active'],
    judge(problems, status) {
      if (isFinished(status) && (status.active ?? 0) > 0)
        problems.invalid('status.active', status.active, 'active>0 is invalid for finished job');
    },
  },
  {
    of: ['finished', 'startTime'],
    judge(problems, status, { suspend, completions }) {
      const neverStarts = suspend === true && completions === 0;
      if (isFinished(status) && !status.startTime && !neverStarts)
        problems.required('status.startTime', 'is required for finished jobs');
    },
  },
  {
    of: ['finished', 'uncounted'],
    judge(problems, status) {
      const { uncountedTerminatedPods: uncounted } = status;
      if (isFinished(status) && (uncounted?.succeeded ?? []).length + (uncounted?.failed ?? []).length > 0)
        problems.invalid('status.uncountedTerminatedPods', uncounted, 'must be empty for finished job');
    },
  },
  {
    of: ['completedIndexes'],
    judge(problems, { completedIndexes }, { completions }) {
      if (completions !== undefined && !readIndexes(completedIndexes ?? '', completions, []))
        problems.invalid('status.completedIndexes', completedIndexes, 'must be ascending intervals of indexes');
    },
  },
  {
    of: ['failedIndexes'],
    judge(problems, { failedIndexes }, { completions, backoffLimitPerIndex }) {
      const isJudged = completions !== undefined && backoffLimitPerIndex !== undefined;
      if (isJudged && !readIndexes(failedIndexes ?? '', completions, []))
        problems.invalid('status.failedIndexes', failedIndexes, 'must be ascending intervals of indexes');
    },
  },
  {
    of: ['completedIndexes'],
    judge(problems, { completedIndexes }, { completionMode }) {
      if (completedIndexes && completionMode !== 'Indexed')
        problems.invalid('status.completedIndexes', completedIndexes, 'cannot set for a non-indexed job');
    },
  },
  {
    of: ['failedIndexes'],
    judge(problems, { failedIndexes }, { backoffLimitPerIndex }) {
      if (failedIndexes !== undefined && backoffLimitPerIndex === undefined)
        problems.invalid('status.failedIndexes', failedIndexes, 'cannot set without backoffLimitPerIndex');
    },
  },
  {
    of: ['failedIndexes', 'completedIndexes'],
    judge(problems, { failedIndexes, completedIndexes }, { completions }) {
      if (completions === undefined) return;
      const completed: number[] = [];
      const failed: number[] = [];
      // Also of what can be read only in part.
      readIndexes(completedIndexes ?? '', completions, completed);
      readIndexes(failedIndexes ?? '', completions, failed);
      if (failed.some((index) => completed.includes(index)))
        problems.invalid('status.failedIndexes', failedIndexes, 'failedIndexes and completedIndexes overlap');
    },
  },
  {
    of: ['finished', 'terminating'],
    judge(problems, status) {
      if (isFinished(status) && (status.terminating ?? 0) > 0)
        problems.invalid('status.terminating', status.terminating, 'terminating>0 is invalid for finished job');
    },
  },
  {
    of: ['ready', 'active'],
    judge(problems, { ready = 0, active = 0 }) {
      if (ready > active) problems.invalid('status.ready', ready, 'cannot set more ready pods than active');
    },
  },
];

export function validateJobStatusChange(problems: Problems, next: Frozen<Job>, prev: Frozen<Job>): void {
  const status = next.status ?? {};
  const before = prev.status ?? {};
  const { spec } = next;
  for (const field of ['active', 'succeeded', 'failed', 'ready', 'terminating'] as const)
    problems.notNegative(`status.${field}`, status[field]);
  validateUncounted(problems, status);
  for (const { of, judge } of rules)
    if (of.some((aspect) => aspects[aspect](status) !== aspects[aspect](before))) judge(problems, status, spec);
  validateExclusions(problems, status, spec);
  validateProgress(problems, status, before, spec);
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

function validateExclusions(problems: Problems, status: Status, { successPolicy }: Frozen<JobSpec>): void {
  if (has(status, 'SuccessCriteriaMet')) {
    for (const other of ['Failed', 'FailureTarget'])
      if (has(status, other)) conditions(problems, status, `SuccessCriteriaMet=True excludes ${other}=True`);
  } else if (successPolicy !== undefined && has(status, 'Complete'))
    conditions(problems, status, 'a job with a successPolicy is Complete only with SuccessCriteriaMet=True');
}

function validateProgress(problems: Problems, status: Status, before: Status, spec: Frozen<JobSpec>): void {
  for (const type of ['Failed', 'Complete', 'FailureTarget'])
    if (has(before, type) && !has(status, type)) conditions(problems, status, `cannot disable ${type}=True`);
  // Jobs that are scaled with their completions may be left with fewer.
  const mayShrink = spec.completionMode === 'Indexed' && spec.completions === spec.parallelism;
  for (const field of mayShrink ? (['failed'] as const) : (['failed', 'succeeded'] as const))
    if ((status[field] ?? 0) < (before[field] ?? 0))
      problems.invalid(`status.${field}`, status[field] ?? 0, `cannot decrease the ${field} counter`);
  const changed = (field: 'startTime' | 'completionTime'): boolean =>
    timeOf(before[field]) !== undefined && timeOf(status[field]) !== timeOf(before[field]);
  if (status.completionTime && changed('completionTime'))
    problems.invalid('status.completionTime', status.completionTime, 'field is immutable');
  const isResuming =
    has(before, 'Suspended') &&
    (status.conditions ?? []).some((condition) => condition.type === 'Suspended' && condition.status === 'False');
  if (changed('startTime') && spec.suspend !== true && !isResuming)
    problems.invalid('status.startTime', status.startTime, 'field is immutable for unsuspended job once set');
  if (has(before, 'SuccessCriteriaMet') && !has(status, 'SuccessCriteriaMet'))
    conditions(problems, status, 'cannot disable SuccessCriteriaMet=True');
  if (has(before, 'Complete') && !has(before, 'SuccessCriteriaMet') && has(status, 'SuccessCriteriaMet'))
    conditions(problems, status, 'cannot set SuccessCriteriaMet=True of a job that is Complete already');
}
