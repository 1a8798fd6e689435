// Owns the decisions of the job controller: what its pods amount to, whether it is done, how many to run. Pure.
import type { Frozen } from '../../api/meta.ts';
import type { Job } from '../../api/generated/batch.v1.ts';
import type { Pod } from '../../api/generated/core.v1.ts';
import { isPodActive, isPodFinished, isPodReady, isTerminating } from '../../api/pod-readiness.ts';
import { maybeMillisOf } from '../../api/time.ts';
import { podsToDelete } from '../framework/pod-ranking.ts';
import { judgeFailure, successMessage } from './failure-policy.ts';
import { parseIndexes } from './indexes.ts';

export const trackingFinalizer = 'batch.kubernetes.io/job-tracking';
export const indexAnnotation = 'batch.kubernetes.io/job-completion-index';
export const failureCountAnnotation = 'batch.kubernetes.io/job-index-failure-count';
export const ignoredCountAnnotation = 'batch.kubernetes.io/job-index-ignored-failure-count';

export const isIndexed = (job: Frozen<Job>): boolean => job.spec.completionMode === 'Indexed';

export function indexOf(pod: Frozen<Pod>): number {
  const text = pod.metadata.annotations?.[indexAnnotation];
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : -1;
}

const isTracked = (pod: Frozen<Pod>): boolean => pod.metadata.finalizers?.includes(trackingFinalizer) ?? false;

/** Replacements wait until the old pod has really ended. */
function replacesOnlyFailed(job: Frozen<Job>): boolean {
  return job.spec.podReplacementPolicy === 'Failed' || job.spec.podFailurePolicy !== undefined;
}

function isFailure(job: Frozen<Job>, pod: Frozen<Pod>): boolean {
  if (pod.status?.phase === 'Failed') return true;
  return !replacesOnlyFailed(job) && isTerminating(pod) && pod.status?.phase !== 'Succeeded';
}

export interface Tally {
  readonly active: readonly Frozen<Pod>[];
  readonly ready: number;
  readonly terminating: number;
  /** Finished pods whose finalizer we still hold, by what they count as. */
  readonly newSucceeded: readonly Frozen<Pod>[];
  readonly newFailed: readonly Frozen<Pod>[];
  /** Failed pods that the failure policy does not count. */
  readonly ignored: readonly Frozen<Pod>[];
  /** Numbers with all that is known. */
  readonly succeeded: number;
  readonly failed: number;
  readonly succeededIndexes: ReadonlySet<number>;
  readonly failedIndexes: ReadonlySet<number>;
  /** The first failed pod which must fail the whole job. */
  readonly failJobMessage: string | undefined;
}

export function tally(job: Frozen<Job>, pods: readonly Frozen<Pod>[]): Tally {
  const uncounted = job.status?.uncountedTerminatedPods ?? {};
  const recorded = new Set([...(uncounted.succeeded ?? []), ...(uncounted.failed ?? [])]);
  const fresh = pods.filter((pod) => isTracked(pod) && !recorded.has(pod.metadata.uid));
  const newSucceeded = fresh.filter((pod) => pod.status?.phase === 'Succeeded');
  const failures = fresh.filter((pod) => isFailure(job, pod)).map((pod) => ({ pod, verdict: judgeFailure(job, pod) }));
  const newFailed = failures.filter(({ verdict }) => verdict.action !== 'Ignore').map(({ pod }) => pod);
  const ignored = failures.filter(({ verdict }) => verdict.action === 'Ignore').map(({ pod }) => pod);
  const succeeded = (job.status?.succeeded ?? 0) + newSucceeded.length + (uncounted.succeeded?.length ?? 0);
  const active = pods.filter(isPodActive);
  const succeededIndexes = succeededIndexesOf(job, pods);
  return {
    active,
    ready: active.filter(isPodReady).length,
    terminating: pods.filter((pod) => isTerminating(pod) && !isPodFinished(pod)).length,
    newSucceeded,
    newFailed,
    ignored,
    succeeded: isIndexed(job) ? succeededIndexes.size : succeeded,
    failed: (job.status?.failed ?? 0) + newFailed.length + (uncounted.failed?.length ?? 0),
    succeededIndexes,
    failedIndexes: failedIndexesOf(job, pods),
    failJobMessage: failures.find(({ verdict }) => verdict.action === 'FailJob')?.verdict.message,
  };
}

function succeededIndexesOf(job: Frozen<Job>, pods: readonly Frozen<Pod>[]): Set<number> {
  if (!isIndexed(job)) return new Set();
  const completions = job.spec.completions ?? 0;
  const result = parseIndexes(job.status?.completedIndexes, completions);
  for (const pod of pods) {
    const index = indexOf(pod);
    if (pod.status?.phase === 'Succeeded' && isTracked(pod) && index >= 0 && index < completions) result.add(index);
  }
  return result;
}

