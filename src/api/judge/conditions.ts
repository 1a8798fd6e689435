// Owns conditions: finding one by type, and setting one so that its transition time moves only with its status.

export interface ConditionLike {
  type: string;
  status: string;
  reason?: string;
  message?: string;
  lastTransitionTime?: string | null;
  observedGeneration?: number;
}

function findCondition<C extends { readonly type: string }>(
  conditions: readonly C[] | undefined,
  type: string,
): C | undefined {
  return conditions?.find((condition) => condition.type === type);
}

export function isConditionTrue(
  conditions: readonly { readonly type: string; readonly status: string }[] | undefined,
  type: string,
): boolean {
  return findCondition(conditions, type)?.status === 'True';
}

/**
 * The conditions with `next` in place of the one of its type, or behind them. `now` (a Time) becomes its transition
 * time when the status changes. Returns the same array when nothing changed; changes none of the objects.
 */
export function withCondition<C extends ConditionLike>(
  conditions: readonly C[],
  next: Omit<C, 'lastTransitionTime'>,
  now: string,
): readonly C[] {
  const before = findCondition(conditions, next.type as string);
  const changed = before === undefined || before.status !== next.status;
  const condition = { ...before, ...next, lastTransitionTime: changed ? now : before.lastTransitionTime } as C;
  if (before === undefined) return [...conditions, condition];
  if (isSame(before, condition)) return conditions;
  return conditions.map((one) => (one === before ? condition : one));
}

function isSame(a: ConditionLike, b: ConditionLike): boolean {
  const keys = new Set([...Object.keys(a), ...Object.keys(b)]);
  return [...keys].every(
    (key) => (a as unknown as Record<string, unknown>)[key] === (b as unknown as Record<string, unknown>)[key],
  );
}

/** The conditions without that of a type; the same array when there is none. */
export function withoutCondition<C extends { readonly type: string }>(
  conditions: readonly C[],
  type: string,
): readonly C[] {
  return conditions.some((one) => one.type === type) ? conditions.filter((one) => one.type !== type) : conditions;
}
