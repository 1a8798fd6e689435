// Owns running Jobs: pods made and counted exactly once through their tracking finalizer, conditions when it is over.
import { type Frozen, keyOf, keyText, type KubeObject, type ObjectKey } from '../../api/meta.ts';
import type { Job, JobCondition, JobStatus } from '../../api/generated/batch.v1.ts';
import type { Pod } from '../../api/generated/core.v1.ts';
import { jobs, pods } from '../../api/generated/resources.ts';
import { labelPredicate } from '../../api/selector.ts';
import { isPodActive, isPodFinished, isTerminating } from '../../api/pod-readiness.ts';
import { isNotFound } from '../../api/status-error.ts';
import { timeOf } from '../../api/time.ts';
import { type Again, type Controller, type ControllerContext, self } from '../framework/controller.ts';
import { isEqual } from '../framework/equality.ts';
import { claimed, controllerOf, indexByController, ownedBy } from '../framework/owners.ts';
import { inGrowingBatches, isNamespaceTerminating, podControl } from '../framework/pod-control.ts';
import { formatIndexes } from './indexes.ts';
import {
  type Backoff,
  backoffMs,
  isIndexed,
  nextBackoff,
  planOutcome,
  planPods,
  type Tally,
  tally,
  trackingFinalizer,
  type Verdict,
} from './plan.ts';
import { indexedPodOf, lastFailures, podOf } from './pods.ts';

/** No more pods are recorded as uncounted at once, as upstream: the status must not grow without bound. */
const maxUncounted = 500;

export function jobController(context: ControllerContext): Controller {
  const worker = new JobWorker(context);
  return {
    name: 'job-controller',
    watches: worker.watches,
    reconcile: (key, signal) => worker.reconcile(key, signal),
  };
}

class JobWorker {
  readonly #context: ControllerContext;
  readonly #cache;
  readonly #podCache;
  readonly #writer;
  readonly #control;
  readonly #recorder;
  readonly #backoffs = new Map<string, Backoff>();

