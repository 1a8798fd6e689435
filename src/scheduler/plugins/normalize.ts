// Owns bringing raw scores to 0..100.

/** The highest becomes 100 (all stay 0 if none is above); reversed, the lowest counts most. */
export function normalizeByHighest(scores: Float64Array, count: number, reverse: boolean): void {
  let highest = 0;
  for (let at = 0; at < count; at++) if (scores[at]! > highest) highest = scores[at]!;
  if (highest === 0) {
    if (reverse) scores.fill(100, 0, count);
    return;
  }
  for (let at = 0; at < count; at++) {
    const scaled = Math.trunc((scores[at]! * 100) / highest);
    scores[at] = reverse ? 100 - scaled : scaled;
  }
}
