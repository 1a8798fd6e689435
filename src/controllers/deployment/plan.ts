// Owns the decisions of the deployment controller about sizes: which replica set gets how many. Pure.
import type { Frozen } from '../../api/meta.ts';
import type { Deployment, ReplicaSet } from '../../api/generated/apps.v1.ts';
import { maybeMillisOf } from '../../api/time.ts';
import { scaledValue } from '../framework/int-or-percent.ts';
import { annotation, revisionOf } from './revision.ts';

export interface Scaling {
  readonly replicaSet: Frozen<ReplicaSet>;
  readonly replicas: number;
}

export const replicasOf = (obj: { readonly spec: { readonly replicas?: number } }): number => obj.spec.replicas ?? 1;

const sum = (sets: readonly Frozen<ReplicaSet>[], of: (set: Frozen<ReplicaSet>) => number | undefined): number =>
  sets.reduce((total, set) => total + (of(set) ?? 0), 0);

export const wantedIn = (sets: readonly Frozen<ReplicaSet>[]): number => sum(sets, replicasOf);
export const actualIn = (sets: readonly Frozen<ReplicaSet>[]): number => sum(sets, (set) => set.status?.replicas);
export const readyIn = (sets: readonly Frozen<ReplicaSet>[]): number => sum(sets, (set) => set.status?.readyReplicas);
export const availableIn = (sets: readonly Frozen<ReplicaSet>[]): number =>
  sum(sets, (set) => set.status?.availableReplicas);
export const terminatingIn = (sets: readonly Frozen<ReplicaSet>[]): number =>
  sum(sets, (set) => set.status?.terminatingReplicas);

export function isRolling(deployment: Frozen<Deployment>): boolean {
  return deployment.spec.strategy?.type !== 'Recreate';
}

/** Surge rounds up, unavailable rounds down; should both come to zero, one may be unavailable, or nothing would ever move. */
function fenceposts(deployment: Frozen<Deployment>): { surge: number; unavailable: number } {
  const { maxSurge, maxUnavailable } = deployment.spec.strategy?.rollingUpdate ?? {};
  const total = replicasOf(deployment);
  const surge = scaledValue(maxSurge, total, true);
  const unavailable = scaledValue(maxUnavailable, total, false);
  return { surge, unavailable: surge === 0 && unavailable === 0 ? 1 : unavailable };
}

export function maxSurge(deployment: Frozen<Deployment>): number {
  return isRolling(deployment) ? fenceposts(deployment).surge : 0;
}

export function maxUnavailable(deployment: Frozen<Deployment>): number {
  const replicas = replicasOf(deployment);
  if (!isRolling(deployment) || replicas === 0) return 0;
  return Math.min(fenceposts(deployment).unavailable, replicas);
}

/** How large the new replica set may be now. */
export function newReplicas(
  deployment: Frozen<Deployment>,
  all: readonly Frozen<ReplicaSet>[],
  current: number,
): number {
  const desired = replicasOf(deployment);
  if (!isRolling(deployment)) return desired;
  const room = desired + maxSurge(deployment) - wantedIn(all);
  return room <= 0 ? current : current + Math.min(room, desired - current);
}

export function byAge(sets: readonly Frozen<ReplicaSet>[]): Frozen<ReplicaSet>[] {
  const time = (set: Frozen<ReplicaSet>) => maybeMillisOf(set.metadata.creationTimestamp) ?? 0;
  return [...sets].sort((a, b) => time(a) - time(b) || (a.metadata.name < b.metadata.name ? -1 : 1));
}

/** One step of a rolling update: first grow the new set, else shrink the old ones; unhealthy old pods go before healthy ones. */
export function planRollingStep(
  deployment: Frozen<Deployment>,
  newSet: Frozen<ReplicaSet>,
  old: readonly Frozen<ReplicaSet>[],
): Scaling[] {
  const desired = replicasOf(deployment);
  const all = [...old, newSet];
  const current = replicasOf(newSet);
  if (current > desired) return [{ replicaSet: newSet, replicas: desired }];
  if (current < desired) {
    const replicas = newReplicas(deployment, all, current);
    if (replicas !== current) return [{ replicaSet: newSet, replicas }];
  }
  return planShrinking(deployment, newSet, old);
}

function planShrinking(
  deployment: Frozen<Deployment>,
  newSet: Frozen<ReplicaSet>,
  old: readonly Frozen<ReplicaSet>[],
): Scaling[] {
  const active = byAge(old.filter((set) => replicasOf(set) > 0));
  if (active.length === 0) return [];
  const minAvailable = replicasOf(deployment) - maxUnavailable(deployment);
  const newUnavailable = replicasOf(newSet) - (newSet.status?.availableReplicas ?? 0);
  let unhealthyRoom = wantedIn([...old, newSet]) - minAvailable - newUnavailable;
  if (unhealthyRoom <= 0) return [];
  const sizes = new Map(active.map((set) => [set, replicasOf(set)]));
  for (const set of active) {
    const unhealthy = Math.max(0, replicasOf(set) - (set.status?.availableReplicas ?? 0));
    const take = Math.min(Math.max(unhealthyRoom, 0), unhealthy);
    unhealthyRoom -= take;
    sizes.set(set, replicasOf(set) - take);
  }
  let healthyRoom = availableIn([...old, newSet]) - minAvailable;
  for (const set of active) {
    if (healthyRoom <= 0) break;
    const size = sizes.get(set)!;
    const take = Math.min(size, healthyRoom);
    healthyRoom -= take;
    sizes.set(set, size - take);
  }
  return [...sizes]
    .filter(([set, replicas]) => replicas !== replicasOf(set))
    .map(([replicaSet, replicas]) => ({ replicaSet, replicas }));
}

