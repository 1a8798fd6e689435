// Owns the engine that keeps everything in an etcd cluster (API version 3): requests, failover, what errors mean.
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import { randomInteger } from '../../base/random.ts';
import type { Random } from '../../base/random.ts';
import type { CallOptions } from '../../wire/grpc-service.ts';
import { Compacted, FutureRevision, InvalidRequest, StoreUnavailable, defaultLimits } from '../store.ts';
import { prefixRange } from '../store.ts';
import type { KeyRange, Lease, RangeOptions, RangeResult, Store, StoreLimits, StoreStatus } from '../store.ts';
import type { Transaction, TransactionResult, WatchBatch, WatchOptions } from '../store.ts';
import { checkTransaction } from '../mvcc/check.ts';
import { etcdCompare, operationResult, rangeRequest, rangeResult, requestOp, textOf } from './convert.ts';
import { isCompacted, isFuture, storeError } from './errors.ts';
import { Members } from './members.ts';
import type { EtcdTls, Member } from './members.ts';
import { EtcdWatch } from './watch.ts';

export interface EtcdStoreOptions {
  /** "http://127.0.0.1:2379", "https://host:port" or "unix:/path"; several for one cluster. */
  readonly endpoints: readonly string[];
  readonly tls?: EtcdTls;
  /** As configured on the servers (--max-request-bytes, --max-txn-ops). */
  readonly limits?: StoreLimits;
  /** How long a request may take in all; default 10 s. */
  readonly requestTimeoutMs?: number;
}

export interface EtcdStoreDeps {
  readonly clock: Clock;
  readonly log: Logger;
  /** Chooses lease ids below 2^53. */
  readonly random: Random;
}

export interface EtcdStore extends Store {
  /** Resolves when the cluster has a leader and takes writes; throws `StoreUnavailable` or `StoreFull`. */
  health(): Promise<void>;
}

/** Connects lazily: an unreachable cluster shows itself as `StoreUnavailable` by the first request. */
export async function openEtcdStore(options: EtcdStoreOptions, deps: EtcdStoreDeps): Promise<EtcdStore> {
  const { endpoints, tls, requestTimeoutMs = 10_000, limits = defaultLimits } = options;
  const members = Members.open({ endpoints, requestTimeoutMs, clock: deps.clock, ...(tls && { tls }) });
  return new Etcd(members, limits, deps);
}

class Etcd implements EtcdStore {
  readonly #members: Members;
  readonly #limits: StoreLimits;
  readonly #deps: EtcdStoreDeps;
  readonly #watches = new Set<EtcdWatch>();
  #closed = false;

  constructor(members: Members, limits: StoreLimits, deps: EtcdStoreDeps) {
    this.#members = members;
    this.#limits = limits;
    this.#deps = deps;
  }

  async range(range: KeyRange, options: RangeOptions = {}): Promise<RangeResult> {
    const request = rangeRequest(range, options);
    const response = await this.#ask(options.revision ?? 0, true, (m, call) => m.kv.range(request, call));
    return rangeResult(response, Number(response.header!.revision));
  }

  async transact(transaction: Transaction): Promise<TransactionResult> {
    checkTransaction(transaction, this.#limits);
    const { compare, then, otherwise = [] } = transaction;
    const branches = [...then, ...otherwise];
    const past = branches.find((one) => one.type === 'range' && one.options?.revision);
    const lease = branches.find((one) => one.type === 'put' && one.lease);
    const request = {
      compare: compare.map(etcdCompare),
      success: then.map(requestOp),
      failure: otherwise.map(requestOp),
    };
    const readOnly = branches.every(({ type }) => type === 'range');
    const response = await this.#ask(
      past?.type === 'range' ? (past.options?.revision ?? 0) : 0,
      readOnly,
      (member, call) => member.kv.txn(request, call),
      lease?.type === 'put' ? lease.lease : 0,
    );
    const revision = Number(response.header!.revision);
    const results = response.responses.map((one) => operationResult(one, revision));
    return { succeeded: response.succeeded, revision, results };
  }

