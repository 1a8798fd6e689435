// Owns the decision whether a pod may be evicted now: what its disruption budget says. Pure; the caller reads and writes.
import type { Pod } from '../../../api/generated/core.v1.ts';
import type { PodDisruptionBudget, PodDisruptionBudgetStatus } from '../../../api/generated/policy.v1.ts';
import { type Frozen, thaw } from '../../../api/meta.ts';

export type EvictionPlan =
  /** Delete the pod. `budget`: write this status first, and only if the budget is as it was. */
  | {
      readonly verdict: 'delete';
      readonly budget?: { readonly name: string; readonly status: PodDisruptionBudgetStatus };
    }
  /** 429; the cause's reason is DisruptionBudget where `cause` says so. */
  | {
      readonly verdict: 'later';
      readonly message: string;
      readonly retryAfterSeconds?: number;
      readonly cause: boolean;
    }
  | { readonly verdict: 'forbidden'; readonly message: string }
  /** 500: more than one budget. */
  | { readonly verdict: 'ambiguous'; readonly message: string };

const maxDisrupted = 2000;
const staleRetrySeconds = 10;

/** Pods that serve nobody go without asking. */
const needsNoBudget = ({ metadata, status }: Frozen<Pod>): boolean =>
  status?.phase === 'Succeeded' ||
  status?.phase === 'Failed' ||
  status?.phase === 'Pending' ||
  metadata.deletionTimestamp !== undefined;

const isReady = ({ status }: Frozen<Pod>): boolean =>
  (status?.conditions ?? []).some(({ type, status: on }) => type === 'Ready' && on === 'True');

/** `budgets` are those of the pod's namespace whose selector matches it. `now` in RFC 3339. */
export function planEviction(
  pod: Frozen<Pod>,
  budgets: readonly Frozen<PodDisruptionBudget>[],
  now: string,
): EvictionPlan {
  if (needsNoBudget(pod)) return { verdict: 'delete' };
  if (budgets.length > 1)
    return {
      verdict: 'ambiguous',
      message: 'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.',
    };
  const budget = budgets[0];
  if (budget === undefined) return { verdict: 'delete' };
  const { spec, status } = budget;
  if (!isReady(pod)) {
    // An unready pod takes no availability away: at will, or while the rest is healthy enough.
    const healthy = (status?.desiredHealthy ?? 0) > 0 && (status?.currentHealthy ?? 0) >= status!.desiredHealthy;
    if (spec?.unhealthyPodEvictionPolicy === 'AlwaysAllow' || healthy) return { verdict: 'delete' };
  }
  return planWithin(pod, budget, now);
}

function planWithin(pod: Frozen<Pod>, { metadata, status }: Frozen<PodDisruptionBudget>, now: string): EvictionPlan {
  const refused = "Cannot evict pod as it would violate the pod's disruption budget.";
  if ((status?.observedGeneration ?? 0) < (metadata.generation ?? 0))
    return { verdict: 'later', message: refused, retryAfterSeconds: staleRetrySeconds, cause: true };
  const allowed = status?.disruptionsAllowed ?? 0;
  if (allowed < 0) return { verdict: 'forbidden', message: 'pdb disruptions allowed is negative' };
  if (Object.keys(status?.disruptedPods ?? {}).length > maxDisrupted)
    return {
      verdict: 'forbidden',
      message: 'DisruptedPods map too big - too many evictions not confirmed by PDB controller',
    };
  if (allowed === 0) return { verdict: 'later', message: refused, cause: true };
  const next = thaw<PodDisruptionBudgetStatus>(status);
  next.disruptionsAllowed = allowed - 1;
  const disrupted: Record<string, unknown> = { ...next.disruptedPods, [pod.metadata.name]: now };
  next.disruptedPods = disrupted as NonNullable<typeof next.disruptedPods>;
  return { verdict: 'delete', budget: { name: metadata.name, status: next } };
}
