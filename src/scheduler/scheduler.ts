// Owns kube-scheduler: takes pods from the queue, decides synchronously, binds in the background. Decisions are in schedule-pod.ts and the plugins.
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import { type MetricsRegistry } from '../base/metrics.ts';
import { deferred, isAbort, type TaskGroup, taskGroup } from '../base/task-group.ts';
import type { Frozen } from '../api/meta.ts';
import type { Pod } from '../api/generated/core.v1.ts';
import { nodes, pods } from '../api/generated/resources.ts';
import { isConflict, isNotFound } from '../api/status-error.ts';
import type { InformerFactory } from '../client/informer-factory.ts';
import { SchedulerCache } from './cache.ts';
import { type KubeSchedulerConfiguration, profilesOf } from './configuration.ts';
import { diagnosisMessage } from './framework/cycle.ts';
import type { Refusal, RefusedBy, SchedulerPlugin } from './framework/plugin.ts';
import type { Profile } from './framework/profile.ts';
import { listen } from './intake.ts';
import { MatchIndex } from './match-index.ts';
import { type SchedulerMetrics, schedulerMetrics } from './metrics.ts';
import { Nominator } from './nominator.ts';
import type { PluginDeps } from './plugins.ts';
import type { PodInfo } from './pod-info.ts';
import { type QueuedPod, SchedulingQueue } from './queue.ts';
import { type Decision, PodScheduler } from './schedule-pod.ts';
import { StatusWriter } from './status-writer.ts';
import { type Volumes, volumesFrom } from './volumes.ts';
import { WaitingPods } from './waiting-pods.ts';

/** Where events about pods go; repetitions are the recorder's matter. */
export interface SchedulerEvents {
  event(
    regarding: Frozen<Pod>,
    related: Frozen<Pod> | undefined,
    type: 'Normal' | 'Warning',
    reason: string,
    action: string,
    note: string,
  ): void;
}

export interface SchedulerDeps {
  readonly informers: InformerFactory;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: MetricsRegistry;
  /** One recorder a profile. */
  readonly events: (schedulerName: string) => SchedulerEvents;
}

export interface SchedulerOptions {
  /** kubescheduler.config.k8s.io/v1; absent: upstream's default profile. */
  readonly configuration?: KubeSchedulerConfiguration;
  /** Plugins of one's own by name, which profiles may then enable. */
  readonly plugins?: Readonly<Record<string, (args: unknown, deps: PluginDeps) => SchedulerPlugin>>;
  /** Bindings under way at once; when all are taken the next decision waits. Default 256. */
  readonly maxBindings?: number;
}

export interface Scheduler {
  /** True once the caches are full: what `/readyz` says. */
  readonly ready: boolean;
  run(signal: AbortSignal): Promise<void>;
}

/** The longest that decisions go on before other work of the process gets its turn. */
const sliceMs = 5;
const flushEveryMs = 30_000;

export function scheduler(options: SchedulerOptions, deps: SchedulerDeps): Scheduler {
  return new KubeScheduler(options, deps);
}

class KubeScheduler implements Scheduler {
  readonly #deps: SchedulerDeps;
  readonly #maxBindings: number;
  readonly #profiles: ReadonlyMap<string, Profile>;
  readonly #cache = new SchedulerCache();
  readonly #nominator = new Nominator();
  readonly #queue: SchedulingQueue;
  readonly #waiting: WaitingPods;
  readonly #volumes: Volumes;
  readonly #decider: PodScheduler;
  readonly #metrics: SchedulerMetrics;
  readonly #events = new Map<string, SchedulerEvents>();
  #statuses!: StatusWriter;
  #group!: TaskGroup;
  #wake = deferred();
  #bindings = 0;
  #ready = false;

