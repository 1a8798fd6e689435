// Owns the proof that an engine is a Store: one suite, run on every engine.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import {
  Compacted,
  FutureRevision,
  InvalidRequest,
  LeaseExists,
  LeaseNotFound,
  WatchOverrun,
  prefixRange,
} from './store.ts';
import type { Compare, KeyValue, Operation, Store, StoreEvent, Transaction, WatchBatch } from './store.ts';

export interface StoreUnderTest {
  readonly store: Store;
  /** Lets time pass for leases; an engine on real time does nothing and lets the test wait for the event. */
  elapse(ms: number): Promise<void>;
  /** Releases what `open` took, after the store was closed. */
  cleanup?(): Promise<void>;
}

export interface SuiteOptions {
  /** Called once; every test uses keys of its own. */
  open(): Promise<StoreUnderTest>;
  readonly skip?: string | undefined;
  /** The engine is across a network: unawaited calls have no order, and buffers on the way hold much of a slow watch. */
  readonly remote?: boolean;
}

export function storeSuite(name: string, options: SuiteOptions): void {
  describe(`${name} is a Store`, { skip: options.skip ?? false, timeout: 120_000 }, () => {
    let under: StoreUnderTest;
    let tests = 0;
    const fixture = (): Fixture => new Fixture(under, `/suite/${String(tests++).padStart(3, '0')}/`);
    before(async () => {
      under = await options.open();
    });
    after(async () => {
      await under?.store.close();
      await under?.cleanup?.();
    });
    const remote = options.remote === true;
    readsAndWrites(fixture, remote);
    transactions(fixture);
    history(fixture, remote);
    watches(fixture, remote);
    leases(fixture);
    it('closes: open watches end, later calls are refused, closing again is fine', async () => {
      const at = fixture();
      const watch = at.watch();
      await watch.next();
      const ended = watch.next();
      await at.store.close();
      assert.equal((await ended).done, true);
      await assert.rejects(at.store.range({ start: 'a' }), { name: 'StoreUnavailable' });
      await assert.rejects(at.put('a', 'x'), { name: 'StoreUnavailable' });
      await at.store.close();
    });
  });
}

const bytes = (text: string): Uint8Array => Buffer.from(text);
const text = (value: Uint8Array): string => Buffer.from(value).toString();

/** One test's part of the store: keys under its own prefix. */
class Fixture {
  readonly store: Store;
  readonly prefix: string;
  readonly elapse: (ms: number) => Promise<void>;
  constructor(under: StoreUnderTest, prefix: string) {
    this.store = under.store;
    this.prefix = prefix;
    this.elapse = (ms) => under.elapse(ms);
  }
  get all() {
    return prefixRange(this.prefix);
  }
  key(name: string): string {
    return this.prefix + name;
  }
  async put(name: string, value: string, lease = 0): Promise<number> {
    const done = await this.store.transact({ compare: [], then: [this.putOp(name, value, lease)] });
    return done.revision;
  }
  putOp(name: string, value: string, lease = 0): Operation {
    return { type: 'put', key: this.key(name), value: bytes(value), lease };
  }
  async delete(name: string): Promise<number> {
    const then: Operation[] = [{ type: 'delete', range: { start: this.key(name) } }];
    return (await this.store.transact({ compare: [], then })).revision;
  }
  async get(name: string, revision = 0): Promise<KeyValue | undefined> {
    return (await this.store.range({ start: this.key(name) }, { revision })).items[0];
  }
  async names(revision = 0): Promise<string[]> {
    return (await this.store.range(this.all, { revision })).items.map(({ key }) => key.slice(this.prefix.length));
  }
  async now(): Promise<number> {
    return (await this.store.range({ start: this.key('-') }, { countOnly: true })).revision;
  }
  watch(fromRevision?: number, previous = false, abort = new AbortController()) {
    const options = { previous, signal: abort.signal, ...(fromRevision === undefined ? {} : { fromRevision }) };
    return Object.assign(this.store.watch(this.all, options)[Symbol.asyncIterator](), { abort: () => abort.abort() });
  }
  show(event: StoreEvent): string {
    const name = event.kv.key.slice(this.prefix.length);
    const before = event.previous === undefined ? '' : ` was ${text(event.previous.value)}`;
    return event.type === 'put' ? `${name}=${text(event.kv.value)}${before}` : `${name} deleted${before}`;
  }
}

