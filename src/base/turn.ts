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
