// Owns what a deployment's status says: counts, Available, Progressing with its deadline, ReplicaFailure. Pure.
import type { Frozen } from '../../api/meta.ts';
import type { Deployment, DeploymentCondition, DeploymentStatus, ReplicaSet } from '../../api/generated/apps.v1.ts';
import { maybeMillisOf, timeOf } from '../../api/time.ts';
import { actualIn, availableIn, maxUnavailable, readyIn, replicasOf, terminatingIn, wantedIn } from './plan.ts';

type Conditions = readonly Frozen<DeploymentCondition>[];

const noDeadline = 2 ** 31 - 1;

export function hasDeadline(deployment: Frozen<Deployment>): boolean {
  const seconds = deployment.spec.progressDeadlineSeconds;
  return seconds !== undefined && seconds !== noDeadline;
}

export function conditionOf(conditions: Conditions | undefined, type: string): Frozen<DeploymentCondition> | undefined {
  return conditions?.find((condition) => condition.type === type);
}

/** Replaces the condition of that type unless status and reason are the same; the transition time moves with the status only. */
export function withCondition(
  conditions: Conditions,
  type: string,
  status: 'True' | 'False' | 'Unknown',
  reason: string,
  message: string,
  nowMs: number,
): Conditions {
  const known = conditionOf(conditions, type);
  if (known?.status === status && known.reason === reason) return conditions;
  return replaceCondition(conditions, type, status, reason, message, nowMs);
}

function replaceCondition(
  conditions: Conditions,
  type: string,
  status: 'True' | 'False' | 'Unknown',
  reason: string,
  message: string,
  nowMs: number,
): Conditions {
  const now = timeOf(nowMs);
  const known = conditionOf(conditions, type);
  const lastTransitionTime = known?.status === status ? (known.lastTransitionTime ?? now) : now;
  return [
    ...conditions.filter((condition) => condition.type !== type),
    { type, status, lastUpdateTime: now, lastTransitionTime, reason, message },
  ];
}

/** The status as the replica sets stand, with the given conditions and Available. */
export function planCounts(
  deployment: Frozen<Deployment>,
  sets: readonly Frozen<ReplicaSet>[],
  newSet: Frozen<ReplicaSet> | undefined,
  nowMs: number,
): Frozen<DeploymentStatus> {
  const available = availableIn(sets);
  const enough = available >= replicasOf(deployment) - maxUnavailable(deployment);
  const conditions = withCondition(
    deployment.status?.conditions ?? [],
    'Available',
    enough ? 'True' : 'False',
    enough ? 'MinimumReplicasAvailable' : 'MinimumReplicasUnavailable',
    `Deployment ${enough ? 'has' : 'does not have'} minimum availability.`,
    nowMs,
  );
  const count = <K extends string>(key: K, value: number) =>
    value > 0 ? ({ [key]: value } as { [P in K]?: number }) : {};
  return {
    observedGeneration: deployment.metadata.generation ?? 0,
    ...count('replicas', actualIn(sets)),
    ...count('updatedReplicas', newSet ? actualIn([newSet]) : 0),
    ...count('readyReplicas', readyIn(sets)),
    ...count('availableReplicas', available),
    ...count('unavailableReplicas', Math.max(0, wantedIn(sets) - available)),
    terminatingReplicas: terminatingIn(sets),
    ...(deployment.status?.collisionCount !== undefined && { collisionCount: deployment.status.collisionCount }),
    conditions: [...conditions],
  };
}

export function isComplete(deployment: Frozen<Deployment>, status: Frozen<DeploymentStatus>): boolean {
  const desired = replicasOf(deployment);
  return (
    (status.updatedReplicas ?? 0) === desired &&
    (status.replicas ?? 0) === desired &&
    (status.availableReplicas ?? 0) === desired &&
    (status.observedGeneration ?? 0) >= (deployment.metadata.generation ?? 0)
  );
}

