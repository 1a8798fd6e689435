// Owns what a node does when memory or disk runs out: says so in its conditions, and picks pods to end. The picking is pure.
import type { FrozenPod } from './pod/pod-words.ts';
import { qosClassOf } from '../api/judge/pod-qos.ts';
import { podSums } from './pod/qos.ts';

export interface Pressure {
  readonly memory: boolean;
  readonly disk: boolean;
  readonly pid: boolean;
}

export interface Signals {
  readonly memoryAvailableBytes: number;
  readonly diskAvailableRatio: number;
  readonly inodesFreeRatio: number;
  readonly pidsFreeRatio: number;
}

/** The kubelet's documented defaults (evictionHard). */
const hardThresholds = {
  memoryAvailableBytes: 100 * 1024 * 1024,
  diskAvailableRatio: 0.1,
  inodesFreeRatio: 0.05,
  pidsFreeRatio: 0.01,
} as const;

export function pressureOf(signals: Signals, thresholds = hardThresholds): Pressure {
  return {
    memory: signals.memoryAvailableBytes < thresholds.memoryAvailableBytes,
    disk:
      signals.diskAvailableRatio < thresholds.diskAvailableRatio ||
      signals.inodesFreeRatio < thresholds.inodesFreeRatio,
    pid: signals.pidsFreeRatio < thresholds.pidsFreeRatio,
  };
}

/** The pod to end first for memory: over its request, then of low priority, then furthest over ("Node-pressure Eviction"). */
export function memoryVictim(
  pods: readonly FrozenPod[],
  workingSetBytes: (pod: FrozenPod) => number,
): FrozenPod | undefined {
  const isCritical = (pod: FrozenPod): boolean => (pod.spec.priority ?? 0) >= 2_000_000_000;
  const over = (pod: FrozenPod): number => workingSetBytes(pod) - podSums(pod).memoryBytes;
  return pods
    .filter((pod) => !isCritical(pod) && pod.status?.phase !== 'Succeeded' && pod.status?.phase !== 'Failed')
    .toSorted(
      (a, b) =>
        Number(over(b) > 0) - Number(over(a) > 0) ||
        (a.spec.priority ?? 0) - (b.spec.priority ?? 0) ||
        over(b) - over(a),
    )[0];
}

/** What the evicted pod's status says. */
export function evictionMessage(pod: FrozenPod, resource: string, availableBytes: number): string {
  return `The node was low on resource: ${resource}. Threshold quantity: ${Math.round(hardThresholds.memoryAvailableBytes / 1024)}Ki, available: ${Math.round(availableBytes / 1024)}Ki. Pod is ${qosClassOf(pod.spec)}.`;
}