/** How often an index has failed, this pod included. */
export function failuresOfIndex(pod: Frozen<Pod>, annotation: string): number {
  return Number(pod.metadata.annotations?.[annotation] ?? 0) || 0;
}

function failedIndexesOf(job: Frozen<Job>, pods: readonly Frozen<Pod>[]): Set<number> {
  const limit = job.spec.backoffLimitPerIndex;
  if (!isIndexed(job) || limit === undefined) return new Set();
  const result = parseIndexes(job.status?.failedIndexes, job.spec.completions ?? 0);
  // What the job's end stops has not failed by itself.
  if (job.status?.conditions?.some(({ type, status }) => type === 'FailureTarget' && status === 'True')) return result;
  for (const pod of pods) {
    const index = indexOf(pod);
    if (index < 0 || !isTracked(pod) || !isFailure(job, pod)) continue;
    const { action } = judgeFailure(job, pod);
    const exhausted = action === 'Count' && failuresOfIndex(pod, failureCountAnnotation) >= limit;
    if (action === 'FailIndex' || exhausted) result.add(index);
  }
  return result;
}

export interface Verdict {
  /** What the job ends as once its pods have ended. */
  readonly type: 'Failed' | 'Complete';
  readonly reason: string;
  readonly message: string;
}

export interface Outcome {
  readonly verdict: Verdict | undefined;
  /** When the active deadline passes, if it still can. */
  readonly deadlineInMs: number | undefined;
}

export function planOutcome(job: Frozen<Job>, now: Tally, nowMs: number): Outcome {
  const earlier = job.status?.conditions?.find(
    ({ type, status }) => status === 'True' && (type === 'FailureTarget' || type === 'SuccessCriteriaMet'),
  );
  const decided = (verdict: Verdict): Outcome => ({ verdict, deadlineInMs: undefined });
  if (earlier) {
    const type = earlier.type === 'FailureTarget' ? 'Failed' : 'Complete';
    return decided({ type, reason: earlier.reason ?? '', message: earlier.message ?? '' });
  }
  const failed = (reason: string, message: string) => decided({ type: 'Failed', reason, message });
  if (now.failJobMessage !== undefined) return failed('PodFailurePolicy', now.failJobMessage);
  if (exceedsBackoffLimit(job, now))
    return failed('BackoffLimitExceeded', 'Job has reached the specified backoff limit');
  const deadlineInMs = msUntilDeadline(job, nowMs);
  if (deadlineInMs !== undefined && deadlineInMs <= 0)
    return failed('DeadlineExceeded', 'Job was active longer than specified deadline');
  const success = isIndexed(job) ? successMessage(job, now.succeededIndexes) : undefined;
  if (success !== undefined) return decided({ type: 'Complete', reason: 'SuccessPolicy', message: success });
  if (job.spec.backoffLimitPerIndex !== undefined) {
    const { maxFailedIndexes, completions = 0 } = job.spec;
    if (maxFailedIndexes !== undefined && now.failedIndexes.size > maxFailedIndexes)
      return failed('MaxFailedIndexesExceeded', 'Job has exceeded the specified maximal number of failed indexes');
    if (now.failedIndexes.size > 0 && now.failedIndexes.size + now.succeededIndexes.size >= completions)
      return failed('FailedIndexes', 'Job has failed indexes');
  }
  if (!job.spec.suspend && isComplete(job, now))
    return decided({
      type: 'Complete',
      reason: 'CompletionsReached',
      message: 'Reached expected number of succeeded pods',
    });
  return { verdict: undefined, deadlineInMs };
}

function isComplete(job: Frozen<Job>, now: Tally): boolean {
  const { completions } = job.spec;
  if (completions === undefined) return now.succeeded > 0 && now.active.length === 0;
  return now.succeeded >= completions && (now.active.length === 0 || completions > 0);
}

function exceedsBackoffLimit(job: Frozen<Job>, now: Tally): boolean {
  const limit = job.spec.backoffLimit ?? 6;
  if (job.spec.backoffLimitPerIndex === undefined || job.spec.backoffLimit !== undefined)
    if (now.failed > limit) return true;
  if (job.spec.template.spec?.restartPolicy !== 'OnFailure') return false;
  const restarts = now.active
    .filter((pod) => pod.status?.phase === 'Running' || pod.status?.phase === 'Pending')
    .flatMap((pod) => [...(pod.status?.initContainerStatuses ?? []), ...(pod.status?.containerStatuses ?? [])])
    .reduce((total, container) => total + container.restartCount, 0);
  return limit === 0 ? restarts > 0 : restarts >= limit;
}

