// Owns the decisions of replica controllers: how many pods to make, which to delete, what the status says. Pure.
import type { Frozen } from '../../api/meta.ts';
import type { ReplicaSetCondition, ReplicaSetStatus } from '../../api/generated/apps.v1.ts';
import type { Pod } from '../../api/generated/core.v1.ts';
import { isPodActive, isPodFinished, isPodReady, isTerminating, msUntilAvailable } from '../../api/pod-readiness.ts';
import { timeOf } from '../../api/time.ts';
import { podsToDelete } from '../framework/pod-ranking.ts';

/** No more than so many creations or deletions in one step. */
export const burst = 500;

export type ReplicaPlan =
  | { readonly create: number }
  | { readonly remove: readonly Frozen<Pod>[] }
  | { readonly nothing: true };

export function planReplicas(
  desired: number,
  claimed: readonly Frozen<Pod>[],
  nowMs: number,
  related: readonly Frozen<Pod>[],
): ReplicaPlan {
  const active = claimed.filter(isPodActive);
  const surplus = active.length - desired;
  if (surplus < 0) return { create: Math.min(-surplus, burst) };
  if (surplus === 0) return { nothing: true };
  const onNode = new Map<string, number>();
  for (const pod of related)
    if (isPodActive(pod) && pod.spec.nodeName) onNode.set(pod.spec.nodeName, (onNode.get(pod.spec.nodeName) ?? 0) + 1);
  return { remove: podsToDelete(active, Math.min(surplus, burst), nowMs, (node) => onNode.get(node) ?? 0) };
}

export interface StatusInput {
  readonly generation: number;
  readonly previous: Frozen<ReplicaSetStatus> | undefined;
  readonly claimed: readonly Frozen<Pod>[];
  readonly templateLabels: Readonly<Record<string, string>>;
  readonly minReadySeconds: number;
  /** Why pods could not be made or deleted in this step. */
  readonly failure?: { readonly reason: 'FailedCreate' | 'FailedDelete'; readonly message: string };
  readonly nowMs: number;
  /** ReplicationControllers have no terminatingReplicas. */
  readonly countsTerminating: boolean;
}

export interface StatusPlan {
  readonly status: ReplicaSetStatus;
  /** When the next ready pod becomes available. */
  readonly nextAvailableMs: number | undefined;
}

export function planStatus(input: StatusInput): StatusPlan {
  const { claimed, nowMs, minReadySeconds, previous } = input;
  const labels = Object.entries(input.templateLabels);
  let [replicas, labelled, ready, available, terminating] = [0, 0, 0, 0, 0];
  let nextAvailableMs: number | undefined;
  for (const pod of claimed) {
    if (!isPodActive(pod)) {
      if (isTerminating(pod) && !isPodFinished(pod)) terminating++;
      continue;
    }
    replicas++;
    if (labels.every(([key, value]) => pod.metadata.labels?.[key] === value)) labelled++;
    if (!isPodReady(pod)) continue;
    ready++;
    const waitMs = msUntilAvailable(pod, minReadySeconds, nowMs);
    if (waitMs !== undefined && waitMs <= 0) available++;
    else if (waitMs !== undefined) nextAvailableMs = Math.min(nextAvailableMs ?? waitMs, waitMs);
  }
  const conditions = planConditions(input);
  const status: ReplicaSetStatus = {
    replicas,
    ...(labelled > 0 && { fullyLabeledReplicas: labelled }),
    ...(ready > 0 && { readyReplicas: ready }),
    ...(available > 0 && { availableReplicas: available }),
    ...(input.countsTerminating && { terminatingReplicas: terminating }),
    observedGeneration: Math.max(input.generation, previous?.observedGeneration ?? 0),
    ...(conditions.length > 0 && { conditions }),
  };
  return { status, nextAvailableMs };
}

function planConditions({ previous, failure, nowMs }: StatusInput): ReplicaSetCondition[] {
  const kept = (previous?.conditions ?? []).map((condition) => ({ ...condition }));
  const others = kept.filter((condition) => condition.type !== 'ReplicaFailure');
  if (!failure) return others;
  const known = kept.find((condition) => condition.type === 'ReplicaFailure');
  // An unchanged failure is not written again, though its message names another pod each time.
  if (known?.status === 'True' && known.reason === failure.reason) return kept;
  return [
    ...others,
    {
      type: 'ReplicaFailure',
      status: 'True',
      lastTransitionTime: timeOf(nowMs),
      reason: failure.reason,
      message: failure.message,
    },
  ];
}
