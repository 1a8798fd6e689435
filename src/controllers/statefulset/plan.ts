// Owns the next step of a StatefulSet: which pod is made or deleted, what must be waited for, what the status says. Pure.
import { scaledValue } from '../../api/int-or-string.ts';
import type { Frozen } from '../../api/meta.ts';
import type { StatefulSet, StatefulSetStatus } from '../../api/generated/apps.v1.ts';
import type { Pod } from '../../api/generated/core.v1.ts';
import { isPodAvailable, isPodFinished, isPodReady, isTerminating, msUntilAvailable } from '../../api/pod-readiness.ts';
import { hashOf } from '../framework/revisions.ts';
import { ordinalOf } from './pods.ts';

export interface Revisions {
  /** Names of the revisions. */
  readonly current: string;
  readonly update: string;
}

export type Step =
  | { readonly do: 'create'; readonly ordinal: number; readonly revision: string }
  | { readonly do: 'delete'; readonly pod: Frozen<Pod>; readonly why: 'failed' | 'surplus' | 'update' };

export interface StatefulPlan {
  readonly steps: readonly Step[];
  /** Pods that scaling takes away, with their ordinals. */
  readonly condemned: readonly Frozen<Pod>[];
  readonly waitMs: number | undefined;
}

interface View {
  readonly set: Frozen<StatefulSet>;
  readonly slots: readonly { readonly ordinal: number; readonly pod: Frozen<Pod> | undefined }[];
  /** Highest ordinal first. */
  readonly condemned: readonly Frozen<Pod>[];
  readonly isOrdered: boolean;
  readonly nowMs: number;
}

const isRunningAndReady = (pod: Frozen<Pod>): boolean => pod.status?.phase === 'Running' && isPodReady(pod);
const isHealthy = (pod: Frozen<Pod>): boolean => isRunningAndReady(pod) && !isTerminating(pod);

export function startOf(set: Frozen<StatefulSet>): number {
  return set.spec.ordinals?.start ?? 0;
}

export function planStep(
  set: Frozen<StatefulSet>,
  pods: readonly Frozen<Pod>[],
  revisions: Revisions,
  nowMs: number,
): StatefulPlan {
  const start = startOf(set);
  const end = start + (set.spec.replicas ?? 1);
  const byOrdinal = new Map(pods.map((pod) => [ordinalOf(set, pod), pod]));
  const slots = Array.from({ length: end - start }, (_, at) => ({
    ordinal: start + at,
    pod: byOrdinal.get(start + at),
  }));
  const condemned = pods
    .filter((pod) => ordinalOf(set, pod) >= 0 && (ordinalOf(set, pod) < start || ordinalOf(set, pod) >= end))
    .sort((a, b) => ordinalOf(set, b) - ordinalOf(set, a));
  const view: View = { set, slots, condemned, isOrdered: set.spec.podManagementPolicy !== 'Parallel', nowMs };
  const steps: Step[] = [];
  const filling = fillSlots(view, revisions, steps);
  if (filling.mustStop) return { steps, condemned, waitMs: filling.waitMs };
  const stopped = removeCondemned(view, steps);
  if (!stopped && set.spec.updateStrategy?.type !== 'OnDelete' && steps.length === 0)
    planUpdate(view, revisions, steps);
  return { steps, condemned, waitMs: filling.waitMs };
}

function fillSlots(view: View, revisions: Revisions, steps: Step[]): { mustStop: boolean; waitMs: number | undefined } {
  const { set, slots, isOrdered, nowMs } = view;
  const minReadySeconds = set.spec.minReadySeconds ?? 0;
  let waitMs: number | undefined;
  for (const { ordinal, pod } of slots) {
    if (!pod) {
      steps.push({ do: 'create', ordinal, revision: revisionFor(set, ordinal, revisions) });
      if (isOrdered) return { mustStop: true, waitMs };
      continue;
    }
    if (isPodFinished(pod)) {
      if (!isTerminating(pod)) steps.push({ do: 'delete', pod, why: 'failed' });
      if (isOrdered) return { mustStop: true, waitMs };
      continue;
    }
    const leftMs = msUntilAvailable(pod, minReadySeconds, nowMs);
    if (leftMs !== undefined && leftMs > 0) waitMs = Math.min(waitMs ?? Number.POSITIVE_INFINITY, leftMs);
    const isThere = isHealthy(pod) && leftMs !== undefined && leftMs <= 0;
    if (!isThere && isOrdered) return { mustStop: true, waitMs };
  }
  return { mustStop: false, waitMs };
}