type MakeFixture = () => Fixture;
type Watch = AsyncIterator<WatchBatch, undefined>;

async function nextBatch(watch: Watch): Promise<WatchBatch> {
  const result = await watch.next();
  assert.ok(!result.done, 'the watch ended');
  return result.value;
}

/** Reads batches until `count` events came. Checks that revisions rise and that no batch parts a revision. */
async function nextEvents(watch: Watch, count: number): Promise<StoreEvent[]> {
  const events: StoreEvent[] = [];
  let revision = 0;
  while (events.length < count) {
    const batch = await nextBatch(watch);
    for (const { kv } of batch.events) {
      assert.ok(kv.modRevision >= revision, 'revisions rise');
      assert.ok(kv.modRevision <= batch.revision, 'a batch ends at its revision');
    }
    const first = batch.events[0];
    if (first !== undefined) assert.ok(first.kv.modRevision > revision, 'a revision is in one batch');
    revision = Math.max(revision, batch.revision);
    events.push(...batch.events);
  }
  assert.equal(events.length, count);
  return events;
}

function readsAndWrites(fixture: MakeFixture, remote: boolean): void {
  it('counts revisions and versions as etcd does', async () => {
    const at = fixture();
    const start = await at.now();
    assert.equal(await at.put('a', '1'), start + 1);
    assert.equal(await at.put('a', '2'), start + 2);
    assert.equal(await at.put('b', '1'), start + 3);
    const a = await at.get('a');
    assert.deepEqual(
      { ...a, value: text(a!.value) },
      { key: at.key('a'), value: '2', createRevision: start + 1, modRevision: start + 2, version: 2, lease: 0 },
    );
    assert.equal(await at.delete('a'), start + 4);
    assert.equal(await at.get('a'), undefined);
    assert.equal(await at.delete('a'), start + 4, 'deleting nothing takes no revision');
    assert.equal(await at.put('a', '3'), start + 5);
    const again = await at.get('a');
    assert.deepEqual([again?.createRevision, again?.version], [start + 5, 1]);
  });

  it('ranges: limit, count, more, keys only, count only', async () => {
    const at = fixture();
    for (const name of ['a', 'b', 'c', 'd']) await at.put(name, name);
    const two = await at.store.range(at.all, { limit: 2 });
    assert.deepEqual([two.items.map(({ key }) => key), two.count, two.more], [[at.key('a'), at.key('b')], 4, true]);
    const rest = await at.store.range({ start: `${at.key('b')}\0`, end: at.all.end }, { limit: 2 });
    assert.deepEqual([rest.items.map(({ value }) => text(value)), rest.count, rest.more], [['c', 'd'], 2, false]);
    const counted = await at.store.range(at.all, { countOnly: true });
    assert.deepEqual([counted.items.length, counted.count, counted.more], [0, 4, false]);
    const keys = await at.store.range(at.all, { keysOnly: true });
    assert.deepEqual(
      keys.items.map(({ key, value }) => [key, value.length]),
      ['a', 'b', 'c', 'd'].map((name) => [at.key(name), 0]),
    );
    const half = await at.store.range({ start: at.key('b'), end: at.key('d') });
    assert.deepEqual(
      half.items.map(({ value }) => text(value)),
      ['b', 'c'],
    );
    const none = await at.store.range({ start: at.key('d'), end: at.key('b') });
    assert.deepEqual([none.items.length, none.count], [0, 0]);
  });

  it('ranges without upper bound', async () => {
    const at = fixture();
    await at.put('a', '1');
    const everything = await at.store.range({ start: at.key('a'), end: '\0' });
    assert.equal(everything.items[0]?.key, at.key('a'));
    const all = await at.store.range(prefixRange(''), { countOnly: true });
    assert.equal(all.count, (await at.store.status()).keys);
  });

  it('orders by UTF-8 bytes', async () => {
    const at = fixture();
    const names = ['', '\u0001', 'A', 'a', 'a/b', 'a0', 'é', '\ud7ff', '\ue000', '\uffee', '😀', '\u{10ffff}'];
    for (const name of names.toReversed()) await at.put(`k${name}`, name);
    assert.deepEqual(
      await at.names(),
      names.map((name) => `k${name}`),
    );
    for (const name of names.slice(1)) {
      const found = await at.store.range(prefixRange(at.key(`k${name}`)));
      const expected = names.filter((other) => other.startsWith(name));
      assert.deepEqual(
        found.items.map(({ value }) => text(value)),
        expected,
        `prefix ${JSON.stringify(name)}`,
      );
    }
  });

  it('keeps values of every size, empty to beyond a mebibyte, byte for byte', async () => {
    const at = fixture();
    const sizes = [0, 1, 127, 128, 65_535, 65_536, 1_048_577];
    for (const size of sizes) {
      const value = Uint8Array.from({ length: size }, (_, place) => (place * 31 + size) & 0xff);
      await at.store.transact({ compare: [], then: [{ type: 'put', key: at.key(`s${size}`), value }] });
      const read = await at.get(`s${size}`);
      assert.equal(Buffer.compare(read!.value, value), 0, `${size} bytes`);
    }
  });

  it('refuses what can never be stored', async () => {
    const at = fixture();
    const before = await at.now();
    const wrong: Transaction[] = [
      { compare: [], then: [{ type: 'put', key: '', value: bytes('x') }] },
      { compare: [], then: [{ type: 'delete', range: { start: '' } }] },
      { compare: [{ key: '', target: 'version', is: '=', value: 0 }], then: [] },
      { compare: [], then: [at.putOp('a', '1'), at.putOp('a', '2')] },
      { compare: [], then: [at.putOp('a', '1'), { type: 'delete', range: at.all }] },
      { compare: [], then: Array.from({ length: 129 }, (_, i) => at.putOp(`k${i}`, 'x')) },
    ];
    for (const transaction of wrong) await assert.rejects(at.store.transact(transaction), InvalidRequest);
    const tooLarge = { compare: [], then: [at.putOp('big', 'x'.repeat(3_000_000))] };
    await assert.rejects(at.store.transact(tooLarge), (error) => error instanceof InvalidRequest && error.tooLarge);
    await assert.rejects(at.store.range({ start: '' }), InvalidRequest);
    assert.equal(await at.now(), before);
  });

  // Across a network calls may overtake each other, and the interface promises no order there.
  if (!remote)
    it('applies calls made without awaiting in the order in which they were made', async () => {
      const at = fixture();
      const writes = Array.from({ length: 100 }, (_, i) => at.put('a', String(i)));
      const read = at.get('a');
      const revisions = await Promise.all(writes);
      revisions.forEach((revision, i) => assert.equal(revision, revisions[0]! + i));
      assert.equal(text((await read)!.value), '99');
    });

  it('lets one of many concurrent compare-and-swaps win each round', async () => {
    const at = fixture();
    await at.put('counter', '0');
    const increment = async (): Promise<void> => {
      for (;;) {
        const old = (await at.get('counter'))!;
        const compare: Compare[] = [{ key: old.key, target: 'modRevision', is: '=', value: old.modRevision }];
        const then = [at.putOp('counter', String(Number(text(old.value)) + 1))];
        if ((await at.store.transact({ compare, then })).succeeded) return;
      }
    };
    await Promise.all(Array.from({ length: 20 }, increment));
    assert.equal(text((await at.get('counter'))!.value), '20');
  });
}

