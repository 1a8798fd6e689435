// Owns one watch on etcd: a stream of its own, so that a slow consumer holds back the server and not memory; resumed on
// another member when it breaks, without gap or repeat.
import { sleep } from '../../base/clock.ts';
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import type { Duplex } from '../../wire/grpc-service.ts';
import type { WatchRequest, WatchResponse } from '../../wire/generated/etcd-rpc.ts';
import { Compacted, StoreUnavailable, WatchOverrun } from '../store.ts';
import type { KeyRange, StoreEvent, WatchBatch, WatchOptions } from '../store.ts';
import { eventOf, rangeBytes } from './convert.ts';
import { isPassing, storeError } from './errors.ts';
import type { Member, Members } from './members.ts';

export interface WatchDeps {
  readonly members: Members;
  readonly clock: Clock;
  readonly log: Logger;
}

const backoffMs = 50;
const maxBackoffMs = 2000;

type Stream = Duplex<WatchRequest, WatchResponse>;

export class EtcdWatch implements AsyncIterator<WatchBatch, undefined> {
  readonly #deps: WatchDeps;
  readonly #range: KeyRange;
  readonly #previous: boolean;
  readonly #abort = new AbortController();
  readonly #batches: AsyncGenerator<WatchBatch, undefined>;
  readonly #signal: AbortSignal;
  readonly #onEnd: () => void;
  /** The first revision not delivered; 0: from now. */
  #next: number;
  #delivered = false;
  #member: Member;
  #stream: Stream;
  #ended = false;

  constructor(range: KeyRange, options: WatchOptions, deps: WatchDeps, onEnd: () => void) {
    this.#deps = deps;
    this.#range = range;
    this.#previous = options.previous === true;
    this.#next = options.fromRevision ?? 0;
    this.#signal = options.signal;
    this.#onEnd = onEnd;
    this.#member = deps.members.current;
    this.#stream = this.#connect();
    this.#batches = this.#run();
    if (!options.signal.aborted) options.signal.addEventListener('abort', this.end, { once: true });
  }

  async next(): Promise<IteratorResult<WatchBatch, undefined>> {
    if (this.#ended) return { value: undefined, done: true };
    try {
      const result = await this.#batches.next();
      // Ended while the next batch was on its way.
      if (this.#ended || result.done) return { value: undefined, done: true };
      return result;
    } catch (error) {
      if (this.#ended) return { value: undefined, done: true };
      this.end();
      throw error;
    }
  }

  async return(): Promise<IteratorResult<WatchBatch, undefined>> {
    this.end();
    return { value: undefined, done: true };
  }

  requestProgress(): void {
    this.#stream.send({ progressRequest: {} });
  }

  readonly end = (): void => {
    if (this.#ended) return;
    this.#ended = true;
    this.#signal.removeEventListener('abort', this.end);
    this.#abort.abort();
    this.#onEnd();
  };

  #connect(): Stream {
    const stream = this.#member.watch.watch({
      signal: this.#abort.signal,
      metadata: { hasleader: 'true' },
    });
    stream.send({
      createRequest: {
        ...rangeBytes(this.#range),
        startRevision: this.#next,
        prevKv: this.#previous,
        progressNotify: true,
        fragment: true,
      },
    });
    return stream;
  }

  async *#run(): AsyncGenerator<WatchBatch, undefined> {
    for (let failures = 0; !this.#ended; ) {
      try {
        for await (const batch of this.#read(this.#stream)) {
          failures = 0;
          yield batch;
        }
      } catch (error) {
        if (this.#ended) return undefined;
        if (!isPassing(error)) throw storeError(error);
        this.#deps.log.debug('watch stream broke, resuming', { from: this.#next, error });
      }
      if (this.#ended) return undefined;
      this.#deps.members.leave(this.#member);
      const waitMs = Math.min(maxBackoffMs, backoffMs * 2 ** failures++);
      await sleep(this.#deps.clock, waitMs, this.#abort.signal);
      this.#member = this.#deps.members.current;
      this.#stream = this.#connect();
    }
    return undefined;
  }

  async *#read(stream: Stream): AsyncGenerator<WatchBatch> {
    let events: StoreEvent[] = [];
    for await (const response of stream) {
      const revision = Number(response.header?.revision ?? 0);
      if (response.canceled) throw this.#canceled(response);
      if (response.created) {
        if (this.#next === 0) yield this.#deliver(revision, []);
        continue;
      }
      for (const event of response.events) events.push(eventOf(event));
      if (response.fragment) continue;
      // Not the header's revision: a watch that catches up is told the newest one.
      const last = events.at(-1)?.kv.modRevision;
      if (last !== undefined) {
        const batch = events.filter(({ kv }) => kv.modRevision >= this.#next);
        events = [];
        yield this.#deliver(last, batch);
      } else if (revision + 1 >= this.#next) yield this.#deliver(revision, []);
    }
  }

  #deliver(revision: number, events: readonly StoreEvent[]): WatchBatch {
    this.#next = Math.max(this.#next, revision + 1);
    this.#delivered = true;
    return { revision, events };
  }

  #canceled(response: WatchResponse): Error {
    const compactRevision = Number(response.compactRevision);
    if (compactRevision === 0) return new StoreUnavailable(`etcd ended the watch: ${response.cancelReason}`);
    return this.#delivered
      ? new WatchOverrun(`the watch is at revision ${this.#next}, compaction at ${compactRevision}`)
      : new Compacted(compactRevision);
  }
}
