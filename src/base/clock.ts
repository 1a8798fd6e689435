// Owns time as an input: every component takes a Clock and never reads the ambient one.
import { Turn } from './turn.ts';

/** A pending timer; `cancel` is idempotent and safe after it fired. */
export interface Timer {
  cancel(): void;
}

export interface Clock {
  /** Wall time in milliseconds since the epoch. */
  now(): number;
  /** Milliseconds from an arbitrary start; never goes back. */
  monotonic(): number;
  /** Calls `fire` once after `delayMs` (≥ 0). A timer never keeps the process alive by itself. */
  after(delayMs: number, fire: () => void): Timer;
  /** Resolves when this turn of the event loop is over (see `Turn`). Absent where time waits for all that can be done at once. */
  turn?(): Promise<void>;
}

const turns = new Turn();

/** The longest delay that a Node timer takes. */
const maxDelayMs = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  turn: () => turns.over(),
  after(delayMs, fire) {
    if (delayMs > maxDelayMs) {
      const start = performance.now();
      let inner = this.after(maxDelayMs, () => {
        inner = this.after(delayMs - (performance.now() - start), fire);
      });
      return { cancel: () => inner.cancel() };
    }
    const handle = setTimeout(fire, Math.max(0, delayMs));
    handle.unref();
    return { cancel: () => clearTimeout(handle) };
  },
};

/** Resolves after `delayMs`; rejects with the signal's reason when aborted first. */
export function sleep(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason as Error);
      return;
    }
    const onAbort = () => {
      timer.cancel();
      reject(signal?.reason as Error);
    };
    const timer = clock.after(delayMs, () => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    });
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}
