// Owns what a terminating namespace's conditions say about what is left in it. Pure.
import type { Frozen } from '../../api/meta.ts';
import type { NamespaceCondition, Pod } from '../../api/generated/core.v1.ts';
import { isPodFinished } from '../../api/pod-readiness.ts';
import { timeOf } from '../../api/time.ts';

/** What one pass over a namespace found. */
export interface Remains {
  readonly discoveryFailures: readonly string[];
  /** Texts of what could not be deleted. */
  readonly failures: readonly string[];
  /** "configmaps." or "widgets.example.com" with how many are left. */
  readonly counts: ReadonlyMap<string, number>;
  /** Finalizers with how many objects they hold. */
  readonly finalizers: ReadonlyMap<string, number>;
}

export function planConditions(
  previous: readonly Frozen<NamespaceCondition>[],
  remains: Remains,
  nowMs: number,
): NamespaceCondition[] {
  const listed = (map: ReadonlyMap<string, number>, text: (name: string, count: number) => string) =>
    [...map]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, count]) => text(name, count))
      .join(', ');
  const counts = listed(remains.counts, (name, count) => `${name} has ${count} resource instances`);
  const finalizers = listed(remains.finalizers, (name, count) => `${name} in ${count} resource instances`);
  const wanted: [type: string, isTrue: boolean, reason: string, message: string][] = [
    remains.discoveryFailures.length > 0
      ? [
          'NamespaceDeletionDiscoveryFailure',
          true,
          'DiscoveryFailed',
          `Discovery failed for some groups, ${remains.discoveryFailures.length} failing: ${remains.discoveryFailures.join(', ')}`,
        ]
      : ['NamespaceDeletionDiscoveryFailure', false, 'ResourcesDiscovered', 'All resources successfully discovered'],
    [
      'NamespaceDeletionGroupVersionParsingFailure',
      false,
      'ParsedGroupVersions',
      'All legacy kube types successfully parsed',
    ],
    remains.failures.length > 0
      ? [
          'NamespaceDeletionContentFailure',
          true,
          'ContentDeletionFailed',
          `Failed to delete all resource types, ${remains.failures.length} remaining: ${[...remains.failures].sort().join(', ')}`,
        ]
      : [
          'NamespaceDeletionContentFailure',
          false,
          'ContentDeleted',
          'All content successfully deleted, may be waiting on finalization',
        ],
    counts !== ''
      ? ['NamespaceContentRemaining', true, 'SomeResourcesRemain', `Some resources are remaining: ${counts}`]
      : ['NamespaceContentRemaining', false, 'ContentRemoved', 'All content successfully removed'],
    finalizers !== ''
      ? [
          'NamespaceFinalizersRemaining',
          true,
          'SomeFinalizersRemain',
          `Some content in the namespace has finalizers remaining: ${finalizers}`,
        ]
      : ['NamespaceFinalizersRemaining', false, 'ContentHasNoFinalizers', 'All content-preserving finalizers finished'],
  ];
  const kept = previous.filter((condition) => !wanted.some(([type]) => type === condition.type));
  return [
    ...kept.map((condition) => ({ ...condition })),
    ...wanted.map(([type, isTrue, reason, message]): NamespaceCondition => {
      const status = isTrue ? 'True' : 'False';
      const known = previous.find((condition) => condition.type === type);
      const isSame = known?.status === status && known.reason === reason && known.message === message;
      const lastTransitionTime = isSame ? known.lastTransitionTime : timeOf(nowMs);
      return { type, status, ...(lastTransitionTime !== undefined && { lastTransitionTime }), reason, message };
    }),
  ];
}

/** How many seconds the pods may still take by their own grace periods. */
export function graceSeconds(pods: readonly Frozen<Pod>[], secondsSinceDeletion: number): number {
  const longest = Math.max(
    0,
    ...pods.filter((pod) => !isPodFinished(pod)).map((pod) => pod.spec.terminationGracePeriodSeconds ?? 30),
  );
  return secondsSinceDeletion >= longest ? 0 : longest;
}