/** Below the partition the current revision, above it the new one. */
function revisionFor(set: Frozen<StatefulSet>, ordinal: number, { current, update }: Revisions): string {
  if (set.spec.updateStrategy?.type === 'OnDelete') return update;
  const { rollingUpdate } = set.spec.updateStrategy ?? {};
  const bound = rollingUpdate ? (rollingUpdate.partition ?? 0) : (set.status?.currentReplicas ?? 0);
  return ordinal < startOf(set) + bound ? current : update;
}

/** True when something there must be waited for. */
function removeCondemned({ set, slots, condemned, isOrdered, nowMs }: View, steps: Step[]): boolean {
  const inOrder = [...slots.flatMap(({ pod }) => (pod ? [pod] : [])), ...[...condemned].reverse()];
  const firstUnhealthy = inOrder.find((pod) => !isHealthy(pod));
  for (const pod of condemned) {
    if (isTerminating(pod)) {
      if (isOrdered) return true;
      continue;
    }
    const isThere = isRunningAndReady(pod) && isPodAvailable(pod, set.spec.minReadySeconds ?? 0, nowMs);
    if (isOrdered && !isThere && pod !== firstUnhealthy) return true;
    steps.push({ do: 'delete', pod, why: 'surplus' });
    if (isOrdered) return true;
  }
  return false;
}

/** From the highest ordinal down, as many as may be unavailable. */
function planUpdate({ set, slots, nowMs }: View, { update }: Revisions, steps: Step[]): void {
  const { partition = 0, maxUnavailable = 1 } = set.spec.updateStrategy?.rollingUpdate ?? {};
  const allowed = Math.max(1, scaledValue(maxUnavailable, slots.length, false));
  const isUnavailable = (pod: Frozen<Pod> | undefined) =>
    !pod || !isHealthy(pod) || !isPodAvailable(pod, set.spec.minReadySeconds ?? 0, nowMs);
  let room = allowed - slots.filter(({ pod }) => isUnavailable(pod)).length;
  for (const { ordinal, pod } of [...slots].reverse()) {
    if (room <= 0 || ordinal < startOf(set) + partition) return;
    if (!pod || hashOf(pod) === update || isTerminating(pod)) continue;
    steps.push({ do: 'delete', pod, why: 'update' });
    room--;
  }
}

export function planStatus(
  set: Frozen<StatefulSet>,
  pods: readonly Frozen<Pod>[],
  { current, update }: Revisions,
  nowMs: number,
): StatefulSetStatus {
  const alive = pods.filter((pod) => !isTerminating(pod));
  const ready = pods.filter(isRunningAndReady);
  const available = ready.filter((pod) => isPodAvailable(pod, set.spec.minReadySeconds ?? 0, nowMs)).length;
  let currentReplicas = alive.filter((pod) => hashOf(pod) === current).length;
  const updatedReplicas = alive.filter((pod) => hashOf(pod) === update).length;
  const desired = set.spec.replicas ?? 1;
  // By hand (OnDelete) or by us: when every pod is new, the new revision is the current one.
  const isDone = updatedReplicas === desired && ready.length === desired && pods.length === desired;
  if (isDone) currentReplicas = updatedReplicas;
  return {
    observedGeneration: set.metadata.generation ?? 0,
    replicas: pods.length,
    ...(ready.length > 0 && { readyReplicas: ready.length }),
    ...(currentReplicas > 0 && { currentReplicas }),
    ...(updatedReplicas > 0 && { updatedReplicas }),
    currentRevision: isDone ? update : current,
    updateRevision: update,
    collisionCount: set.status?.collisionCount ?? 0,
    availableReplicas: available,
  };
}
