// Owns one pod's life on this node: plans, starts the planned steps in the background, remembers, publishes the status.
import type { PodStatus } from '../../api/generated/core.v1.ts';
import { maybeMillisOf } from '../../api/time.ts';
import type { Timer } from '../../base/clock.ts';
import { deferred } from '../../base/task-group.ts';
import { type PodProbes, podProbes } from '../probes/probes.ts';
import { messageOf } from '../runtime/images.ts';
import { emptyRuntimePod, type RuntimePod } from '../runtime/runtime-pod.ts';
import * as steps from './actions.ts';
import { StartError } from './config-error.ts';
import type { NodeContext } from './node-context.ts';
import { type Action, actionKey, activeDeadlineMs, type Plan, planPod } from './plan.ts';
import { type Backoff, nextBackoff, nextProblem, type PodMemory, type Problem, type Stop } from './pod-memory.ts';
import type { FrozenPod } from './pod-words.ts';
import { podStatus } from './status.ts';
import { containerReference, fieldContext } from './start-container.ts';

export interface PodWorkerOptions {
  readonly node: NodeContext;
  readonly pod: FrozenPod;
  readonly publish: (pod: FrozenPod, status: PodStatus) => void;
  /** Tells the API server that the pod is gone from here. Throws to be called again. */
  readonly finish: (pod: FrozenPod) => Promise<void>;
  /** The pod left nothing here. */
  readonly ended: () => void;
}

export class PodWorker {
  readonly #options: PodWorkerOptions;
  readonly #node: NodeContext;
  readonly #probes: PodProbes;
  readonly #inFlight = new Map<string, { readonly work: Promise<void>; readonly abort: AbortController }>();
  readonly #problems = new Map<string, Problem>();
  readonly #backoffs = new Map<string, Backoff>();
  readonly #applied = new Map<string, string>();
  readonly #stoppedSandboxes = new Set<string>();
  readonly #startedAtMs: number;
  #pod: FrozenPod;
  #stop: Stop | undefined;
  #outcome: PodMemory['outcome'];
  #prepared = false;
  #tornDown = false;
  #isDown = false;
  #isScheduled = false;
  #timer: Timer | undefined;

