// Owns starting Jobs by schedule, keeping track of those that run, and cutting the history of those that have ended.
import { type Frozen, keyOf, type ObjectKey } from '../../api/meta.ts';
import type { CronJob, CronJobStatus, Job } from '../../api/generated/batch.v1.ts';
import { cronJobs, jobs } from '../../api/generated/resources.ts';
import { isTerminating } from '../../api/pod-readiness.ts';
import { isAlreadyExists, isNotFound } from '../../api/status-error.ts';
import { maybeMillisOf, timeOf } from '../../api/time.ts';
import { referenceTo } from '../../client/events.ts';
import { type Again, type Controller, type ControllerContext, self } from '../framework/controller.ts';
import { isEqual } from '../framework/equality.ts';
import { controlledBy, controllerReference, indexByController, isControlledBy, ownedBy } from '../framework/owners.ts';
import { isNamespaceTerminating } from '../framework/pod-control.ts';
import { dueStart, finishedAs, isTooLate, planHistory } from './plan.ts';
import { parseSchedule, type Schedule } from './schedule.ts';

/** A little after the time, so that clocks which differ a bit do not start twice. */
const lateMs = 100;
const scheduledAnnotation = 'batch.kubernetes.io/cronjob-scheduled-timestamp';

export function cronJobController(context: ControllerContext): Controller {
  const worker = new CronJobWorker(context);
  return {
    name: 'cronjob-controller',
    watches: worker.watches,
    reconcile: (key, signal) => worker.reconcile(key, signal),
  };
}

class CronJobWorker {
  readonly #context: ControllerContext;
  readonly #cache;
  readonly #jobs;
  readonly #writer;
  readonly #jobWriter;
  readonly #recorder;

  constructor(context: ControllerContext) {
    this.#context = context;
    this.#cache = context.informers.informer(cronJobs);
    this.#jobs = context.informers.informer(jobs);
    this.#writer = context.informers.writer(cronJobs);
    this.#jobWriter = context.informers.writer(jobs);
    this.#recorder = context.events.recorder('cronjob-controller');
    indexByController(this.#jobs);
  }

  get watches() {
    return [self(this.#cache), ownedBy(cronJobs, this.#jobs)];
  }

  async reconcile(key: ObjectKey, signal: AbortSignal): Promise<Again | undefined> {
    const cronJob = this.#cache.get(key);
    if (!cronJob) return undefined;
    const mine = controlledBy(this.#jobs, cronJob.metadata.uid);
    const status: CronJobStatus = { ...(cronJob.status as CronJobStatus) };
    this.#track(cronJob, mine, status);
    for (const job of planHistory(cronJob, mine)) await this.#deleteJob(cronJob, job, signal);
    const schedule = isTerminating(cronJob) || cronJob.spec.suspend ? undefined : this.#schedule(cronJob);
    if (schedule) await this.#startIfDue(cronJob, schedule, mine, status, signal);
    await this.#write(cronJob, status, signal);
    const nowMs = this.#context.clock.now();
    const next = schedule?.next(nowMs);
    return next === undefined ? undefined : { afterMs: next - nowMs + lateMs };
  }

  #schedule(cronJob: Frozen<CronJob>): Schedule | undefined {
    try {
      return parseSchedule(cronJob.spec.schedule, cronJob.spec.timeZone);
    } catch (error) {
      const [reason, what] =
        error instanceof RangeError
          ? ['UnknownTimeZone', 'invalid timeZone']
          : ['UnparseableSchedule', 'unparseable schedule'];
      this.#recorder.event(cronJob, 'Warning', reason!, `${what}: ${(error as Error).message}`);
      return undefined;
    }
  }

  /** Takes out of the list of active jobs what has ended or is gone. */
  #track(cronJob: Frozen<CronJob>, mine: readonly Frozen<Job>[], status: CronJobStatus): void {
    const active = (status.active ?? []).filter((reference) => {
      const job = mine.find(({ metadata }) => metadata.uid === reference.uid);
      if (!job) {
        this.#recorder.event(cronJob, 'Normal', 'MissingJob', `Active job went missing: ${reference.name}`);
        return false;
      }
      const end = finishedAs(job);
      if (end)
        this.#recorder.event(
          cronJob,
          'Normal',
          'SawCompletedJob',
          `Saw completed job: ${job.metadata.name}, condition: ${end}`,
        );
      return !end;
    });
    for (const job of mine) {
      const ended = finishedAs(job) === 'Complete' ? job.status?.completionTime : undefined;
      if (ended !== undefined && ended > (status.lastSuccessfulTime ?? '')) status.lastSuccessfulTime = ended;
      if (!finishedAs(job) && !active.some(({ uid }) => uid === job.metadata.uid))
        this.#recorder.event(
          cronJob,
          'Warning',
          'UnexpectedJob',
          `Saw a job that the controller did not create or forgot: ${job.metadata.name}`,
        );
    }
    if (active.length > 0) status.active = active;
    else delete status.active;
  }

