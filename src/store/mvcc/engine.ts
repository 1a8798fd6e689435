// Owns what the memory and embedded engines share around the pure state: order, durability before answers, leases' time,
// retention. Does no I/O itself: the journal does.
import type { Clock, Timer } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import { randomInteger } from '../../base/random.ts';
import type { Random } from '../../base/random.ts';
import { Compacted, FutureRevision, InvalidRequest, StoreUnavailable, defaultLimits } from '../store.ts';
import type { KeyRange, Lease, RangeOptions, RangeResult, Store, StoreLimits, StoreStatus } from '../store.ts';
import type { Transaction, TransactionResult, WatchBatch, WatchOptions } from '../store.ts';
import { checkTransaction } from './check.ts';
import type { ByteKey } from './keys.ts';
import type { LeaseTable } from './lease-table.ts';
import type { Mvcc, Version } from './mvcc.ts';
import { RetentionPlan, defaultRetention } from './retention.ts';
import type { Retention } from './retention.ts';
import { Watches } from './watches.ts';

export interface EngineDeps {
  readonly clock: Clock;
  readonly log: Logger;
  /** Chooses lease ids. */
  readonly random: Random;
  readonly limits?: StoreLimits;
  readonly retention?: Retention;
}

/** One thing to remember; a transaction's changes and the end of a lease may come together. */
export interface JournalEntry<V> {
  readonly changes?: readonly Version<V>[];
  readonly leaseGranted?: { readonly id: number; readonly ttlSeconds: number };
  readonly leaseEnded?: number;
  readonly compacted?: number;
}

export interface Journal<V> {
  /**
   * Remembers the entry after all earlier ones. Undefined: done already. A rejection means that this entry and all
   * after it are forgotten; `onLost` was called before.
   */
  append(entry: JournalEntry<V>): Promise<void> | undefined;
  /** Called with the newest durable revision, before the entries' promises resolve. */
  onDurable: (revision: number) => void;
  onLost: () => void;
  /** After compaction: space may be reclaimed. */
  compacted(): void;
  size(): { readonly bytes: number; readonly inUse: number };
  close(): Promise<void>;
}

export interface EngineParts<V> {
  readonly mvcc: Mvcc<V>;
  readonly leases: LeaseTable;
  readonly journal: Journal<V>;
  /** A form of the value that outlives its versions here, until released. */
  share(stored: V): SharedValue;
}

export interface SharedValue {
  readonly value: Uint8Array | { readonly length: number; load(): Uint8Array };
  release(): void;
}

/** What a fork takes over: see `forkStore`. */
export interface SharedState {
  readonly revision: number;
  readonly compactRevision: number;
  /** Kept versions up to the revision, keys in order, each key's versions oldest first. */
  readonly versions: readonly (Omit<Version<SharedValue['value']>, 'entry'> & { readonly key: ByteKey })[];
  /** Seconds granted by id: of all leases that exist now. */
  readonly leases: ReadonlyMap<number, number>;
  release(): void;
}

const retryExpiryMs = 1000;
const maxLeaseTtlSeconds = 9_000_000_000;

export class MvccEngine<V> implements Store {
  readonly #share: (stored: V) => SharedValue;
  readonly #mvcc: Mvcc<V>;
  readonly #leases: LeaseTable;
  readonly #journal: Journal<V>;
  readonly #watches: Watches<V>;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #random: Random;
  readonly #limits: StoreLimits;
  readonly #retention: RetentionPlan;
  /** Takes back what is not durable yet, newest last. */
  #undos: { readonly lsn: number; readonly undo: () => void }[] = [];
  #appended = 0;
  #durableAppends = 0;
  #pending: Promise<void> | undefined;
  #closing: Promise<void> | undefined;
  #expiry: { readonly atMs: number; readonly timer: Timer } | undefined;
  #tick: Timer | undefined;
  #compacting = false;

  constructor(parts: EngineParts<V>, deps: EngineDeps) {
    this.#mvcc = parts.mvcc;
    this.#leases = parts.leases;
    this.#journal = parts.journal;
    this.#share = parts.share;
    this.#watches = new Watches(parts.mvcc);
    this.#clock = deps.clock;
    this.#log = deps.log;
    this.#random = deps.random;
    this.#limits = deps.limits ?? defaultLimits;
    this.#retention = new RetentionPlan(deps.retention ?? defaultRetention);
    this.#journal.onDurable = (revision) => this.#watches.advance(revision);
    this.#journal.onLost = () => this.#lost();
    this.#schedule();
    this.#retain();
  }

