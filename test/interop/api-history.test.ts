// Owns running the check of histories over API servers. K8TS_SEED=n runs that seed only, K8TS_SEEDS=n so many; test/soak runs more.
import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log.ts';
import { systemRandom } from '../../src/base/random.ts';
import { isStatusError } from '../../src/api/status-error.ts';
import { startTestServer } from '../../src/server/start.suite.ts';
import { memoryStore } from '../../src/store/memory.ts';
import { prefixRange } from '../../src/store/store.ts';
import type { Store } from '../../src/store/store.ts';
import { checkApiHistory, type ServersUnderTest } from './api-history.ts';
import { killedServers, runApiSeeds, seedsOf } from './api-history-runs.ts';
import type { Answer, WatchedEvent } from './many-servers.ts';

/** Three servers of this process on one store; what lies between a server and the store may lie. */
async function threeServers(
  between: (store: Store, server: number) => Store = (store) => store,
): Promise<ServersUnderTest> {
  const store = memoryStore({ clock: systemClock, random: systemRandom, log: silentLogger });
  const servers = await Promise.all(
    [0, 1, 2].map((server) => startTestServer({}, between(store, server), { exclusiveStore: false })),
  );
  const query = (path: string) => {
    const [head = '', tail] = path.split('?');
    return { path: head, ...(tail !== undefined && { query: new URLSearchParams(tail) }) };
  };
  return {
    count: 3,
    store,
    async ask(server, method, path, body) {
      try {
        const request = { method: method as 'GET', ...query(path), ...(body && { body }) };
        return { status: 200, body: (await servers[server]!.admin.call(request)) as Answer['body'] };
      } catch (error) {
        if (!isStatusError(error)) throw error;
        return { status: error.code, body: error.status as unknown as Answer['body'] };
      }
    },
    async *watch(server, path, signal) {
      for await (const event of servers[server]!.admin.watch({ method: 'GET', ...query(path), signal }))
        yield event as WatchedEvent;
    },
    async close() {
      await Promise.all(servers.map((server) => server.stop()));
      await store.close();
    },
  };
}

it('three servers on one store: linearizable, watches complete and resumable through any of them', {
  timeout: 120_000,
}, async (t) => {
  await runApiSeeds(t, seedsOf(4), () => threeServers(), { clients: 8, operations: 400, disturbances: 0 });
});

/** Each breaks one promise of a server that shares its store, once it has started. */
const lies: Readonly<Record<string, (store: Store, lies: () => boolean) => Partial<Store>>> = {
  'reads without asking how new its caches are': (store, lies) => ({
    async range(range, options) {
      const result = await store.range(range, options);
      return lies() && options?.countOnly ? { ...result, revision: 1 } : result;
    },
    async *watch(range, options) {
      for await (const batch of store.watch(range, options)) {
        if (lies()) await delay(20);
        yield batch;
      }
    },
  }),
  'loses changes of others': (store, lies) => ({
    async *watch(range, options) {
      let count = 0;
      for await (const { revision, events } of store.watch(range, options)) {
        const kept = events.filter(({ kv }) => !lies() || !kv.key.includes('/kube-public/h') || ++count % 20 !== 0);
        yield { revision, events: kept };
      }
    },
  }),
  'forgets to compare versions': (store, lies) => ({
    transact({ compare, ...rest }) {
      const kept = compare.filter(({ target, key }) => target !== 'modRevision' || !key.includes('/kube-public/h'));
      return store.transact({ compare: lies() ? kept : compare, ...rest });
    },
  }),
};

const calls = ['range', 'transact', 'watch', 'requestProgress', 'compact', 'grantLease', 'keepLeaseAlive'] as const;
const moreCalls = ['revokeLease', 'lease', 'leases', 'status', 'close'] as const;

for (const [lie, make] of Object.entries(lies))
  it(`the check notices a server that ${lie}`, { timeout: 60_000 }, async () => {
    let isLying = false;
    const lying = (store: Store, server: number): Store => {
      if (server !== 1) return store;
      const bound = Object.fromEntries(
        [...calls, ...moreCalls].map((name) => [name, (store[name] as (...given: unknown[]) => unknown).bind(store)]),
      ) as unknown as Store;
      return { ...bound, ...make(store, () => isLying) };
    };
    const open = async (): Promise<ServersUnderTest> => {
      const servers = await threeServers(lying);
      isLying = true;
      return servers;
    };
    await assert.rejects(
      checkApiHistory(open, { seed: 1, clients: 8, operations: 800, disturbances: 0 }),
      (error) => error instanceof assert.AssertionError,
    );
  });

it('two processes on `k8ts etcd`: the same through kills, pauses, lost connections and compactions', {
  timeout: 180_000,
}, async (t: TestContext) => {
  await runApiSeeds(t, seedsOf(1), killedServers({ workers: 1 }), { clients: 8, operations: 350, disturbances: 4 });
});

it('two workers behind one port: the same', { timeout: 180_000 }, async (t: TestContext) => {
  await runApiSeeds(t, seedsOf(1), killedServers({ workers: 2 }), { clients: 8, operations: 350, disturbances: 4 });
});

it('the order of truth is not empty', async () => {
  const servers = await threeServers();
  try {
    const { status } = await servers.ask(0, 'POST', '/api/v1/namespaces/kube-public/configmaps', {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'h0' },
    });
    assert.equal(status, 200);
    assert.equal((await servers.store.range(prefixRange('/registry/configmaps/kube-public/h'))).count, 1);
  } finally {
    await servers.close();
  }
});
