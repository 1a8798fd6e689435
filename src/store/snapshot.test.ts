// Owns the tests of snapshots, restoring and forks, on the memory and embedded engines.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import type { TestContext } from 'node:test';
import { systemClock } from '../base/clock.ts';
import { silentLogger } from '../base/log.ts';
import { seededRandom } from '../base/random.ts';
import { VirtualClock } from '../base/virtual-clock.ts';
import { openEmbeddedStore } from './embedded/embedded.ts';
import { restoreSnapshot } from './embedded/restore.ts';
import { forkStore } from './fork.ts';
import { memoryStore } from './memory.ts';
import { importSnapshot, saveSnapshot, snapshotStatus } from './snapshot.ts';
import { Compacted, FutureRevision, StoreCorrupt, prefixRange } from './store.ts';
import type { Store } from './store.ts';
import { storeSuite } from './store.suite.ts';

const deps = () => ({ clock: new VirtualClock(), log: silentLogger, random: seededRandom(1) });
const all = prefixRange('');
const put = (key: string, value: string, lease = 0) => ({
  compare: [],
  then: [{ type: 'put' as const, key, value: Buffer.from(value), lease }],
});

function temporary(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'k8ts-snapshot-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

async function filled(store: Store, keys = 1200): Promise<void> {
  const { id } = await store.grantLease(500);
  await Promise.all(
    Array.from({ length: keys }, (_, i) => store.transact(put(`/k/${i}`, `v${i}`, i % 100 === 0 ? id : 0))),
  );
  await store.transact(put('/k/é😀', 'x'));
  await store.transact(put('/k/1', 'again'));
}

it('saves while the store is written to, and restores exactly that revision', async (t) => {
  const directory = temporary(t);
  const path = join(directory, 'snapshot');
  const store = await openEmbeddedStore(join(directory, 'a'), deps());
  await filled(store);
  let stop = false;
  const writing = (async () => {
    for (let i = 0; !stop; i++) await store.transact(put(`/k/${i % 1200}`, `later ${i}`));
  })();
  const status = await saveSnapshot(store, path);
  stop = true;
  await writing;
  assert.equal(status.keys, 1201);
  assert.equal(status.leases, 1);
  assert.deepEqual(await snapshotStatus(path), status);
  const then = await store.range(all, { revision: status.revision });
  await restoreSnapshot(path, join(directory, 'b'), deps());
  const restored = await openEmbeddedStore(join(directory, 'b'), deps());
  const now = await restored.range(all);
  assert.deepEqual(now.items, then.items);
  assert.equal(now.revision, status.revision);
  assert.equal((await restored.leases()).length, 1);
  assert.equal((await restored.transact(put('/k/new', 'x'))).revision, status.revision + 1);
  await assert.rejects(restored.range(all, { revision: status.revision - 1 }), Compacted);
  await restored.close();
  await assert.rejects(restoreSnapshot(path, join(directory, 'b'), deps()), /holds a store already/);
  const imported = memoryStore(deps());
  assert.equal(await importSnapshot(path, imported), 1201);
  const pairs = (items: typeof now.items) => items.map(({ key, value }) => [key, Buffer.from(value).toString()]);
  assert.deepEqual(pairs((await imported.range(all)).items), pairs(then.items));
  await assert.rejects(importSnapshot(path, imported), /holds 1201 keys already/);
  await store.close();
});

it('names a damaged snapshot, whatever byte it is', async (t) => {
  const directory = temporary(t);
  const path = join(directory, 'snapshot');
  const store = memoryStore(deps());
  await filled(store, 20);
  const { bytes } = await saveSnapshot(store, path);
  const good = readFileSync(path);
  assert.equal(good.length, bytes);
  for (let place = 0; place < good.length; place += 7) {
    const bad = Buffer.from(good);
    bad[place]! ^= 1;
    writeFileSync(path, bad);
    await assert.rejects(
      snapshotStatus(path),
      (error) => error instanceof StoreCorrupt && error.message.includes(path),
      `byte ${place}`,
    );
  }
  for (const length of [0, 5, 16, 100, good.length - 1]) {
    writeFileSync(path, good.subarray(0, length));
    await assert.rejects(snapshotStatus(path), StoreCorrupt, `cut to ${length}`);
    await assert.rejects(restoreSnapshot(path, join(directory, 'b'), deps()), StoreCorrupt);
  }
  assert.deepEqual(
    readdirSync(directory).filter((name) => name.includes('partial')),
    [],
  );
});

for (const engine of ['memory', 'embedded'] as const)
  it(`forks ${engine} at a revision: both go their own way`, async (t) => {
    const open = async () =>
      engine === 'memory'
        ? memoryStore(deps())
        : openEmbeddedStore(join(temporary(t), 'a'), { ...deps(), cacheBytes: 0 });
    const store = await open();
    await filled(store);
    const { revision } = await store.transact(put('/k/2', 'at the fork'));
    await store.transact(put('/k/2', 'after it'));
    await store.transact(put('/k/late', 'x'));
    const then = await store.range(all, { revision });
    const fork = await forkStore(store, revision, deps());
    assert.deepEqual((await fork.range(all)).items, then.items);
    assert.deepEqual((await fork.range(all)).revision, revision);
    assert.deepEqual(
      (await fork.range({ start: '/k/1' }, { revision: 2 })).items,
      (await store.range({ start: '/k/1' }, { revision: 2 })).items,
    );
    assert.equal((await fork.transact(put('/k/3', 'fork'))).revision, revision + 1);
    assert.equal((await fork.leases()).length, 1);
    await assert.rejects(forkStore(store, revision + 100, deps()), FutureRevision);
    // The fork outlives compaction, rewriting and the end of the store it came from.
    await store.compact((await store.status()).revision);
    await store.close();
    assert.equal(Buffer.from((await fork.range({ start: '/k/2' })).items[0]!.value).toString(), 'at the fork');
    await fork.close();
  });

it('forks ten thousand keys in milliseconds', async (t) => {
  const store = await openEmbeddedStore(join(temporary(t), 'a'), deps());
  await filled(store, 10_000);
  const took: number[] = [];
  for (let i = 0; i < 5; i++) {
    const start = systemClock.monotonic();
    const fork = await forkStore(store, 0, deps());
    took.push(systemClock.monotonic() - start);
    await fork.close();
  }
  t.diagnostic(`10 000 keys forked in ${Math.min(...took).toFixed(1)} ms (best of 5)`);
  assert.ok(Math.min(...took) < 200);
  await store.close();
});

storeSuite('a fork', {
  async open() {
    const clock = new VirtualClock();
    const origin = memoryStore(deps());
    await filled(origin);
    const store = await forkStore(origin, 0, { ...deps(), clock });
    return { store, elapse: (ms) => clock.advance(ms), cleanup: () => origin.close() };
  },
});