  async range(range: KeyRange, options?: RangeOptions): Promise<RangeResult> {
    for (;;) {
      this.#checkOpen();
      const result = this.#mvcc.range(range, options);
      if (await this.#settled(result.revision)) return result;
    }
  }

  async transact(transaction: Transaction): Promise<TransactionResult> {
    checkTransaction(transaction, this.#limits);
    for (;;) {
      this.#checkOpen();
      const { result, changes } = this.#mvcc.apply(transaction);
      if (changes.length > 0) {
        this.#account(changes);
        await this.#append({ changes });
        return result;
      }
      if (await this.#settled(result.revision)) return result;
    }
  }

  watch(range: KeyRange, options: WatchOptions): AsyncIterable<WatchBatch> {
    this.#checkOpen();
    return this.#watches.watch(range, options);
  }

  async requestProgress(): Promise<void> {
    this.#checkOpen();
    this.#watches.progress();
  }

  async compact(revision: number): Promise<void> {
    this.#checkOpen();
    if (revision > this.#mvcc.revision) throw new FutureRevision(revision, this.#mvcc.revision);
    if (revision <= this.#mvcc.compactRevision) throw new Compacted(this.#mvcc.compactRevision);
    await this.#append({ compacted: revision });
    // Another compaction may have gone further meanwhile.
    if (revision > this.#mvcc.compactRevision) this.#mvcc.compact(revision);
    this.#journal.compacted();
  }

  async grantLease(ttlSeconds: number, id = 0): Promise<{ readonly id: number; readonly ttlSeconds: number }> {
    this.#checkOpen();
    if (!(ttlSeconds >= 1 && ttlSeconds <= maxLeaseTtlSeconds))
      throw new InvalidRequest(`a lease cannot last ${ttlSeconds} seconds`);
    if (!Number.isSafeInteger(id) || id < 0) throw new InvalidRequest(`${id} is no lease id`);
    const ttl = Math.ceil(ttlSeconds);
    const chosen = id === 0 ? this.#freeLeaseId() : id;
    this.#leases.grant(chosen, ttl, this.#clock.monotonic());
    await this.#append({ leaseGranted: { id: chosen, ttlSeconds: ttl } }, () => this.#leases.end(chosen));
    this.#schedule();
    return { id: chosen, ttlSeconds: ttl };
  }

  async keepLeaseAlive(id: number): Promise<number> {
    this.#checkOpen();
    return this.#leases.keepAlive(id, this.#clock.monotonic());
  }

  async revokeLease(id: number): Promise<void> {
    this.#checkOpen();
    this.#leases.require(id);
    const ttlSeconds = this.#leases.ttlOf(id)!;
    const then = this.#leases.keysOf(id).map((key) => ({ type: 'delete' as const, range: { start: key } }));
    const { changes } = this.#mvcc.apply({ compare: [], then });
    this.#account(changes);
    this.#leases.end(id);
    await this.#append({ changes, leaseEnded: id }, () => this.#leases.grant(id, ttlSeconds, this.#clock.monotonic()));
  }

  async lease(id: number): Promise<Lease | undefined> {
    this.#checkOpen();
    return this.#leases.describe(id, this.#clock.monotonic());
  }

  async leases(): Promise<readonly number[]> {
    this.#checkOpen();
    return this.#leases.ids();
  }

  async status(): Promise<StoreStatus> {
    this.#checkOpen();
    const { bytes, inUse } = this.#journal.size();
    const { compactRevision, keys } = this.#mvcc;
    return { revision: this.#watches.visible, compactRevision, sizeBytes: bytes, sizeInUseBytes: inUse, keys };
  }

  /** The state as of a durable, kept revision (0: the newest), without copying values. Throws as `range` does. */
  sharedState(atRevision: number): SharedState {
    this.#checkOpen();
    const revision = atRevision || this.#watches.visible;
    if (revision > this.#watches.visible) throw new FutureRevision(revision, this.#watches.visible);
    const { compactRevision } = this.#mvcc;
    if (revision < compactRevision) throw new Compacted(compactRevision);
    const versions: SharedState['versions'][number][] = [];
    const shared: SharedValue[] = [];
    this.#mvcc.forEachAfter('' as ByteKey, ({ key, versions: kept }) => {
      for (const { modRevision, createRevision, version, lease, stored } of kept) {
        if (modRevision > revision) break;
        const value = stored === undefined ? undefined : this.#share(stored);
        if (value !== undefined) shared.push(value);
        versions.push({ key, modRevision, createRevision, version, lease, stored: value?.value });
      }
      return true;
    });
    const leases = new Map(this.#leases.granted().map(({ id, ttlSeconds }) => [id, ttlSeconds]));
    const release = (): void => {
      for (const one of shared.splice(0)) one.release();
    };
    return { revision, compactRevision, versions, leases, release };
  }

  close(): Promise<void> {
    this.#closing ??= (async () => {
      this.#expiry?.timer.cancel();
      this.#tick?.cancel();
      await this.#pending?.catch(() => undefined);
      this.#watches.close();
      await this.#journal.close();
    })();
    return this.#closing;
  }

  #checkOpen(): void {
    if (this.#closing !== undefined) throw new StoreUnavailable('the store is closed');
  }

  /** False: what was read has been taken back meanwhile, read again. */
  async #settled(revision: number): Promise<boolean> {
    if (revision <= this.#watches.visible) return true;
    try {
      await this.#pending;
      return revision <= this.#watches.visible;
    } catch (error) {
      this.#log.debug('read again after a lost write', { error });
      return false;
    }
  }

  async #append(entry: JournalEntry<V>, undo?: () => void): Promise<void> {
    const lsn = ++this.#appended;
    if (undo !== undefined) this.#undos.push({ lsn, undo });
    const pending = this.#journal.append(entry);
    if (pending === undefined) {
      this.#undos = [];
      this.#watches.advance(this.#mvcc.revision);
      return;
    }
    this.#pending = pending;
    await pending;
    this.#durableAppends = Math.max(this.#durableAppends, lsn);
    while (this.#undos.length > 0 && this.#undos[0]!.lsn <= this.#durableAppends) this.#undos.shift();
  }

  #lost(): void {
    for (const { undo } of this.#undos.reverse()) undo();
    this.#undos = [];
    this.#mvcc.rollback(this.#watches.visible);
    this.#schedule();
  }

  #account(changes: readonly Version<V>[]): void {
    let bytes = 0;
    for (const version of changes) bytes += this.#mvcc.sizeOf(version);
    this.#retention.wrote(changes.length, bytes);
    this.#retain();
  }

  /** Compacts in the background when history is too old or too large, and looks again after a while. */
  #retain(): void {
    if (this.#tick === undefined && Number.isFinite(this.#retention.tickMs))
      this.#tick = this.#clock.after(this.#retention.tickMs, () => {
        this.#tick = undefined;
        if (this.#closing === undefined) this.#retain();
      });
    if (this.#compacting) return;
    const revision = this.#retention.compactTo(this.#watches.visible, this.#clock.monotonic());
    if (revision === undefined || revision <= this.#mvcc.compactRevision) return;
    this.#compacting = true;
    void this.compact(revision)
      .catch((error: unknown) => this.#log.warn('history was not compacted', { revision, error }))
      .finally(() => {
        this.#compacting = false;
      });
  }

  #freeLeaseId(): number {
    // By chance, so that an id is not soon given again: its former holder may still try to keep it alive.
    for (;;) {
      const id = 1 + randomInteger(this.#random, 2 ** 52);
      if (!this.#leases.has(id)) return id;
    }
  }

  /** Arms the timer for the next lease to end. Keeping alive only moves ends later: the timer then looks again. */
  #schedule(): void {
    const atMs = this.#leases.nextDeadlineMs();
    if (atMs === undefined || this.#closing !== undefined) return;
    if (this.#expiry !== undefined && this.#expiry.atMs <= atMs) return;
    this.#expiry?.timer.cancel();
    this.#arm(atMs);
  }

  #arm(atMs: number): void {
    const timer = this.#clock.after(Math.max(0, atMs - this.#clock.monotonic()), () => {
      this.#expiry = undefined;
      void this.#expire();
    });
    this.#expiry = { atMs, timer };
  }

  async #expire(): Promise<void> {
    try {
      await Promise.all(this.#leases.expired(this.#clock.monotonic()).map((id) => this.revokeLease(id)));
      this.#schedule();
    } catch (error) {
      if (this.#closing !== undefined) return;
      this.#log.warn('expired leases were not ended, trying again', { error });
      if (this.#expiry === undefined) this.#arm(this.#clock.monotonic() + retryExpiryMs);
    }
  }
}
