// Owns which start of a CronJob is due, and which of its finished jobs are too many. Pure.
import type { Frozen } from '../../api/meta.ts';
import type { CronJob, Job } from '../../api/generated/batch.v1.ts';
import { maybeMillisOf } from '../../api/time.ts';
import type { Schedule } from './schedule.ts';

export interface DueStart {
  /** The latest start that is due; undefined when none is. */
  readonly dueMs: number | undefined;
  /** So many were missed that the clock or the controller must have been off. */
  readonly tooManyMissed: boolean;
}

const manyMissed = 100;

export function dueStart(cronJob: Frozen<CronJob>, schedule: Schedule, nowMs: number): DueStart {
  const { creationTimestamp } = cronJob.metadata;
  const deadline = cronJob.spec.startingDeadlineSeconds;
  let sinceMs = maybeMillisOf(cronJob.status?.lastScheduleTime) ?? maybeMillisOf(creationTimestamp) ?? nowMs;
  if (deadline !== undefined) sinceMs = Math.max(sinceMs, nowMs - deadline * 1000);
  const none: DueStart = { dueMs: undefined, tooManyMissed: false };
  const first = schedule.next(sinceMs);
  if (first === undefined || first > nowMs) return none;
  const second = schedule.next(first);
  if (second === undefined || second > nowMs) return { dueMs: first, tooManyMissed: false };
  // Years of minutes are not walked through one by one: near the end first, exactly from there.
  const missed = Math.floor((nowMs - first) / (second - first)) + 1;
  let dueMs = first;
  const near = Math.max(first, nowMs - 2 * (second - first));
  for (let at = schedule.next(near - 1) ?? first, steps = 0; at <= nowMs && steps < 10_000; steps++) {
    dueMs = at;
    const next = schedule.next(at);
    if (next === undefined) break;
    at = next;
  }
  // Irregular schedules may have nothing near the end: then the walk starts from the beginning.
  if (dueMs === first)
    for (let at: number | undefined = second, steps = 0; at !== undefined && at <= nowMs && steps < 10_000; steps++) {
      dueMs = at;
      at = schedule.next(at);
    }
  return { dueMs, tooManyMissed: missed > manyMissed };
}

export function isTooLate(cronJob: Frozen<CronJob>, dueMs: number, nowMs: number): boolean {
  const deadline = cronJob.spec.startingDeadlineSeconds;
  return deadline !== undefined && dueMs + deadline * 1000 < nowMs;
}

export function finishedAs(job: Frozen<Job>): 'Complete' | 'Failed' | undefined {
  const found = job.status?.conditions?.find(
    ({ type, status }) => status === 'True' && (type === 'Complete' || type === 'Failed'),
  );
  return found?.type as 'Complete' | 'Failed' | undefined;
}

/** Finished jobs beyond the history limits, oldest first. */
export function planHistory({ spec }: Frozen<CronJob>, jobs: readonly Frozen<Job>[]): Frozen<Job>[] {
  const surplus = (type: 'Complete' | 'Failed', limit: number | undefined) => {
    if (limit === undefined) return [];
    const start = (job: Frozen<Job>) => maybeMillisOf(job.status?.startTime) ?? Number.POSITIVE_INFINITY;
    const finished = jobs.filter((job) => finishedAs(job) === type).sort((a, b) => start(a) - start(b));
    return finished.slice(0, Math.max(0, finished.length - limit));
  };
  return [...surplus('Complete', spec.successfulJobsHistoryLimit), ...surplus('Failed', spec.failedJobsHistoryLimit)];
}