function transactions(fixture: MakeFixture): void {
  it('gives all changes of a transaction one revision, and lets its ranges see them', async () => {
    const at = fixture();
    await at.put('old', 'x');
    const start = await at.now();
    const done = await at.store.transact({
      compare: [],
      then: [
        { type: 'range', range: at.all },
        { ...(at.putOp('a', '1') as Operation & { type: 'put' }), previous: true },
        at.putOp('b', '2'),
        { type: 'delete', range: { start: at.key('old') }, previous: true },
        { type: 'range', range: at.all },
      ],
    });
    assert.equal(done.revision, start + 1);
    const [before, put, , deleted, now] = done.results;
    assert.ok(before?.type === 'range' && put?.type === 'put' && deleted?.type === 'delete' && now?.type === 'range');
    assert.deepEqual(
      before.result.items.map(({ value }) => text(value)),
      ['x'],
    );
    assert.equal(put.previous, undefined);
    assert.deepEqual([deleted.count, deleted.previous.map(({ value }) => text(value))], [1, ['x']]);
    assert.deepEqual(
      now.result.items.map(({ value, modRevision }) => [text(value), modRevision]),
      [
        ['1', start + 1],
        ['2', start + 1],
      ],
    );
    const again = await at.store.transact({
      compare: [],
      then: [{ type: 'put', key: at.key('a'), value: bytes('3'), previous: true }],
    });
    assert.ok(again.results[0]?.type === 'put');
    assert.equal(text(again.results[0].previous!.value), '1');
  });

  it('compares every property by every relation', async () => {
    const at = fixture();
    const granted = await at.store.grantLease(1000);
    const created = await at.put('a', 'm');
    await at.put('a', 'm', granted.id);
    const a = (await at.get('a'))!;
    const numbers = { modRevision: created + 1, createRevision: created, version: 2, lease: granted.id } as const;
    const holds = async (compare: Compare) => (await at.store.transact({ compare: [compare], then: [] })).succeeded;
    for (const target of ['modRevision', 'createRevision', 'version', 'lease'] as const) {
      assert.equal(a[target], numbers[target]);
      for (const [is, off, expected] of relations) {
        const value = numbers[target] - off;
        assert.equal(await holds({ key: a.key, target, is, value }), expected, `${target} ${is} ${off}`);
        const absent = await holds({ key: at.key('absent'), target, is, value: -off });
        assert.equal(absent, expected, `absent ${target} ${is} ${off}`);
      }
    }
    for (const [is, off, expected] of relations) {
      const value = bytes(off === 0 ? 'm' : off < 0 ? 'ma' : 'l');
      assert.equal(await holds({ key: a.key, target: 'value', is, value }), expected, `value ${is} ${off}`);
      assert.equal(await holds({ key: at.key('absent'), target: 'value', is, value }), false);
    }
    await at.store.revokeLease(granted.id);
  });

  it('runs `then` when all compares hold, else `otherwise`; changing nothing takes no revision', async () => {
    const at = fixture();
    const revision = await at.put('a', '1');
    const fresh: Compare = { key: at.key('b'), target: 'createRevision', is: '=', value: 0 };
    const same: Compare = { key: at.key('a'), target: 'modRevision', is: '=', value: revision };
    const stale: Compare = { ...same, value: revision - 1 };
    const otherwise: Operation[] = [{ type: 'range', range: { start: at.key('a') } }];
    const lost = await at.store.transact({ compare: [fresh, stale], then: [at.putOp('b', 'x')], otherwise });
    assert.deepEqual([lost.succeeded, lost.revision, lost.results.length], [false, revision, 1]);
    assert.ok(lost.results[0]?.type === 'range');
    assert.equal(text(lost.results[0].result.items[0]!.value), '1');
    const won = await at.store.transact({ compare: [fresh, same], then: [at.putOp('b', 'x')], otherwise });
    assert.deepEqual([won.succeeded, won.revision], [true, revision + 1]);
    const empty = await at.store.transact({ compare: [], then: [] });
    assert.deepEqual(empty, { succeeded: true, revision: revision + 1, results: [] });
  });

  it('deletes ranges', async () => {
    const at = fixture();
    for (const name of ['a', 'b', 'c']) await at.put(name, name);
    const range = { start: at.key('a'), end: at.key('c') };
    const done = await at.store.transact({ compare: [], then: [{ type: 'delete', range }] });
    assert.deepEqual(done.results, [{ type: 'delete', count: 2, previous: [] }]);
    assert.deepEqual(await at.names(), ['c']);
  });

  it('changes nothing when one operation cannot be done', async () => {
    const at = fixture();
    const now = await at.now();
    const future: Operation = { type: 'range', range: at.all, options: { revision: now + 100 } };
    await assert.rejects(at.store.transact({ compare: [], then: [at.putOp('a', '1'), future] }), FutureRevision);
    await assert.rejects(at.put('a', '1', 123_456_789), LeaseNotFound);
    assert.deepEqual([await at.now(), await at.names()], [now, []]);
  });
}

