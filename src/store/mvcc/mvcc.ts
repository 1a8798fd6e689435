// Owns the multi-version state that the memory and embedded engines share. Pure: no I/O, no clock, no waiting.
import { Compacted, FutureRevision } from '../store.ts';
import type { Compare, KeyValue, OperationResult, RangeOptions, RangeResult, StoreEvent } from '../store.ts';
import type { KeyRange, Operation, Transaction, TransactionResult } from '../store.ts';
import { boundsOf, byteKey, keyText } from './keys.ts';
import type { Bounds, ByteKey } from './keys.ts';
import { KeyIndex } from './key-index.ts';
import type { LeaseTable } from './lease-table.ts';

/** A key with its kept versions, oldest first. */
export interface KeyEntry<V> {
  readonly key: ByteKey;
  readonly text: string;
  /** Replaced rather than grown where it is the first: an array that grew from nothing keeps room for 16 more. */
  versions: Version<V>[];
}

/** One state of a key; `stored` is undefined for a deletion. */
export interface Version<V> {
  readonly entry: KeyEntry<V>;
  readonly modRevision: number;
  readonly createRevision: number;
  /** 0 for a deletion. */
  readonly version: number;
  readonly lease: number;
  /** The engine's form of the value; the engine may exchange it (bytes in memory for a place on disk). */
  stored: V | undefined;
}

export interface Applied<V> {
  readonly result: TransactionResult;
  /** In the order of the operations; all carry the same revision. Empty when nothing changed. */
  readonly changes: readonly Version<V>[];
}

/** How the engine keeps values. `load` may throw `StoreCorrupt`. */
export interface ValueForm<V> {
  store(value: Uint8Array): V;
  /** About the bytes of the value. */
  size(stored: V): number;
  load(stored: V): Uint8Array;
  /** Called when a version is forgotten. */
  release(stored: V | undefined): void;
}

const nothing = new Uint8Array(0);

export class Mvcc<V> {
  readonly #index = new KeyIndex<KeyEntry<V>>((entry) => entry.versions.at(-1)?.stored !== undefined);
  /** Every kept change with a revision from `compactRevision` on, in order. */
  #history: Version<V>[] = [];
  #revision = 1;
  #compactRevision = 0;
  readonly #values: ValueForm<V>;
  readonly #leases: LeaseTable;

  constructor(values: ValueForm<V>, leases: LeaseTable) {
    this.#values = values;
    this.#leases = leases;
  }

  get revision(): number {
    return this.#revision;
  }

  get compactRevision(): number {
    return this.#compactRevision;
  }

  /** Keys that exist now. */
  get keys(): number {
    return this.#index.alive;
  }

  get historyLength(): number {
    return this.#history.length;
  }

  /** Visits entries in key order, those after `key`, until `visit` returns false. */
  forEachAfter(key: ByteKey, visit: (entry: KeyEntry<V>) => boolean): void {
    this.#index.scan({ start: `${key}\0` as ByteKey, end: undefined }, visit);
  }