  constructor(options: PodWorkerOptions) {
    this.#options = options;
    this.#node = options.node;
    this.#pod = options.pod;
    this.#startedAtMs = maybeMillisOf(options.pod.status?.startTime) ?? this.#node.clock.now();
    const { phase } = options.pod.status ?? {};
    if (phase === 'Succeeded' || phase === 'Failed') this.#outcome = phase;
    this.#probes = podProbes({
      cri: this.#node.cri,
      clock: this.#node.clock,
      random: this.#node.random,
      hostIp: this.#node.hostIps[0] ?? '127.0.0.1',
      changed: () => this.wake(),
      unhealthy: (container, kind, output) => {
        const name = kind.charAt(0).toUpperCase() + kind.slice(1);
        const about = containerReference(this.#pod, container);
        this.#node.events.event(about, 'Warning', 'Unhealthy', `${name} probe failed: ${output}`);
      },
    });
    this.update(options.pod);
  }

  get pod(): FrozenPod {
    return this.#pod;
  }

  get isStopping(): boolean {
    return this.#stop !== undefined;
  }

  /** The newest version of the pod; deletion is read from it. */
  update(pod: FrozenPod): void {
    this.#pod = pod;
    const { phase } = pod.status ?? {};
    if (phase === 'Succeeded' || phase === 'Failed') this.#outcome ??= phase;
    if (pod.metadata.deletionTimestamp)
      this.stop({
        reason: 'deleted',
        graceSeconds: pod.metadata.deletionGracePeriodSeconds ?? 30,
        sinceMs: this.#node.clock.now(),
      });
    this.wake();
  }

  /** Ends the pod. A later stop counts when it is sooner over, or when it is the deletion. */
  stop(stop: Stop): void {
    const before = this.#stop;
    const ends = (each: Stop): number => each.sinceMs + each.graceSeconds * 1000;
    const isSooner = before === undefined || ends(stop) < ends(before);
    if (before?.reason === stop.reason && !isSooner) return;
    this.#stop = {
      ...before,
      ...stop,
      ...(before && !isSooner && { graceSeconds: before.graceSeconds, sinceMs: before.sinceMs }),
    };
    for (const [key, { abort }] of this.#inFlight)
      if (key.startsWith('start ') || (key.startsWith('kill ') && isSooner))
        abort.abort(new Error('the pod is stopped'));
    this.wake();
  }

  /** Plans again soon; calls in between count as one. */
  wake(): void {
    if (this.#isScheduled || this.#isDown) return;
    this.#isScheduled = true;
    queueMicrotask(() => {
      this.#isScheduled = false;
      if (!this.#isDown) this.#step();
    });
  }

  /** Leaves the containers running and waits for the steps under way. */
  async shutdown(): Promise<void> {
    this.#isDown = true;
    this.#timer?.cancel();
    for (const { abort } of this.#inFlight.values()) abort.abort(new Error('the kubelet stops'));
    await this.#probes.stop();
    await Promise.all([...this.#inFlight.values()].map(({ work }) => work));
  }

  /** Writes changed volumes anew. */
  async refreshVolumes(): Promise<void> {
    const { node, pod, runtime } = this.#context();
    if (!this.#prepared || this.#stop || this.#outcome || !node.volumes.changes(pod)) return;
    await node.volumes.prepare(pod, fieldContext(node, pod, steps.podIps(node, pod, runtime)), false);
  }

  #context(): steps.ActionContext & { readonly runtime: RuntimePod } {
    const { uid, name, namespace = '' } = this.#pod.metadata;
    const runtime = this.#node.runtime.get(uid) ?? emptyRuntimePod(uid, name, namespace);
    return { node: this.#node, pod: this.#pod, runtime };
  }

  #memory(): PodMemory {
    return {
      startedAtMs: this.#startedAtMs,
      prepared: this.#prepared,
      tornDown: this.#tornDown,
      ...(this.#stop && { stop: this.#stop }),
      ...(this.#outcome && { outcome: this.#outcome }),
      inFlight: new Set(this.#inFlight.keys()),
      problems: this.#problems,
      backoffs: this.#backoffs,
      stoppedSandboxes: this.#stoppedSandboxes,
      probes: this.#probes,
      applied: this.#applied,
    };
  }

  #step(): void {
    const { clock } = this.#node;
    const nowMs = clock.now();
    const deadline = activeDeadlineMs(this.#pod, this.#memory());
    if (deadline !== undefined && deadline <= nowMs && !this.#stop && !this.#outcome)
      this.stop({
        reason: 'deadline',
        graceSeconds: this.#pod.spec.terminationGracePeriodSeconds ?? 30,
        sinceMs: nowMs,
        statusReason: 'DeadlineExceeded',
        message: 'Pod was active on the node longer than the specified deadline',
      });
    const { pod, runtime } = this.#context();
    this.#probes.sync(pod, runtime, this.#stop !== undefined);
    const plan = planPod({ pod, runtime, memory: this.#memory(), nowMs });
    for (const action of plan.actions) this.#start(action);
    this.#publish(plan, runtime, nowMs);
    this.#timer?.cancel();
    if (plan.wakeAtMs !== undefined) this.#timer = clock.after(Math.max(0, plan.wakeAtMs - nowMs), () => this.wake());
  }

  #publish(plan: Plan, runtime: RuntimePod, nowMs: number): void {
    const status = podStatus({
      pod: this.#pod,
      runtime,
      memory: this.#memory(),
      plan,
      hostIps: this.#node.hostIps,
      nowMs,
    });
    if (status.phase === 'Succeeded' || status.phase === 'Failed') this.#outcome ??= status.phase;
    this.#options.publish(this.#pod, status);
  }

  #start(action: Action): void {
    const key = actionKey(action);
    const abort = new AbortController();
    const done = deferred();
    this.#inFlight.set(key, { work: done.promise, abort });
    void this.#perform(action, abort.signal)
      .then(() => this.#problems.delete(key))
      .catch((error: unknown) => {
        if (!abort.signal.aborted) this.#failed(action, key, error);
      })
      .then(() => this.#refresh(action))
      .finally(() => {
        this.#inFlight.delete(key);
        done.resolve();
        this.wake();
      });
  }

  /** What the step did must be seen before the next plan, else it would be planned again. */
  async #refresh(action: Action): Promise<void> {
    if (action.do === 'prepare' || action.do === 'teardown' || action.do === 'finish') return;
    try {
      await this.#node.runtime.refresh(this.#pod.metadata.uid);
    } catch (error) {
      this.#node.logger.warn('cannot look at a pod in the runtime', { pod: this.#pod.metadata.name, error });
    }
  }

  async #perform(action: Action, signal: AbortSignal): Promise<void> {
    const context = this.#context();
    switch (action.do) {
      case 'prepare':
        await steps.prepare(context);
        this.#prepared = true;
        return;
      case 'createSandbox':
        return steps.createSandbox(context, action.attempt);
      case 'start':
        try {
          const { id, resources } = await steps.start(context, action, signal);
          this.#applied.set(id, resources);
          return;
        } finally {
          // Not before: the instance that ended is the newest until then, and would seem to be held back.
          if (action.isRestart)
            this.#backoffs.set(action.name, nextBackoff(this.#backoffs.get(action.name), this.#node.clock.now()));
        }
      case 'resize':
        this.#applied.set(action.id, await steps.resize(context, action));
        return;
      case 'kill':
        return steps.kill(context, action, signal);
      case 'stopSandbox':
        await steps.stopSandbox(context, action.id);
        this.#stoppedSandboxes.add(action.id);
        return;
      case 'removeContainer':
        return steps.removeContainer(context, action.id);
      case 'removeSandbox':
        return steps.removeSandbox(context, action.id);
      case 'teardown':
        await steps.teardown(context);
        this.#applied.clear();
        this.#tornDown = true;
        return;
      case 'finish':
        await this.#options.finish(this.#pod);
        await steps.forget(context);
        this.#isDown = true;
        await this.#probes.stop();
        this.#timer?.cancel();
        this.#options.ended();
    }
  }

  #failed(action: Action, key: string, error: unknown): void {
    const nowMs = this.#node.clock.now();
    const message = messageOf(error);
    this.#node.logger.debug('a step failed', { pod: this.#pod.metadata.name, step: key, error });
    const reason = error instanceof StartError ? error.reason : 'ContainerCreating';
    const isPull = reason === 'ErrImagePull';
    const bounds = isPull
      ? { firstMs: 10_000, maxMs: 300_000 }
      : action.do === 'start'
        ? { firstMs: 2000, maxMs: 20_000 }
        : { firstMs: 500, maxMs: 30_000 };
    const image = action.do === 'start' ? this.#imageOf(action.name) : '';
    const shown = (atMs: number): { reason: string; message: string } =>
      isPull && atMs - nowMs > 3000
        ? { reason: 'ImagePullBackOff', message: `Back-off pulling image "${image}": ErrImagePull: ${message}` }
        : { reason, message: reason === 'ContainerCreating' ? '' : message };
    this.#problems.set(key, nextProblem(this.#problems.get(key), nowMs, bounds, shown));
    if (isPull) this.#node.clock.after(3500, () => this.wake());
  }

  #imageOf(name: string): string {
    const { spec } = this.#pod;
    return [...spec.containers, ...(spec.initContainers ?? [])].find((each) => each.name === name)?.image ?? '';
  }
}
