// Owns a clock that stands still until told to advance: an hour of work in a second, and tests without sleeping.
import type { Clock, Timer } from './clock.ts';
import { Heap } from './heap.ts';

interface Pending {
  readonly dueMs: number;
  readonly order: number;
  readonly fire: () => void;
  cancelled: boolean;
}

export class VirtualClock implements Clock {
  readonly #timers = new Heap<Pending>((a, b) => a.dueMs - b.dueMs || a.order - b.order);
  #nowMs: number;
  readonly #startMs: number;
  #order = 0;

  constructor(startMs = Date.UTC(2026, 0, 1)) {
    this.#nowMs = startMs;
    this.#startMs = startMs;
  }

  /** Whole milliseconds, as Date.now() has them; timers may be due in between. */
  now(): number {
    return Math.floor(this.#nowMs);
  }

  monotonic(): number {
    return this.#nowMs - this.#startMs;
  }

  after(delayMs: number, fire: () => void): Timer {
    const pending: Pending = {
      dueMs: this.#nowMs + Math.max(0, delayMs),
      order: this.#order++,
      fire,
      cancelled: false,
    };
    this.#timers.push(pending);
    return {
      cancel: () => {
        pending.cancelled = true;
      },
    };
  }

  /** When the next timer is due, in milliseconds since the epoch; undefined when none waits. */
  nextDueMs(): number | undefined {
    for (let top = this.#timers.peek(); top !== undefined; top = this.#timers.peek()) {
      if (!top.cancelled) return top.dueMs;
      this.#timers.pop();
    }
    return undefined;
  }

  /** Moves time on by `ms`, firing due timers in order and letting promise callbacks run between them. */
  async advance(ms: number): Promise<void> {
    const untilMs = this.#nowMs + ms;
    await settle();
    for (let due = this.nextDueMs(); due !== undefined && due <= untilMs; due = this.nextDueMs()) {
      this.#nowMs = Math.max(this.#nowMs, due);
      this.#timers.pop()?.fire();
      await settle();
    }
    this.#nowMs = untilMs;
  }
}

/** Lets everything that is ready run: promise callbacks and one turn of the event loop. */
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