  constructor(context: ControllerContext) {
    this.#context = context;
    this.#cache = context.informers.informer(jobs);
    this.#podCache = context.informers.informer(pods);
    this.#writer = context.informers.writer(jobs);
    this.#recorder = context.events.recorder('job-controller');
    this.#control = podControl(context, this.#recorder);
    indexByController(this.#podCache);
  }

  get watches() {
    const adopters = (pod: Frozen<Pod>): ObjectKey[] => {
      // A released or orphaned pod must still lose our finalizer: its old job's key does for that.
      const name = pod.metadata.labels?.['batch.kubernetes.io/job-name'];
      return name && isTracked(pod) ? [{ namespace: pod.metadata.namespace ?? '', name }] : [];
    };
    return [self(this.#cache), ownedBy(jobs, this.#podCache, adopters)];
  }

  async reconcile(key: ObjectKey, signal: AbortSignal): Promise<Again | undefined> {
    const job = this.#cache.get(key);
    if (!job || isTerminating(job) || isFinished(job)) await this.#releaseStrays(key, job, signal);
    if (!job) {
      this.#backoffs.delete(keyText(key));
      return undefined;
    }
    if (isFinished(job) || isTerminating(job)) return undefined;
    if (job.spec.managedBy !== undefined && job.spec.managedBy !== 'kubernetes.io/job-controller') return undefined;
    const mine = await claimed({
      owner: job,
      ref: jobs,
      matches: labelPredicate(job.spec.selector),
      informer: this.#podCache,
      client: this.#control.client,
      current: () => this.#context.client.resource(jobs).get(key),
      finalizer: trackingFinalizer,
      signal,
    });
    return this.#sync(job, mine, signal);
  }

  async #sync(job: Frozen<Job>, mine: readonly Frozen<Pod>[], signal: AbortSignal): Promise<Again | undefined> {
    const nowMs = this.#context.clock.now();
    const now = tally(job, mine);
    const key = keyText(keyOf(job));
    const backoff = nextBackoff(this.#backoffs.get(key) ?? { failures: 0, lastFailureMs: 0 }, now, nowMs);
    const { verdict, deadlineInMs } = planOutcome(job, now, nowMs);
    const status: JobStatus = {
      ...(job.status as JobStatus),
      uncountedTerminatedPods: { ...job.status?.uncountedTerminatedPods },
    } as JobStatus;
    if (!job.status?.startTime && !job.spec.suspend) status.startTime = timeOf(nowMs);
    let waitMs =
      status.startTime !== job.status?.startTime && job.spec.activeDeadlineSeconds !== undefined
        ? job.spec.activeDeadlineSeconds * 1000
        : deadlineInMs;
    let error: unknown;
    if (verdict) {
      // Pods that a success makes superfluous have not failed: they are not to be counted.
      if (verdict.type === 'Complete') await this.#removeFinalizers(now.active.filter(isTracked), signal);
      error = await this.#removeAll(job, now.active, signal);
    } else {
      this.#noteSuspension(job, status, nowMs);
      const result = await this.#managePods(job, mine, now, backoffMs(backoff, nowMs), signal);
      error = result.error;
      if (result.waitMs !== undefined) waitMs = Math.min(waitMs ?? Number.POSITIVE_INFINITY, result.waitMs);
    }
    await this.#account(job, status, verdict, now.failedIndexes, signal);
    this.#backoffs.set(key, backoff);
    if (error !== undefined && !isNamespaceTerminating(error)) throw error;
    return waitMs === undefined ? undefined : { afterMs: Math.max(waitMs, 1) };
  }

  async #managePods(
    job: Frozen<Job>,
    mine: readonly Frozen<Pod>[],
    now: Tally,
    delayMs: number,
    signal: AbortSignal,
  ): Promise<{ error: unknown; waitMs?: number }> {
    const plan = planPods(job, now, this.#context.clock.now());
    if ('remove' in plan) {
      // Not wanted is not failed: without our finalizer they are not counted.
      await this.#removeFinalizers(plan.remove.filter(isTracked), signal);
      return { error: await this.#removeAll(job, plan.remove, signal) };
    }
    if ('nothing' in plan) return { error: undefined };
    if (delayMs > 0) return { error: undefined, waitMs: delayMs };
    const failed = isIndexed(job) ? lastFailures(mine) : undefined;
    const { error } = await inGrowingBatches(plan.create, (at) => {
      const index = plan.indexes[at];
      const pod = index === undefined ? podOf(job) : indexedPodOf(job, index, failed?.get(index));
      return this.#control.create(job as Frozen<KubeObject>, pod, signal);
    });
    return { error };
  }

  async #removeAll(job: Frozen<Job>, doomed: readonly Frozen<Pod>[], signal: AbortSignal): Promise<unknown> {
    const results = await Promise.allSettled(doomed.map((pod) => this.#control.delete(job, pod, signal)));
    return results.find((result) => result.status === 'rejected')?.reason;
  }

  #noteSuspension(job: Frozen<Job>, status: JobStatus, nowMs: number): void {
    const known = status.conditions?.find(({ type }) => type === 'Suspended');
    const isSuspended = job.spec.suspend ?? false;
    if (isSuspended === (known?.status === 'True')) return;
    if (!isSuspended && !known) return;
    const [reason, message, event] = isSuspended
      ? ['JobSuspended', 'Job suspended', 'Suspended']
      : ['JobResumed', 'Job resumed', 'Resumed'];
    status.conditions = withCondition(status.conditions, 'Suspended', isSuspended, reason!, message!, nowMs);
    if (isSuspended) delete status.startTime;
    else status.startTime = timeOf(nowMs);
    this.#recorder.event(job, 'Normal', event!, message!);
  }

  /**
   * Counts what has ended. Each pod is first named in the status, then loses its finalizer, then becomes a number: whenever
   * we are interrupted, the next one who comes can go on without counting twice (KEP-2307).
   */
  async #account(
    job: Frozen<Job>,
    status: JobStatus,
    verdict: Verdict | undefined,
    failedIndexes: ReadonlySet<number>,
    signal: AbortSignal,
  ): Promise<void> {
    const nowMs = this.#context.clock.now();
    const after = this.#podCache
      .indexed('controller', job.metadata.uid)
      .filter((pod) => labelPredicate(job.spec.selector)(pod.metadata.labels));
    const now = tally(job, after);
    setRunning(status, now);
    setIndexes(status, now, job, failedIndexes);
    const uncounted = status.uncountedTerminatedPods ?? {};
    const record = (known: string[] | undefined, fresh: readonly Frozen<Pod>[]) => [
      ...(known ?? []),
      ...fresh.slice(0, maxUncounted).map(({ metadata }) => metadata.uid),
    ];
    // Succeeded indexes are counted by the list of indexes, which tells itself what is in it.
    const recorded = {
      succeeded: record(uncounted.succeeded, isIndexed(job) ? [] : now.newSucceeded),
      failed: record(uncounted.failed, now.newFailed),
    };
    const named = recorded.succeeded.length + recorded.failed.length;
    status.uncountedTerminatedPods = withoutEmpty(recorded);
    if (verdict) addInterim(status, verdict, nowMs);
    let current = job;
    if (named > 0) current = await this.#write(job, status, signal);
    // Pods that the job's end has stopped count as failed as well: they are terminating, and we hold their finalizers.
    const counted = new Set([...recorded.succeeded, ...recorded.failed]);
    for (const pod of [...now.ignored, ...(isIndexed(job) ? now.newSucceeded : [])]) counted.add(pod.metadata.uid);
    const ended = after.filter((pod) => isTracked(pod) && counted.has(pod.metadata.uid));
    await this.#removeFinalizers(ended, signal);
    const final: JobStatus = { ...(status as JobStatus), uncountedTerminatedPods: {} };
    if (!isIndexed(job)) final.succeeded = (status.succeeded ?? 0) + recorded.succeeded.length;
    final.failed = (status.failed ?? 0) + recorded.failed.length;
    if (!final.succeeded) delete final.succeeded;
    if (!final.failed) delete final.failed;
    const left = this.#podCache.indexed('controller', job.metadata.uid);
    setRunning(final, tally(job, left));
    // One that ended just now is not in the counts yet: its event brings the next look.
    const isOver = left.every(
      (pod) =>
        !isPodActive(pod) &&
        (!isTerminating(pod) || isPodFinished(pod)) &&
        (!isTracked(pod) || counted.has(pod.metadata.uid)),
    );
    if (verdict && isOver) this.#finish(job, final, verdict, nowMs);
    await this.#write(current, final, signal);
  }

  #finish(job: Frozen<Job>, status: JobStatus, verdict: Verdict, nowMs: number): void {
    const { type, reason, message } = verdict;
    status.conditions = withCondition(status.conditions, type, true, reason, message, nowMs);
    this.#backoffs.delete(keyText(keyOf(job)));
    if (type === 'Complete') {
      status.completionTime = timeOf(nowMs);
      this.#recorder.event(job, 'Normal', 'Completed', 'Job completed');
    } else this.#recorder.event(job, 'Warning', reason, message);
  }

  async #write(job: Frozen<Job>, status: JobStatus, signal: AbortSignal): Promise<Frozen<Job>> {
    if (isEqual(status, job.status)) return job;
    try {
      return await this.#writer.updateStatus({ ...job, status: { ...status } } as Frozen<Job>, { signal });
    } catch (error) {
      if (isNotFound(error)) return job;
      throw error;
    }
  }

  async #removeFinalizers(held: readonly Frozen<Pod>[], signal: AbortSignal): Promise<void> {
    await Promise.all(
      held.map(async (pod) => {
        const body = {
          metadata: { uid: pod.metadata.uid, '$deleteFromPrimitiveList/finalizers': [trackingFinalizer] },
        };
        await this.#control.client
          .patch(keyOf(pod), { type: 'strategic', body }, { signal })
          .catch((error: unknown) => {
            if (!isNotFound(error)) throw error;
          });
      }),
    );
  }

