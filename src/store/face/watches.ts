// Owns etcd's Watch service over a store: many watches on one stream, progress, filters, fragments, cancelling.
import { Event } from '../../wire/generated/etcd-kv.ts';
import type * as etcd from '../../wire/generated/etcd-rpc.ts';
import type { Watch } from '../../wire/generated/etcd-rpc.ts';
import type { Handlers } from '../../wire/grpc-service.ts';
import type { Init } from '../../wire/protobuf.ts';
import { etcdPair } from '../etcd/convert.ts';
import { Compacted, StoreUnavailable, WatchOverrun } from '../store.ts';
import type { KeyRange, Store, StoreEvent, WatchBatch } from '../store.ts';
import { Channel } from './channel.ts';
import { grpcError } from './errors.ts';
import type { Header } from './face.ts';
import { rangeOf, safeNumber } from './requests.ts';

type Response = Init<etcd.WatchResponse>;

/** Responses that wait for a slow client, over all its watches; then the watches wait, and compaction may overtake them. */
const streamBuffer = 16;

/** Of one client; etcd has no such bound, memory has. */
const maxWatchesPerStream = 10_000;

export interface WatchFace {
  readonly handlers: Handlers<typeof Watch>;
  /** Whether any watch asked for progress from time to time. */
  wantsProgress(): boolean;
}

export function watchFace(store: Store, header: Header, fragmentBytes: number): WatchFace {
  const streams = new Set<Stream>();
  return {
    handlers: {
      watch: async function* (requests, signal) {
        const stream = new Stream(store, header, fragmentBytes);
        streams.add(stream);
        signal.addEventListener('abort', stream.end, { once: true });
        // Ends with the call, or when `end` made every watch of it end.
        void stream.serve(requests);
        try {
          yield* stream.responses;
          if (stream.failure !== undefined) throw grpcError(stream.failure);
        } finally {
          signal.removeEventListener('abort', stream.end);
          streams.delete(stream);
          stream.end();
        }
      },
    },
    wantsProgress: () => [...streams].some((stream) => stream.wantsProgress),
  };
}

interface OpenWatch {
  readonly id: bigint;
  readonly range: KeyRange;
  readonly request: etcd.WatchCreateRequest;
  readonly abort: AbortController;
}

/** A progress request under way: answered when every watch has said how far it is. */
interface Progress {
  readonly waiting: Set<OpenWatch>;
  revision: number;
}

class Stream {
  readonly responses = new Channel<Response>(streamBuffer);
  readonly #store: Store;
  readonly #header: Header;
  readonly #fragmentBytes: number;
  readonly #watches = new Map<bigint, OpenWatch>();
  readonly #running = new Set<Promise<void>>();
  #progress: Progress[] = [];
  /** Why the stream ended, when not by the client's wish. */
  failure: unknown;
  #nextId = 0n;

  constructor(store: Store, header: Header, fragmentBytes: number) {
    this.#store = store;
    this.#header = header;
    this.#fragmentBytes = fragmentBytes;
  }

