// Owns the store as the server sees it when values are encrypted at rest: the same store, with plain values. Knows no cipher.
import { handedOn } from '../../../store/hand-on.ts';
import { StoreUnavailable } from '../../../store/store.ts';
import type { KeyValue, Operation, OperationResult, RangeResult, Store } from '../../../store/store.ts';
import type { StoreEvent, Transaction, WatchBatch } from '../../../store/store.ts';
import { markUnreadable } from '../unreadable.ts';
import type { Opened, Transformer } from './transformer.ts';

export interface Transformers {
  /** undefined: stored as it is. Asked again for each value: the configuration may change. */
  of(key: string): Transformer | undefined;
  /** Told of values that nobody can read. */
  unreadable(key: string, error: unknown): void;
}

/**
 * What cannot be decrypted stays as it is and is marked, so that only who asks for it is refused; what cannot be decrypted now throws
 * StoreUnavailable. Comparing an encrypted value is a mistake: two writings of one value differ.
 */
export function encryptedStore(store: Store, transformers: Transformers): Store {
  /** What this process wrote comes back by the watch as the same bytes. */
  const written = new WeakMap<Uint8Array, Uint8Array>();

  function open(kv: KeyValue): KeyValue | Promise<KeyValue> {
    const transformer = kv.value.length === 0 ? undefined : transformers.of(kv.key);
    if (transformer === undefined) return kv;
    const known = written.get(kv.value);
    if (known !== undefined) return { ...kv, value: known };
    try {
      const opened = transformer.fromStorage(kv.value, kv.key);
      if (!(opened instanceof Promise)) return { ...kv, value: opened.value };
      return opened.then(
        ({ value }) => ({ ...kv, value }),
        (error: unknown) => refuse(kv, error),
      );
    } catch (error) {
      return refuse(kv, error);
    }
  }

  function refuse(kv: KeyValue, error: unknown): KeyValue {
    if (error instanceof StoreUnavailable) throw error;
    // A copy: marks belong to this reading, not to bytes that a store of this process may hand out again.
    const value = Buffer.from(kv.value);
    markUnreadable(value, `unable to transform key "${kv.key}": ${(error as Error).message}`);
    transformers.unreadable(kv.key, error);
    return { ...kv, value };
  }

  function operation(one: Operation): Operation {
    if (one.type !== 'put') return one;
    const transformer = transformers.of(one.key);
    if (transformer === undefined) return one;
    const value = transformer.toStorage(one.value, one.key);
    written.set(value, one.value);
    return { ...one, value };
  }

  async function rangeResult(result: RangeResult): Promise<RangeResult> {
    return { ...result, items: await each(result.items, open) };
  }

  async function result(one: OperationResult): Promise<OperationResult> {
    switch (one.type) {
      case 'put':
        return one.previous === undefined ? one : { ...one, previous: await open(one.previous) };
      case 'delete':
        return one.previous.length === 0 ? one : { ...one, previous: await each(one.previous, open) };
      case 'range':
        return { ...one, result: await rangeResult(one.result) };
    }
  }

  async function event(one: StoreEvent): Promise<StoreEvent> {
    const kv = await open(one.kv);
    return one.previous === undefined ? { ...one, kv } : { ...one, kv, previous: await open(one.previous) };
  }

  async function* batches(source: AsyncIterable<WatchBatch>): AsyncGenerator<WatchBatch, void, undefined> {
    for await (const batch of source)
      yield batch.events.some(({ kv }) => transformers.of(kv.key) !== undefined)
        ? { ...batch, events: await each(batch.events, event) }
        : batch;
  }

  return {
    ...handedOn(store),
    async range(range, options) {
      return rangeResult(await store.range(range, options));
    },
    async transact(transaction: Transaction) {
      for (const { key, target } of transaction.compare)
        if (target === 'value' && transformers.of(key) !== undefined)
          throw new Error(`the value of ${key} is encrypted and cannot be compared`);
      const done = await store.transact({
        compare: transaction.compare,
        then: transaction.then.map(operation),
        ...(transaction.otherwise && { otherwise: transaction.otherwise.map(operation) }),
      });
      return { ...done, results: await each(done.results, result) };
    },
    watch: (range, options) => batches(store.watch(range, options)),
  };
}

/** Whether the stored value is not as it would be written now. An absent or unreadable one is not. */
export async function isStale(store: Store, transformers: Transformers, key: string): Promise<boolean> {
  const transformer = transformers.of(key);
  if (transformer === undefined) return false;
  const [kv] = (await store.range({ start: key })).items;
  if (kv === undefined) return false;
  const opened: Opened = await transformer.fromStorage(kv.value, key);
  return opened.stale;
}

/** In order, waiting only for what has to be waited for: most values are opened at once. */
async function each<T, R>(items: readonly T[], change: (item: T) => R | Promise<R>): Promise<R[]> {
  const changed: R[] = [];
  for (const item of items) {
    const one = change(item);
    changed.push(one instanceof Promise ? await one : one);
  }
  return changed;
}