  /** Pods whose job is gone or over must not be held by us. */
  async #releaseStrays(key: ObjectKey, job: Frozen<Job> | undefined, signal: AbortSignal): Promise<void> {
    const strays = this.#podCache.list(key.namespace).filter((pod) => {
      if (!isTracked(pod)) return false;
      const owner = controllerOf(pod);
      if (owner) return owner.kind === 'Job' && owner.name === key.name && (!job || owner.uid === job.metadata.uid);
      return pod.metadata.labels?.['batch.kubernetes.io/job-name'] === key.name;
    });
    await this.#removeFinalizers(strays, signal);
  }
}

function isTracked(pod: Frozen<Pod>): boolean {
  return pod.metadata.finalizers?.includes(trackingFinalizer) ?? false;
}

export function isFinished(job: Frozen<Job>): boolean {
  return (
    job.status?.conditions?.some(
      ({ type, status }) => status === 'True' && (type === 'Complete' || type === 'Failed'),
    ) ?? false
  );
}

function setRunning(status: JobStatus, now: Tally): void {
  if (now.active.length > 0) status.active = now.active.length;
  else delete status.active;
  status.ready = now.ready;
  status.terminating = now.terminating;
}

function setIndexes(status: JobStatus, now: Tally, job: Frozen<Job>, failedIndexes: ReadonlySet<number>): void {
  if (!isIndexed(job)) return;
  status.succeeded = now.succeededIndexes.size;
  if (now.succeededIndexes.size > 0) status.completedIndexes = formatIndexes(now.succeededIndexes);
  if (job.spec.backoffLimitPerIndex !== undefined) status.failedIndexes = formatIndexes(failedIndexes);
}

/** The end is announced before the last pods have ended (KEP-3939, KEP-3998). */
function addInterim(status: JobStatus, { type, reason, message }: Verdict, nowMs: number): void {
  const interim = type === 'Failed' ? 'FailureTarget' : 'SuccessCriteriaMet';
  status.conditions = withCondition(status.conditions, interim, true, reason, message, nowMs);
}

function withCondition(
  conditions: readonly Frozen<JobCondition>[] | undefined,
  type: string,
  isTrue: boolean,
  reason: string,
  message: string,
  nowMs: number,
): JobCondition[] {
  const now = timeOf(nowMs);
  const status = isTrue ? 'True' : 'False';
  const known = conditions?.find((one) => one.type === type);
  if (known?.status === status) return (conditions ?? []).map((one) => ({ ...one }));
  const fresh = { type, status, lastProbeTime: now, lastTransitionTime: now, reason, message };
  const at = conditions?.findIndex((one) => one.type === type) ?? -1;
  const all = (conditions ?? []).map((one) => ({ ...one }));
  return at < 0 ? [...all, fresh] : all.with(at, fresh);
}

function withoutEmpty(lists: { succeeded: string[]; failed: string[] }): { succeeded?: string[]; failed?: string[] } {
  return {
    ...(lists.succeeded.length > 0 && { succeeded: lists.succeeded }),
    ...(lists.failed.length > 0 && { failed: lists.failed }),
  };
}
