// Owns the tests of the etcd engine on real etcd: the suite on one and three members, failover, TLS, unreachable clusters.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { systemClock } from '../../base/clock.ts';
import { silentLogger } from '../../base/log.ts';
import { systemRandom } from '../../base/random.ts';
import { StoreUnavailable, prefixRange } from '../store.ts';
import { storeSuite } from '../store.suite.ts';
import { etcdMissing, startEtcd } from './etcd-process.suite.ts';
import { openEtcdStore } from './etcd.ts';
import { answersProgressRightly } from './members.ts';
import type { EtcdStore } from './etcd.ts';

const deps = { clock: systemClock, log: silentLogger, random: systemRandom };
const put = (key: string, value: string) => ({
  compare: [],
  then: [{ type: 'put' as const, key, value: Buffer.from(value) }],
});

/** Waits until the cluster has its leader: the first request may be refused while it is elected. */
async function ready(store: EtcdStore): Promise<void> {
  for (let attempt = 0; ; attempt++)
    try {
      return await store.health();
    } catch (error) {
      if (attempt > 20 || !(error instanceof StoreUnavailable)) throw error;
    }
}

for (const members of [1, 3])
  storeSuite(`etcd of ${members}`, {
    skip: etcdMissing,
    remote: true,
    async open() {
      const cluster = await startEtcd(members);
      const store = await openEtcdStore({ endpoints: cluster.endpoints }, deps);
      await ready(store);
      return { store, elapse: async () => undefined, cleanup: () => cluster.stop() };
    },
  });

describe('etcd of three members that fail', { skip: etcdMissing ?? false, timeout: 120_000 }, () => {
  it('keeps what was acknowledged and goes on watching when each member is killed in turn', async () => {
    const cluster = await startEtcd(3);
    const store = await openEtcdStore({ endpoints: cluster.endpoints, requestTimeoutMs: 8000 }, deps);
    try {
      await ready(store);
      const first = await store.transact(put('/f/begin', 'x'));
      const abort = new AbortController();
      const seen: number[] = [];
      const acknowledged = new Set<number>();
      const watching = (async () => {
        const options = { fromRevision: first.revision, signal: abort.signal };
        for await (const { events } of store.watch(prefixRange('/f/'), options)) {
          for (const { kv } of events) seen.push(kv.modRevision);
          if (events.some(({ kv }) => kv.key === '/f/end')) return;
        }
      })();
      let stop = false;
      const writer = async (name: string) => {
        for (let count = 0; !stop; count++)
          try {
            acknowledged.add((await store.transact(put(`/f/${name}`, String(count)))).revision);
          } catch (error) {
            assert.ok(error instanceof StoreUnavailable, String(error));
          }
      };
      const writers = [writer('a'), writer('b')];
      for (let member = 0; member < 3; member++) {
        const before = acknowledged.size;
        await cluster.kill(member);
        while (acknowledged.size < before + 50) await store.range({ start: '/f/a' }).catch(() => undefined);
        cluster.restart(member);
        while (acknowledged.size < before + 100) await store.range({ start: '/f/a' }).catch(() => undefined);
        await ready(store);
      }
      stop = true;
      await Promise.all(writers);
      await store.transact(put('/f/end', 'x'));
      await watching;
      abort.abort();
      const seenSet = new Set(seen);
      assert.equal(seenSet.size, seen.length, 'no event came twice');
      assert.deepEqual(
        seen,
        [...seen].sort((a, b) => a - b),
        'events came in order',
      );
      for (const revision of acknowledged) assert.ok(seenSet.has(revision), `revision ${revision} was not seen`);
    } finally {
      await store.close();
      await cluster.stop();
    }
  });
});

it('knows which versions of etcd answer progress requests rightly', () => {
  const right = ['3.4.25', '3.4.36', '3.5.8', '3.5.21', '3.6.0', '3.6.0-rc.1', '4.0.0'];
  const wrong = ['3.3.27', '3.4.23', '3.4.24', '3.5.0', '3.5.7', '2.3.8', ''];
  assert.deepEqual([...right, ...wrong].filter(answersProgressRightly), right);
});

it('an unreachable cluster is StoreUnavailable, in time', async (t) => {
  // The store's own timers keep no process alive.
  const alive = setInterval(() => undefined, 1000);
  t.after(() => clearInterval(alive));
  const store = await openEtcdStore({ endpoints: ['http://127.0.0.1:1'], requestTimeoutMs: 300 }, deps);
  await assert.rejects(store.range({ start: 'a' }), StoreUnavailable);
  await assert.rejects(store.transact(put('a', '1')), StoreUnavailable);
  await store.close();
});
