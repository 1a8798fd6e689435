// Owns one watch on etcd: a stream of its own, so that a slow consumer holds back the server and not memory; resumed on
// another member when it breaks, without gap or repeat.
import { sleep } from '../../base/clock.ts';
import type { Clock, Timer } from '../../base/clock.ts';
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

/**
 * etcd before 3.4.25 and 3.5.8 answers a request for progress also for a watch that still catches up (etcd issue 15220). A
 * new watch has caught up after this time, many times the pace at which etcd looks after such watches.
 */
const catchUpMs = 1000;

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
  #connectedMs = 0;
  #asking: Timer | undefined;
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
    this.#asking?.cancel();
    this.#abort.abort();
    this.#onEnd();
  };

  #connect(): Stream {
    this.#connectedMs = this.#deps.clock.monotonic();
    this.#asking?.cancel();
    this.#asking = undefined;
    const stream = this.#member.watch.watch({
      signal: this.#abort.signal,
      metadata: { hasleader: 'true' },
    });
    stream.send({
      createRequest: {
        ...rangeBytes(this.#range),
        // One earlier, and its events left out: etcd before 3.4.36 and 3.5.18 forgets a deletion at the very revision that it
        // compacts to (etcd issue 18089), so that a watch from there would miss it. So it is told that it is too late.
        startRevision: Math.max(this.#next - 1, Math.min(this.#next, 1)),
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
        if (last >= this.#next) yield this.#deliver(last, batch);
      } else if (this.#believes(response)) yield this.#deliver(revision, []);
      else if (this.#hasCaughtUp() && revision + 1 >= this.#next) yield { revision, events: [] };
    }
  }

  /** Whether nothing up to the progress's revision can come any more. */
  #believes({ watchId, header }: WatchResponse): boolean {
    if (Number(header?.revision ?? 0) + 1 < this.#next) return false;
    // Only the answer to a request, which carries no watch's id, was ever wrong.
    return watchId !== -1n || this.#deps.members.progressIsSafe(this.#member);
  }

  /** If not yet, asks for progress again when it has. What still came late would be delivered, late. */
  #hasCaughtUp(): boolean {
    const { clock } = this.#deps;
    const leftMs = this.#connectedMs + catchUpMs - clock.monotonic();
    if (leftMs <= 0) return true;
    const stream = this.#stream;
    this.#asking ??= clock.after(leftMs, () => {
      this.#asking = undefined;
      if (!this.#ended && stream === this.#stream) this.requestProgress();
    });
    return false;
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