  async #startIfDue(
    cronJob: Frozen<CronJob>,
    schedule: Schedule,
    mine: readonly Frozen<Job>[],
    status: CronJobStatus,
    signal: AbortSignal,
  ): Promise<void> {
    const nowMs = this.#context.clock.now();
    const { dueMs, tooManyMissed } = dueStart(cronJob, schedule, nowMs);
    if (dueMs === undefined) return;
    if (tooManyMissed)
      this.#recorder.event(
        cronJob,
        'Warning',
        'TooManyMissedTimes',
        'too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew',
      );
    if (isTooLate(cronJob, dueMs, nowMs)) {
      this.#recorder.event(
        cronJob,
        'Warning',
        'MissSchedule',
        `Missed scheduled time to start a job: ${timeOf(dueMs)}`,
      );
      return;
    }
    if (maybeMillisOf(status.lastScheduleTime) === dueMs) return;
    const running = mine.filter((job) => status.active?.some(({ uid }) => uid === job.metadata.uid));
    const policy = cronJob.spec.concurrencyPolicy;
    if (policy === 'Forbid' && running.length > 0) {
      this.#recorder.event(
        cronJob,
        'Normal',
        'JobAlreadyActive',
        'Not starting job because prior execution is running and concurrency policy is Forbid',
      );
      return;
    }
    if (policy === 'Replace') {
      for (const job of running) await this.#deleteJob(cronJob, job, signal);
      delete status.active;
    }
    const job = await this.#createJob(cronJob, dueMs, signal);
    if (!job) return;
    status.active = [...(status.active ?? []), referenceTo(job)];
    status.lastScheduleTime = timeOf(dueMs);
  }

  /** Named after its time, so that a start happens once however often it is tried. */
  async #createJob(cronJob: Frozen<CronJob>, dueMs: number, signal: AbortSignal): Promise<Frozen<Job> | undefined> {
    const { jobTemplate } = cronJob.spec;
    const { labels, annotations } = (jobTemplate.metadata ?? {}) as Frozen<Job['metadata']>;
    const name = `${cronJob.metadata.name}-${Math.floor(dueMs / 60_000)}`;
    const key = { namespace: cronJob.metadata.namespace ?? '', name };
    const metadata = {
      ...key,
      ...(labels && { labels: { ...labels } }),
      annotations: { ...annotations, [scheduledAnnotation]: timeOf(dueMs) },
      ownerReferences: [controllerReference(cronJobs, cronJob)],
    };
    try {
      const job = await this.#jobWriter.create({ metadata, spec: jobTemplate.spec } as never, { signal });
      this.#recorder.event(cronJob, 'Normal', 'SuccessfulCreate', `Created job ${name}`);
      return job;
    } catch (error) {
      if (isNamespaceTerminating(error)) return undefined;
      if (isAlreadyExists(error)) {
        const taken = await this.#context.client.resource(jobs).get(key, { signal });
        if (isControlledBy(taken, cronJob)) return taken;
      }
      if (!signal.aborted)
        this.#recorder.event(cronJob, 'Warning', 'FailedCreate', `Error creating job: ${(error as Error).message}`);
      throw error;
    }
  }

  async #deleteJob(cronJob: Frozen<CronJob>, job: Frozen<Job>, signal: AbortSignal): Promise<void> {
    try {
      const preconditions = { uid: job.metadata.uid };
      await this.#jobWriter.delete(keyOf(job), { propagationPolicy: 'Background', preconditions, signal });
      this.#recorder.event(cronJob, 'Normal', 'SuccessfulDelete', `Deleted job ${job.metadata.name}`);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  async #write(cronJob: Frozen<CronJob>, status: CronJobStatus, signal: AbortSignal): Promise<void> {
    if (isEqual(status, cronJob.status ?? {})) return;
    await this.#writer.updateStatus({ ...cronJob, status } as Frozen<CronJob>, { signal }).catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
    });
  }
}
