// Owns what follows from a pod's quality-of-service class and resources for the kernel. Pure.
import type { Frozen } from '../../api/meta.ts';
import type { ResourceRequirements } from '../../api/generated/core.v1.ts';
import { type FrozenPod, initContainersOf } from './pod-words.ts';
import { qosClassOf } from '../../api/judge/pod-qos.ts';
import { amount, milliAmount } from './quantities.ts';

const guaranteedOomScore = -997;
const bestEffortOomScore = 1000;

/** How soon the kernel kills a container when memory runs out ("Node out of memory behavior"). */
export function oomScore(pod: FrozenPod, requestedBytes: number, capacityBytes: number): number {
  if ((pod.spec.priority ?? 0) >= 2_000_000_000) return guaranteedOomScore;
  const qos = qosClassOf(pod.spec);
  if (qos === 'Guaranteed') return guaranteedOomScore;
  if (qos === 'BestEffort') return bestEffortOomScore;
  const score = Math.floor(1000 - (1000 * requestedBytes) / Math.max(1, capacityBytes));
  return Math.min(999, Math.max(1000 + guaranteedOomScore, score));
}

export const cpuPeriodUs = 100_000;

export function cpuShares(milli: number): number {
  return milli === 0 ? 2 : Math.min(262_144, Math.max(2, Math.floor((milli * 1024) / 1000)));
}

/** -1: no limit. */
export function cpuQuotaUs(milli: number): number {
  return milli === 0 ? -1 : Math.max(1000, Math.floor((milli * cpuPeriodUs) / 1000));
}

export interface PodSums {
  readonly cpuMilli: number;
  readonly memoryBytes: number;
  /** 0 when a container has no limit: then the pod has none. */
  readonly cpuLimitMilli: number;
  readonly memoryLimitBytes: number;
}

/** What the pod as a whole asks for: containers and sidecars together, or its largest init step. */
export function podSums(pod: FrozenPod): PodSums {
  const of = (kind: 'requests' | 'limits', name: string, read: (text: string | undefined) => number): number => {
    const own = pod.spec.resources?.[kind]?.[name];
    if (own !== undefined) return read(own);
    const value = (each: { readonly resources?: Frozen<ResourceRequirements> }): number =>
      read(each.resources?.[kind]?.[name] ?? (kind === 'requests' ? each.resources?.limits?.[name] : undefined));
    const main = pod.spec.containers.map(value);
    if (kind === 'limits' && main.some((each) => each === 0)) return 0;
    let sidecars = 0;
    let peak = 0;
    for (const container of initContainersOf(pod)) {
      if (container.restartPolicy === 'Always') sidecars += value(container);
      else peak = Math.max(peak, sidecars + value(container));
    }
    const sum = main.reduce((total, each) => total + each, sidecars);
    return Math.max(sum, peak) + read(pod.spec.overhead?.[name]);
  };
  return {
    cpuMilli: of('requests', 'cpu', milliAmount),
    memoryBytes: of('requests', 'memory', amount),
    cpuLimitMilli: of('limits', 'cpu', milliAmount),
    memoryLimitBytes: of('limits', 'memory', amount),
  };
}
