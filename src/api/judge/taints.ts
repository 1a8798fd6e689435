// Owns what a toleration tolerates: pure judgements over taints, shared by scheduling, DaemonSets and eviction.
import type { Taint, Toleration } from '../generated/core.v1.ts';
import type { Frozen } from '../meta.ts';
import { compareIntegers } from '../selector.ts';

type Tolerations = readonly Frozen<Toleration>[] | undefined;

/** An empty key with Exists tolerates every taint; an empty effect every effect. Equal is the default operator. */
export function tolerates(toleration: Frozen<Toleration>, taint: Frozen<Taint>): boolean {
  const { effect = '', key = '', operator = '', value = '' } = toleration;
  if (effect !== '' && effect !== taint.effect) return false;
  if (key !== '' && key !== taint.key) return false;
  switch (operator) {
    case '':
    case 'Equal':
      return value === (taint.value ?? '');
    case 'Exists':
      return true;
    case 'Lt':
      return compareIntegers(taint.value ?? '', value) === -1;
    case 'Gt':
      return compareIntegers(taint.value ?? '', value) === 1;
    default:
      return false;
  }
}

export function anyTolerates(tolerations: Tolerations, taint: Frozen<Taint>): boolean {
  return (tolerations ?? []).some((toleration) => tolerates(toleration, taint));
}

/** The first taint, of those `counts` lets through, that nothing tolerates. */
export function untolerated(
  taints: readonly Frozen<Taint>[] | undefined,
  tolerations: Tolerations,
  counts: (taint: Frozen<Taint>) => boolean = () => true,
): Frozen<Taint> | undefined {
  return (taints ?? []).find((taint) => counts(taint) && !anyTolerates(tolerations, taint));
}

/**
 * How long a pod may stay with NoExecute taints: undefined when one is not tolerated at all, Infinity when all are
 * tolerated for ever, else the shortest of the seconds.
 */
export function toleratedSeconds(taints: readonly Frozen<Taint>[], tolerations: Tolerations): number | undefined {
  let shortest = Number.POSITIVE_INFINITY;
  for (const taint of taints) {
    if (taint.effect !== 'NoExecute') continue;
    const matching = (tolerations ?? []).filter((toleration) => tolerates(toleration, taint));
    if (matching.length === 0) return undefined;
    for (const { tolerationSeconds } of matching)
      if (tolerationSeconds !== undefined) shortest = Math.min(shortest, Math.max(tolerationSeconds, 0));
  }
  return shortest;
}

/** Its effect keeps new pods from the node. */
export const keepsOut = (taint: Frozen<Taint>): boolean =>
  taint.effect === 'NoSchedule' || taint.effect === 'NoExecute';
