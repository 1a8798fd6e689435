// Owns the tests of the agreed compaction.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { silentLogger } from '../base/log.ts';
import { seededRandom } from '../base/random.ts';
import { VirtualClock } from '../base/virtual-clock.ts';
import { runCompactor } from './compactor.ts';
import { memoryStore } from './memory.ts';

it('one of several compacts each interval, to where the store was an interval ago', async () => {
  const clock = new VirtualClock();
  const retention = { ageMs: Infinity, maxChanges: Infinity, maxBytes: Infinity };
  const store = memoryStore({ clock, log: silentLogger, random: seededRandom(1), retention });
  const put = async () =>
    (await store.transact({ compare: [], then: [{ type: 'put', key: 'a', value: Buffer.from('x') }] })).revision;
  let compactions = 0;
  const counting = Object.assign(Object.create(store) as typeof store, {
    transact: (transaction: Parameters<typeof store.transact>[0]) => store.transact(transaction),
    compact: (revision: number) => {
      compactions++;
      return store.compact(revision);
    },
  });
  const abort = new AbortController();
  const deps = { clock, log: silentLogger, intervalMs: 300_000 };
  const running = [1, 2, 3].map(() => runCompactor(counting, deps, abort.signal));
  await put();
  await clock.advance(300_000);
  assert.equal((await store.status()).compactRevision, 0, 'nothing is older than an interval yet');
  const atFirst = (await store.status()).revision;
  for (let i = 0; i < 10; i++) await put();
  await clock.advance(300_000);
  const { compactRevision } = await store.status();
  assert.ok(compactRevision >= atFirst && compactRevision <= atFirst + 2, `${compactRevision}, ${atFirst}`);
  for (let round = 0; round < 5; round++) {
    await put();
    await clock.advance(300_000);
  }
  assert.equal(compactions, 6);
  const { items } = await store.range({ start: 'compact_rev_key' });
  assert.equal(Number(Buffer.from(items[0]!.value).toString()), (await store.status()).compactRevision);
  abort.abort();
  await Promise.all(running);
  await store.close();
});
