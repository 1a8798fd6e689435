// Owns how the seats of the server are shared out among levels that want them (KEP-1040, "dynamic concurrency"). Pure.

export interface Claim {
  readonly name: string;
  /** What it keeps whoever wants more. */
  readonly lower: number;
  readonly upper: number;
  /** What it seems to need. */
  readonly target: number;
}

export interface Shares {
  /** Each gets so much of its target, within its bounds. */
  readonly fraction: number;
  readonly limits: ReadonlyMap<string, number>;
}

/** How fast a peak of the past is forgotten, by round. */
const remembered = 0.977;

/** Rises with demand at once, and falls slowly. */
export function smoothed(before: number, envelope: number): number {
  return Math.max(envelope, remembered * before + (1 - remembered) * envelope);
}

function given({ lower, upper, target }: Claim, fraction: number): number {
  return Math.min(upper, Math.max(lower, fraction * target));
}

/** All of `total` is given away as far as bounds let it; what is kept for levels may come to more than that. */
export function share(total: number, claims: readonly Claim[]): Shares {
  const sum = (fraction: number): number => claims.reduce((all, claim) => all + given(claim, fraction), 0);
  let low = 0;
  let high = 1;
  while (sum(high) < total && high < 1e9) high *= 2;
  for (let round = 0; round < 60 && sum(low) < total; round++) {
    const middle = (low + high) / 2;
    if (sum(middle) < total) low = middle;
    else high = middle;
  }
  const fraction = sum(low) >= total ? low : high;
  return { fraction, limits: new Map(claims.map((claim) => [claim.name, Math.round(given(claim, fraction))])) };
}
