// Owns the way from the store to the caches: one watch over the whole registry, decoded once, handed to each collection's cache.
import type { KubeObject } from '../../api/meta.ts';
import type { Clock } from '../../base/clock.ts';
import { sleep } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import { deferred, isAbort } from '../../base/task-group.ts';
import type { Store, StoreEvent } from '../../store/store.ts';
import { Compacted, StoreCorrupt, prefixRange } from '../../store/store.ts';
import type { FeedMetrics } from '../metrics/caches.ts';
import { whyUnreadable } from '../storage/unreadable.ts';
import { Entry } from './entry.ts';
import type { Decode } from './entry.ts';
import type { WatchCache } from './watch-cache.ts';

export interface FeedCollection {
  /** Ends in "/": "/registry/pods/". */
  readonly prefix: string;
  readonly cache: WatchCache;
  readonly decode: Decode;
}

export interface Feed {
  /** Collections of custom kinds come and go; its cache is loaded from the store first. */
  add(collection: FeedCollection): Promise<void>;
  remove(prefix: string): void;
  /** Resolves when every cache holds all changes up to `revision`. Rejects when the feed has stopped. */
  reached(revision: number): Promise<void> | undefined;
  readonly revision: number;
  /** Resolves after the first load. */
  readonly loaded: Promise<void>;
  /** Remembers the object that `value` encodes, so that the feed need not decode what this server itself wrote. */
  wrote(value: Uint8Array, object: KubeObject): void;
  /** Reads everything anew: what could not be read before may be readable now. */
  reload(): void;
  run(signal: AbortSignal): Promise<void>;
}

interface Waiter {
  readonly revision: number;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

export function feed(store: Store, root: string, clock: Clock, log: Logger, metrics?: FeedMetrics): Feed {
  const collections = new Map<string, FeedCollection>();
  const known = new WeakMap<Uint8Array, KubeObject>();
  const first = deferred();
  first.promise.catch(() => undefined);
  let waiters: Waiter[] = [];
  let revision = 0;
  let stopped: Error | undefined;
  let again = new AbortController();

  function collectionOf(key: string): FeedCollection | undefined {
    const one = key.indexOf('/', root.length);
    if (one < 0) return undefined;
    const found = collections.get(key.slice(0, one + 1));
    if (found !== undefined) return found;
    const two = key.indexOf('/', one + 1);
    return two < 0 ? undefined : collections.get(key.slice(0, two + 1));
  }

  function entryOf(collection: FeedCollection, key: string, modRevision: number, value: Uint8Array): Entry {
    const short = key.slice(collection.prefix.length);
    const object = known.get(value);
    // The store keeps the value for a while, and nobody asks for the object again.
    known.delete(value);
    return object === undefined
      ? Entry.stored(short, modRevision, value, collection.decode)
      : Entry.of(short, modRevision, object);
  }

  /** `heardMs`: when the store told of it. */
  function apply(event: StoreEvent, heardMs: number): void {
    const { key, modRevision, value } = event.kv;
    const collection = collectionOf(key);
    const held = collection === undefined ? undefined : loading.get(collection.prefix);
    if (held !== undefined) {
      held.push(event);
      return;
    }
    if (collection === undefined || modRevision <= (loadedAt.get(collection.prefix) ?? 0)) return;
    const why = event.type === 'put' ? whyUnreadable(value) : undefined;
    // It cannot be shown to those who watch: they list anew, and who asks for the object is told.
    if (why !== undefined) throw new StoreCorrupt('registry', why);
    const entry = event.type === 'put' ? entryOf(collection, key, modRevision, value) : undefined;
    const short = key.slice(collection.prefix.length);
    if (metrics === undefined) return collection.cache.apply(short, modRevision, entry);
    const startMs = clock.monotonic();
    collection.cache.apply(short, modRevision, entry);
    metrics.dispatched(collection.prefix, (startMs - heardMs) / 1000, (clock.monotonic() - startMs) / 1000);
  }

  /** What comes while a collection is being loaded waits until it is. */
  const loading = new Map<string, StoreEvent[]>();

  /** The revision each collection was loaded at: changes up to it are in already. */
  const loadedAt = new Map<string, number>();

  function reachedRevision(to: number): void {
    if (to > revision) revision = to;
    for (const { cache } of collections.values()) cache.advance(revision);
    if (waiters.length === 0) return;
    const ready = waiters.filter((waiter) => waiter.revision <= revision);
    waiters = waiters.filter((waiter) => waiter.revision > revision);
    for (const waiter of ready) waiter.resolve();
  }

  async function load(which: readonly FeedCollection[], prefix: string): Promise<number> {
    const startMs = clock.monotonic();
    const result = await store.range(prefixRange(prefix));
    const byPrefix = new Map<FeedCollection, Entry[]>(which.map((collection) => [collection, []]));
    for (const { key, modRevision, value } of result.items) {
      const collection = collectionOf(key);
      if (collection !== undefined) byPrefix.get(collection)?.push(entryOf(collection, key, modRevision, value));
    }
    for (const [collection, entries] of byPrefix) {
      loadedAt.set(collection.prefix, result.revision);
      collection.cache.load(entries, result.revision);
      metrics?.loaded(collection.prefix, (clock.monotonic() - startMs) / 1000);
    }
    return result.revision;
  }

  async function follow(signal: AbortSignal): Promise<void> {
    reachedRevision(await load([...collections.values()], root));
    first.resolve();
    for await (const batch of store.watch(prefixRange(root), { fromRevision: revision + 1, signal })) {
      const heardMs = clock.monotonic();
      for (const event of batch.events) apply(event, heardMs);
      reachedRevision(batch.revision);
    }
  }

  async function run(signal: AbortSignal): Promise<void> {
    try {
      while (!signal.aborted) {
        try {
          again = new AbortController();
          await follow(AbortSignal.any([signal, again.signal]));
        } catch (error) {
          if (signal.aborted) break;
          if (isAbort(error)) {
            if (again.signal.aborted) continue;
            break;
          }
          // What cannot be followed any more is loaded anew; watchers are told to start again.
          log.warn('store watch ended', { error, reload: true });
          if (!(error instanceof Compacted)) await sleep(clock, 200, signal).catch(() => undefined);
        }
      }
    } finally {
      stopped = new Error('the API server is stopping');
      first.reject(stopped);
      for (const waiter of waiters) waiter.reject(stopped);
      waiters = [];
      for (const { cache } of collections.values()) cache.closeWatchers('stopped');
    }
  }

  return {
    async add(collection) {
      collections.set(collection.prefix, collection);
      if (revision === 0) return;
      const held: StoreEvent[] = [];
      loading.set(collection.prefix, held);
      try {
        await load([collection], collection.prefix);
      } finally {
        if (loading.get(collection.prefix) === held) loading.delete(collection.prefix);
      }
      const heardMs = clock.monotonic();
      for (const event of held) apply(event, heardMs);
      collection.cache.advance(revision);
    },
    remove(prefix) {
      collections.get(prefix)?.cache.closeWatchers('stopped');
      collections.delete(prefix);
      loadedAt.delete(prefix);
    },
    reached(to) {
      if (to <= revision) return undefined;
      if (stopped !== undefined) return Promise.reject(stopped);
      const { promise, resolve, reject } = deferred();
      waiters.push({ revision: to, resolve, reject });
      return promise;
    },
    get revision() {
      return revision;
    },
    loaded: first.promise,
    reload: () => again.abort(),
    wrote: (value, object) => void known.set(value, object),
    run,
  };
}