/** is, the property minus the compared value, whether it holds */
const relations = [
  ['=', 0, true],
  ['=', 1, false],
  ['!=', 0, false],
  ['!=', 1, true],
  ['<', -1, true],
  ['<', 0, false],
  ['>', 1, true],
  ['>', 0, false],
] as const;

function history(fixture: MakeFixture, remote: boolean): void {
  it('reads the past, and refuses the future', async () => {
    const at = fixture();
    const first = await at.put('a', '1');
    await at.put('b', '1');
    await at.delete('a');
    const last = await at.put('a', '2');
    const show = async (revision: number) => {
      const { items, count, revision: newest } = await at.store.range(at.all, { revision });
      assert.deepEqual([count, newest], [items.length, last]);
      return items.map(({ key, value, version }) => `${key.slice(at.prefix.length)}=${text(value)}#${version}`);
    };
    assert.deepEqual(await show(first - 1), []);
    assert.deepEqual(await show(first), ['a=1#1']);
    assert.deepEqual(await show(first + 1), ['a=1#1', 'b=1#1']);
    assert.deepEqual(await show(first + 2), ['b=1#1']);
    assert.deepEqual(await show(last), ['a=2#1', 'b=1#1']);
    const limited = await at.store.range(at.all, { revision: first + 1, limit: 1 });
    assert.deepEqual([limited.items.length, limited.count, limited.more], [1, 2, true]);
    await assert.rejects(at.store.range(at.all, { revision: last + 1 }), FutureRevision);
  });

  it('compacts: keeps what is current at the revision, refuses what is older', async () => {
    const at = fixture();
    const first = await at.put('a', '1');
    await at.put('a', '2');
    await at.put('gone', 'x');
    await at.delete('gone');
    const at3 = await at.put('a', '3');
    await at.put('a', '4');
    await at.store.compact(at3);
    await assert.rejects(at.store.range(at.all, { revision: first }), Compacted);
    await assert.rejects(at.store.range(at.all, { revision: at3 - 1 }), (e) => e instanceof Compacted);
    assert.equal(text((await at.get('a', at3))!.value), '3');
    assert.equal(text((await at.get('a'))!.value), '4');
    assert.equal((await at.store.status()).compactRevision, at3);
    await assert.rejects(at.store.compact(at3), Compacted);
    await assert.rejects(at.store.compact(at3 + 100), FutureRevision);
    await assert.rejects(nextBatch(at.watch(at3 - 1)), (e) => e instanceof Compacted && e.compactRevision === at3);
    const kept = at.watch(remote ? at3 + 1 : at3);
    const expected = remote ? ['a=4'] : ['a=3', 'a=4'];
    assert.deepEqual(
      (await nextEvents(kept, expected.length)).map((event) => at.show(event)),
      expected,
    );
    kept.abort();
  });
}

