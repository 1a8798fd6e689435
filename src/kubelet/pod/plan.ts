// Owns the decision of what a pod's worker does next: spec, runtime and memory in, actions out. Pure: no I/O, no clock.
import { newest, type RuntimeContainer, type RuntimePod, type RuntimeSandbox } from '../runtime/runtime-pod.ts';
import { backoffUntil, type PodMemory } from './pod-memory.ts';
import {
  containerHash,
  ephemeralContainersOf,
  computeOf,
  type FrozenContainer,
  type FrozenPod,
  initContainersOf,
  isSidecar,
  noResources,
  podLabel,
  resourcesText,
  restartsAfter,
} from './pod-words.ts';

export type Action =
  /** Volumes, folders and cgroup. */
  | { readonly do: 'prepare' }
  | { readonly do: 'createSandbox'; readonly attempt: number }
  | {
      readonly do: 'start';
      readonly name: string;
      readonly attempt: number;
      readonly sandboxId: string;
      readonly isRestart: boolean;
    }
  /** Runs the preStop hook, then stops within `graceMs`. */
  | {
      readonly do: 'kill';
      readonly id: string;
      readonly name: string;
      readonly graceMs: number;
      readonly reason: string;
    }
  /** Gives a running container its changed resources. */
  | { readonly do: 'resize'; readonly id: string; readonly name: string }
  | { readonly do: 'stopSandbox'; readonly id: string }
  | { readonly do: 'removeContainer'; readonly id: string }
  | { readonly do: 'removeSandbox'; readonly id: string }
  /** Unmounts and removes all of the pod's from the node; its containers are gone. */
  | { readonly do: 'teardown' }
  /** Tells the API server that the deleted pod is gone from here. */
  | { readonly do: 'finish' };

export interface WaitingReason {
  readonly reason: string;
  readonly message: string;
}

export interface Plan {
  readonly actions: readonly Action[];
  /** Why containers wait, by name: for the status. */
  readonly waiting: ReadonlyMap<string, WaitingReason>;
  /** Wall time at which to plan again though nothing happened. */
  readonly wakeAtMs?: number;
  /** True when no container will run again. */
  readonly isOver: boolean;
  /** All ordinary init containers succeeded and sidecars started. */
  readonly initialized: boolean;
}

export interface PlanInput {
  readonly pod: FrozenPod;
  readonly runtime: RuntimePod;
  readonly memory: PodMemory;
  readonly nowMs: number;
}

/** The key under which an action is known to be in flight. */
export function actionKey(action: Action): string {
  if (action.do === 'start') return `start ${action.name}`;
  return 'id' in action ? `${action.do} ${action.id}` : action.do;
}

export function planPod(input: PlanInput): Plan {
  const draft = new Draft(input);
  const outcome = outcomeOf(input);
  if (input.memory.stop !== undefined || outcome.isOver) planStop(draft);
  else planRun(draft);
  planRemovals(draft);
  return {
    actions: draft.actions,
    waiting: draft.waiting,
    ...(draft.wakeAtMs !== undefined && { wakeAtMs: draft.wakeAtMs }),
    isOver: outcome.isOver || input.memory.stop !== undefined,
    initialized: initProgress(input, currentSandbox(input.runtime)).done,
  };
}

class Draft {
  readonly input: PlanInput;
  readonly actions: Action[] = [];
  readonly waiting = new Map<string, WaitingReason>();
  wakeAtMs: number | undefined;

  constructor(input: PlanInput) {
    this.input = input;
  }

  /** Takes the action unless it is under way, or failed and is held back. */
  act(action: Action): void {
    const key = actionKey(action);
    const until = this.input.memory.problems.get(key)?.untilMs ?? 0;
    if (until > this.input.nowMs) this.wake(until);
    else if (!this.input.memory.inFlight.has(key)) this.actions.push(action);
  }

  wake(atMs: number): void {
    if (this.wakeAtMs === undefined || atMs < this.wakeAtMs) this.wakeAtMs = atMs;
  }
}

/** The newest sandbox when it is ready. */
export function currentSandbox(runtime: RuntimePod): RuntimeSandbox | undefined {
  const [sandbox] = runtime.sandboxes;
  return sandbox?.ready ? sandbox : undefined;
}

const isLive = (container: RuntimeContainer): boolean =>
  container.state === 'running' || container.state === 'created' || container.state === 'unknown';

export interface Outcome {
  readonly isOver: boolean;
  readonly succeeded: boolean;
}

/** Whether the containers' ends decide the pod, and how. */
export function outcomeOf({ pod, runtime, memory }: Pick<PlanInput, 'pod' | 'runtime' | 'memory'>): Outcome {
  if (memory.outcome !== undefined) return { isOver: true, succeeded: memory.outcome === 'Succeeded' };
  for (const container of initContainersOf(pod)) {
    const last = newest(runtime, container.name);
    if (isSidecar(container) || last?.state !== 'exited') continue;
    if (last.exitCode !== 0 && !restartsAfter(pod, container, last.exitCode, true) && !hasMainContainer(pod, runtime))
      return { isOver: true, succeeded: false };
  }
  let succeeded = true;
  for (const container of pod.spec.containers) {
    const last = newest(runtime, container.name);
    if (last?.state !== 'exited' || restartsAfter(pod, container, last.exitCode, false))
      return { isOver: false, succeeded: false };
    if (last.exitCode !== 0) succeeded = false;
  }
  return { isOver: true, succeeded };
}

