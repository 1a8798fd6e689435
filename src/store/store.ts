// Owns the store's interface: etcd's semantics (revisions, transactions, watches, leases). Knows bytes and revisions, no kind.

/** Keys are UTF-8 text ("/registry/pods/default/web-0"); they order by their bytes. */
export interface KeyValue {
  readonly key: string;
  readonly value: Uint8Array;
  /** The revision at which the key was last created. */
  readonly createRevision: number;
  /** The revision of the last change. */
  readonly modRevision: number;
  /** Changes since creation, from 1. */
  readonly version: number;
  /** The lease the key is attached to; 0 for none. */
  readonly lease: number;
}

/** All keys in [start, end). An absent `end` means the single key `start`; `prefixRange` makes a prefix. */
export interface KeyRange {
  readonly start: string;
  readonly end?: string;
}

export interface RangeOptions {
  /** At most so many pairs; 0 or absent: all. */
  readonly limit?: number;
  /** Read as of this revision; absent or 0: the newest. Throws `Compacted` or `FutureRevision`. */
  readonly revision?: number;
  readonly keysOnly?: boolean;
  readonly countOnly?: boolean;
}

export interface RangeResult {
  /** The store's revision when it answered (also for reads of the past). */
  readonly revision: number;
  /** In key order. */
  readonly items: readonly KeyValue[];
  /** Keys in the range at that revision, without regard to the limit. */
  readonly count: number;
  readonly more: boolean;
}

/** Compares one property of one key; an absent key has 0 for all of them. */
export interface Compare {
  readonly key: string;
  readonly target: 'modRevision' | 'createRevision' | 'version' | 'lease';
  readonly is: '=' | '!=' | '<' | '>';
  readonly value: number;
}

export type Operation =
  | { readonly type: 'put'; readonly key: string; readonly value: Uint8Array; readonly lease?: number }
  | { readonly type: 'delete'; readonly range: KeyRange }
  | { readonly type: 'range'; readonly range: KeyRange; readonly options?: RangeOptions };

export type OperationResult =
  | { readonly type: 'put'; readonly previous?: KeyValue }
  | { readonly type: 'delete'; readonly deleted: readonly KeyValue[] }
  | { readonly type: 'range'; readonly result: RangeResult };

export interface Transaction {
  /** All must hold for `then` to run, else `otherwise` runs. */
  readonly compare: readonly Compare[];
  readonly then: readonly Operation[];
  readonly otherwise?: readonly Operation[];
}

export interface TransactionResult {
  readonly succeeded: boolean;
  /** The revision after the transaction; all its changes carry it. */
  readonly revision: number;
  readonly results: readonly OperationResult[];
}

export type StoreEvent =
  | { readonly type: 'put'; readonly kv: KeyValue; readonly previous?: KeyValue }
  /** `kv.modRevision` is the revision of the deletion, `kv.value` is empty. */
  | { readonly type: 'delete'; readonly kv: KeyValue; readonly previous?: KeyValue };

/** Changes of one or more whole revisions, in order, never repeated. Empty `events`: progress, nothing up to `revision` is missing. */
export interface WatchBatch {
  readonly revision: number;
  readonly events: readonly StoreEvent[];
}

export interface WatchOptions {
  /** The first revision to deliver (inclusive); absent: changes after the call. */
  readonly fromRevision?: number;
  /** Fill `previous`. */
  readonly previous?: boolean;
  /** Ends the watch; the iterator then returns. */
  readonly signal: AbortSignal;
}

export interface StoreStatus {
  readonly revision: number;
  readonly compactRevision: number;
  /** Bytes on disk (0 for memory). */
  readonly sizeBytes: number;
  readonly sizeInUseBytes: number;
  readonly keys: number;
}

/**
 * What every engine is. Writes resolve only when they are as durable as the engine can make them; concurrent
 * calls are linearizable, and calls made without awaiting apply in the order in which they were made.
 */
export interface Store {
  range(range: KeyRange, options?: RangeOptions): Promise<RangeResult>;
  transact(transaction: Transaction): Promise<TransactionResult>;
  /**
   * Iterates changes in `range`. Throws `Compacted` when `fromRevision` is no longer kept. A consumer slower than
   * the engine's bound gets `WatchOverrun` rather than unbounded memory.
   */
  watch(range: KeyRange, options: WatchOptions): AsyncIterable<WatchBatch>;
  /** Asks every open watch to deliver a progress batch. */
  requestProgress(): Promise<void>;
  /** Forgets superseded versions below `revision`; reads and watches before it throw `Compacted`. */
  compact(revision: number): Promise<void>;
  grantLease(ttlSeconds: number, id?: number): Promise<{ readonly id: number; readonly ttlSeconds: number }>;
  /** Returns the seconds granted, or 0 when the lease is unknown. */
  keepLeaseAlive(id: number): Promise<number>;
  /** Deletes the lease and its keys. */
  revokeLease(id: number): Promise<void>;
  status(): Promise<StoreStatus>;
  /** Everything acknowledged is kept; open watches end. Idempotent. */
  close(): Promise<void>;
}

/** The range of all keys that begin with `prefix`; the empty prefix means everything. */
export function prefixRange(prefix: string): { readonly start: string; readonly end: string } {
  if (prefix === '') return { start: '\0', end: '\0' };
  const last = prefix.charCodeAt(prefix.length - 1);
  return { start: prefix, end: prefix.slice(0, -1) + String.fromCharCode(last + 1) };
}

export class Compacted extends Error {
  override readonly name = 'Compacted';
  readonly compactRevision: number;
  constructor(compactRevision: number) {
    super(`the revision is older than ${compactRevision}, up to which history has been compacted`);
    this.compactRevision = compactRevision;
  }
}

export class FutureRevision extends Error {
  override readonly name = 'FutureRevision';
  constructor(revision: number, newest: number) {
    super(`revision ${revision} is not reached yet; the newest is ${newest}`);
  }
}

export class WatchOverrun extends Error {
  override readonly name = 'WatchOverrun';
}

/** The write cannot be stored now (disk full, limit reached); reads go on and nothing was changed. */
export class StoreFull extends Error {
  override readonly name = 'StoreFull';
}

/** The store cannot be reached or answered nothing in time; whether a write took place is unknown. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable';
}

/** Stored bytes are damaged: `where` names the file and place. Damaged bytes are never served. */
export class StoreCorrupt extends Error {
  override readonly name = 'StoreCorrupt';
  constructor(where: string, what: string) {
    super(`${where}: ${what}`);
  }
}
