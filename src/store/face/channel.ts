// Owns a bounded channel: senders wait for room, one reader takes in order.
import { deferred } from '../../base/task-group.ts';

export class Channel<T> implements AsyncIterable<T> {
  readonly #capacity: number;
  readonly #items: T[] = [];
  #closed = false;
  #room: ReturnType<typeof deferred<void>> | undefined;
  #filled: ReturnType<typeof deferred<void>> | undefined;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  /** Resolves once the item is in; false when the channel was closed. */
  async send(item: T): Promise<boolean> {
    while (this.#items.length >= this.#capacity && !this.#closed) await (this.#room ??= deferred()).promise;
    if (this.#closed) return false;
    this.#items.push(item);
    this.#filled?.resolve();
    this.#filled = undefined;
    return true;
  }

  /** The reader ends after what is in. */
  close(): void {
    this.#closed = true;
    this.#filled?.resolve();
    this.#room?.resolve();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    for (;;) {
      while (this.#items.length === 0) {
        if (this.#closed) return;
        await (this.#filled ??= deferred()).promise;
      }
      const item = this.#items.shift()!;
      this.#room?.resolve();
      this.#room = undefined;
      yield item;
    }
  }
}