  watch(range: KeyRange, options: WatchOptions): AsyncIterable<WatchBatch> {
    this.#checkOpen();
    const deps = { ...this.#deps, members: this.#members };
    const watch = new EtcdWatch(range, options, deps, () => this.#forget(watch));
    if (!options.signal.aborted) this.#watches.add(watch);
    else watch.end();
    return { [Symbol.asyncIterator]: () => watch };
  }

  async requestProgress(): Promise<void> {
    this.#checkOpen();
    for (const watch of this.#watches) watch.requestProgress();
  }

  async compact(revision: number): Promise<void> {
    await this.#ask(revision, false, (member, call) => member.kv.compact({ revision }, call));
  }

  async grantLease(ttlSeconds: number, id = 0): Promise<{ readonly id: number; readonly ttlSeconds: number }> {
    if (!(ttlSeconds >= 1)) throw new InvalidRequest(`a lease cannot last ${ttlSeconds} seconds`);
    // etcd's own choice would not fit a number.
    const chosen = id === 0 ? 1 + randomInteger(this.#deps.random, Number.MAX_SAFE_INTEGER - 1) : id;
    const request = { TTL: Math.ceil(ttlSeconds), ID: chosen };
    const response = await this.#ask(0, false, (member, call) => member.lease.leaseGrant(request, call), chosen);
    return { id: Number(response.ID), ttlSeconds: Number(response.TTL) };
  }

  async keepLeaseAlive(id: number): Promise<number> {
    return this.#ask(0, true, async (member, call) => {
      const stream = member.lease.leaseKeepAlive(call);
      stream.send({ ID: id });
      for await (const response of stream) return Number(response.TTL);
      throw new StoreUnavailable('etcd ended the stream without an answer');
    });
  }

  async revokeLease(id: number): Promise<void> {
    await this.#ask(0, false, (member, call) => member.lease.leaseRevoke({ ID: id }, call), id);
  }

  async lease(id: number): Promise<Lease | undefined> {
    const found = await this.#ask(0, true, (member, call) =>
      member.lease.leaseTimeToLive({ ID: id, keys: true }, call),
    );
    if (found.TTL < 0n) return undefined;
    const keys = found.keys.map(textOf).sort();
    return { id, ttlSeconds: Number(found.grantedTTL), remainingSeconds: Number(found.TTL), keys };
  }

  async leases(): Promise<readonly number[]> {
    const found = await this.#ask(0, true, (member, call) => member.lease.leaseLeases({}, call));
    return found.leases.map(({ ID }) => Number(ID));
  }

  async status(): Promise<StoreStatus> {
    const [counted, status, compactRevision] = await Promise.all([
      this.range(prefixRange(''), { countOnly: true }),
      this.#ask(0, true, (member, call) => member.maintenance.status({}, call)),
      this.#compactRevision(),
    ]);
    const sizes = { sizeBytes: Number(status.dbSize), sizeInUseBytes: Number(status.dbSizeInUse) };
    return { revision: counted.revision, compactRevision, keys: counted.count, ...sizes };
  }

  async health(): Promise<void> {
    // A linearizable read passes the leader.
    await this.range({ start: 'health' }, { countOnly: true });
    const { alarms } = await this.#ask(0, true, (member, call) => member.maintenance.alarm({ action: 'GET' }, call));
    const raised = alarms.find(({ alarm }) => alarm !== 'NONE');
    if (raised !== undefined)
      throw new StoreUnavailable(`etcd member ${raised.memberID} has the alarm ${raised.alarm}`);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    for (const watch of this.#watches) watch.end();
    this.#members.close();
  }

  #forget(watch: EtcdWatch): void {
    this.#watches.delete(watch);
  }

  /** etcd tells it only to watches that begin too early: one on a key that nobody has, if revision 1 is gone. */
  async #compactRevision(): Promise<number> {
    return this.#ask(0, true, async (member, call) => {
      const key = Uint8Array.of(0);
      try {
        await member.kv.range({ key, revision: 1, countOnly: true }, call);
        return 0;
      } catch (error) {
        if (!isCompacted(error)) throw error;
      }
      const stream = member.watch.watch(call);
      stream.send({ createRequest: { key, startRevision: 1 } });
      for await (const response of stream) if (response.canceled) return Number(response.compactRevision);
      throw new StoreUnavailable('etcd ended the stream without an answer');
    });
  }

  async #ask<T>(
    revision: number,
    repeatable: boolean,
    request: (member: Member, call: CallOptions) => Promise<T>,
    lease = 0,
  ): Promise<T> {
    this.#checkOpen();
    try {
      return await this.#members.call(repeatable, request);
    } catch (error) {
      if (isCompacted(error)) throw new Compacted(await this.#compactRevision());
      if (isFuture(error)) throw new FutureRevision(revision, (await this.range({ start: 'health' })).revision);
      throw storeError(error, lease);
    }
  }

  #checkOpen(): void {
    if (this.#closed) throw new StoreUnavailable('the store is closed');
  }
}
