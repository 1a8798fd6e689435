// Owns the probing of running containers: one loop a probe, results for plan and status. Kills nothing.
import { type Clock, sleep } from '../../base/clock.ts';
import type { Random } from '../../base/random.ts';
import { deferred } from '../../base/task-group.ts';
import type { Probe } from '../../api/generated/core.v1.ts';
import type { Frozen } from '../../api/meta.ts';
import type { Cri } from '../cri.ts';
import { currentSandbox } from '../pod/plan.ts';
import type { ProbeView } from '../pod/pod-memory.ts';
import { allContainersOf, type FrozenContainer, type FrozenPod } from '../pod/pod-words.ts';
import type { RuntimePod } from '../runtime/runtime-pod.ts';
import { check } from './check.ts';
import { judge, type Streak } from './verdict.ts';

type Kind = 'startup' | 'readiness' | 'liveness';

export interface PodProbesOptions {
  readonly cri: Cri;
  readonly clock: Clock;
  readonly random: Random;
  readonly hostIp: string;
  /** A probe's result changed: plan again. */
  readonly changed: () => void;
  readonly unhealthy: (container: FrozenContainer, kind: Kind, output: string) => void;
}

export interface PodProbes extends ProbeView {
  /** Starts probes of containers that run and stops those of others. */
  sync(pod: FrozenPod, runtime: RuntimePod, stopping: boolean): void;
  stop(): Promise<void>;
}

interface Probed {
  readonly kinds: ReadonlyMap<Kind, Frozen<Probe>>;
  readonly results: Map<Kind, boolean>;
  readonly abort: AbortController;
  readonly loops: Promise<void>[];
  readonly hasStarted: ReturnType<typeof deferred<void>>;
}

const firstEagerPauseMs = 20;
const maxEagerMs = 2000;

export function podProbes(options: PodProbesOptions): PodProbes {
  const probed = new Map<string, Probed>();
  let stopping = false;

  function start(pod: FrozenPod, container: FrozenContainer, runtime: RuntimePod, id: string, startedMs: number): void {
    const kinds = new Map<Kind, Frozen<Probe>>();
    if (container.startupProbe) kinds.set('startup', container.startupProbe);
    if (container.readinessProbe) kinds.set('readiness', container.readinessProbe);
    if (container.livenessProbe) kinds.set('liveness', container.livenessProbe);
    const entry: Probed = {
      kinds,
      results: new Map(),
      abort: new AbortController(),
      loops: [],
      hasStarted: deferred(),
    };
    probed.set(id, entry);
    const podIp = pod.spec.hostNetwork ? options.hostIp : (currentSandbox(runtime)?.ips[0] ?? options.hostIp);
    for (const [kind, probe] of kinds)
      entry.loops.push(loop(entry, kind, probe, { container, containerId: id, podIp, cri: options.cri }, startedMs));
  }

  async function loop(
    entry: Probed,
    kind: Kind,
    probe: Frozen<Probe>,
    target: Parameters<typeof check>[1],
    startedMs: number,
  ): Promise<void> {
    const { clock } = options;
    const { signal } = entry.abort;
    const periodMs = (probe.periodSeconds ?? 10) * 1000;
    const thresholds = { success: probe.successThreshold ?? 1, failure: probe.failureThreshold ?? 3 };
    const firstMs = startedMs + (probe.initialDelaySeconds ?? 0) * 1000 - clock.now();
    let streak: Streak | undefined;
    try {
      if (firstMs > 0) await sleep(clock, firstMs, signal);
      if (kind !== 'startup' && entry.kinds.has('startup')) await hasStarted(entry, signal);
      if (kind !== 'liveness' && !probe.exec) await eagerly(probe, target, periodMs, signal);
      while (!signal.aborted) {
        const { ok, output } = await check(probe, target, (probe.timeoutSeconds ?? 1) * 1000);
        if (signal.aborted) return;
        if (!ok) options.unhealthy(target.container, kind, output);
        const verdict = judge(streak, ok, thresholds);
        streak = verdict.streak;
        if (verdict.result !== undefined && entry.results.get(kind) !== verdict.result) {
          entry.results.set(kind, verdict.result);
          options.changed();
        }
        if (kind === 'startup' && verdict.result === true) {
          // Startup is over for good with its first success.
          entry.hasStarted.resolve();
          return;
        }
        await sleep(clock, periodMs, signal);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  /** Rejects when the container is no longer probed. */
  function hasStarted(entry: Probed, signal: AbortSignal): Promise<void> {
    const gone = deferred<never>();
    const onAbort = () => gone.reject(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    return Promise.race([entry.hasStarted.promise, gone.promise]).finally(() =>
      signal.removeEventListener('abort', onAbort),
    );
  }

  /**
   * A program that has just been started mostly listens some milliseconds later, and a whole period would pass until the next
   * look: within the first period it is looked at often. These looks count only by ending when one succeeds.
   */
  async function eagerly(
    probe: Frozen<Probe>,
    target: Parameters<typeof check>[1],
    periodMs: number,
    signal: AbortSignal,
  ): Promise<void> {
    const { clock } = options;
    const untilMs = clock.monotonic() + Math.min(periodMs, maxEagerMs);
    for (let pauseMs = firstEagerPauseMs; clock.monotonic() < untilMs; pauseMs *= 2) {
      if ((await check(probe, target, (probe.timeoutSeconds ?? 1) * 1000)).ok) return;
      await sleep(clock, pauseMs, signal);
    }
  }

  function end(id: string): void {
    probed.get(id)?.abort.abort();
    probed.delete(id);
  }

  return {
    sync(pod, runtime, isStopping) {
      stopping = isStopping;
      const running = runtime.containers.filter(({ state }) => state === 'running');
      for (const id of probed.keys()) if (!running.some((each) => each.id === id)) end(id);
      for (const { id, name, startedAtMs } of running) {
        const container = allContainersOf(pod).find((each) => each.name === name);
        if (container && !probed.has(id)) start(pod, container, runtime, id, startedAtMs);
      }
      // A pod that stops stays ready or not by its readiness probe, but is no longer restarted for its health.
      if (stopping) for (const entry of probed.values()) entry.results.delete('liveness');
    },
    async stop() {
      const loops = [...probed.values()].flatMap((entry) => entry.loops);
      for (const id of [...probed.keys()]) end(id);
      await Promise.all(loops);
    },
    started: (id) => {
      const entry = probed.get(id);
      return entry !== undefined && (!entry.kinds.has('startup') || entry.results.get('startup') === true);
    },
    ready: (id) => {
      const entry = probed.get(id);
      return entry !== undefined && (!entry.kinds.has('readiness') || entry.results.get('readiness') === true);
    },
    failed: (id) => {
      const results = probed.get(id)?.results;
      if (stopping || results === undefined) return undefined;
      if (results.get('startup') === false) return 'startup';
      return results.get('liveness') === false ? 'liveness' : undefined;
    },
  };
}
