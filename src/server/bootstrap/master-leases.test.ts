// Tests that servers which are there are listed, and those that went or died are not.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { silentLogger } from '../../base/log.ts';
import { seededRandom } from '../../base/random.ts';
import { VirtualClock } from '../../base/virtual-clock.ts';
import { memoryStore } from '../../store/memory.ts';
import { masterLeases } from './master-leases.ts';

it('lists the servers that are there, not those that went or died', async () => {
  const clock = new VirtualClock();
  const store = memoryStore({ clock, random: seededRandom(1), log: silentLogger });
  const leases = masterLeases(store);
  assert.deepEqual(await leases.announce('10.0.0.2'), ['10.0.0.2']);
  assert.deepEqual(await leases.announce('10.0.0.1'), ['10.0.0.1', '10.0.0.2']);
  await clock.advance(10_000);
  assert.deepEqual(await leases.announce('10.0.0.1'), ['10.0.0.1', '10.0.0.2']);
  await clock.advance(10_000);
  assert.deepEqual(await leases.announce('10.0.0.1'), ['10.0.0.1'], 'the silent one is gone');
  await leases.withdraw('10.0.0.1');
  assert.deepEqual(await leases.announce('10.0.0.3'), ['10.0.0.3']);
  await store.close();
});
