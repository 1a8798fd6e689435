// Owns open watches: each is a cursor into the kept history, so that a slow consumer costs no memory.
import { Compacted, WatchOverrun } from '../store.ts';
import type { KeyRange, StoreEvent, WatchBatch, WatchOptions } from '../store.ts';
import { boundsOf } from './keys.ts';
import type { Bounds } from './keys.ts';
import type { Mvcc } from './mvcc.ts';

/** One batch holds about so many events or bytes of values, then the next begins; whole revisions always. */
const batchEvents = 1000;
const batchBytes = 4 * 1024 * 1024;

type Result = IteratorResult<WatchBatch, undefined>;

interface Waiting {
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/** Watches see a revision only once `advance` told that it is durable. */
export class Watches<V> {
  readonly #mvcc: Mvcc<V>;
  readonly #cursors = new Set<Cursor<V>>();
  #visible: number;

  constructor(mvcc: Mvcc<V>) {
    this.#mvcc = mvcc;
    this.#visible = mvcc.revision;
  }

  /** The newest revision that watches may see. */
  get visible(): number {
    return this.#visible;
  }

  get open(): number {
    return this.#cursors.size;
  }

  watch(range: KeyRange, options: WatchOptions): AsyncIterable<WatchBatch> {
    const cursor = new Cursor(
      this.#mvcc,
      () => this.#visible,
      boundsOf(range),
      options,
      () => this.#cursors.delete(cursor),
    );
    if (!cursor.ended) this.#cursors.add(cursor);
    return { [Symbol.asyncIterator]: () => cursor };
  }

  advance(revision: number): void {
    if (revision <= this.#visible) return;
    this.#visible = revision;
    for (const cursor of this.#cursors) cursor.wake();
  }

  progress(): void {
    for (const cursor of this.#cursors) cursor.requestProgress();
  }

  close(): void {
    for (const cursor of this.#cursors) cursor.end();
  }
}

class Cursor<V> implements AsyncIterator<WatchBatch, undefined> {
  readonly #mvcc: Mvcc<V>;
  readonly #visible: () => number;
  readonly #bounds: Bounds;
  readonly #previous: boolean;
  readonly #onEnd: () => void;
  readonly #signal: AbortSignal;
  /** The first revision not looked at yet. */
  #next: number;
  #waiting: Waiting | undefined;
  #wantsProgress = false;
  #refused: Error | undefined;
  ended = false;

  constructor(mvcc: Mvcc<V>, visible: () => number, bounds: Bounds, options: WatchOptions, onEnd: () => void) {
    this.#mvcc = mvcc;
    this.#visible = visible;
    this.#bounds = bounds;
    this.#previous = options.previous === true;
    this.#onEnd = onEnd;
    this.#signal = options.signal;
    this.#next = options.fromRevision || visible() + 1;
    if (!options.fromRevision) this.#wantsProgress = true;
    if (this.#next < mvcc.compactRevision) this.#refused = new Compacted(mvcc.compactRevision);
    if (options.signal.aborted) this.ended = true;
    else options.signal.addEventListener('abort', this.end, { once: true });
  }

  next(): Promise<Result> {
    if (this.#waiting !== undefined) return Promise.reject(new Error('a watch has one consumer'));
    try {
      const batch = this.#take();
      if (batch !== undefined) return Promise.resolve({ value: batch, done: false });
    } catch (error) {
      this.end();
      return Promise.reject(error as Error);
    }
    if (this.ended) return Promise.resolve({ value: undefined, done: true });
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
    });
  }

  return(): Promise<Result> {
    this.end();
    return Promise.resolve({ value: undefined, done: true });
  }

  requestProgress(): void {
    this.#wantsProgress = true;
    this.wake();
  }

  /** Gives a waiting consumer what there is. */
  wake(): void {
    const waiting = this.#waiting;
    if (waiting === undefined) return;
    try {
      const batch = this.#take();
      if (batch === undefined) return;
      this.#waiting = undefined;
      waiting.resolve({ value: batch, done: false });
    } catch (error) {
      this.#waiting = undefined;
      this.end();
      waiting.reject(error);
    }
  }

  readonly end = (): void => {
    if (this.ended) return;
    this.ended = true;
    this.#signal.removeEventListener('abort', this.end);
    this.#onEnd();
    this.#waiting?.resolve({ value: undefined, done: true });
    this.#waiting = undefined;
  };

  #take(): WatchBatch | undefined {
    if (this.ended) return undefined;
    if (this.#refused !== undefined) throw this.#refused;
    if (this.#next < this.#mvcc.compactRevision)
      throw new WatchOverrun(`the watch is at revision ${this.#next}, compaction at ${this.#mvcc.compactRevision}`);
    const visible = this.#visible();
    if (this.#next <= visible) {
      const batch = this.#read(visible);
      if (batch.events.length > 0) return batch;
    }
    if (!this.#wantsProgress) return undefined;
    this.#wantsProgress = false;
    return { revision: visible, events: [] };
  }

  #read(visible: number): WatchBatch {
    const { changes, through } = this.#mvcc.changes(this.#bounds, this.#next, visible, batchEvents);
    const events: StoreEvent[] = [];
    let bytes = 0;
    let at = 0;
    for (; at < changes.length; at++) {
      const version = changes[at]!;
      if (bytes > batchBytes && version.modRevision !== changes[at - 1]!.modRevision) break;
      const event = this.#mvcc.event(version, this.#previous);
      bytes += event.kv.value.length + (event.previous?.value.length ?? 0);
      events.push(event);
    }
    const revision = at < changes.length ? changes[at - 1]!.modRevision : through;
    this.#next = revision + 1;
    return { revision, events };
  }
}
