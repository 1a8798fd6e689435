// Owns the tests of the embedded engine on a real disk: the suite, opening again, space, locking, damage.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import type { TestContext } from 'node:test';
import { systemClock } from '../../base/clock.ts';
import { silentLogger } from '../../base/log.ts';
import { seededRandom } from '../../base/random.ts';
import { VirtualClock } from '../../base/virtual-clock.ts';
import { StoreCorrupt, StoreFull, StoreLocked, prefixRange } from '../store.ts';
import type { WatchBatch } from '../store.ts';
import { storeSuite } from '../store.suite.ts';
import { openEmbeddedStore } from './embedded.ts';
import { decodeHeader, encodeHeader, formatVersion, headerBytes } from './format.ts';
import type { EmbeddedStoreDeps } from './embedded.ts';

const deps = (clock = new VirtualClock()): EmbeddedStoreDeps => ({ clock, log: silentLogger, random: seededRandom(1) });

function temporary(t?: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'k8ts-store-'));
  t?.after(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

const put = (key: string, value: string | Uint8Array, lease = 0) => ({
  compare: [],
  then: [{ type: 'put' as const, key, value: Buffer.from(value), lease }],
});

storeSuite('embedded', {
  async open() {
    const directory = temporary();
    const clock = new VirtualClock();
    // Small segments and no cache: the suite then also rolls, reclaims and reads back from disk.
    const store = await openEmbeddedStore(directory, { ...deps(clock), segmentBytes: 64 * 1024, cacheBytes: 0 });
    return {
      store,
      elapse: (ms) => clock.advance(ms),
      cleanup: async () => rmSync(directory, { recursive: true, force: true }),
    };
  },
});

it('opens again with everything: values, revisions, history, leases', async (t) => {
  const directory = temporary(t);
  const clock = new VirtualClock();
  let store = await openEmbeddedStore(directory, deps(clock));
  const { id } = await store.grantLease(100);
  await store.transact(put('a', '1', id));
  await store.transact(put('a', '2', id));
  await store.transact(put('é😀', '3'));
  const deletion = await store.transact({ compare: [], then: [{ type: 'delete', range: { start: 'é😀' } }] });
  const before = await store.range(prefixRange(''));
  await store.close();
  store = await openEmbeddedStore(directory, deps(clock));
  assert.deepEqual(await store.range(prefixRange('')), before);
  assert.equal((await store.range({ start: 'é😀' }, { revision: deletion.revision - 1 })).count, 1);
  const watch = store.watch(prefixRange(''), { fromRevision: 2, previous: true, signal: new AbortController().signal });
  const { value } = (await watch[Symbol.asyncIterator]().next()) as IteratorResult<WatchBatch, undefined>;
  assert.deepEqual(
    value?.events.map((e) => [e.type, e.kv.key, e.kv.modRevision, e.previous?.modRevision]),
    [
      ['put', 'a', 2, undefined],
      ['put', 'a', 3, 2],
      ['put', 'é😀', 4, undefined],
      ['delete', 'é😀', 5, 4],
    ],
  );
  assert.deepEqual((await store.lease(id))?.keys, ['a']);
  await clock.advance(100_000);
  assert.equal((await store.range({ start: 'a' })).count, 0);
  assert.equal((await store.transact(put('b', '1'))).revision, deletion.revision + 2);
  await store.close();
});

it('gives space back: the directory stays under four times the live data', async (t) => {
  const directory = temporary(t);
  const store = await openEmbeddedStore(directory, deps());
  const keys = 1000;
  const value = Buffer.alloc(1024, 7);
  for (let round = 0; round < 40; round++) {
    let newest = 0;
    await Promise.all(
      Array.from({ length: keys }, async (_, i) => {
        newest = Math.max(newest, (await store.transact(put(`/registry/k${i}`, value))).revision);
      }),
    );
    await store.compact(newest);
  }
  await store.reclaimed();
  const size = () => readdirSync(directory).reduce((sum, name) => sum + statSync(join(directory, name)).size, 0);
  assert.ok(size() < 4 * keys * 1024, `${size()} bytes`);
  const before = await store.range(prefixRange('/registry/'));
  assert.equal(before.count, keys);
  await store.close();
  const again = await openEmbeddedStore(directory, deps());
  assert.deepEqual(await again.range(prefixRange('/registry/')), before);
  await again.close();
});

it('opens ten thousand keys in a blink', async (t) => {
  const directory = temporary(t);
  let store = await openEmbeddedStore(directory, deps());
  const value = Buffer.alloc(1000, 7);
  await Promise.all(
    Array.from({ length: 10_000 }, (_, i) => store.transact(put(`/registry/pods/default/web-${i}`, value))),
  );
  await store.close();
  const took: number[] = [];
  for (let i = 0; i < 5; i++) {
    const start = systemClock.monotonic();
    store = await openEmbeddedStore(directory, deps());
    took.push(systemClock.monotonic() - start);
    await store.close();
  }
  t.diagnostic(`10 000 keys of 1000 bytes opened in ${Math.min(...took).toFixed(1)} ms (best of 5)`);
  assert.ok(Math.min(...took) < 200, `${took.join(' ')}`);
});

it('one process at a time: the second gets one clear line, a dead holder does not count', async (t) => {
  const directory = temporary(t);
  const store = await openEmbeddedStore(directory, deps());
  const expected = { name: 'StoreLocked', message: `the store in ${directory} is in use by process ${process.pid}` };
  await assert.rejects(openEmbeddedStore(directory, deps()), expected);
  await store.close();
  const dead = spawnSync(process.execPath, ['-e', '']).pid;
  writeFileSync(join(directory, 'LOCK'), JSON.stringify({ pid: dead, started: '1' }));
  const again = await openEmbeddedStore(directory, deps());
  await assert.rejects(openEmbeddedStore(directory, deps()), StoreLocked);
  await again.close();
});

it('refuses a newer format and a missing segment by name', async (t) => {
  const directory = temporary(t);
  const store = await openEmbeddedStore(directory, { ...deps(), segmentBytes: 500 });
  for (let i = 0; i < 20; i++) await store.transact(put(`key${i}`, 'x'.repeat(100)));
  await store.close();
  const segments = readdirSync(directory).filter((name) => name.endsWith('.log'));
  assert.ok(segments.length > 3, segments.join());
  const first = join(directory, segments[0]!);
  const bytes = readFileSync(first);
  const header = decodeHeader(bytes)!;
  writeFileSync(
    first,
    Buffer.concat([encodeHeader({ ...header, version: formatVersion + 1 }), bytes.subarray(headerBytes)]),
  );
  await assert.rejects(
    openEmbeddedStore(directory, deps()),
    /0000000001\.log: written in format 2; this program reads formats up to 1/,
  );
  writeFileSync(first, bytes);
  const second = join(directory, segments[1]!);
  const kept = readFileSync(second);
  rmSync(second);
  await assert.rejects(openEmbeddedStore(directory, deps()), /segment 2 before it is missing/);
  // A segment that lost its end is noticed by the one after it.
  writeFileSync(second, kept.subarray(0, headerBytes));
  await assert.rejects(openEmbeddedStore(directory, deps()), /a batch is damaged/);
  writeFileSync(second, kept);
  const again = await openEmbeddedStore(directory, deps());
  assert.equal((await again.range(prefixRange('key'))).count, 20);
  await again.close();
});

/** A file system of one mebibyte, where this process may mount one. */
function smallDisk(t: TestContext): string | undefined {
  const directory = temporary();
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', directory]).status === 0;
  t.after(() => {
    if (mounted) spawnSync('umount', [directory]);
    rmSync(directory, { recursive: true, force: true });
  });
  return mounted ? directory : undefined;
}

it('on a full file system refuses writes, reads on, and recovers', async (t) => {
  const disk = smallDisk(t);
  if (disk === undefined) return t.skip('this process may not mount a file system');
  const ballast = join(disk, 'ballast');
  writeFileSync(ballast, Buffer.alloc(500_000));
  const store = await openEmbeddedStore(join(disk, 'store'), { ...deps(), cacheBytes: 0 });
  let written = 0;
  await assert.rejects(
    async () => {
      for (; written < 10_000; written++) await store.transact(put(`key${written}`, 'x'.repeat(1000)));
    },
    (error) => error instanceof StoreFull && error.message === `the disk of ${join(disk, 'store')} is full`,
  );
  assert.ok(written > 100);
  const before = await store.range(prefixRange('key'));
  assert.equal(before.count, written);
  rmSync(ballast);
  assert.equal((await store.transact(put('after', 'x'.repeat(1000)))).revision, before.revision + 1);
  await store.close();
  const again = await openEmbeddedStore(join(disk, 'store'), deps());
  assert.deepEqual((await again.range(prefixRange('key'))).items, before.items);
  await again.close();
});

it('names a flipped byte and never serves it', async (t) => {
  const directory = temporary(t);
  let store = await openEmbeddedStore(directory, { ...deps(), cacheBytes: 0 });
  for (let i = 0; i < 20; i++) await store.transact(put(`key${i}`, `value-${i}-`.repeat(10)));
  const file = join(directory, '0000000001-0000000001.log');
  const flip = (place: number) => {
    const bytes = readFileSync(file);
    bytes[place]! ^= 4;
    writeFileSync(file, bytes);
  };
  const place = readFileSync(file).indexOf('value-7-');
  flip(place);
  await assert.rejects(
    store.range({ start: 'key7' }),
    (error) => error instanceof StoreCorrupt && error.message.includes(file),
  );
  assert.equal((await store.range({ start: 'key8' })).count, 1);
  await store.close();
  await assert.rejects(
    openEmbeddedStore(directory, deps()),
    (error) => error instanceof StoreCorrupt && error.message.includes(file),
  );
  flip(place);
  // After a clean end even the last write is known to have been complete.
  const last = readFileSync(file).indexOf('value-19-');
  flip(last);
  await assert.rejects(openEmbeddedStore(directory, deps()), StoreCorrupt);
  flip(last);
  store = await openEmbeddedStore(directory, deps());
  assert.equal((await store.range(prefixRange('key'))).count, 20);
  await store.close();
});