function hasMainContainer(pod: FrozenPod, runtime: RuntimePod): boolean {
  return pod.spec.containers.some(({ name }) => newest(runtime, name) !== undefined);
}

function planStop(draft: Draft): void {
  const { pod, runtime, memory, nowMs } = draft.input;
  const live = runtime.containers.filter(isLive);
  const sidecars = initContainersOf(pod)
    .filter(isSidecar)
    .map(({ name }) => name);
  const main = live.filter(({ name }) => !sidecars.includes(name));
  // Sidecars outlive what they serve, and go in the reverse order of their start.
  const lastSidecar = sidecars.toReversed().find((name) => live.some((container) => container.name === name));
  const victims = main.length > 0 ? main : live.filter(({ name }) => name === lastSidecar);
  const graceSeconds = memory.stop?.graceSeconds ?? pod.spec.terminationGracePeriodSeconds ?? 30;
  const graceMs = Math.max(0, (memory.stop?.sinceMs ?? nowMs) + graceSeconds * 1000 - nowMs);
  for (const { id, name } of victims)
    draft.act({ do: 'kill', id, name, graceMs, reason: memory.stop?.reason ?? 'finished' });
  // A container may still be on its way: its start is called off, and what it made shows up in the next look.
  if (live.length > 0 || busyStarting.some((prefix) => hasInFlight(memory, prefix))) return;
  const ready = runtime.sandboxes.filter((sandbox) => sandbox.ready || !memory.stoppedSandboxes.has(sandbox.id));
  for (const { id } of ready) draft.act({ do: 'stopSandbox', id });
  if (ready.length > 0 || hasInFlight(memory, 'stopSandbox') || hasInFlight(memory, 'prepare')) return;
  if (!memory.tornDown) draft.act({ do: 'teardown' });
  else if (memory.stop?.reason === 'deleted') draft.act({ do: 'finish' });
}

const busyStarting = ['start ', 'createSandbox', 'removeContainer', 'removeSandbox'];

function hasInFlight(memory: PodMemory, prefix: string): boolean {
  return [...memory.inFlight].some((key) => key.startsWith(prefix));
}

function planRun(draft: Draft): void {
  const { pod, runtime, memory } = draft.input;
  const deadline = activeDeadlineMs(pod, memory);
  if (deadline !== undefined) draft.wake(deadline);
  if (!memory.prepared) return draft.act({ do: 'prepare' });
  const sandbox = currentSandbox(runtime);
  if (sandbox === undefined) return planSandbox(draft);
  const init = initProgress(draft.input, sandbox);
  if (init.next !== undefined) planContainer(draft, init.next, sandbox, true);
  for (const container of init.restartable) planContainer(draft, container, sandbox, true);
  if (!init.done) {
    for (const { name } of pod.spec.containers) draft.waiting.set(name, { reason: 'PodInitializing', message: '' });
    return;
  }
  for (const container of ephemeralContainersOf(pod)) {
    if (newest(runtime, container.name) === undefined) planContainer(draft, container, sandbox, false);
  }
  for (const container of pod.spec.containers) planContainer(draft, container, sandbox, false);
}

/** The moment at which the pod has been active for too long. */
export function activeDeadlineMs(pod: FrozenPod, memory: PodMemory): number | undefined {
  const seconds = pod.spec.activeDeadlineSeconds;
  return seconds === undefined ? undefined : memory.startedAtMs + seconds * 1000;
}

function planSandbox(draft: Draft): void {
  const { runtime, memory } = draft.input;
  const live = runtime.containers.filter(isLive);
  for (const { id, name } of live) draft.act({ do: 'kill', id, name, graceMs: 2000, reason: 'sandbox' });
  for (const { id } of runtime.sandboxes) if (!memory.stoppedSandboxes.has(id)) draft.act({ do: 'stopSandbox', id });
  if (live.length > 0 || hasInFlight(memory, 'stopSandbox') || draft.actions.length > 0) return;
  draft.act({ do: 'createSandbox', attempt: (runtime.sandboxes[0]?.attempt ?? -1) + 1 });
}

interface InitProgress {
  readonly done: boolean;
  /** The init container whose turn it is. */
  readonly next?: FrozenContainer;
  /** Sidecars before it, which are kept running. */
  readonly restartable: readonly FrozenContainer[];
}

