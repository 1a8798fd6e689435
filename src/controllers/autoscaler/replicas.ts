// Owns how many replicas one metric asks for, from what each pod uses. Pure.
import type { Frozen } from '../../api/meta.ts';
import type { Pod } from '../../api/generated/core.v1.ts';
import { isTerminating, podCondition } from '../../api/pod-readiness.ts';
import { millisOf } from '../../api/time.ts';

/** What a pod uses, in thousandths, and over which time it was measured. */
export interface PodMetric {
  readonly value: number;
  readonly timestampMs: number;
  readonly windowMs: number;
}

export type PodMetrics = ReadonlyMap<string, PodMetric>;

/** Relative differences that are left alone, down and up. */
export interface Tolerances {
  readonly down: number;
  readonly up: number;
}

export interface StartTimes {
  readonly nowMs: number;
  readonly cpuInitializationPeriodMs: number;
  readonly initialReadinessDelayMs: number;
}

interface Groups {
  readonly ready: number;
  readonly unready: ReadonlySet<string>;
  readonly missing: ReadonlySet<string>;
  readonly ignored: ReadonlySet<string>;
}

/** Processor use right after a start says little: such pods count as not ready until their first Ready is old enough. */
function isStillStarting(pod: Frozen<Pod>, metric: PodMetric, times: StartTimes): boolean {
  const ready = podCondition(pod, 'Ready');
  if (!ready || !pod.status?.startTime) return true;
  const startMs = millisOf(pod.status.startTime);
  const readySinceMs = ready.lastTransitionTime ? millisOf(ready.lastTransitionTime) : 0;
  if (startMs + times.cpuInitializationPeriodMs > times.nowMs)
    return ready.status === 'False' || metric.timestampMs < readySinceMs + metric.windowMs;
  return ready.status === 'False' && startMs + times.initialReadinessDelayMs > readySinceMs;
}

function groupPods(pods: readonly Frozen<Pod>[], metrics: PodMetrics, resource: string, times: StartTimes): Groups {
  const [unready, missing, ignored] = [new Set<string>(), new Set<string>(), new Set<string>()];
  let ready = 0;
  for (const pod of pods) {
    const { name } = pod.metadata;
    const metric = metrics.get(name);
    if (isTerminating(pod) || pod.status?.phase === 'Failed') ignored.add(name);
    else if (pod.status?.phase === 'Pending') unready.add(name);
    else if (metric === undefined) missing.add(name);
    else if (resource === 'cpu' && isStillStarting(pod, metric, times)) unready.add(name);
    else ready++;
  }
  return { ready, unready, missing, ignored };
}

function isTolerated(ratio: number, { down, up }: Tolerances): boolean {
  return ratio >= 1 - down && ratio <= 1 + up;
}

export interface Proposal {
  readonly replicas: number;
  /** Mean use of a pod, in thousandths. */
  readonly average: number;
  /** Percent of the requests; only for utilization. */
  readonly utilization?: number;
}

export interface PodMetricQuestion {
  readonly current: number;
  readonly pods: readonly Frozen<Pod>[];
  readonly metrics: PodMetrics;
  readonly resource: string;
  /** Thousandths that a pod should use; with `requests` the percent of what it requests. */
  readonly target: number;
  /** By pod, in thousandths. */
  readonly requests?: ReadonlyMap<string, number>;
  readonly tolerances: Tolerances;
  readonly times: StartTimes;
}

/** Throws when no pod has a metric. Pods without one count as using what does least harm: nothing when scaling up, all when down. */
export function proposeByPods(question: PodMetricQuestion): Proposal {
  const { current, pods, requests, tolerances, target } = question;
  const { ready, unready, missing, ignored } = groupPods(pods, question.metrics, question.resource, question.times);
  const used = new Map([...question.metrics].map(([name, { value }]) => [name, value]));
  for (const name of [...ignored, ...unready]) used.delete(name);
  if (used.size === 0) throw new Error('did not receive metrics for targeted pods (pods might be unready)');
  const share = (values: ReadonlyMap<string, number>) => {
    const sum = [...values.values()].reduce((total, value) => total + value, 0);
    const wanted = requests
      ? [...values.keys()].reduce((total, name) => total + (requests.get(name) ?? 0), 0)
      : values.size;
    if (wanted === 0) throw new Error('no metrics returned matched known pods');
    const utilization = requests ? Math.trunc((sum * 100) / wanted) : undefined;
    return { ratio: (utilization ?? sum / wanted) / target, average: sum / values.size, utilization };
  };
  const seen = share(used);
  const answer = (replicas: number): Proposal => ({
    replicas,
    average: Math.trunc(seen.average),
    ...(seen.utilization !== undefined && { utilization: seen.utilization }),
  });
  const withUnready = unready.size > 0 && seen.ratio > 1;
  if (!withUnready && missing.size === 0)
    return answer(isTolerated(seen.ratio, tolerances) ? current : Math.ceil(seen.ratio * ready));
  for (const name of missing) {
    const full = requests ? ((requests.get(name) ?? 0) * Math.max(100, target)) / 100 : target;
    used.set(name, seen.ratio < 1 ? full : 0);
  }
  if (withUnready) for (const name of unready) used.set(name, 0);
  const { ratio } = share(used);
  if (isTolerated(ratio, tolerances) || (seen.ratio < 1 && ratio > 1) || (seen.ratio > 1 && ratio < 1))
    return answer(current);
  const replicas = Math.ceil(ratio * used.size);
  // Assumptions about pods without metrics must not turn the direction.
  return answer((ratio < 1 && replicas > current) || (ratio > 1 && replicas < current) ? current : replicas);
}

/** For one number that describes all pods together; `perPod`: the target is each pod's share of it. */
export function proposeByTotal(
  usage: number,
  target: number,
  perPod: boolean,
  { current, ready, tolerances }: { readonly current: number; readonly ready: number; readonly tolerances: Tolerances },
): Proposal {
  const ratio = perPod ? (current === 0 ? Number.POSITIVE_INFINITY : usage / (target * current)) : usage / target;
  const moved = perPod ? Math.ceil(usage / target) : Math.ceil(ratio * (current === 0 ? 1 : ready));
  const replicas = current !== 0 && isTolerated(ratio, tolerances) ? current : moved;
  return { replicas, average: Math.ceil(usage / Math.max(1, perPod ? current : 1)) };
}