/** Follows a change of spec.replicas without rolling on: one set takes it all, several share it in proportion. */
export function planScale(
  deployment: Frozen<Deployment>,
  newSet: Frozen<ReplicaSet> | undefined,
  old: readonly Frozen<ReplicaSet>[],
): Scaling[] {
  const desired = replicasOf(deployment);
  const single = activeOrLatest(newSet, old);
  if (single) return replicasOf(single) === desired ? [] : [{ replicaSet: single, replicas: desired }];
  if (newSet && isSaturated(deployment, newSet))
    return old.filter((set) => replicasOf(set) > 0).map((replicaSet) => ({ replicaSet, replicas: 0 }));
  if (!isRolling(deployment)) return [];
  const active = [...old, ...(newSet ? [newSet] : [])].filter((set) => replicasOf(set) > 0);
  return planProportions(deployment, active);
}

function activeOrLatest(
  newSet: Frozen<ReplicaSet> | undefined,
  old: readonly Frozen<ReplicaSet>[],
): Frozen<ReplicaSet> | undefined {
  const active = [...old, ...(newSet ? [newSet] : [])].filter((set) => replicasOf(set) > 0);
  if (active.length > 1) return undefined;
  return active[0] ?? newSet ?? byAge(old).at(-1);
}

function isSaturated(deployment: Frozen<Deployment>, newSet: Frozen<ReplicaSet>): boolean {
  const desired = replicasOf(deployment);
  return (
    replicasOf(newSet) === desired &&
    newSet.metadata.annotations?.[annotation.desired] === String(desired) &&
    (newSet.status?.availableReplicas ?? 0) === desired
  );
}

function planProportions(deployment: Frozen<Deployment>, active: readonly Frozen<ReplicaSet>[]): Scaling[] {
  const desired = replicasOf(deployment);
  const allowed = desired > 0 ? desired + maxSurge(deployment) : 0;
  const toAdd = allowed - wantedIn(active);
  // Larger sets first; of equal ones the newer gains and the older loses.
  const aged = byAge(active);
  const order = (toAdd > 0 ? aged.reverse() : aged).sort((a, b) => replicasOf(b) - replicasOf(a));
  let added = 0;
  const sizes = order.map((set) => {
    const share = toAdd === 0 ? 0 : proportion(deployment, set, toAdd, added);
    added += share;
    return replicasOf(set) + share;
  });
  if (toAdd !== 0 && sizes.length > 0) sizes[0] = Math.max(0, sizes[0]! + toAdd - added);
  // Also sets whose size stays: their annotation of the desired number must follow.
  return order.map((replicaSet, at) => ({ replicaSet, replicas: sizes[at]! }));
}

function proportion(deployment: Frozen<Deployment>, set: Frozen<ReplicaSet>, toAdd: number, added: number): number {
  if (replicasOf(set) === 0 || toAdd === added) return 0;
  const fraction = fractionOf(deployment, set);
  const left = toAdd - added;
  return toAdd > 0 ? Math.min(fraction, left) : Math.max(fraction, left);
}

function fractionOf(deployment: Frozen<Deployment>, set: Frozen<ReplicaSet>): number {
  if (replicasOf(deployment) === 0) return -replicasOf(set);
  const annotated = Number(set.metadata.annotations?.[annotation.max]) || (deployment.status?.replicas ?? 0);
  if (annotated === 0) return 0;
  const size = (replicasOf(set) * (replicasOf(deployment) + maxSurge(deployment))) / annotated;
  return Math.floor(size + 0.5) - replicasOf(set);
}

/** spec.replicas changed since the active sets were last sized. */
export function isScalingEvent(deployment: Frozen<Deployment>, sets: readonly Frozen<ReplicaSet>[]): boolean {
  return sets.some((set) => {
    const desired = set.metadata.annotations?.[annotation.desired];
    return replicasOf(set) > 0 && desired !== undefined && desired !== String(replicasOf(deployment));
  });
}

/** Old, empty sets beyond the history limit, oldest revision first. */
export function planCleanup(deployment: Frozen<Deployment>, old: readonly Frozen<ReplicaSet>[]): Frozen<ReplicaSet>[] {
  const limit = deployment.spec.revisionHistoryLimit ?? 10;
  const alive = old.filter((set) => set.metadata.deletionTimestamp === undefined);
  const surplus = alive.length - limit;
  if (surplus <= 0) return [];
  return byAge(alive)
    .sort((a, b) => revisionOf(a) - revisionOf(b))
    .slice(0, surplus)
    .filter(
      (set) =>
        (set.status?.replicas ?? 0) === 0 &&
        replicasOf(set) === 0 &&
        (set.metadata.generation ?? 0) <= (set.status?.observedGeneration ?? 0),
    );
}
