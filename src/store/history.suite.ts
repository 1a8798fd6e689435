// Owns the check of histories: concurrent clients read, write and watch while the store is disturbed; then all that they saw
// must be one order of revisions, which respects real time, and in which every watch is complete. Run on every engine.
import assert from 'node:assert/strict';
import { randomInteger, seededRandom } from '../base/random.ts';
import type { Random } from '../base/random.ts';
import { Compacted, FutureRevision, StoreFull, StoreUnavailable, WatchOverrun, prefixRange } from './store.ts';
import type { Compare, Operation, Store, StoreEvent } from './store.ts';

export interface DisturbedStore {
  /** The store as it is now; a disturbance may exchange it. */
  store(): Store;
  /** Kills, pauses, loses power or connections, and mends what it did before. */
  disturb?(random: Random): Promise<void>;
  close(): Promise<void>;
}

export interface HistoryOptions {
  readonly seed: number;
  readonly clients: number;
  readonly operations: number;
  readonly disturbances: number;
}

export interface HistoryReport {
  readonly acknowledged: number;
  readonly unknown: number;
  readonly reads: number;
  readonly watches: number;
  readonly events: number;
}

/** A moment: begun and ended operations in the order in which this process saw them. */
type Moment = number;

interface Written {
  readonly kind: 'put' | 'delete';
  readonly key: string;
  /** Unique; of a deletion undefined. */
  readonly value: string | undefined;
  /** Expected modRevision of a compare-and-swap. */
  readonly expected: number | undefined;
  readonly begun: Moment;
  ended: Moment;
  outcome: 'done' | 'refused' | 'unknown';
  revision: number;
  changed: boolean;
}

interface Read {
  readonly begun: Moment;
  readonly ended: Moment;
  /** Of the store when it answered. */
  readonly revision: number;
  readonly at: number;
  readonly state: ReadonlyMap<string, string>;
}

interface Watched {
  readonly from: number;
  readonly events: StoreEvent[];
  through: number;
}

const prefix = '/history/';
const range = prefixRange(prefix);
const keys = Array.from({ length: 6 }, (_, at) => `${prefix}${at}`);
const textOf = (value: Uint8Array): string => Buffer.from(value).toString();

/** Throws an AssertionError at the first thing that no correct store could have answered. */
export async function checkHistory(
  open: (random: Random) => Promise<DisturbedStore>,
  options: HistoryOptions,
): Promise<HistoryReport> {
  const random = seededRandom(options.seed);
  const under = await open(random);
  try {
    const recorder = new Recorder(under, random, options);
    await recorder.run();
    return check(recorder);
  } finally {
    await under.close();
  }
}

class Recorder {
  readonly writes: Written[] = [];
  readonly reads: Read[] = [];
  readonly watched: Watched[] = [];
  /** Watches everything from the beginning; the order that all else is checked against. */
  readonly reference: Watched = { from: 0, events: [], through: 0 };
  readonly #under: DisturbedStore;
  readonly #random: Random;
  readonly #options: HistoryOptions;
  readonly #stopped = new AbortController();
  #moment: Moment = 0;
  #left: number;
  #compacted = 0;
  first = 0;

  constructor(under: DisturbedStore, random: Random, options: HistoryOptions) {
    this.#under = under;
    this.#random = random;
    this.#options = options;
    this.#left = options.operations;
  }

