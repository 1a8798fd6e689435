// Owns the tests of events that vanish by themselves (--event-ttl), on a virtual clock and over every engine of this process, and on etcd in real time.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { sleep, systemClock } from '../base/clock.ts';
import { silentLogger } from '../base/log.ts';
import { systemRandom } from '../base/random.ts';
import { deferred } from '../base/task-group.ts';
import { VirtualClock } from '../base/virtual-clock.ts';
import { etcdMissing, startEtcd } from '../store/etcd/etcd-process.suite.ts';
import { openEtcdStore } from '../store/etcd/etcd.ts';
import { openEmbeddedStore } from '../store/embedded/embedded.ts';
import { memoryStore } from '../store/memory.ts';
import type { Store } from '../store/store.ts';
import { startTestServer } from './start.suite.ts';

const path = '/api/v1/namespaces/default/events';

const eventNamed = (name: string) => ({
  apiVersion: 'v1',
  kind: 'Event',
  metadata: { name, namespace: 'default' },
  involvedObject: { kind: 'Pod', namespace: 'default', name: 'a' },
  reason: 'Started',
});

type Engine = (clock: VirtualClock, directory: string) => Promise<Store>;

const engines: Readonly<Record<string, Engine>> = {
  memory: async (clock) => memoryStore({ clock, random: systemRandom, log: silentLogger }),
  embedded: (clock, directory) => openEmbeddedStore(directory, { clock, random: systemRandom, log: silentLogger }),
};

for (const [engine, open] of Object.entries(engines))
  test(`${engine}: events go after their time, a write renews it, leases are shared, watchers are told`, async () => {
    const clock = new VirtualClock();
    const directory = mkdtempSync(join(tmpdir(), 'k8ts-events-'));
    const store = await open(clock, directory);
    let grants = 0;
    const grant = store.grantLease.bind(store);
    Object.assign(store, { grantLease: (ttl: number, id?: number) => (grants++, grant(ttl, id)) });
    const running = await startTestServer({ eventTtlSeconds: 600 }, store, { clock });
    const abort = new AbortController();
    try {
      const { admin } = running;
      const names = async (): Promise<string[]> => {
        const list = (await admin.call({ method: 'GET', path })) as { items: { metadata: { name: string } }[] };
        return list.items.map(({ metadata }) => metadata.name);
      };
      const deleted: string[] = [];
      let wake = deferred();
      // The disk of the embedded engine takes real time.
      const toldOf = async (count: number): Promise<void> => {
        while (deleted.length < count) await wake.promise;
      };
      const told = (async () => {
        const query = new URLSearchParams({ watch: '1', timeoutSeconds: '7200' });
        for await (const { type, object } of admin.watch({ method: 'GET', path, query, signal: abort.signal }))
          if (type === 'DELETED') {
            deleted.push((object as { metadata: { name: string } }).metadata.name);
            wake.resolve();
            wake = deferred();
          }
      })().catch(() => undefined);
      for (const name of ['a', 'b', 'c']) await admin.call({ method: 'POST', path, body: eventNamed(name) });
      assert.equal(grants, 1);
      // A twentieth of the time: the lease is not given out any more.
      await clock.advance(31_000);
      await admin.call({ method: 'POST', path, body: eventNamed('d') });
      assert.equal(grants, 2);
      await clock.advance(500_000);
      assert.deepEqual(await names(), ['a', 'b', 'c', 'd']);
      const body = { ...eventNamed('b'), count: 2 };
      await admin.call({ method: 'PUT', path: `${path}/b`, body });
      await clock.advance(100_000);
      await toldOf(2);
      assert.deepEqual(await names(), ['b', 'd']);
      await clock.advance(31_000);
      await toldOf(3);
      assert.deepEqual(await names(), ['b']);
      await clock.advance(600_000);
      await toldOf(4);
      assert.deepEqual(await names(), []);
      assert.deepEqual(deleted, ['a', 'c', 'd', 'b']);
      abort.abort();
      await told;
    } finally {
      abort.abort();
      await running.stop();
      await store.close();
      rmSync(directory, { recursive: true, force: true });
    }
  });

/** etcd's clock is its own: the shortest times that it knows. */
test('etcd: events go after their time, a write renews it, watchers are told', {
  skip: etcdMissing ?? false,
  timeout: 60_000,
}, async () => {
  const clock = systemClock;
  const cluster = await startEtcd(1);
  const store = await openEtcdStore(
    { endpoints: cluster.endpoints },
    { clock, random: systemRandom, log: silentLogger },
  );
  // Until it has a leader it knows no revision.
  for (let ready = false; !ready; )
    ready = await store.range({ start: '/' }).then(
      () => true,
      () => false,
    );
  const running = await startTestServer({ eventTtlSeconds: 2 }, store, { exclusiveStore: false });
  const abort = new AbortController();
  try {
    const { admin } = running;
    const gone: { readonly name: string; readonly atMs: number }[] = [];
    const query = new URLSearchParams({ watch: '1' });
    const events = admin.watch({ method: 'GET', path, query, signal: abort.signal })[Symbol.asyncIterator]();
    for (const name of ['first', 'renewed']) await admin.call({ method: 'POST', path, body: eventNamed(name) });
    const leaseOf = async (name: string): Promise<number> =>
      (await store.range({ start: `/registry/events/default/${name}` })).items[0]!.lease;
    const before = await leaseOf('renewed');
    assert.notEqual(before, 0);
    // Half of its time: what is measured is time itself.
    await sleep(clock, 1200);
    await admin.call({ method: 'PUT', path: `${path}/renewed`, body: { ...eventNamed('renewed'), count: 2 } });
    const renewedMs = clock.monotonic();
    assert.notEqual(await leaseOf('renewed'), before);
    while (gone.length < 2) {
      const { value } = (await events.next()) as { value: { type: string; object: { metadata: { name: string } } } };
      if (value.type === 'DELETED') gone.push({ name: value.object.metadata.name, atMs: clock.monotonic() });
    }
    assert.deepEqual(
      gone.map(({ name }) => name),
      ['first', 'renewed'],
    );
    assert.ok(gone[1]!.atMs - renewedMs >= 1500, `${gone[1]!.atMs - renewedMs} ms after the last write`);
    const list = (await admin.call({ method: 'GET', path })) as { items: unknown[] };
    assert.deepEqual(list.items, []);
  } finally {
    abort.abort();
    await running.stop();
    await store.close();
    await cluster.stop();
  }
});

test('--event-ttl=0: they stay', async () => {
  const clock = new VirtualClock();
  const store = memoryStore({ clock, random: systemRandom, log: silentLogger });
  const running = await startTestServer({ eventTtlSeconds: 0 }, store, { clock });
  try {
    await running.admin.call({ method: 'POST', path, body: eventNamed('a') });
    await clock.advance(86_400_000);
    await running.admin.call({ method: 'GET', path: `${path}/a` });
  } finally {
    await running.stop();
    await store.close();
  }
});