  constructor(options: SchedulerOptions, deps: SchedulerDeps) {
    this.#deps = deps;
    this.#maxBindings = options.maxBindings ?? 256;
    this.#waiting = new WaitingPods(deps.clock);
    const configuration = options.configuration ?? {};
    const index = new MatchIndex();
    this.#volumes = volumesFrom(deps.informers, (what) => this.#queue.happened(what));
    this.#cache.observers.push(index);
    this.#profiles = profilesOf(configuration, options.plugins ?? {}, {
      informers: deps.informers,
      clock: deps.clock,
      logger: deps.logger,
      cache: this.#cache,
      nominator: this.#nominator,
      waiting: this.#waiting,
      index,
      volumes: this.#volumes,
      run: (name, task) => this.#group.run(name, task),
      preempted: (preemptor, nodeName, victims) => this.#preempted(preemptor, nodeName, victims),
      happened: (what) => this.#queue.happened(what),
    });
    const seconds = (value: number | undefined) => (value === undefined ? undefined : value * 1000);
    const initialMs = seconds(configuration.podInitialBackoffSeconds);
    const maxMs = seconds(configuration.podMaxBackoffSeconds);
    this.#queue = new SchedulingQueue(
      {
        clock: deps.clock,
        ...(initialMs !== undefined && { podInitialBackoffMs: initialMs }),
        ...(maxMs !== undefined && { podMaxBackoffMs: maxMs }),
        wake: () => this.#wake.resolve(),
      },
      [...this.#profiles.values()],
    );
    this.#decider = new PodScheduler(this.#cache, this.#nominator);
    this.#metrics = schedulerMetrics(deps.metrics, this.#queue, this.#cache);
    for (const name of this.#profiles.keys()) this.#events.set(name, deps.events(name));
  }

  get ready(): boolean {
    return this.#ready;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { informers, clock, logger } = this.#deps;
    const group = taskGroup(signal);
    this.#group = group;
    this.#statuses = new StatusWriter({ pods: informers.client.resource(pods), clock, logger, group });
    const nodeInformer = informers.informer(nodes);
    const podInformer = informers.informer(pods);
    const stop = listen(
      {
        cache: this.#cache,
        queue: this.#queue,
        nominator: this.#nominator,
        profiles: this.#profiles,
        gone: (uid) => {
          this.#statuses.forget(uid);
          this.#waiting.reject(uid, { reasons: ['the pod is gone'], unresolvable: true });
        },
      },
      nodeInformer,
      podInformer,
    );
    group.run('scheduling', async (inner) => {
      await Promise.all([nodeInformer.whenSynced(inner), podInformer.whenSynced(inner)]);
      await this.#volumes.start(inner);
      for (const plugin of this.#allPlugins()) await plugin.start?.(inner);
      this.#ready = true;
      await this.#loop(inner);
    });
    try {
      await group.done;
    } finally {
      this.#ready = false;
      stop();
    }
  }

  #allPlugins(): Set<SchedulerPlugin> {
    return new Set([...this.#profiles.values()].flatMap(({ plugins }) => plugins));
  }

  async #loop(signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    const onAbort = () => this.#wake.resolve();
    signal.addEventListener('abort', onAbort, { once: true });
    let nextFlushMs = clock.monotonic() + flushEveryMs;
    let sliceEndsMs = clock.monotonic() + sliceMs;
    while (!signal.aborted) {
      const nowMs = clock.monotonic();
      if (nowMs >= nextFlushMs) {
        this.#queue.flushUnschedulable();
        nextFlushMs = nowMs + flushEveryMs;
      }
      const queued = this.#bindings < this.#maxBindings ? this.#queue.pop() : undefined;
      if (queued === undefined) {
        const dueMs = Math.min(nextFlushMs - nowMs, this.#queue.nextReadyInMs() ?? Infinity);
        await this.#sleep(this.#bindings < this.#maxBindings ? dueMs : nextFlushMs - nowMs);
        sliceEndsMs = clock.monotonic() + sliceMs;
        continue;
      }
      this.#scheduleOne(queued);
      if (clock.monotonic() >= sliceEndsMs) {
        await new Promise((resolve) => setImmediate(resolve));
        sliceEndsMs = clock.monotonic() + sliceMs;
      }
    }
  }

  async #sleep(ms: number): Promise<void> {
    const timer = this.#deps.clock.after(ms, () => this.#wake.resolve());
    await this.#wake.promise;
    this.#wake = deferred();
    timer.cancel();
  }

  #scheduleOne(queued: QueuedPod): void {
    const { info, profile } = queued;
    if (info.terminating || this.#cache.placedOn(info.uid) !== undefined) {
      this.#queue.done(queued);
      return;
    }
    const startMs = this.#deps.clock.monotonic();
    let decision: Decision;
    let refused: Refusal;
    try {
      decision = this.#decider.schedule(profile, info);
      this.#metrics.algorithm((this.#deps.clock.monotonic() - startMs) / 1000);
      if (!('node' in decision)) {
        this.#refuse(queued, decision, startMs);
        return;
      }
      this.#cache.assume(info, decision.node.name);
      refused = this.#reserve(profile, info, decision);
    } catch (error) {
      this.#cache.forget(info.uid);
      this.#fail(queued, error, startMs);
      return;
    }
    const nodeName = decision.node.name;
    const permits = refused ? { refused, limits: new Map<string, number>() } : this.#permit(profile, info, nodeName);
    if (permits.refused !== undefined) {
      this.#release(profile, info, nodeName);
      this.#refuseLate(queued, permits.refused, startMs);
      return;
    }
    this.#bindings++;
    this.#group.run('binding', (signal) => this.#bind(queued, info, nodeName, permits.limits, startMs, signal));
  }

  #reserve(profile: Profile, info: PodInfo, decision: Extract<Decision, { node: unknown }>): Refusal {
    for (const plugin of profile.reserve) {
      const refused = plugin.reserve?.(info, decision.node, decision.cycle.states[profile.indexOf.get(plugin)!]);
      if (refused !== undefined) return refused;
    }
    return undefined;
  }

  #permit(profile: Profile, info: PodInfo, nodeName: string): { refused: Refusal; limits: Map<string, number> } {
    const limits = new Map<string, number>();
    for (const plugin of profile.permit) {
      const result = plugin.permit(info, nodeName);
      if (result === 'allow') continue;
      if ('refused' in result) return { refused: result.refused, limits };
      limits.set(plugin.name, result.waitMs);
    }
    return { refused: undefined, limits };
  }

  async #bind(
    queued: QueuedPod,
    info: PodInfo,
    nodeName: string,
    limits: ReadonlyMap<string, number>,
    startMs: number,
    signal: AbortSignal,
  ): Promise<void> {
    const { profile } = queued;
    try {
      const refused = await this.#prepare(profile, info, nodeName, limits, signal);
      if (refused !== undefined) {
        this.#release(profile, info, nodeName);
        this.#refuseLate(queued, refused, startMs);
        return;
      }
      await bindWith(profile, info, nodeName, signal);
      this.#bound(queued, info, nodeName, startMs);
    } catch (error) {
      this.#release(profile, info, nodeName);
      if (signal.aborted && isAbort(error)) throw error;
      this.#fail(queued, error, startMs);
    } finally {
      this.#bindings--;
      this.#wake.resolve();
    }
  }

  /** Permit and preBind. The pod's status names the node meanwhile when there is something to wait for (KEP-5278). */
  async #prepare(
    profile: Profile,
    info: PodInfo,
    nodeName: string,
    limits: ReadonlyMap<string, number>,
    signal: AbortSignal,
  ): Promise<Refusal> {
    const preBinds = profile.preBind.filter((plugin) => plugin.preBindNeeded?.(info, nodeName) ?? true);
    if (limits.size === 0 && preBinds.length === 0) return undefined;
    await this.#statuses.write(info, { nominatedNodeName: nodeName }, signal);
    if (limits.size > 0) {
      const refused = await this.#waiting.wait(info, limits, signal);
      if (refused !== undefined) return refused;
    }
    for (const plugin of preBinds) {
      const refused = await plugin.preBind(info, nodeName, signal);
      if (refused !== undefined) return refused;
    }
    return undefined;
  }

  #bound(queued: QueuedPod, info: PodInfo, nodeName: string, startMs: number): void {
    const { profile } = queued;
    const nowMs = this.#deps.clock.monotonic();
    this.#queue.done(queued);
    this.#nominator.remove(info.uid);
    this.#statuses.forget(info.uid);
    this.#metrics.attempt(profile.schedulerName, 'scheduled', (nowMs - startMs) / 1000);
    this.#metrics.scheduled(queued.attempts, (nowMs - queued.firstMs) / 1000);
    const note = `Successfully assigned ${info.namespace}/${info.name} to ${nodeName}`;
    this.#events.get(profile.schedulerName)?.event(info.pod, undefined, 'Normal', 'Scheduled', 'Binding', note);
    for (const plugin of profile.postBind) plugin.postBind(info, nodeName);
  }

  /** Gives back what the pod was about to take; others may have been refused because of it. */
  #release(profile: Profile, info: PodInfo, nodeName: string): void {
    profile.unreserve(info, nodeName);
    const wasAssumed = this.#cache.isAssumed(info.uid);
    this.#cache.forget(info.uid);
    if (wasAssumed) this.#queue.happened({ name: 'AssignedPodDelete', pod: info });
  }

  #refuse(queued: QueuedPod, { diagnosis, cycle }: Extract<Decision, { diagnosis: unknown }>, startMs: number): void {
    const { info, profile } = queued;
    let message = diagnosisMessage(this.#cache.nodes.length, diagnosis);
    let nominated: string | undefined = '';
    for (const plugin of this.#cache.nodes.length === 0 ? [] : profile.postFilter) {
      const result = plugin.postFilter(cycle, diagnosis, this.#cache);
      if (result === undefined) continue;
      if (result.message !== '') message = `${message} ${result.message}`;
      nominated = result.nominatedNodeName;
      break;
    }
    if (nominated !== undefined) this.#nominator.nominate(info, nominated);
    this.#verdict(queued, { reasons: [message], unresolvable: false }, diagnosis.plugins, nominated, startMs);
  }

  #preempted(preemptor: PodInfo, nodeName: string, victims: readonly PodInfo[]): void {
    this.#metrics.preempted(victims.length);
    const recorder = this.#events.get(preemptor.pod.spec.schedulerName ?? 'default-scheduler');
    const note = `Preempted by pod ${preemptor.uid} on node ${nodeName}`;
    for (const { pod } of victims) recorder?.event(pod, preemptor.pod, 'Normal', 'Preempted', 'Preempting', note);
  }

  /** Refused after the decision, by reserve, permit or preBind: tried again after the back-off. */
  #refuseLate(queued: QueuedPod, refused: RefusedBy, startMs: number): void {
    this.#metrics.attempt(queued.profile.schedulerName, 'unschedulable', this.#secondsSince(startMs));
    this.#queue.failed(queued);
    this.#tell(queued, 'Unschedulable', refused.reasons.join(', '), '');
  }

  #verdict(
    queued: QueuedPod,
    refused: RefusedBy,
    plugins: ReadonlySet<string>,
    nominated: string | undefined,
    startMs: number,
  ): void {
    this.#metrics.attempt(queued.profile.schedulerName, 'unschedulable', this.#secondsSince(startMs));
    this.#queue.refused(queued, plugins);
    this.#tell(queued, 'Unschedulable', refused.reasons.join(', '), nominated);
  }

  #fail(queued: QueuedPod, error: unknown, startMs: number): void {
    const { info, profile } = queued;
    this.#metrics.attempt(profile.schedulerName, 'error', this.#secondsSince(startMs));
    this.#queue.failed(queued);
    const pod = `${info.namespace}/${info.name}`;
    if (isConflict(error) || isNotFound(error)) {
      // Someone else bound, gated or deleted the pod: the informer will tell.
      this.#deps.logger.debug('binding refused', { pod, error });
      return;
    }
    this.#deps.logger.error('scheduling failed', { pod, error });
    this.#tell(queued, 'SchedulerError', error instanceof Error ? error.message : String(error), undefined);
  }

  #secondsSince(startMs: number): number {
    return (this.#deps.clock.monotonic() - startMs) / 1000;
  }

  #tell(
    { info, profile }: QueuedPod,
    reason: 'Unschedulable' | 'SchedulerError',
    message: string,
    nominated: string | undefined,
  ): void {
    const recorder = this.#events.get(profile.schedulerName);
    recorder?.event(info.pod, undefined, 'Warning', 'FailedScheduling', 'Scheduling', message);
    this.#statuses.put(info, {
      condition: { reason, message },
      ...(nominated !== undefined && { nominatedNodeName: nominated }),
    });
  }
}

async function bindWith(profile: Profile, info: PodInfo, nodeName: string, signal: AbortSignal): Promise<void> {
  for (const plugin of profile.bind) if (await plugin.bind(info, nodeName, signal)) return;
  throw new Error(`no bind plugin of profile ${profile.schedulerName} took the pod`);
}
