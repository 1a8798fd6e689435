// Owns what those who are turned away are told to wait: longer while many are turned away, shorter when it is quiet. Reads no clock.

const most = 32;
/** So many for each second of waiting are the sign that waiting so long does not help. */
const tolerated = 3;

/** By priority level. */
export class RetryAfter {
  #seconds = 1;
  #dropped = 0;
  #since: number;

  constructor(nowMs: number) {
    this.#since = nowMs;
  }

  /** One is turned away: how many seconds it is to wait. */
  drop(nowMs: number): number {
    this.#settle(nowMs);
    this.#dropped++;
    return this.#seconds;
  }

  #settle(nowMs: number): void {
    const passed = Math.floor((nowMs - this.#since) / 1000);
    if (passed < 1) return;
    if (this.#dropped >= tolerated * this.#seconds) this.#seconds = Math.min(most, this.#seconds * 2);
    // Each quiet second takes one back.
    const quiet = this.#dropped === 0 ? passed : passed - 1;
    this.#seconds = Math.max(1, this.#seconds - quiet);
    this.#dropped = 0;
    this.#since += passed * 1000;
  }
}