  sizeOf(version: Version<V>): number {
    return 64 + version.entry.key.length + (version.stored === undefined ? 0 : this.#values.size(version.stored));
  }

  range(range: KeyRange, options: RangeOptions = {}): RangeResult {
    return this.#range(range, options, this.#revision);
  }

  /** Applies a checked transaction (see `checkTransaction`). Throws before anything changed. */
  apply(transaction: Transaction): Applied<V> {
    const succeeded = transaction.compare.every((compare) => this.#holds(compare));
    const operations = succeeded ? transaction.then : (transaction.otherwise ?? []);
    for (const operation of operations) {
      if (operation.type === 'put' && operation.lease) this.#leases.require(operation.lease);
      // A read of the past must fail before the writes take place.
      if (operation.type === 'range') this.#checkReadable(operation.options?.revision ?? 0, this.#revision);
    }
    const changes: Version<V>[] = [];
    const revision = this.#revision + 1;
    try {
      const results = operations.map((operation) => this.#operate(operation, revision, changes));
      if (changes.length > 0) this.#revision = revision;
      return { result: { succeeded, revision: this.#revision, results }, changes };
    } catch (error) {
      this.rollback(this.#revision);
      throw error;
    }
  }

  /** Takes back the newest changes, down to (not including) `revision`. */
  rollback(revision: number): void {
    for (let last = this.#history.at(-1); last && last.modRevision > revision; last = this.#history.at(-1)) {
      this.#history.pop();
      const { entry } = last;
      entry.versions.pop();
      const previous = entry.versions.at(-1);
      if (last.lease !== 0) this.#leases.detach(last.lease, entry.key);
      if (previous !== undefined && previous.lease !== 0) this.#leases.attach(previous.lease, entry.key);
      this.#count(entry, last.stored !== undefined, previous?.stored !== undefined);
      if (previous === undefined) this.#index.remove(entry.key);
      this.#values.release(last.stored);
    }
    this.#revision = Math.min(this.#revision, revision);
  }

  /** Forgets versions superseded below `revision`. */
  compact(revision: number): void {
    if (revision > this.#revision) throw new FutureRevision(revision, this.#revision);
    if (revision <= this.#compactRevision) throw new Compacted(this.#compactRevision);
    this.#compactRevision = revision;
    const history = this.#history;
    let kept = 0;
    for (; kept < history.length && history[kept]!.modRevision <= revision; kept++) this.#trim(history[kept]!.entry);
    // The changes of the revision itself stay: a watch may begin with them.
    while (kept > 0 && history[kept - 1]!.modRevision === revision) kept--;
    this.#history = history.slice(kept);
  }

  /**
   * The changes in [from, to] within the bounds, at most about `limit` of them but whole revisions; `through` is the
   * last revision that was looked at.
   */
  changes(bounds: Bounds, from: number, to: number, limit: number): { changes: Version<V>[]; through: number } {
    const changes: Version<V>[] = [];
    const history = this.#history;
    for (let at = this.#historyAt(from); at < history.length; at++) {
      const version = history[at]!;
      if (version.modRevision > to) break;
      if (changes.length >= limit && history[at - 1]!.modRevision !== version.modRevision)
        return { changes, through: history[at - 1]!.modRevision };
      const { key } = version.entry;
      if (key >= bounds.start && (bounds.end === undefined || key < bounds.end)) changes.push(version);
    }
    return { changes, through: to };
  }

  event(version: Version<V>, withPrevious: boolean): StoreEvent {
    const { entry } = version;
    const kv = this.#pair(version, false);
    const type = version.stored === undefined ? 'delete' : 'put';
    if (!withPrevious) return { type, kv };
    const { versions } = entry;
    let at = versions.length - 1;
    while (at >= 0 && versions[at] !== version) at--;
    const previous = at > 0 ? versions[at - 1]! : undefined;
    return previous?.stored === undefined ? { type, kv } : { type, kv, previous: this.#pair(previous, false) };
  }

  /** Recovery: puts versions back in any order of keys, but rising revisions for each key. Ends with `recovered`. */
  restore(key: ByteKey, version: Omit<Version<V>, 'entry'>): Version<V> {
    const entry = this.#entry(key);
    const before = entry.versions.at(-1);
    const restored: Version<V> = { entry, ...version };
    addVersion(entry, restored);
    this.#count(entry, before?.stored !== undefined, restored.stored !== undefined);
    return restored;
  }

  /** Ends recovery: sets the revisions, drops what compaction had forgotten and rebuilds history and leases. */
  recovered(revision: number, compactRevision: number): void {
    this.#revision = Math.max(1, revision);
    this.#compactRevision = compactRevision;
    const history: Version<V>[] = [];
    const entries: KeyEntry<V>[] = [];
    this.#index.scan({ start: '' as ByteKey, end: undefined }, (entry) => {
      entries.push(entry);
      return true;
    });
    for (const entry of entries) {
      this.#trim(entry);
      for (const version of entry.versions) if (version.modRevision >= compactRevision) history.push(version);
      const newest = entry.versions.at(-1);
      if (newest !== undefined && newest.lease !== 0) this.#leases.attach(newest.lease, entry.key);
    }
    // Stable: changes of one revision stay in key order.
    this.#history = history.sort((a, b) => a.modRevision - b.modRevision);
  }

  #range(range: KeyRange, options: RangeOptions, newest: number): RangeResult {
    const bounds = boundsOf(range);
    const at = options.revision ?? 0;
    this.#checkReadable(at, this.#revision);
    const past = at !== 0 && at < newest;
    const limit = options.countOnly === true ? 0 : options.limit ? options.limit : Infinity;
    const items: KeyValue[] = [];
    let count = 0;
    if (limit === 0 && !past) count = this.#index.countAlive(bounds);
    else
      this.#index.scan(bounds, (entry) => {
        const version = past ? versionAt(entry, at) : entry.versions.at(-1);
        if (version?.stored === undefined) return true;
        count++;
        if (items.length < limit) items.push(this.#pair(version, options.keysOnly === true));
        // The rest of the newest state need not be visited to be counted.
        return past || items.length < limit;
      });
    if (!past && items.length === limit) count = this.#index.countAlive(bounds);
    return { revision: newest, items, count, more: options.countOnly !== true && count > items.length };
  }

  #checkReadable(revision: number, newest: number): void {
    if (revision === 0) return;
    if (revision > newest) throw new FutureRevision(revision, newest);
    if (revision < this.#compactRevision) throw new Compacted(this.#compactRevision);
  }

  #operate(operation: Operation, revision: number, changes: Version<V>[]): OperationResult {
    if (operation.type === 'range')
      return {
        type: 'range',
        result: this.#range(operation.range, operation.options ?? {}, changes.length > 0 ? revision : this.#revision),
      };
    if (operation.type === 'put') {
      const entry = this.#entry(byteKey(operation.key));
      const before = entry.versions.at(-1);
      const alive = before?.stored !== undefined;
      const previous = operation.previous === true && alive ? this.#pair(before, false) : undefined;
      this.#add(
        entry,
        revision,
        alive ? before : undefined,
        this.#values.store(operation.value),
        operation.lease ?? 0,
        changes,
      );
      return previous === undefined ? { type: 'put' } : { type: 'put', previous };
    }
    const doomed: KeyEntry<V>[] = [];
    this.#index.scan(boundsOf(operation.range), (entry) => {
      if (entry.versions.at(-1)?.stored !== undefined) doomed.push(entry);
      return true;
    });
    const previous =
      operation.previous === true ? doomed.map((entry) => this.#pair(entry.versions.at(-1)!, false)) : [];
    for (const entry of doomed) this.#add(entry, revision, entry.versions.at(-1), undefined, 0, changes);
    return { type: 'delete', count: doomed.length, previous };
  }

  #add(
    entry: KeyEntry<V>,
    revision: number,
    before: Version<V> | undefined,
    stored: V | undefined,
    lease: number,
    changes: Version<V>[],
  ): void {
    const deletion = stored === undefined;
    const version: Version<V> = {
      entry,
      modRevision: revision,
      createRevision: deletion ? 0 : (before?.createRevision ?? revision),
      version: deletion ? 0 : (before?.version ?? 0) + 1,
      lease,
      stored,
    };
    if (before !== undefined && before.lease !== 0) this.#leases.detach(before.lease, entry.key);
    if (lease !== 0) this.#leases.attach(lease, entry.key);
    addVersion(entry, version);
    this.#history.push(version);
    this.#count(entry, before !== undefined, !deletion);
    changes.push(version);
  }

  #holds(compare: Compare): boolean {
    const newest = this.#index.get(byteKey(compare.key))?.versions.at(-1);
    const version = newest?.stored === undefined ? undefined : newest;
    let order: number;
    if (compare.target === 'value') {
      if (version === undefined) return false;
      order = Buffer.compare(this.#values.load(version.stored!), compare.value);
    } else order = (version?.[compare.target] ?? 0) - compare.value;
    switch (compare.is) {
      case '=':
        return order === 0;
      case '!=':
        return order !== 0;
      case '<':
        return order < 0;
      case '>':
        return order > 0;
    }
  }

  #entry(key: ByteKey): KeyEntry<V> {
    const known = this.#index.get(key);
    if (known !== undefined) return known;
    const entry: KeyEntry<V> = { key, text: keyText(key), versions: [] };
    this.#index.insert(entry);
    return entry;
  }

