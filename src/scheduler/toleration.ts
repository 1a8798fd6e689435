// Owns whether a pod tolerates a taint.
import type { Frozen } from '../api/meta.ts';
import type { Taint, Toleration } from '../api/generated/core.v1.ts';

type Tolerations = readonly Frozen<Toleration>[] | undefined;

export function tolerates(tolerations: Tolerations, taint: Frozen<Taint>): boolean {
  return tolerations?.some((toleration) => matches(toleration, taint)) ?? false;
}

/** An absent effect means all, an absent key with Exists means all; Lt and Gt compare integers (KEP-5471). */
function matches(toleration: Frozen<Toleration>, taint: Frozen<Taint>): boolean {
  if (toleration.effect && toleration.effect !== taint.effect) return false;
  if (toleration.key && toleration.key !== taint.key) return false;
  switch (toleration.operator || 'Equal') {
    case 'Exists':
      return true;
    case 'Equal':
      return (toleration.key ?? '') === taint.key && (toleration.value ?? '') === (taint.value ?? '');
    case 'Lt':
      return compare(taint.value, toleration.value, (a, b) => a < b);
    case 'Gt':
      return compare(taint.value, toleration.value, (a, b) => a > b);
    default:
      return false;
  }
}

function compare(left: string | undefined, right: string | undefined, by: (a: bigint, b: bigint) => boolean): boolean {
  const integer = /^(0|-?[1-9][0-9]{0,18})$/;
  return (
    left !== undefined &&
    right !== undefined &&
    integer.test(left) &&
    integer.test(right) &&
    by(BigInt(left), BigInt(right))
  );
}

export function untoleratedTaint(
  tolerations: Tolerations,
  taints: readonly Frozen<Taint>[],
  counts: (taint: Frozen<Taint>) => boolean,
): Frozen<Taint> | undefined {
  for (const taint of taints) if (counts(taint) && !tolerates(tolerations, taint)) return taint;
  return undefined;
}

export const keepsOut = (taint: Frozen<Taint>): boolean =>
  taint.effect === 'NoSchedule' || taint.effect === 'NoExecute';