function initProgress({ pod, runtime, memory }: PlanInput, sandbox: RuntimeSandbox | undefined): InitProgress {
  const inits = initContainersOf(pod);
  const sidecars: FrozenContainer[] = [];
  const isHere = (name: string): RuntimeContainer | undefined => {
    const last = newest(runtime, name);
    return last && (sandbox === undefined || last.sandboxId === sandbox.id) ? last : undefined;
  };
  // Main containers in this sandbox prove that initialization was done, even if finished init containers were removed since.
  if (pod.spec.containers.some(({ name }) => isHere(name) !== undefined))
    return { done: true, restartable: inits.filter(isSidecar) };
  for (const container of inits) {
    const last = isHere(container.name);
    if (isSidecar(container)) {
      if (last?.state !== 'running' || !memory.probes.started(last.id))
        return { done: false, next: container, restartable: sidecars };
      sidecars.push(container);
    } else if (last?.state !== 'exited' || last.exitCode !== 0)
      return { done: false, next: container, restartable: sidecars };
  }
  return { done: true, restartable: sidecars };
}

function planContainer(draft: Draft, container: FrozenContainer, sandbox: RuntimeSandbox, isInit: boolean): void {
  const { pod, runtime, memory } = draft.input;
  const last = newest(runtime, container.name);
  if (last && isLive(last) && last.sandboxId === sandbox.id) return planRunning(draft, container, last);
  const isRestart = last !== undefined && last.sandboxId === sandbox.id;
  if (isRestart && !restartsAfter(pod, container, last.exitCode, isInit)) return;
  if (isRestart) {
    const until = backoffUntil(memory, container.name, last.finishedAtMs);
    if (until > draft.input.nowMs) {
      const seconds = Math.round((until - last.finishedAtMs) / 1000);
      draft.wake(until);
      draft.waiting.set(container.name, {
        reason: 'CrashLoopBackOff',
        message: `back-off ${durationText(seconds)} restarting failed container=${container.name} pod=${podLabel(pod)}`,
      });
      return;
    }
  }
  const problem = memory.problems.get(`start ${container.name}`);
  if (problem) draft.waiting.set(container.name, problem.shown(draft.input.nowMs));
  // One after the other in the spec's order: a postStart hook holds back the containers behind it.
  if (hasInFlight(memory, 'start ') || draft.actions.some((action) => action.do === 'start')) return;
  draft.act({
    do: 'start',
    name: container.name,
    attempt: last === undefined ? 0 : last.attempt + 1,
    sandboxId: sandbox.id,
    isRestart,
  });
}

function durationText(seconds: number): string {
  const minutes = Math.floor(seconds / 60);
  return minutes > 0 ? `${minutes}m${seconds % 60}s` : `${seconds}s`;
}

function planRunning(draft: Draft, container: FrozenContainer, running: RuntimeContainer): void {
  const { pod, memory } = draft.input;
  const grace = (seconds: number | undefined): number =>
    (seconds ?? pod.spec.terminationGracePeriodSeconds ?? 30) * 1000;
  const kill = (reason: string, graceMs: number): void =>
    draft.act({ do: 'kill', id: running.id, name: container.name, graceMs, reason });
  // A created container whose start is not ours to await was left by an earlier run.
  if (running.state !== 'running') {
    if (!memory.inFlight.has(`start ${container.name}`)) kill('unstarted', 0);
    return;
  }
  const failed = memory.probes.failed(running.id);
  if (failed === 'startup') kill('startup', grace(container.startupProbe?.terminationGracePeriodSeconds));
  else if (failed === 'liveness') kill('liveness', grace(container.livenessProbe?.terminationGracePeriodSeconds));
  else if (running.hash !== '' && running.hash !== containerHash(container)) kill('changed', grace(undefined));
  else planResources(draft, container, running, () => kill('resize', grace(undefined)));
}

/** Changed resources are given to the running container, unless its resizePolicy wants a restart for one of them. */
function planResources(draft: Draft, container: FrozenContainer, running: RuntimeContainer, restart: () => void): void {
  const applied = draft.input.memory.applied.get(running.id) ?? noResources;
  const wanted = resourcesText(container);
  if (applied === wanted) return;
  const before = JSON.parse(applied) as ReturnType<typeof computeOf>;
  const after = computeOf(container);
  const needsRestart = (container.resizePolicy ?? []).some(
    ({ resourceName, restartPolicy }) =>
      restartPolicy === 'RestartContainer' &&
      draft.input.memory.applied.has(running.id) &&
      JSON.stringify(before[resourceName] ?? null) !== JSON.stringify(after[resourceName] ?? null),
  );
  if (needsRestart) restart();
  else draft.act({ do: 'resize', id: running.id, name: container.name });
}

/** Two finished instances of a container are kept for logs and lastState; what a deleted pod leaves is removed at its end. */
function planRemovals(draft: Draft): void {
  const { runtime, memory } = draft.input;
  if (memory.stop?.reason === 'deleted') return;
  const seen = new Map<string, number>();
  for (const { id, name, state } of runtime.containers) {
    const count = (seen.get(name) ?? 0) + 1;
    seen.set(name, count);
    if (count > keptInstances && state === 'exited') draft.act({ do: 'removeContainer', id });
  }
  const used = new Set(runtime.containers.map(({ sandboxId }) => sandboxId));
  runtime.sandboxes.forEach(({ id, ready }, index) => {
    if (!ready && index > 0 && !used.has(id) && memory.stoppedSandboxes.has(id)) draft.act({ do: 'removeSandbox', id });
  });
}

const keptInstances = 2;
