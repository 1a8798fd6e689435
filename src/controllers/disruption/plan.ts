// Owns how many of a budget's pods may be disrupted now (documentation: "Specifying a Disruption Budget"). Pure.
import { scaledValue } from '../../api/int-or-string.ts';
import type { Frozen } from '../../api/meta.ts';
import type { Pod } from '../../api/generated/core.v1.ts';
import type { PodDisruptionBudget, PodDisruptionBudgetStatus } from '../../api/generated/policy.v1.ts';
import { isPodReady, isTerminating } from '../../api/pod-readiness.ts';
import { maybeMillisOf, timeOf } from '../../api/time.ts';

/** An eviction that was allowed but did not lead to a deletion within this time is forgotten. */
const disruptionTimeoutMs = 2 * 60_000;

/** Whether the budget is in parts of what the pods' controllers want, not of the pods there are. */
export function needsScale({ spec }: Frozen<PodDisruptionBudget>): boolean {
  return spec.maxUnavailable !== undefined || typeof spec.minAvailable === 'string';
}

export function desiredHealthy({ spec }: Frozen<PodDisruptionBudget>, expected: number): number {
  if (spec.maxUnavailable !== undefined)
    return Math.max(0, expected - scaledValue(spec.maxUnavailable, expected, true));
  return spec.minAvailable === undefined ? expected : scaledValue(spec.minAvailable, expected, true);
}

export interface BudgetInput {
  readonly budget: Frozen<PodDisruptionBudget>;
  readonly pods: readonly Frozen<Pod>[];
  /** How many pods there should be. */
  readonly expected: number;
  readonly nowMs: number;
}

export interface BudgetPlan {
  readonly status: PodDisruptionBudgetStatus;
  /** When the next allowed eviction is forgotten. */
  readonly recheckMs: number | undefined;
}

export function planBudget({ budget, pods, expected, nowMs }: BudgetInput): BudgetPlan {
  const disruptedPods: Record<string, string> = {};
  let recheckMs: number | undefined;
  for (const [name, time] of Object.entries(budget.status?.disruptedPods ?? {})) {
    const pod = pods.find(({ metadata }) => metadata.name === name);
    const leftMs = (maybeMillisOf(time) ?? nowMs) + disruptionTimeoutMs - nowMs;
    if (!pod || isTerminating(pod) || leftMs <= 0) continue;
    disruptedPods[name] = time;
    recheckMs = Math.min(recheckMs ?? leftMs, leftMs);
  }
  const currentHealthy = pods.filter(
    (pod) => !isTerminating(pod) && isPodReady(pod) && disruptedPods[pod.metadata.name] === undefined,
  ).length;
  const desired = desiredHealthy(budget, expected);
  const disruptionsAllowed = expected > 0 ? Math.max(0, currentHealthy - desired) : 0;
  const status: PodDisruptionBudgetStatus = {
    observedGeneration: budget.metadata.generation ?? 0,
    ...(Object.keys(disruptedPods).length > 0 && { disruptedPods }),
    disruptionsAllowed,
    currentHealthy,
    desiredHealthy: desired,
    expectedPods: expected,
    conditions: withAllowed(
      budget,
      disruptionsAllowed > 0 ? 'True' : 'False',
      disruptionsAllowed > 0 ? 'SufficientPods' : 'InsufficientPods',
      '',
      nowMs,
    ),
  };
  return { status, recheckMs };
}

/** The status of a budget whose pods' controllers cannot be asked: nothing may be disrupted. */
export function failedStatus(
  budget: Frozen<PodDisruptionBudget>,
  message: string,
  nowMs: number,
): PodDisruptionBudgetStatus {
  const { status } = budget;
  return {
    ...(status as PodDisruptionBudgetStatus),
    observedGeneration: budget.metadata.generation ?? 0,
    disruptionsAllowed: 0,
    conditions: withAllowed(budget, 'False', 'SyncFailed', message, nowMs),
  };
}

function withAllowed(
  budget: Frozen<PodDisruptionBudget>,
  status: 'True' | 'False',
  reason: string,
  message: string,
  nowMs: number,
): NonNullable<PodDisruptionBudgetStatus['conditions']> {
  const type = 'DisruptionAllowed';
  const conditions = (budget.status?.conditions ?? []).map((condition) => ({ ...condition }));
  const known = conditions.find((condition) => condition.type === type);
  const lastTransitionTime = known?.status === status ? known.lastTransitionTime : timeOf(nowMs);
  const fresh = {
    type,
    status,
    observedGeneration: budget.metadata.generation ?? 0,
    lastTransitionTime,
    reason,
    message,
  };
  const at = conditions.findIndex((condition) => condition.type === type);
  return at < 0 ? [...conditions, fresh] : conditions.with(at, fresh);
}
