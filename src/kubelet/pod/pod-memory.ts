// Owns what a pod's worker remembers between two plans, and how failures hold steps back. Pure.
import type { WaitingReason } from './plan.ts';

export type StopReason = 'deleted' | 'evicted' | 'deadline' | 'preempted' | 'rejected';

export interface Stop {
  readonly reason: StopReason;
  readonly graceSeconds: number;
  readonly sinceMs: number;
  /** For status.reason and status.message where the pod fails by it. */
  readonly statusReason?: string;
  readonly message?: string;
}

/** What the probes say about a running container. */
export interface ProbeView {
  /** True without a startup probe, or after its success. */
  started(containerId: string): boolean;
  ready(containerId: string): boolean;
  failed(containerId: string): 'startup' | 'liveness' | undefined;
}

/** A step that failed and when it may be tried again. */
export interface Problem {
  readonly delayMs: number;
  readonly untilMs: number;
  readonly shown: (nowMs: number) => WaitingReason;
}

export interface Backoff {
  readonly delayMs: number;
  readonly startedMs: number;
}

export interface PodMemory {
  readonly startedAtMs: number;
  readonly prepared: boolean;
  readonly tornDown: boolean;
  readonly stop?: Stop;
  /** Decided in an earlier run of this kubelet, read back from the pod's status. */
  readonly outcome?: 'Succeeded' | 'Failed';
  readonly inFlight: ReadonlySet<string>;
  readonly problems: ReadonlyMap<string, Problem>;
  readonly backoffs: ReadonlyMap<string, Backoff>;
  /** Sandboxes that StopPodSandbox was done for: an unready one may still hold its network otherwise. */
  readonly stoppedSandboxes: ReadonlySet<string>;
  readonly probes: ProbeView;
  /** The resources that running containers were given last, by container id. */
  readonly applied: ReadonlyMap<string, string>;
}

export const firstBackoffMs = 10_000;
export const maxBackoffMs = 300_000;

/** When a container that ended at `finishedAtMs` may start again: the first restart is at once. */
export function backoffUntil(memory: PodMemory, name: string, finishedAtMs: number): number {
  const backoff = memory.backoffs.get(name);
  // A container that ran for long begins anew.
  if (backoff === undefined || finishedAtMs - backoff.startedMs > 2 * maxBackoffMs) return 0;
  return finishedAtMs + backoff.delayMs;
}

/** The back-off after a restart: doubles up to the maximum, and begins anew after twice the maximum of quiet. */
export function nextBackoff(before: Backoff | undefined, nowMs: number): Backoff {
  if (before === undefined || nowMs - before.startedMs > 2 * maxBackoffMs)
    return { delayMs: firstBackoffMs, startedMs: nowMs };
  return { delayMs: Math.min(maxBackoffMs, before.delayMs * 2), startedMs: nowMs };
}

/** A failure of a step: doubles from `firstMs` to `maxMs`. */
export function nextProblem(
  before: Problem | undefined,
  nowMs: number,
  bounds: { readonly firstMs: number; readonly maxMs: number },
  shown: Problem['shown'],
): Problem {
  const delayMs = before === undefined ? bounds.firstMs : Math.min(bounds.maxMs, before.delayMs * 2);
  return { delayMs, untilMs: nowMs + delayMs, shown };
}