  get wantsProgress(): boolean {
    return [...this.#watches.values()].some(({ request }) => request.progressNotify);
  }

  readonly end = (): void => {
    for (const { abort } of this.#watches.values()) abort.abort();
    this.responses.close();
  };

  async serve(requests: AsyncIterable<etcd.WatchRequest>): Promise<void> {
    try {
      for await (const { createRequest, cancelRequest, progressRequest } of requests) {
        if (createRequest !== undefined) await this.#create(createRequest);
        else if (cancelRequest !== undefined) await this.#cancel(cancelRequest.watchId);
        else if (progressRequest !== undefined) await this.#askProgress();
      }
      await Promise.all(this.#running);
    } catch (error) {
      this.failure ??= error;
    } finally {
      this.end();
    }
  }

  async #create(request: etcd.WatchCreateRequest): Promise<void> {
    const id = request.watchId === 0n ? this.#freeId() : request.watchId;
    const refuse = (why: string) => this.#send({ watchId: -1n, created: true, canceled: true, cancelReason: why });
    let range: KeyRange;
    try {
      // For watches, etcd takes an empty key with an end as everything.
      range = rangeOf(request.key.length === 0 ? Uint8Array.of(0) : request.key, request.rangeEnd);
      safeNumber(request.startRevision, 'the revision');
    } catch (error) {
      await refuse((error as Error).message);
      return;
    }
    if (this.#watches.has(id)) return void (await refuse('etcdserver: duplicate watch id provided on the stream'));
    if (this.#watches.size >= maxWatchesPerStream) return void (await refuse('too many watches on one stream'));
    const watch: OpenWatch = { id, range, request, abort: new AbortController() };
    this.#watches.set(id, watch);
    const running = this.#pump(watch)
      .catch((error: unknown) => {
        this.failure ??= error;
        this.end();
      })
      .finally(() => {
        this.#watches.delete(id);
        this.#running.delete(running);
        this.#reported(watch, Infinity);
      });
    this.#running.add(running);
  }

  async #pump(watch: OpenWatch): Promise<void> {
    const { id, range, request, abort } = watch;
    const fromRevision = Math.max(0, Number(request.startRevision));
    const options = { previous: request.prevKv, signal: abort.signal, ...(fromRevision > 0 && { fromRevision }) };
    const batches = this.#store.watch(range, options);
    let created = false;
    try {
      if (fromRevision > 0) {
        const { revision } = await this.#store.range(range, { countOnly: true });
        created = await this.#send({ watchId: id, created: true }, revision);
      }
      for await (const batch of batches) {
        if (!created) created = await this.#send({ watchId: id, created: true }, batch.revision);
        else if (!(await this.#deliver(watch, batch))) return;
      }
      if (!abort.signal.aborted) throw new StoreUnavailable('the store was closed');
    } catch (error) {
      if (!(error instanceof Compacted || error instanceof WatchOverrun)) throw error;
      const { compactRevision } = await this.#store.status();
      const cancelReason = 'etcdserver: mvcc: required revision has been compacted';
      await this.#send({ watchId: id, canceled: true, compactRevision, cancelReason });
    }
  }

  async #deliver(watch: OpenWatch, { revision, events }: WatchBatch): Promise<boolean> {
    const { id, request } = watch;
    if (events.length === 0) {
      this.#reported(watch, revision);
      return !request.progressNotify || this.#send({ watchId: id }, revision);
    }
    const wanted = events.filter(({ type }) => !request.filters.includes(type === 'put' ? 'NOPUT' : 'NODELETE'));
    if (wanted.length === 0) return true;
    const parts = request.fragment ? split(wanted.map(etcdEvent), this.#fragmentBytes) : [wanted.map(etcdEvent)];
    for (const [at, part] of parts.entries())
      if (!(await this.#send({ watchId: id, events: part, fragment: at < parts.length - 1 }, revision))) return false;
    return true;
  }

  async #cancel(id: bigint): Promise<void> {
    const watch = this.#watches.get(id);
    if (watch === undefined) return;
    watch.abort.abort();
    await this.#send({ watchId: id, canceled: true });
  }

  async #askProgress(): Promise<void> {
    const { revision } = await this.#store.status();
    const progress: Progress = { waiting: new Set(this.#watches.values()), revision: Infinity };
    if (progress.waiting.size === 0) return void (await this.#send({ watchId: -1n }, revision));
    this.#progress.push(progress);
    await this.#store.requestProgress();
  }

  #reported(watch: OpenWatch, revision: number): void {
    for (const progress of this.#progress) {
      if (progress.waiting.delete(watch)) progress.revision = Math.min(progress.revision, revision);
      if (progress.waiting.size === 0 && Number.isFinite(progress.revision))
        void this.#send({ watchId: -1n }, progress.revision);
    }
    this.#progress = this.#progress.filter(({ waiting }) => waiting.size > 0);
  }

  async #send(response: Response, revision?: number): Promise<boolean> {
    return this.responses.send({
      header: this.#header(revision ?? (await this.#store.status()).revision),
      ...response,
    });
  }

  #freeId(): bigint {
    while (this.#watches.has(this.#nextId)) this.#nextId++;
    return this.#nextId++;
  }
}

function etcdEvent({ type, kv, previous }: StoreEvent): Init<Event> {
  const event = { type: type === 'put' ? ('PUT' as const) : ('DELETE' as const), kv: etcdPair(kv) };
  return previous === undefined ? event : { ...event, prevKv: etcdPair(previous) };
}

/** Parts of about `bytes`, at least one event each. */
function split(events: readonly Init<Event>[], bytes: number): Init<Event>[][] {
  const parts: Init<Event>[][] = [[]];
  let size = 0;
  for (const event of events) {
    const { length } = Event.encode(event);
    if (size > 0 && size + length > bytes) {
      parts.push([]);
      size = 0;
    }
    parts.at(-1)!.push(event);
    size += length;
  }
  return parts;
}