function hasProgressed(before: Frozen<DeploymentStatus> | undefined, after: Frozen<DeploymentStatus>): boolean {
  const old = (status: Frozen<DeploymentStatus> | undefined) =>
    (status?.replicas ?? 0) - (status?.updatedReplicas ?? 0);
  return (
    (after.updatedReplicas ?? 0) > (before?.updatedReplicas ?? 0) ||
    old(after) < old(before) ||
    (after.readyReplicas ?? 0) > (before?.readyReplicas ?? 0) ||
    (after.availableReplicas ?? 0) > (before?.availableReplicas ?? 0)
  );
}

/** Milliseconds until the deadline passes without progress; undefined when there is nothing to wait for. */
export function msUntilDeadline(
  deployment: Frozen<Deployment>,
  status: Frozen<DeploymentStatus>,
  nowMs: number,
): number | undefined {
  const progressing = conditionOf(status.conditions, 'Progressing');
  if (!hasDeadline(deployment) || !progressing || isComplete(deployment, status)) return undefined;
  if (['NewReplicaSetAvailable', 'ProgressDeadlineExceeded', 'DeploymentPaused'].includes(progressing.reason ?? ''))
    return undefined;
  const sinceMs = maybeMillisOf(progressing.lastUpdateTime) ?? nowMs;
  return sinceMs + (deployment.spec.progressDeadlineSeconds ?? 0) * 1000 - nowMs;
}

export function planRolloutStatus(
  deployment: Frozen<Deployment>,
  sets: readonly Frozen<ReplicaSet>[],
  newSet: Frozen<ReplicaSet> | undefined,
  nowMs: number,
): Frozen<DeploymentStatus> {
  const status = planCounts(deployment, sets, newSet, nowMs);
  let conditions: Conditions = status.conditions ?? [];
  if (!hasDeadline(deployment)) conditions = conditions.filter((condition) => condition.type !== 'Progressing');
  else conditions = progressing(deployment, status, conditions, newSet, nowMs);
  conditions = replicaFailure(conditions, sets, newSet, nowMs);
  return { ...status, conditions: [...conditions] };
}

function progressing(
  deployment: Frozen<Deployment>,
  status: Frozen<DeploymentStatus>,
  conditions: Conditions,
  newSet: Frozen<ReplicaSet> | undefined,
  nowMs: number,
): Conditions {
  const current = conditionOf(conditions, 'Progressing');
  const settled =
    (status.replicas ?? 0) === (status.updatedReplicas ?? 0) && current?.reason === 'NewReplicaSetAvailable';
  if (settled) return conditions;
  const subject = newSet ? `ReplicaSet "${newSet.metadata.name}"` : `Deployment "${deployment.metadata.name}"`;
  if (isComplete(deployment, status))
    return withCondition(
      conditions,
      'Progressing',
      'True',
      'NewReplicaSetAvailable',
      `${subject} has successfully progressed.`,
      nowMs,
    );
  if (hasProgressed(deployment.status, status))
    return replaceCondition(
      conditions,
      'Progressing',
      'True',
      'ReplicaSetUpdated',
      `${subject} is progressing.`,
      nowMs,
    );
  const leftMs = msUntilDeadline(deployment, { ...status, conditions: [...conditions] }, nowMs);
  if (leftMs !== undefined && leftMs < 0)
    return withCondition(
      conditions,
      'Progressing',
      'False',
      'ProgressDeadlineExceeded',
      `${subject} has timed out progressing.`,
      nowMs,
    );
  return conditions;
}

/** The new set's failure, or when it has none an old one's. */
function replicaFailure(
  conditions: Conditions,
  sets: readonly Frozen<ReplicaSet>[],
  newSet: Frozen<ReplicaSet> | undefined,
  nowMs: number,
): Conditions {
  for (const set of newSet ? [newSet, ...sets] : sets) {
    const failure = set.status?.conditions?.find((condition) => condition.type === 'ReplicaFailure');
    if (!failure) continue;
    return withCondition(
      conditions,
      'ReplicaFailure',
      failure.status as 'True',
      failure.reason ?? '',
      failure.message ?? '',
      nowMs,
    );
  }
  return conditions.filter((condition) => condition.type !== 'ReplicaFailure');
}
