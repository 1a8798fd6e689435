// Owns judgements on a pod's state that several components share: active, ready, available, finished.
import type { Frozen } from './meta.ts';
import type { Pod, PodCondition } from './generated/core.v1.ts';
import { maybeMillisOf } from './time.ts';

export function podCondition(pod: Frozen<Pod>, type: string): Frozen<PodCondition> | undefined {
  return pod.status?.conditions?.find((condition) => condition.type === type);
}

export function isPodReady(pod: Frozen<Pod>): boolean {
  return podCondition(pod, 'Ready')?.status === 'True';
}

/** Ready, and has been for `minReadySeconds`. */
export function isPodAvailable(pod: Frozen<Pod>, minReadySeconds: number, nowMs: number): boolean {
  return (msUntilAvailable(pod, minReadySeconds, nowMs) ?? 1) <= 0;
}

/** How long until a ready pod counts as available if it stays ready; undefined when it is not ready. */
export function msUntilAvailable(pod: Frozen<Pod>, minReadySeconds: number, nowMs: number): number | undefined {
  const ready = podCondition(pod, 'Ready');
  if (ready?.status !== 'True') return undefined;
  if (minReadySeconds === 0) return 0;
  const sinceMs = maybeMillisOf(ready.lastTransitionTime);
  return sinceMs === undefined ? undefined : sinceMs + minReadySeconds * 1000 - nowMs;
}

/** Succeeded or Failed: its containers will not run again. */
export function isPodFinished(pod: Frozen<Pod>): boolean {
  const phase = pod.status?.phase;
  return phase === 'Succeeded' || phase === 'Failed';
}

export function isTerminating(obj: { readonly metadata: { readonly deletionTimestamp?: string } }): boolean {
  return obj.metadata.deletionTimestamp !== undefined;
}

/** Counts towards a workload's replicas: neither finished nor being deleted. */
export function isPodActive(pod: Frozen<Pod>): boolean {
  return !isPodFinished(pod) && !isTerminating(pod);
}
