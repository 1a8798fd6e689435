// Owns quantiles of what was observed lately: counts by logarithmic size, exact to 1 %, in a few turns that grow old one after the other.

const turns = 5;
/** Neighbouring sizes are so far apart that the middle of one is within 1 % of all in it. */
const ratio = Math.log(1.02);
/** Smaller values (seconds, bytes: nothing) are all the same. */
const least = 1e-9;
const sizes = Math.ceil(Math.log(1e15) / ratio);

/** Values below zero count as zero, values beyond 1e6 as 1e6. */
export class RecentValues {
  readonly #turnMs: number;
  readonly #now: () => number;
  readonly #turns: Map<number, number>[];
  #current = 0;
  #since: number;

  constructor(maxAgeMs: number, now: () => number) {
    this.#turnMs = maxAgeMs / turns;
    this.#now = now;
    this.#turns = Array.from({ length: turns }, () => new Map<number, number>());
    this.#since = now();
  }

  add(value: number, times = 1): void {
    this.#turn();
    const size = value <= least ? 0 : Math.min(sizes, 1 + Math.floor(Math.log(value / least) / ratio));
    const counts = this.#turns[this.#current]!;
    counts.set(size, (counts.get(size) ?? 0) + times);
  }

  /** For each share the value that this share is not above; NaN when there is nothing. */
  quantiles(shares: readonly number[]): number[] {
    this.#turn();
    const all = new Map<number, number>();
    let total = 0;
    for (const counts of this.#turns)
      for (const [size, count] of counts) {
        all.set(size, (all.get(size) ?? 0) + count);
        total += count;
      }
    const sorted = [...all].sort(([a], [b]) => a - b);
    return shares.map((share) => {
      const wanted = Math.max(1, Math.ceil(share * total));
      let seen = 0;
      for (const [size, count] of sorted) {
        seen += count;
        if (seen >= wanted) return size === 0 ? 0 : least * Math.exp((size - 0.5) * ratio);
      }
      return Number.NaN;
    });
  }

  #turn(): void {
    const now = this.#now();
    if (now - this.#since < this.#turnMs) return;
    const passed = Math.floor((now - this.#since) / this.#turnMs);
    for (let step = 0; step < Math.min(passed, turns); step++) {
      this.#current = (this.#current + 1) % turns;
      this.#turns[this.#current]!.clear();
    }
    this.#since += passed * this.#turnMs;
  }
}
