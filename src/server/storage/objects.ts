// Owns reading and writing stored objects: create, guaranteed update, delete, each one transaction that compares versions. Knows no kind.
import { alreadyExists, conflict, notFound, statusError } from '../../api/status-error.ts';
import type { Frozen, KubeObject } from '../../api/meta.ts';
import type { Clock } from '../../base/clock.ts';
import type { Compare, KeyValue, Operation, Store, TransactionResult } from '../../store/store.ts';
import { leasePool } from '../../store/lease-pool.ts';
import { StoreFull, StoreUnavailable } from '../../store/store.ts';
import { freshness } from './freshness.ts';
import { Entry } from '../cache/entry.ts';
import type { Feed } from '../cache/feed.ts';
import type { Resource } from '../resource.ts';
import type { Collection } from '../served/served.ts';
import { TakenMeanwhile } from './together.ts';
import type { Together } from './together.ts';

export interface Objects {
  /** From the cache; with `quorum` proven current (the caller has seen nothing newer). */
  get(collection: Collection, key: string): Entry | undefined;
  /** Throws AlreadyExists, and what `together` throws. */
  create(collection: Collection, key: string, object: KubeObject, together?: Together): Promise<Entry>;
  /**
   * Changes what is there: `change` gets the newest object and answers with the next one, or with the same to leave it.
   * It is called again when another writer was faster, or when what `together` (asked after it) takes was taken meanwhile. Throws NotFound.
   */
  update(collection: Collection, key: string, change: Change, together?: () => Together | undefined): Promise<Entry>;
  /** Deletes what `check` (which may throw) agrees to. Answers with the object as it was, under the deletion's revision. */
  delete(
    collection: Collection,
    key: string,
    check: (entry: Entry) => void | Promise<void>,
    together?: (entry: Entry) => Together | undefined,
  ): Promise<Entry>;
  /** As it was at `revision`, in key order from `after` on; throws Compacted. */
  past(
    collection: Collection,
    prefix: string,
    after: string,
    revision: number,
    limit: number,
  ): Promise<{ readonly entries: Entry[]; readonly count: number; readonly revision: number }>;
  /** Waits until the caches show everything acknowledged by anyone before the call. */
  fresh(): Promise<void> | undefined;
  /** Waits for the caches to show `revision`; rejects with Timeout when it is not reached in time. */
  reached(revision: number): Promise<void> | undefined;
}

export type Change = (entry: Entry) => KubeObject | Frozen<KubeObject> | Promise<KubeObject | Frozen<KubeObject>>;

export interface ObjectsOptions {
  readonly store: Store;
  readonly feed: Feed;
  /**
   * True when nobody else writes to the store: all acknowledged writes are then in the caches, since every write waits for
   * them. Else each read asks the store for its revision first.
   */
  readonly exclusive: boolean;
  readonly clock: Clock;
  /** Whether a stored value is to be written anew although the object stays as it is (its encryption key has changed). */
  readonly stale?: (key: string) => Promise<boolean>;
  /** Told how many objects share a lease. */
  readonly onLeaseFull?: (keys: number) => void;
}

const maxAttempts = 100;

const calledBy = ({ called, storage }: Collection): Resource => called ?? storage;

interface Write {
  readonly own: Compare;
  readonly operation: Operation;
  readonly otherwise?: string;
  readonly together?: Together;
  readonly again: boolean;
}

