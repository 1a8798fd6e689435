// Owns how fast an autoscaler may move: stabilization windows, scaling policies, bounds. Pure.
import type { Frozen } from '../../api/meta.ts';
import type {
  HorizontalPodAutoscalerSpec,
  HPAScalingPolicy,
  HPAScalingRules,
} from '../../api/generated/autoscaling.v2.ts';

export interface Recommendation {
  readonly atMs: number;
  readonly replicas: number;
}

/** A change that was made: so many replicas more (or less). */
export interface ScaleEvent {
  readonly atMs: number;
  readonly change: number;
}

export interface History {
  readonly recommendations: readonly Recommendation[];
  readonly ups: readonly ScaleEvent[];
  readonly downs: readonly ScaleEvent[];
}

export interface Said {
  readonly status: 'True' | 'False';
  readonly reason: string;
  readonly message: string;
}

export interface Limited {
  readonly replicas: number;
  readonly able: Said;
  readonly limited: Said;
}

const defaultUp: readonly HPAScalingPolicy[] = [
  { type: 'Pods', value: 4, periodSeconds: 15 },
  { type: 'Percent', value: 100, periodSeconds: 15 },
];
const defaultDown: readonly HPAScalingPolicy[] = [{ type: 'Percent', value: 100, periodSeconds: 15 }];

function within<T extends { readonly atMs: number }>(list: readonly T[], nowMs: number, ms: number): T[] {
  return list.filter(({ atMs }) => atMs > nowMs - ms);
}

interface Question {
  readonly current: number;
  readonly desired: number;
  readonly nowMs: number;
  readonly defaultDownWindowMs: number;
}

/** The proposal after windows, policies and bounds. */
export function limitReplicas(
  spec: Frozen<HorizontalPodAutoscalerSpec>,
  history: History,
  question: Question,
): Limited {
  const { replicas: stable, able } = stabilized(spec, history, question);
  const { current, nowMs } = question;
  const least = spec.minReplicas ?? 1;
  const low = {
    status: 'True',
    reason: 'TooFewReplicas',
    message: 'the desired replica count is less than the minimum replica count',
  } as const;
  const high = {
    status: 'True',
    reason: 'TooManyReplicas',
    message: 'the desired replica count is more than the maximum replica count',
  } as const;
  const up = spec.behavior?.scaleUp;
  if (stable > current) {
    const limit = Math.max(current, scaleUpLimit(current, up, history, nowMs));
    if (stable > Math.min(limit, spec.maxReplicas))
      return limit < spec.maxReplicas
        ? {
            replicas: limit,
            able,
            limited: {
              status: 'True',
              reason: 'ScaleUpLimit',
              message: 'the desired replica count is increasing faster than the maximum scale rate',
            },
          }
        : { replicas: spec.maxReplicas, able, limited: high };
  } else if (stable < current) {
    const limit = Math.min(current, scaleDownLimit(current, spec.behavior?.scaleDown, history, nowMs));
    if (stable < Math.max(limit, least))
      return limit > least
        ? {
            replicas: limit,
            able,
            limited: {
              status: 'True',
              reason: 'ScaleDownLimit',
              message: 'the desired replica count is decreasing faster than the maximum scale rate',
            },
          }
        : { replicas: least, able, limited: low };
  }
  if (stable < least) return { replicas: least, able, limited: low };
  if (stable > spec.maxReplicas) return { replicas: spec.maxReplicas, able, limited: high };
  const fine = {
    status: 'False',
    reason: 'DesiredWithinRange',
    message: 'the desired count is within the acceptable range',
  } as const;
  return { replicas: stable, able, limited: fine };
}

/** Down: the highest recommendation of the window; up: the lowest. */
function stabilized(
  { behavior }: Frozen<HorizontalPodAutoscalerSpec>,
  { recommendations }: History,
  { current, desired, nowMs, defaultDownWindowMs }: Question,
): { readonly replicas: number; readonly able: Said } {
  const upMs = (behavior?.scaleUp?.stabilizationWindowSeconds ?? 0) * 1000;
  const downSeconds = behavior?.scaleDown?.stabilizationWindowSeconds;
  const downMs = downSeconds === undefined ? defaultDownWindowMs : downSeconds * 1000;
  const lowest = Math.min(desired, ...within(recommendations, nowMs, upMs).map(({ replicas }) => replicas));
  const highest = Math.max(desired, ...within(recommendations, nowMs, downMs).map(({ replicas }) => replicas));
  const replicas = Math.min(Math.max(current, lowest), highest);
  if (replicas === desired)
    return {
      replicas,
      able: { status: 'True', reason: 'ReadyForNewScale', message: 'recommended size matches current size' },
    };
  const message = 'recent recommendations were different from the current one, applying the steadier one';
  return {
    replicas,
    able: { status: 'True', reason: replicas > desired ? 'ScaleDownStabilized' : 'ScaleUpStabilized', message },
  };
}

function scaleUpLimit(
  current: number,
  rules: Frozen<HPAScalingRules> | undefined,
  history: History,
  nowMs: number,
): number {
  if (rules?.selectPolicy === 'Disabled') return current;
  const limits = (rules?.policies ?? defaultUp).map(({ type, value, periodSeconds }) => {
    const ms = periodSeconds * 1000;
    const start = current - sum(within(history.ups, nowMs, ms)) + sum(within(history.downs, nowMs, ms));
    return type === 'Pods' ? start + value : Math.ceil(start * (1 + value / 100));
  });
  return rules?.selectPolicy === 'Min' ? Math.min(...limits) : Math.max(...limits);
}

function scaleDownLimit(
  current: number,
  rules: Frozen<HPAScalingRules> | undefined,
  history: History,
  nowMs: number,
): number {
  if (rules?.selectPolicy === 'Disabled') return current;
  const limits = (rules?.policies ?? defaultDown).map(({ type, value, periodSeconds }) => {
    const ms = periodSeconds * 1000;
    const start = current + sum(within(history.downs, nowMs, ms)) - sum(within(history.ups, nowMs, ms));
    return type === 'Pods' ? start - value : Math.trunc(start * (1 - value / 100));
  });
  return rules?.selectPolicy === 'Min' ? Math.max(...limits) : Math.min(...limits);
}

function sum(events: readonly ScaleEvent[]): number {
  return events.reduce((total, { change }) => total + change, 0);
}

/** Without what no window can ask for any more: bounded by time, and by count. */
export function trimmed(history: History, nowMs: number): History {
  const hour = 3_600_000;
  const keep = <T extends { readonly atMs: number }>(list: readonly T[]) => within(list, nowMs, hour).slice(-1000);
  return { recommendations: keep(history.recommendations), ups: keep(history.ups), downs: keep(history.downs) };
}
