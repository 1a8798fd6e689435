// Owns how many seats a level wanted over a while: mean, deviation and peak, weighted by time. Reads no clock.

export interface DemandStatistics {
  readonly average: number;
  readonly deviation: number;
  readonly high: number;
}

export class Demand {
  #value = 0;
  #from: number;
  #since: number;
  #sum = 0;
  #squares = 0;
  #high = 0;

  /** Milliseconds, as everywhere here, on any scale that only grows. */
  constructor(nowMs: number) {
    this.#from = nowMs;
    this.#since = nowMs;
  }

  set(value: number, nowMs: number): void {
    this.#advance(nowMs);
    this.#value = value;
    if (value > this.#high) this.#high = value;
  }

  /** What it was since it was last taken. */
  take(nowMs: number): DemandStatistics {
    this.#advance(nowMs);
    const lengthMs = nowMs - this.#from;
    const average = lengthMs > 0 ? this.#sum / lengthMs : this.#value;
    const variance = lengthMs > 0 ? Math.max(0, this.#squares / lengthMs - average * average) : 0;
    const taken = { average, deviation: Math.sqrt(variance), high: this.#high };
    this.#from = nowMs;
    this.#sum = 0;
    this.#squares = 0;
    this.#high = this.#value;
    return taken;
  }

  #advance(nowMs: number): void {
    const pastMs = nowMs - this.#since;
    if (pastMs <= 0) return;
    this.#sum += this.#value * pastMs;
    this.#squares += this.#value * this.#value * pastMs;
    this.#since = nowMs;
  }
}
