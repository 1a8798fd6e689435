// Owns the tests of the memory engine: the suite, and its own bounds.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { silentLogger } from '../base/log.ts';
import { seededRandom } from '../base/random.ts';
import { VirtualClock } from '../base/virtual-clock.ts';
import { memoryStore } from './memory.ts';
import { Compacted } from './store.ts';
import { storeSuite } from './store.suite.ts';

storeSuite('memory', {
  async open() {
    const clock = new VirtualClock();
    const store = memoryStore({ clock, log: silentLogger, random: seededRandom(1) });
    return { store, elapse: (ms) => clock.advance(ms) };
  },
});

const put = (key: string, size = 10) => ({
  compare: [],
  then: [{ type: 'put' as const, key, value: new Uint8Array(size) }],
});

it('a lease that is kept alive outlives its first deadline', async () => {
  const clock = new VirtualClock();
  const store = memoryStore({ clock, log: silentLogger, random: seededRandom(1) });
  const { id } = await store.grantLease(10);
  await clock.advance(9000);
  await store.keepLeaseAlive(id);
  await clock.advance(9000);
  assert.equal((await store.lease(id))?.remainingSeconds, 1);
  await clock.advance(1000);
  assert.equal(await store.lease(id), undefined);
  await store.close();
});

it('forgets history by age', async () => {
  const clock = new VirtualClock();
  const retention = { ageMs: 60_000, maxChanges: 1e6, maxBytes: 1e9 };
  const store = memoryStore({ clock, log: silentLogger, random: seededRandom(1), retention });
  for (let i = 0; i < 10; i++) await store.transact(put('a'));
  await clock.advance(30_000);
  const { revision } = await store.transact(put('a'));
  assert.equal((await store.status()).compactRevision, 0);
  await clock.advance(50_000);
  const { compactRevision } = await store.status();
  assert.ok(compactRevision > 1 && compactRevision < revision, `${compactRevision}`);
  await assert.rejects(store.range({ start: 'a' }, { revision: 2 }), Compacted);
  await clock.advance(120_000);
  assert.equal((await store.status()).compactRevision, revision);
  await store.close();
});

it('forgets history by number and by bytes of changes', async () => {
  for (const retention of [
    { ageMs: 1e9, maxChanges: 1000, maxBytes: 1e9 },
    { ageMs: 1e9, maxChanges: 1e9, maxBytes: 1000 * 1000 },
  ]) {
    const store = memoryStore({ clock: new VirtualClock(), log: silentLogger, random: seededRandom(1), retention });
    for (let i = 0; i < 5000; i++) await store.transact(put(`k${i % 10}`, 1000));
    const { revision, compactRevision } = await store.status();
    assert.ok(
      revision - compactRevision <= 1100 && revision - compactRevision >= 800,
      `${revision} ${compactRevision}`,
    );
    await store.close();
  }
});
