// Owns the tests of shared leases.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { silentLogger } from '../base/log.ts';
import { seededRandom } from '../base/random.ts';
import { VirtualClock } from '../base/virtual-clock.ts';
import { leasePool } from './lease-pool.ts';
import { memoryStore } from './memory.ts';
import { StoreUnavailable } from './store.ts';

it('shares a lease for a while, for some keys, for each time to live; it never ends early', async () => {
  const clock = new VirtualClock();
  const store = memoryStore({ clock, log: silentLogger, random: seededRandom(1) });
  const pool = leasePool(store, clock, { reuseSeconds: 60, maxKeys: 3 });
  const [a, b, c, d] = await Promise.all([3600, 3600, 3600, 3600].map((ttl) => pool.leaseFor(ttl)));
  assert.deepEqual([a === b, b === c, c === d], [true, true, false]);
  assert.notEqual(await pool.leaseFor(10), d);
  await clock.advance(59_000);
  assert.equal(await pool.leaseFor(3600), d);
  assert.ok((await store.lease(d!))!.remainingSeconds >= 3600);
  await clock.advance(1000);
  assert.notEqual(await pool.leaseFor(3600), d);
  await clock.advance(3_600_000);
  assert.equal(await store.lease(a!), undefined);
  await store.close();
});

it('asks again after a failure', async () => {
  const clock = new VirtualClock();
  const store = memoryStore({ clock, log: silentLogger, random: seededRandom(1) });
  let fail = true;
  const flaky = Object.assign(Object.create(store) as typeof store, {
    grantLease: (ttl: number) => (fail ? Promise.reject(new StoreUnavailable('down')) : store.grantLease(ttl)),
  });
  const pool = leasePool(flaky, clock);
  await assert.rejects(pool.leaseFor(10), StoreUnavailable);
  fail = false;
  assert.ok((await pool.leaseFor(10)) > 0);
  await store.close();
});
