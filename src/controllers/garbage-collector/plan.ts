// Owns the decision over one object: does it stay, lose dead owners, or go, and how. Pure.
import type { Frozen } from '../../api/meta.ts';
import type { OwnerReference } from '../../api/generated/meta.v1.ts';
import { foregroundFinalizer, orphanFinalizer } from './graph.ts';

/** solid: exists; dangling: is gone; waiting: waits for its dependents to go first. */
export type OwnerState = 'solid' | 'dangling' | 'waiting';

export interface OwnerFact {
  readonly owner: Frozen<OwnerReference>;
  readonly state: OwnerState;
}

export type ItemPlan =
  | { readonly do: 'keep' }
  | { readonly do: 'dropOwners'; readonly uids: readonly string[] }
  | {
      readonly do: 'delete';
      readonly propagationPolicy: 'Foreground' | 'Background' | 'Orphan';
      readonly unblock: boolean;
    };

export function planItem(
  facts: readonly OwnerFact[],
  finalizers: readonly string[],
  dependents: { readonly any: boolean; readonly anyForeground: boolean },
): ItemPlan {
  if (facts.length === 0) return { do: 'keep' };
  const gone = facts.filter(({ state }) => state !== 'solid');
  if (gone.length < facts.length)
    return gone.length === 0 ? { do: 'keep' } : { do: 'dropOwners', uids: gone.map(({ owner }) => owner.uid) };
  if (facts.some(({ state }) => state === 'waiting') && dependents.any)
    // A circle of owners that all wait for each other is opened by no longer blocking.
    return { do: 'delete', propagationPolicy: 'Foreground', unblock: dependents.anyForeground };
  if (finalizers.includes(orphanFinalizer)) return { do: 'delete', propagationPolicy: 'Orphan', unblock: false };
  if (finalizers.includes(foregroundFinalizer))
    return { do: 'delete', propagationPolicy: 'Foreground', unblock: false };
  return { do: 'delete', propagationPolicy: 'Background', unblock: false };
}