export function objects({ store, feed, exclusive, clock, stale, onLeaseFull }: ObjectsOptions): Objects {
  const leases = leasePool(store, clock, { ...(onLeaseFull && { onFull: onLeaseFull }) });
  const current = exclusive ? undefined : freshness({ store, feed, clock });

  function entryOf(collection: Collection, kv: KeyValue): Entry {
    return Entry.stored(kv.key.slice(collection.prefix.length), kv.modRevision, kv.value, collection.codec.decode);
  }

  async function settled(collection: Collection, key: string, revision: number, object: KubeObject): Promise<Entry> {
    await feed.reached(revision);
    const cached = collection.cache.get(key);
    if (cached?.revision !== revision) return Entry.of(key, revision, object);
    // What came back through a store of another process is not known by its bytes; what reading completes is to be read.
    if (collection.codec.completesReads !== true) cached.supply(object);
    return cached;
  }

  async function put(collection: Collection, key: string, value: Uint8Array): Promise<Operation> {
    if (collection.ttlSeconds === undefined) return { type: 'put', key: collection.prefix + key, value };
    const lease = await leases.leaseFor(collection.ttlSeconds);
    return { type: 'put', key: collection.prefix + key, value, lease };
  }

  function encode(collection: Collection, object: KubeObject | Frozen<KubeObject>): Uint8Array {
    const value = collection.codec.encode(object);
    if (collection.codec.completesReads !== true) feed.wrote(value, object as KubeObject);
    return value;
  }

  return {
    get: (collection, key) => collection.cache.get(key),

    async create(collection, key, object, together) {
      const full = collection.prefix + key;
      for (let attempt = 0; attempt < maxAttempts; attempt++) {
        const result = await write({
          own: { key: full, target: 'version', is: '=', value: 0 },
          operation: await put(collection, key, encode(collection, object)),
          ...(together && { together, otherwise: full }),
          again: attempt > 0,
        });
        if (result.succeeded) return settled(collection, key, result.revision, object);
        if (together === undefined || rangeEntry(collection, result.results[0]) !== undefined)
          throw alreadyExists(calledBy(collection), nameOf(key));
      }
      throw tooMany(collection, key);
    },

    async update(collection, key, change, together) {
      const full = collection.prefix + key;
      let entry = collection.cache.get(key);
      for (let attempt = 0; attempt < maxAttempts; attempt++) {
        if (entry === undefined) {
          entry = await newest(collection, key);
          if (entry === undefined) throw notFound(calledBy(collection), nameOf(key));
        }
        const before: Entry = entry;
        const next = await change(before);
        if (next === before.object && !(await stale?.(full))) return before;
        const beside = together?.();
        try {
          const result = await write({
            own: { key: full, target: 'modRevision', is: '=', value: before.revision },
            operation: await put(collection, key, encode(collection, next)),
            otherwise: full,
            ...(beside && { together: beside }),
            again: false,
          });
          if (result.succeeded) return settled(collection, key, result.revision, next as KubeObject);
          entry = rangeEntry(collection, result.results[0]);
        } catch (error) {
          if (!(error instanceof TakenMeanwhile)) throw error;
          continue;
        }
        if (entry === undefined) throw notFound(calledBy(collection), nameOf(key));
      }
      throw tooMany(collection, key);
    },

    async delete(collection, key, check, together) {
      const full = collection.prefix + key;
      let entry = collection.cache.get(key) ?? (await newest(collection, key));
      for (let attempt = 0; attempt < maxAttempts && entry !== undefined; attempt++) {
        await check(entry);
        const beside = together?.(entry);
        const result = await write({
          own: { key: full, target: 'modRevision', is: '=', value: entry.revision },
          operation: { type: 'delete', range: { start: full } },
          otherwise: full,
          ...(beside && { together: beside }),
          again: attempt > 0,
        });
        if (result.succeeded) {
          await feed.reached(result.revision);
          return entry.at(result.revision);
        }
        entry = rangeEntry(collection, result.results[0]);
      }
      if (entry !== undefined) throw tooMany(collection, key);
      throw notFound(calledBy(collection), nameOf(key));
    },

    async past(collection, prefix, after, revision, limit) {
      const start = collection.prefix + (after === '' ? prefix : `${after}\0`);
      const end = nextPrefix(collection.prefix + prefix);
      const result = await store.range({ start, end }, { revision, limit });
      return {
        entries: result.items.map((kv) => entryOf(collection, kv)),
        count: result.count,
        revision: result.revision,
      };
    },

    fresh: () => (current === undefined ? undefined : asStatus(current())),

    reached: (revision) => feed.reached(revision),
  };

  /** One try. `otherwise`: the key to read when it fails. */
  async function write({ own, operation, otherwise, together, again }: Write): Promise<TransactionResult> {
    const more = await together?.attempt(again);
    let revision: number | undefined;
    try {
      const result = await asStatus(
        store.transact({
          compare: [own, ...(more?.compare ?? [])],
          then: [operation, ...(more?.operations ?? [])],
          ...(otherwise !== undefined && { otherwise: [{ type: 'range', range: { start: otherwise } }] }),
        }),
      );
      if (result.succeeded) revision = result.revision;
      return result;
    } finally {
      more?.settled?.(revision);
    }
  }

  function tooMany(collection: Collection, key: string): Error {
    return conflict(calledBy(collection), nameOf(key), 'too many writers change the object; please try again');
  }

  async function newest(collection: Collection, key: string): Promise<Entry | undefined> {
    const { items } = await asStatus(store.range({ start: collection.prefix + key }));
    return items[0] && entryOf(collection, items[0]);
  }

  function rangeEntry(collection: Collection, result: unknown): Entry | undefined {
    const range = result as
      | { readonly type: string; readonly result: { readonly items: readonly KeyValue[] } }
      | undefined;
    const kv = range?.result.items[0];
    return kv && entryOf(collection, kv);
  }
}

function nameOf(key: string): string {
  return key.slice(key.indexOf('/') + 1);
}

/** The end of the range of all keys that begin with `prefix`. */
function nextPrefix(prefix: string): string {
  return prefix.slice(0, -1) + String.fromCharCode(prefix.charCodeAt(prefix.length - 1) + 1);
}

/** What the store cannot do now becomes the Status that tells clients to try again. */
async function asStatus<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof StoreFull) throw statusError('InternalError', `the store takes no writes: ${error.message}`);
    if (error instanceof StoreUnavailable)
      throw statusError('ServiceUnavailable', `the store is away: ${error.message}`);
    throw error;
  }
}
