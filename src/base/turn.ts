// Owns the gate where work waits for the rest of its turn: what became ready in one turn of the event loop starts together.

/**
 * Work that awaits the same turn goes on in step: each `await` of one is followed by the same `await` of the next, so that the
 * processor runs a piece of code for all of them before it comes to the next piece. With code as large as a request's journey
 * that halves the processor time of requests that come in crowds, and costs one that comes alone a few microseconds.
 */
export class Turn {
  #over: Promise<void> | undefined;

  /** Resolves when the events of this turn have been handled, for all who ask within it at once and in the order of asking. */
  over(): Promise<void> {
    this.#over ??= new Promise((resolve) => {
      setImmediate(() => {
        this.#over = undefined;
        resolve();
      });
    });
    return this.#over;
  }
}

/** Calls when the work that is ready now, and all that it makes ready without waiting for anything outside, has been done. */
export function afterReadyWork(call: () => void): void {
  queueMicrotask(() => process.nextTick(call));
}

/**
 * How much of a turn of the event loop may be used up by work that could wait. What comes after that is for the next turn: in
 * between, others' events are heard.
 */
export class TurnBudget {
  readonly #budgetMs: number;
  readonly #monotonic: () => number;
  readonly #onTurn: () => void;
  #startedAt: number | undefined;

  /** `onTurn` is called at the end of each turn in which somebody asked. */
  constructor(budgetMs: number, monotonic: () => number, onTurn: () => void) {
    this.#budgetMs = budgetMs;
    this.#monotonic = monotonic;
    this.#onTurn = onTurn;
  }

  isSpent(): boolean {
    const now = this.#monotonic();
    if (this.#startedAt === undefined) {
      this.#startedAt = now;
      setImmediate(() => {
        this.#startedAt = undefined;
        this.#onTurn();
      });
      return false;
    }
    return now - this.#startedAt > this.#budgetMs;
  }
}

/** Work in pieces that many have at once: so much of it in each turn, in the order of asking, and others are heard in between. */
export class TurnQueue {
  readonly #budget: TurnBudget;
  #waiting: (() => void)[] = [];

  constructor(budgetMs: number, monotonic: () => number) {
    this.#budget = new TurnBudget(budgetMs, monotonic, () => this.#goOn());
  }

  /** Now, if there is time left in this turn and nobody waits. */
  run(work: () => void): void {
    if (this.#waiting.length === 0 && !this.#budget.isSpent()) work();
    else this.#waiting.push(work);
  }

  #goOn(): void {
    const waiting = this.#waiting;
    if (waiting.length === 0) return;
    let done = 0;
    // One at least: a turn that is never long enough must not stop it.
    do waiting[done++]!();
    while (done < waiting.length && !this.#budget.isSpent());
    this.#waiting = waiting.slice(done);
    // Asking begins the next turn, which goes on with the rest.
    if (this.#waiting.length > 0) this.#budget.isSpent();
  }
}
