// Owns how single checks become a probe's verdict: thresholds in a row. Pure.

export interface Thresholds {
  readonly success: number;
  readonly failure: number;
}

export interface Streak {
  readonly ok: boolean;
  readonly count: number;
}

export interface Verdict {
  readonly streak: Streak;
  /** Undefined: no change of the result so far. */
  readonly result?: boolean;
}

export function judge(before: Streak | undefined, ok: boolean, thresholds: Thresholds): Verdict {
  const streak = { ok, count: before?.ok === ok ? before.count + 1 : 1 };
  const needed = ok ? thresholds.success : thresholds.failure;
  return streak.count >= needed ? { streak, result: ok } : { streak };
}
