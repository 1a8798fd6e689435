// Owns the store's interface: etcd's semantics (revisions, transactions, watches, leases). Knows bytes and revisions, no kind.

/** Keys are non-empty UTF-8 text ("/registry/pods/default/web-0"); they order by their UTF-8 bytes. */
export interface KeyValue {
  readonly key: string;
  readonly value: Uint8Array;
  /** The revision at which the key was last created. */
  readonly createRevision: number;
  /** The revision of the last change. */
  readonly modRevision: number;
  /** Changes since creation, from 1. */
  readonly version: number;
  /** The lease the key is attached to; 0 for none. Exact up to 2^53 - 1, which covers every lease granted here. */
  readonly lease: number;
}

/**
 * All keys in [start, end). An absent `end` means the single key `start`; the end "\0" means no upper bound;
 * `prefixRange` makes a prefix.
 */
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

/**
 * Compares one property of one key. An absent key has 0 for every number; a comparison of its value never holds.
 * Values compare by their bytes.
 */
export type Compare = {
  readonly key: string;
  readonly is: '=' | '!=' | '<' | '>';
} & (
  | { readonly target: 'modRevision' | 'createRevision' | 'version' | 'lease'; readonly value: number }
  | { readonly target: 'value'; readonly value: Uint8Array }
);

/** `previous` asks for the pairs as they were before; it costs a read. */
export type Operation =
  | {
      readonly type: 'put';
      readonly key: string;
      readonly value: Uint8Array;
      readonly lease?: number;
      readonly previous?: boolean;
    }
  | { readonly type: 'delete'; readonly range: KeyRange; readonly previous?: boolean }
  | { readonly type: 'range'; readonly range: KeyRange; readonly options?: RangeOptions };

export type OperationResult =
  | { readonly type: 'put'; readonly previous?: KeyValue }
  | { readonly type: 'delete'; readonly count: number; readonly previous: readonly KeyValue[] }
  | { readonly type: 'range'; readonly result: RangeResult };

/**
 * One key is put at most once, and not also deleted, in each branch; a range sees what the operations before it did.
 * A transaction which changes nothing takes no revision.
 */
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
  /**
   * The first revision to deliver (inclusive), which may lie in the future. Absent: from now on; the first batch is
   * then an empty one whose revision says after which revision changes are delivered.
   */
  readonly fromRevision?: number;
  /** Fill `previous`. */
  readonly previous?: boolean;
  /** Ends the watch; the iterator then returns. So does the store's `close`. */
  readonly signal: AbortSignal;
}

export interface Lease {
  readonly id: number;
  readonly ttlSeconds: number;
  /** Whole seconds until it expires unless kept alive. */
  readonly remainingSeconds: number;
  readonly keys: readonly string[];
}

/** What a request may hold; beyond it `InvalidRequest`. The defaults are etcd's. */
export interface StoreLimits {
  /** Keys and values of one transaction, in bytes. */
  readonly maxRequestBytes: number;
  /** Operations (and compares) of one transaction. */
  readonly maxOperations: number;
}

export const defaultLimits: StoreLimits = { maxRequestBytes: 1_572_864, maxOperations: 128 };

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
 * calls are linearizable. In the engines of this process, calls made without awaiting apply in the order in which they
 * were made; over a network only what was awaited is known to come before.
 */
export interface Store {
  range(range: KeyRange, options?: RangeOptions): Promise<RangeResult>;
  transact(transaction: Transaction): Promise<TransactionResult>;
  /**
   * Iterates changes in `range`; one consumer. Throws `Compacted` when `fromRevision` is no longer kept (over etcd also when
   * it is the compacted revision itself, of which etcd may have lost a part). A consumer so
   * slow that compaction overtakes it gets `WatchOverrun`: nothing is kept in memory for it.
   */
  watch(range: KeyRange, options: WatchOptions): AsyncIterable<WatchBatch>;
  /** Asks every open watch to deliver a progress batch. */
  requestProgress(): Promise<void>;
  /**
   * Forgets superseded versions below `revision`; reads and watches before it throw `Compacted`.
   * Throws `Compacted` when that is done already, `FutureRevision` beyond the newest.
   */
  compact(revision: number): Promise<void>;
  /** Throws `LeaseExists` for an `id` in use. An absent or zero `id` is chosen. */
  grantLease(ttlSeconds: number, id?: number): Promise<{ readonly id: number; readonly ttlSeconds: number }>;
  /** Returns the seconds granted, or 0 when the lease is unknown. */
  keepLeaseAlive(id: number): Promise<number>;
  /** Deletes the lease and its keys. Throws `LeaseNotFound`. */
  revokeLease(id: number): Promise<void>;
  lease(id: number): Promise<Lease | undefined>;
  /** The ids of all leases. */
  leases(): Promise<readonly number[]>;
  status(): Promise<StoreStatus>;
  /** Everything acknowledged is kept; open watches end. Idempotent. */
  close(): Promise<void>;
}

/** The range of all keys that begin with `prefix`; the empty prefix means everything. */
export function prefixRange(prefix: string): { readonly start: string; readonly end: string } {
  if (prefix === '') return { start: '\0', end: '\0' };
  const points = Array.from(prefix);
  for (let last = points.pop(); last !== undefined; last = points.pop()) {
    const next = last.codePointAt(0)! + 1;
    // Surrogates are no characters: the next character after U+D7FF is U+E000.
    if (next <= 0x10ffff)
      return { start: prefix, end: points.join('') + String.fromCodePoint(next === 0xd800 ? 0xe000 : next) };
  }
  return { start: prefix, end: '\0' };
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

export type InvalidReason = 'emptyKey' | 'duplicateKey' | 'tooManyOperations' | 'tooLarge' | 'other';

/** The request itself is wrong (empty key, a key put twice, too many operations, too large): it can never succeed. */
export class InvalidRequest extends Error {
  override readonly name = 'InvalidRequest';
  readonly reason: InvalidReason;
  constructor(message: string, reason: InvalidReason = 'other') {
    super(message);
    this.reason = reason;
  }
  /** A limit of size was passed. */
  get tooLarge(): boolean {
    return this.reason === 'tooLarge';
  }
}

export class LeaseNotFound extends Error {
  override readonly name = 'LeaseNotFound';
  constructor(id: number) {
    super(`there is no lease ${id}`);
  }
}

export class LeaseExists extends Error {
  override readonly name = 'LeaseExists';
  constructor(id: number) {
    super(`lease ${id} exists already`);
  }
}

/** Another process uses the store's directory. */
export class StoreLocked extends Error {
  override readonly name = 'StoreLocked';
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