function watches(fixture: MakeFixture, remote: boolean): void {
  it('watches from now: the first batch says from where', async () => {
    const at = fixture();
    await at.put('before', 'x');
    const watch = at.watch();
    const first = await nextBatch(watch);
    assert.deepEqual(first, { revision: await at.now(), events: [] });
    await at.put('a', '1');
    await at.put('a', '2');
    await at.delete('a');
    const events = await nextEvents(watch, 3);
    assert.deepEqual(
      events.map((event) => at.show(event)),
      ['a=1', 'a=2', 'a deleted'],
    );
    const deletion = events[2]!.kv;
    assert.deepEqual([deletion.modRevision, deletion.value.length], [first.revision + 3, 0]);
    assert.deepEqual([events[1]!.kv.version, events[1]!.kv.createRevision], [2, first.revision + 1]);
    watch.abort();
    assert.equal((await watch.next()).done, true);
  });

  it('watches from a revision of the past, then live, without gap or repeat', async () => {
    const at = fixture();
    const first = await at.put('k0', '0');
    for (let i = 1; i < 50; i++) await at.put(`k${i}`, String(i));
    const watch = at.watch(first + 10);
    const writing = (async () => {
      for (let i = 50; i < 100; i++) await at.put(`k${i}`, String(i));
    })();
    const events = await nextEvents(watch, 90);
    await writing;
    assert.deepEqual(
      events.map(({ kv }) => text(kv.value)),
      Array.from({ length: 90 }, (_, i) => String(i + 10)),
    );
    watch.abort();
  });

  it('gives previous pairs, and all changes of a revision in one batch', async () => {
    const at = fixture();
    await at.put('a', '1');
    const revision = await at.put('b', '1');
    const watch = at.watch(revision + 1, true);
    await at.store.transact({
      compare: [],
      then: [at.putOp('a', '2'), { type: 'delete', range: { start: at.key('b') } }, at.putOp('c', '1')],
    });
    const batch = await nextBatch(watch);
    assert.deepEqual(
      batch.events.map((event) => at.show(event)),
      ['a=2 was 1', 'b deleted was 1', 'c=1'],
    );
    assert.ok(batch.events.every(({ kv }) => kv.modRevision === revision + 1));
    watch.abort();
  });

  it('delivers only keys of its range', async () => {
    const at = fixture();
    const start = await at.now();
    const single = new AbortController();
    const watch = at.store
      .watch({ start: at.key('b') }, { fromRevision: start + 1, signal: single.signal })
      [Symbol.asyncIterator]();
    for (const name of ['a', 'b', 'b0', 'c', 'b']) await at.put(name, name);
    const events = await nextEvents(watch, 2);
    assert.deepEqual(
      events.map(({ kv }) => kv.key),
      [at.key('b'), at.key('b')],
    );
    single.abort();
  });

  it('may begin at a future revision', async () => {
    const at = fixture();
    const start = await at.now();
    const watch = at.watch(start + 3);
    for (let i = 1; i <= 4; i++) await at.put('a', String(i));
    assert.deepEqual(
      (await nextEvents(watch, 2)).map(({ kv }) => text(kv.value)),
      ['3', '4'],
    );
    watch.abort();
  });

  it('reports progress when asked', async () => {
    const at = fixture();
    const start = await at.now();
    const watch = at.watch(start + 1);
    await at.put('a', '1');
    await nextEvents(watch, 1);
    const elsewhere = await at.store.transact({
      compare: [],
      then: [{ type: 'put', key: '/elsewhere', value: bytes('x') }],
    });
    const waiting = nextBatch(watch);
    await at.store.requestProgress();
    assert.deepEqual(await waiting, { revision: elsewhere.revision, events: [] });
    watch.abort();
  });

  it('ends a watch that compaction overtook, and no other', async () => {
    const at = fixture();
    const first = await at.put('a', '0');
    const slow = at.watch(first);
    const swift = at.watch(first);
    await nextEvents(slow, 1);
    // More than engines buffer on the way to a consumer that does not read.
    const value = 'x'.repeat(500_000);
    let last = first;
    for (let i = 0; i < 40; i++) {
      last = await at.put('a', value);
      await nextEvents(swift, i === 0 ? 2 : 1);
    }
    await at.store.compact(last);
    const late: StoreEvent[] = [];
    const reading = (async () => {
      while (late.length < 40) late.push(...(await nextBatch(slow)).events);
    })();
    // Buffers between the server and here may have held everything; but never a part.
    if (
      remote &&
      (await reading.then(
        () => true,
        () => false,
      ))
    )
      assert.equal(late.at(-1)?.kv.modRevision, last);
    else await assert.rejects(reading, (error) => error instanceof WatchOverrun);
    slow.abort();
    assert.equal((await slow.next()).done, true);
    await at.put('b', '1');
    assert.deepEqual(
      (await nextEvents(swift, 1)).map((event) => at.show(event)),
      ['b=1'],
    );
    swift.abort();
  });

  it('ends when aborted, before and while waiting', async () => {
    const at = fixture();
    const aborted = new AbortController();
    aborted.abort();
    assert.equal((await at.watch(undefined, false, aborted).next()).done, true);
    const watch = at.watch();
    await nextBatch(watch);
    const waiting = watch.next();
    watch.abort();
    assert.equal((await waiting).done, true);
    assert.equal((await watch.next()).done, true);
  });
}