  async run(): Promise<void> {
    this.first = (await this.#retry(() => this.#under.store().range(range))).revision + 1;
    Object.assign(this.reference, { from: this.first, through: this.first - 1 });
    const watching = [this.#follow(this.reference), this.#watchAtRandom(), this.#watchAtRandom()];
    const clients = Array.from({ length: this.#options.clients }, (_, at) => this.#client(at));
    await Promise.all([...clients, this.#disturb()]);
    const last = await this.#retry(() => this.#under.store().range(range));
    while (this.reference.through < last.revision) {
      await this.#under.store().requestProgress().catch(expected);
      await turn();
    }
    this.#stopped.abort();
    await Promise.all(watching);
  }

  async #client(client: number): Promise<void> {
    for (let turns = 0; this.#left > 0; turns++) {
      this.#left--;
      const roll = this.#random.next();
      if (roll < 0.35) await this.#read();
      else if (roll < 0.38) await this.#compact();
      else await this.#write(`${client}-${turns}`, roll);
      if (this.#random.next() < 0.2) await turn();
    }
  }

  async #write(value: string, roll: number): Promise<void> {
    const key = keys[randomInteger(this.#random, keys.length)]!;
    const deletes = roll < 0.48;
    let expected_: number | undefined;
    if (roll > 0.75) expected_ = this.#lastSeen(key);
    const one: Written = {
      kind: deletes ? 'delete' : 'put',
      key,
      value: deletes ? undefined : value,
      expected: expected_,
      begun: this.#moment++,
      ended: Infinity,
      outcome: 'unknown',
      revision: 0,
      changed: false,
    };
    this.writes.push(one);
    const then: Operation[] = deletes
      ? [{ type: 'delete', range: { start: key } }]
      : [{ type: 'put', key, value: Buffer.from(value) }];
    const compare: Compare[] =
      expected_ === undefined ? [] : [{ key, target: 'modRevision', is: '=', value: expected_ }];
    try {
      const { succeeded, revision, results } = await this.#under.store().transact({ compare, then });
      one.outcome = 'done';
      one.revision = revision;
      one.changed = succeeded && !(results[0]?.type === 'delete' && results[0].count === 0);
    } catch (error) {
      expected(error);
      if (error instanceof StoreFull) one.outcome = 'refused';
      await turn();
    }
    if (one.outcome !== 'unknown') one.ended = this.#moment++;
  }

  /** Often the newest modRevision, as clients that read before they write use it. */
  #lastSeen(key: string): number {
    const event = this.reference.events.findLast(({ kv }) => kv.key === key);
    return event === undefined || event.type === 'delete' ? 0 : event.kv.modRevision;
  }

  async #read(): Promise<void> {
    const begun = this.#moment++;
    const past = this.#random.next() < 0.3 ? this.reference.through - randomInteger(this.#random, 10) : 0;
    const at = past >= this.first ? past : 0;
    try {
      const { items, revision } = await this.#under.store().range(range, { revision: at });
      const state = new Map(items.map(({ key, value }) => [key, textOf(value)]));
      this.reads.push({ begun, ended: this.#moment++, revision, at: at || revision, state });
    } catch (error) {
      expected(error);
      await turn();
    }
  }

  async #compact(): Promise<void> {
    const revision = this.reference.through - randomInteger(this.#random, 20);
    if (revision <= this.#compacted) return;
    this.#compacted = revision;
    await this.#under.store().compact(revision).catch(expected);
  }

  async #disturb(): Promise<void> {
    const { disturbances, operations } = this.#options;
    for (let done = 1; done <= disturbances && this.#under.disturb !== undefined; done++) {
      while (this.#left > operations - (operations * done) / (disturbances + 1) && this.#left > 0) await turn();
      await this.#under.disturb(this.#random);
    }
  }

  async #watchAtRandom(): Promise<void> {
    while (!this.#stopped.signal.aborted) {
      const from = Math.max(this.first, this.#compacted, this.reference.through - randomInteger(this.#random, 15));
      const watched: Watched = { from, events: [], through: from - 1 };
      this.watched.push(watched);
      await this.#follow(watched, 1 + randomInteger(this.#random, 60));
      await turn();
    }
  }

  /** Watches, and resumes what breaks, until so many events came or the run stops. */
  async #follow(watched: Watched, events = Infinity): Promise<void> {
    while (!this.#stopped.signal.aborted && watched.events.length < events) {
      const abort = new AbortController();
      const stop = () => abort.abort();
      this.#stopped.signal.addEventListener('abort', stop, { once: true });
      try {
        const fromRevision = watched.through + 1;
        for await (const batch of this.#under.store().watch(range, { fromRevision, signal: abort.signal })) {
          watched.events.push(...batch.events);
          watched.through = Math.max(watched.through, batch.revision);
          if (watched.events.length >= events) break;
        }
      } catch (error) {
        // Overtaken by compaction: what came until then is checked.
        if (watched !== this.reference && (error instanceof Compacted || error instanceof WatchOverrun)) return;
        expected(error);
      } finally {
        this.#stopped.signal.removeEventListener('abort', stop);
        abort.abort();
      }
      await turn();
    }
  }

  async #retry<T>(ask: () => Promise<T>): Promise<T> {
    for (let attempt = 0; ; attempt++)
      try {
        return await ask();
      } catch (error) {
        expected(error);
        if (attempt > 1000) throw error;
        await turn();
      }
  }
}

function expected(error: unknown): void {
  const fine = [StoreUnavailable, StoreFull, Compacted, FutureRevision].some((kind) => error instanceof kind);
  if (!fine) throw error as Error;
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function check(recorder: Recorder): HistoryReport {
  const { reference, writes, reads, watched, first } = recorder;
  const byRevision = checkOrder(reference, first);
  checkWrites(writes, byRevision, reference);
  checkRealTime(writes, reads);
  const stateAt = states(reference, first);
  for (const read of reads)
    if (read.at >= first) assert.deepEqual(read.state, stateAt(read.at), `the state at revision ${read.at}`);
  for (const one of watched) checkWatch(one, reference);
  return {
    acknowledged: writes.filter(({ outcome }) => outcome === 'done').length,
    unknown: writes.filter(({ outcome }) => outcome === 'unknown').length,
    reads: reads.length,
    watches: watched.length,
    events: reference.events.length,
  };
}

/** Each change has a revision of its own here, and the reference watch saw them rise. */
function checkOrder(reference: Watched, first: number): Map<number, StoreEvent> {
  const byRevision = new Map<number, StoreEvent>();
  let last = first - 1;
  for (const event of reference.events) {
    assert.ok(event.kv.modRevision > last, `revision ${event.kv.modRevision} came after ${last}`);
    last = event.kv.modRevision;
    byRevision.set(last, event);
  }
  return byRevision;
}

function checkWrites(
  writes: readonly Written[],
  byRevision: ReadonlyMap<number, StoreEvent>,
  reference: Watched,
): void {
  const byValue = new Map(writes.flatMap((one) => (one.value === undefined ? [] : [[one.value, one] as const])));
  const seen = new Set<string>();
  for (const { type, kv } of reference.events) {
    if (type === 'delete') continue;
    const value = textOf(kv.value);
    assert.ok(!seen.has(value), `${value} was written twice`);
    seen.add(value);
    const write = byValue.get(value);
    assert.ok(write?.key === kv.key && write.outcome !== 'refused', `nobody wrote ${value} to ${kv.key}`);
  }
  let previous = new Map<string, number>();
  const modAt = new Map<number, Map<string, number>>();
  for (const { kv, type } of reference.events) {
    previous = new Map(previous);
    previous.set(kv.key, type === 'delete' ? 0 : kv.modRevision);
    modAt.set(kv.modRevision, previous);
  }
  for (const { outcome, revision, changed, key, value, kind, expected: wanted } of writes) {
    if (outcome !== 'done') continue;
    if (changed) {
      const event = byRevision.get(revision);
      assert.ok(
        event?.kv.key === key && event.type === kind,
        `acknowledged ${kind} of ${key} at ${revision} is not in the history`,
      );
      if (kind === 'put') assert.equal(textOf(event.kv.value), value);
    }
    if (wanted === undefined) continue;
    // The key's modRevision just before a success, or at the revision that a refusal named.
    const before = lastBefore(modAt, changed ? revision - 1 : revision)?.get(key) ?? 0;
    const deletedNothing = kind === 'delete' && !changed && before === 0;
    assert.ok(
      changed ? before === wanted : before !== wanted || deletedNothing,
      `a compare-and-swap of ${key} at ${revision}`,
    );
  }
}

function lastBefore<T>(sorted: ReadonlyMap<number, T>, revision: number): T | undefined {
  let found: T | undefined;
  for (const [at, value] of sorted) {
    if (at > revision) break;
    found = value;
  }
  return found;
}

/** What ended before something else began has no higher revision; a write's is lower. */
function checkRealTime(writes: readonly Written[], reads: readonly Read[]): void {
  const done = writes.filter(({ outcome }) => outcome === 'done');
  const operations = [
    ...done.map(({ begun, ended, revision, changed }) => ({ begun, ended, revision, changed })),
    ...reads.map(({ begun, ended, revision }) => ({ begun, ended, revision, changed: false })),
  ];
  const begins = operations.toSorted((a, b) => a.begun - b.begun);
  const ends = operations.toSorted((a, b) => a.ended - b.ended);
  let newest = 0;
  let at = 0;
  for (const operation of begins) {
    for (; at < ends.length && ends[at]!.ended < operation.begun; at++) newest = Math.max(newest, ends[at]!.revision);
    const low = operation.changed ? newest + 1 : newest;
    assert.ok(operation.revision >= low, `revision ${operation.revision} after ${newest} had been answered`);
  }
}

function states(reference: Watched, first: number): (revision: number) => ReadonlyMap<string, string> {
  const all = new Map<number, ReadonlyMap<string, string>>([[first - 1, new Map()]]);
  let state: ReadonlyMap<string, string> = new Map();
  for (const { type, kv } of reference.events) {
    const next = new Map(state);
    if (type === 'delete') next.delete(kv.key);
    else next.set(kv.key, textOf(kv.value));
    state = new Map([...next].sort(([a], [b]) => (a < b ? -1 : 1)));
    all.set(kv.modRevision, state);
  }
  return (revision) => lastBefore(all, revision)!;
}

function checkWatch({ from, events, through }: Watched, reference: Watched): void {
  const inside = reference.events.filter(({ kv }) => kv.modRevision >= from && kv.modRevision <= through);
  const show = ({ type, kv }: StoreEvent) => `${kv.modRevision} ${type} ${kv.key} ${textOf(kv.value)} ${kv.version}`;
  assert.deepEqual(events.map(show), inside.map(show), `a watch from ${from} to ${through}`);
}