  #count(entry: KeyEntry<V>, before: boolean, after: boolean): void {
    if (before !== after) this.#index.setAlive(entry.key, after);
  }

  #trim(entry: KeyEntry<V>): void {
    const { versions } = entry;
    const upTo = this.#compactRevision;
    let keep = 0;
    while (keep + 1 < versions.length && versions[keep + 1]!.modRevision <= upTo) keep++;
    const first = versions[keep];
    if (first !== undefined && first.stored === undefined && first.modRevision < upTo) keep++;
    if (keep === 0) return;
    for (let at = 0; at < keep; at++) this.#values.release(versions[at]!.stored);
    entry.versions = versions.slice(keep);
    if (entry.versions.length === 0) this.#index.remove(entry.key);
  }

  #historyAt(revision: number): number {
    const history = this.#history;
    let low = 0;
    let high = history.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (history[middle]!.modRevision < revision) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #pair(version: Version<V>, keysOnly: boolean): KeyValue {
    return {
      key: version.entry.text,
      value: keysOnly || version.stored === undefined ? nothing : this.#values.load(version.stored),
      createRevision: version.createRevision,
      modRevision: version.modRevision,
      version: version.version,
      lease: version.lease,
    };
  }
}

function addVersion<V>(entry: KeyEntry<V>, version: Version<V>): void {
  if (entry.versions.length === 0) entry.versions = [version];
  else entry.versions.push(version);
}

function versionAt<V>(entry: KeyEntry<V>, revision: number): Version<V> | undefined {
  const { versions } = entry;
  let at = versions.length - 1;
  while (at >= 0 && versions[at]!.modRevision > revision) at--;
  return versions[at];
}
