// Owns which taints a pod tolerates and for how long (documentation: "Taints and Tolerations"). Pure.
import type { Frozen } from '../../api/meta.ts';
import type { Taint, Toleration } from '../../api/generated/core.v1.ts';

export function tolerates(toleration: Frozen<Toleration>, taint: Frozen<Taint>): boolean {
  if (toleration.effect && toleration.effect !== taint.effect) return false;
  if (toleration.key && toleration.key !== taint.key) return false;
  switch (toleration.operator ?? 'Equal') {
    case 'Exists':
      return true;
    case 'Lt':
    case 'Gt': {
      const [ours, theirs] = [toleration.value ?? '', taint.value ?? ''];
      if (!isWhole(ours) || !isWhole(theirs)) return false;
      return toleration.operator === 'Lt' ? BigInt(theirs) < BigInt(ours) : BigInt(theirs) > BigInt(ours);
    }
    default:
      return (toleration.key ?? '') !== '' && (toleration.value ?? '') === (taint.value ?? '');
  }
}

const isWhole = (text: string): boolean => /^-?\d+$/.test(text);

export function toleratesAll(
  tolerations: readonly Frozen<Toleration>[] | undefined,
  taints: readonly Frozen<Taint>[],
): boolean {
  return taints.every((taint) => tolerations?.some((toleration) => tolerates(toleration, taint)) ?? false);
}

/** Seconds that a pod may stay in spite of the taints: 0 at once, undefined for ever. */
export function toleratedSeconds(
  tolerations: readonly Frozen<Toleration>[] | undefined,
  taints: readonly Frozen<Taint>[],
): number | undefined {
  let least: number | undefined;
  for (const taint of taints) {
    const using = tolerations?.filter((toleration) => tolerates(toleration, taint)) ?? [];
    if (using.length === 0) return 0;
    for (const { tolerationSeconds } of using)
      if (tolerationSeconds !== undefined)
        least = Math.min(least ?? Number.POSITIVE_INFINITY, Math.max(0, tolerationSeconds));
  }
  return least;
}