function msUntilDeadline(job: Frozen<Job>, nowMs: number): number | undefined {
  const seconds = job.spec.activeDeadlineSeconds;
  const startMs = maybeMillisOf(job.status?.startTime);
  if (seconds === undefined || startMs === undefined || job.spec.suspend) return undefined;
  return startMs + seconds * 1000 - nowMs;
}

export type PodPlan =
  | { readonly create: number; readonly indexes: readonly number[] }
  | { readonly remove: readonly Frozen<Pod>[] }
  | { readonly nothing: true };

/** No more than so many creations in one step. */
const burst = 500;

export function planPods(job: Frozen<Job>, now: Tally, nowMs: number): PodPlan {
  if (job.spec.suspend) return now.active.length > 0 ? { remove: now.active } : { nothing: true };
  const wanted = wantedActive(job, now);
  const doubles = isIndexed(job) ? superfluous(job, now) : [];
  const surplus = now.active.length - wanted;
  if (doubles.length > 0) return { remove: doubles };
  if (surplus > 0) return { remove: podsToDelete(now.active, surplus, nowMs) };
  const terminating = replacesOnlyFailed(job) ? now.terminating : 0;
  const missing = Math.min(wanted - terminating - now.active.length, burst);
  if (missing <= 0) return { nothing: true };
  if (!isIndexed(job)) return { create: missing, indexes: [] };
  const indexes = pendingIndexes(job, now, missing);
  return indexes.length > 0 ? { create: indexes.length, indexes } : { nothing: true };
}

function wantedActive(job: Frozen<Job>, now: Tally): number {
  const { parallelism = 1, completions } = job.spec;
  if (completions === undefined) return now.succeeded > 0 ? now.active.length : parallelism;
  return Math.max(0, Math.min(completions - now.succeeded - now.failedIndexes.size, parallelism));
}

/** Second pods of an index, and those of indexes that are done or never were wanted. */
function superfluous(job: Frozen<Job>, now: Tally): Frozen<Pod>[] {
  const taken = new Set<number>();
  return now.active.filter((pod) => {
    const index = indexOf(pod);
    const isWanted =
      index >= 0 &&
      index < (job.spec.completions ?? 0) &&
      !taken.has(index) &&
      !now.succeededIndexes.has(index) &&
      !now.failedIndexes.has(index);
    if (isWanted) taken.add(index);
    return !isWanted;
  });
}

function pendingIndexes(job: Frozen<Job>, now: Tally, count: number): number[] {
  const taken = new Set(now.active.map(indexOf));
  const result: number[] = [];
  for (let index = 0; index < (job.spec.completions ?? 0) && result.length < count; index++)
    if (!taken.has(index) && !now.succeededIndexes.has(index) && !now.failedIndexes.has(index)) result.push(index);
  return result;
}

const backoffFirstMs = 10_000;
const backoffMaxMs = 600_000;

/** Consecutive failures since the last success, and when the last of them ended. */
export interface Backoff {
  readonly failures: number;
  readonly lastFailureMs: number;
}

/** Adds what has newly finished, in the order of its end. */
export function nextBackoff(before: Backoff, now: Tally, nowMs: number): Backoff {
  const ends = [
    ...now.newSucceeded.map((pod) => ({ atMs: endOf(pod, nowMs), failed: false })),
    ...now.newFailed.map((pod) => ({ atMs: endOf(pod, nowMs), failed: true })),
  ].sort((a, b) => a.atMs - b.atMs);
  return ends.reduce<Backoff>(
    (state, { atMs, failed }) =>
      failed
        ? { failures: state.failures + 1, lastFailureMs: atMs }
        : { failures: 0, lastFailureMs: state.lastFailureMs },
    before,
  );
}

/** How long the next pod must wait. */
export function backoffMs({ failures, lastFailureMs }: Backoff, nowMs: number): number {
  if (failures === 0) return 0;
  return Math.max(0, lastFailureMs + Math.min(backoffFirstMs * 2 ** (failures - 1), backoffMaxMs) - nowMs);
}

function endOf(pod: Frozen<Pod>, nowMs: number): number {
  const ends = (pod.status?.containerStatuses ?? []).map((one) => maybeMillisOf(one.state?.terminated?.finishedAt));
  const known = ends.filter((time): time is number => time !== undefined);
  if (known.length > 0 && known.length === ends.length) return Math.max(...known);
  return maybeMillisOf(pod.metadata.deletionTimestamp) ?? nowMs;
}