function leases(fixture: MakeFixture): void {
  it('grants, describes, keeps alive and revokes leases', async () => {
    const at = fixture();
    const { id, ttlSeconds } = await at.store.grantLease(300);
    assert.equal(ttlSeconds, 300);
    await at.put('a', '1', id);
    await at.put('b', '1', id);
    await at.put('c', '1', id);
    await at.put('c', '2');
    assert.equal((await at.get('a'))!.lease, id);
    assert.equal((await at.get('c'))!.lease, 0);
    const lease = await at.store.lease(id);
    assert.deepEqual([lease?.id, lease?.ttlSeconds, lease?.keys], [id, 300, [at.key('a'), at.key('b')]]);
    assert.ok(lease!.remainingSeconds > 290 && lease!.remainingSeconds <= 300);
    assert.ok((await at.store.leases()).includes(id));
    assert.equal(await at.store.keepLeaseAlive(id), 300);
    const before = await at.now();
    await at.store.revokeLease(id);
    assert.deepEqual([await at.names(), await at.now()], [['c'], before + 1]);
    assert.equal(await at.store.lease(id), undefined);
    assert.equal(await at.store.keepLeaseAlive(id), 0);
    await assert.rejects(at.store.revokeLease(id), LeaseNotFound);
  });

  it('takes a lease id from the caller', async () => {
    const at = fixture();
    const id = 7_000_000_000_000_000 + Math.trunc(at.prefix.length);
    assert.equal((await at.store.grantLease(60, id)).id, id);
    await assert.rejects(at.store.grantLease(60, id), LeaseExists);
    await at.store.revokeLease(id);
    await assert.rejects(at.store.grantLease(0), InvalidRequest);
  });

  it('deletes the keys of an expired lease, as one event each', async () => {
    const at = fixture();
    const { id } = await at.store.grantLease(2);
    const kept = await at.store.grantLease(600);
    await at.put('a', '1', id);
    await at.put('b', '1', kept.id);
    const revision = await at.put('c', '1');
    const watch = at.watch(revision + 1, true);
    await at.elapse(2000);
    assert.deepEqual(
      (await nextEvents(watch, 1)).map((event) => at.show(event)),
      ['a deleted was 1'],
    );
    assert.deepEqual(await at.names(), ['b', 'c']);
    assert.equal(await at.store.lease(id), undefined);
    watch.abort();
    await at.store.revokeLease(kept.id);
  });
}
