// Owns a figure that holds for a while, told to a histogram as a share of its limit, once for each nanosecond. Reads no clock.
import type { Histogram } from '../../base/metrics.ts';

const nanosecondsPerMs = 1e6;

export class OverTime {
  readonly #histogram: Histogram;
  #value = 0;
  #limit: number;
  #since: number;

  /** Milliseconds on any scale that only grows. */
  constructor(histogram: Histogram, limit: number, nowMs: number) {
    this.#histogram = histogram;
    this.#limit = limit;
    this.#since = nowMs;
  }

  set(value: number, nowMs: number): void {
    if (value === this.#value) return;
    this.settle(nowMs);
    this.#value = value;
  }

  add(by: number, nowMs: number): void {
    this.set(this.#value + by, nowMs);
  }

  limit(limit: number, nowMs: number): void {
    if (limit === this.#limit) return;
    this.settle(nowMs);
    this.#limit = limit;
  }

  /** Tells all up to now. */
  settle(nowMs: number): void {
    const past = Math.round((nowMs - this.#since) * nanosecondsPerMs);
    if (past <= 0) return;
    this.#histogram.observe(this.#limit > 0 ? this.#value / this.#limit : this.#value, past);
    this.#since = nowMs;
  }
}
