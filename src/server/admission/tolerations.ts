// Owns how lists of tolerations are put together: what another one covers is left out. Pure.
import type { Toleration } from '../../api/generated/core.v1.ts';
import type { Frozen } from '../../api/meta.ts';
import { same } from '../verbs/equal.ts';

type Any = Frozen<Toleration>;

/** Whether every taint that `narrow` tolerates is tolerated by `wide`, for as long. */
export function covers(wide: Any, narrow: Any): boolean {
  if (same(wide, narrow)) return true;
  const wideOperator = wide.operator || 'Equal';
  const isAny = !wide.key && wideOperator === 'Exists';
  if (!isAny && (wide.key ?? '') !== (narrow.key ?? '')) return false;
  if (wide.effect && wide.effect !== narrow.effect) return false;
  if (wide.effect === 'NoExecute' && wide.tolerationSeconds !== undefined)
    if (narrow.tolerationSeconds === undefined || narrow.tolerationSeconds > wide.tolerationSeconds) return false;
  if (wideOperator === 'Exists') return true;
  return wideOperator === (narrow.operator || 'Equal') && (wide.value ?? '') === (narrow.value ?? '');
}

/** Of equal ones the first stays; one that another covers goes. */
export function mergeTolerations(first: readonly Any[], second: readonly Any[]): Toleration[] {
  const all = [...first, ...second];
  const merged: Any[] = [];
  for (const [at, one] of all.entries()) {
    if (merged.some((kept) => covers(kept, one))) continue;
    if (all.slice(at + 1).some((later) => !same(later, one) && covers(later, one))) continue;
    merged.push(one);
  }
  return merged.map((one) => ({ ...one }));
}
