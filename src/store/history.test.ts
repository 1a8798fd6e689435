// Owns running the check of histories on every engine. K8TS_SEED=n runs that seed only, K8TS_SEEDS=n so many.
import assert from 'node:assert/strict';
import { Duplex } from 'node:stream';
import { it } from 'node:test';
import type { TestContext } from 'node:test';
import { systemClock } from '../base/clock.ts';
import { silentLogger } from '../base/log.ts';
import { randomInteger, systemRandom } from '../base/random.ts';
import type { Random } from '../base/random.ts';
import { VirtualClock } from '../base/virtual-clock.ts';
import { openEmbeddedStore } from './embedded/embedded.ts';
import { SimulatedDisk } from './embedded/simulated-disk.ts';
import { etcdMissing, startEtcd } from './etcd/etcd-process.suite.ts';
import { openEtcdStore } from './etcd/etcd.ts';
import { serveEtcd } from './face/face.ts';
import { handedOn } from './hand-on.ts';
import { checkHistory } from './history.suite.ts';
import type { DisturbedStore, HistoryOptions } from './history.suite.ts';
import { memoryStore } from './memory.ts';
import { relayedStore } from './relay/relayed-store.ts';
import { serveStore } from './relay/serve.ts';
import type { RangeResult, Store } from './store.ts';

const only = process.env['K8TS_SEED'];
const seedsOf = (count: number): number[] =>
  only ? [Number(only)] : Array.from({ length: Number(process.env['K8TS_SEEDS'] ?? count) }, (_, at) => at + 1);

async function runSeeds(
  t: TestContext,
  seeds: readonly number[],
  open: (random: Random) => Promise<DisturbedStore>,
  options: Omit<HistoryOptions, 'seed'>,
): Promise<void> {
  const total = { acknowledged: 0, unknown: 0, reads: 0, watches: 0, events: 0 };
  for (const seed of seeds)
    try {
      const report = await checkHistory(open, { ...options, seed });
      for (const key of Object.keys(total) as (keyof typeof total)[]) total[key] += report[key];
    } catch (error) {
      throw new Error(`seed ${seed}: ${(error as Error).stack}`, { cause: error });
    }
  assert.ok(total.acknowledged > 0 && total.reads > 0 && total.events > 0 && total.watches > 0);
  t.diagnostic(`seeds ${seeds[0]} to ${seeds.at(-1)}: ${JSON.stringify(total)}`);
}

it('memory: histories are linearizable, watches complete', async (t) => {
  const open = async (random: Random): Promise<DisturbedStore> => {
    const store = memoryStore({ clock: new VirtualClock(), log: silentLogger, random });
    return { store: () => store, close: () => store.close() };
  };
  await runSeeds(t, seedsOf(30), open, { clients: 8, operations: 400, disturbances: 0 });
});

/** Each breaks one promise of a store. */
const lies: Readonly<Record<string, (store: Store) => Partial<Store>>> = {
  'reads the past as the present': (store) => {
    let late: Promise<RangeResult> | undefined;
    return {
      range(range, options) {
        const now = store.range(range, options);
        if (options?.revision) return now;
        const answer = late ?? now;
        late = now;
        return answer;
      },
    };
  },
  'acknowledges what it forgets': (store) => {
    let count = 0;
    return {
      async transact(transaction) {
        if (++count % 50 !== 0) return store.transact(transaction);
        const { revision } = await store.status();
        return { succeeded: true, revision: revision + 1, results: [{ type: 'put' }] };
      },
    };
  },
  'writes twice': (store) => {
    let count = 0;
    return {
      async transact(transaction) {
        const result = await store.transact(transaction);
        if (++count % 50 === 0) await store.transact(transaction);
        return result;
      },
    };
  },
  'loses an event': (store) => {
    let count = 0;
    return {
      async *watch(range, options) {
        for await (const { revision, events } of store.watch(range, options))
          yield { revision, events: events.filter(() => ++count % 100 !== 0) };
      },
    };
  },
  'repeats an event': (store) => ({
    async *watch(range, options) {
      let repeat = 0;
      for await (const batch of store.watch(range, options)) {
        yield batch;
        if (++repeat % 20 === 0) yield batch;
      }
    },
  }),
};

for (const [lie, make] of Object.entries(lies))
  it(`the check notices a store that ${lie}`, async () => {
    const open = async (random: Random): Promise<DisturbedStore> => {
      const store = memoryStore({ clock: new VirtualClock(), log: silentLogger, random });
      const lying = { ...handedOn(store), ...make(store) };
      return { store: () => lying, close: () => store.close() };
    };
    await assert.rejects(
      checkHistory(open, { seed: 1, clients: 8, operations: 600, disturbances: 0 }),
      (error) => error instanceof assert.AssertionError,
    );
  });

it('embedded: histories are linearizable, watches complete, through losses of power', async (t) => {
  const open = async (random: Random): Promise<DisturbedStore> => {
    const disk = new SimulatedDisk(random);
    const sizes = { segmentBytes: 4000, reclaimBytes: 2000, cacheBytes: 1000 };
    const start = () =>
      openEmbeddedStore('simulated', {
        clock: new VirtualClock(),
        log: silentLogger,
        random,
        files: disk.files(),
        ...sizes,
      });
    let store = await start();
    return {
      store: () => store,
      async disturb() {
        disk.losePower();
        const dead = store;
        store = await start();
        await dead.close().catch(() => undefined);
      },
      close: () => store.close(),
    };
  };
  await runSeeds(t, seedsOf(40), open, { clients: 8, operations: 400, disturbances: 5 });
});

it('relayed to two processes: histories are linearizable, watches complete, through lost streams', async (t) => {
  const alive = setInterval(() => undefined, 1000);
  t.after(() => clearInterval(alive));
  const open = async (random: Random): Promise<DisturbedStore> => {
    const behind = memoryStore({ clock: new VirtualClock(), log: silentLogger, random });
    const user = () => {
      const [ours, theirs] = duplexPair();
      return { ours, served: serveStore(behind, ours), store: relayedStore(theirs) };
    };
    const users = [user(), user()];
    return {
      // Both at once: what one has acknowledged the other must read.
      store: () => users[randomInteger(random, 2)]!.store,
      async disturb() {
        const at = randomInteger(random, 2);
        const before = users[at]!;
        before.ours.destroy();
        users[at] = user();
        await before.served;
      },
      async close() {
        for (const one of users) await one.store.close();
        await behind.close();
      },
    };
  };
  await runSeeds(t, seedsOf(20), open, { clients: 8, operations: 400, disturbances: 5 });
});

/** Two ends of a stream within this process, which may cut it anywhere. */
function duplexPair(): [Duplex, Duplex] {
  const sides: Duplex[] = [];
  const side = (at: number): Duplex =>
    new Duplex({
      read: () => undefined,
      write(chunk: Buffer, _encoding, done) {
        const other = sides[1 - at]!;
        if (!other.destroyed)
          for (let cut = 0; cut < chunk.length; cut += 999) other.push(chunk.subarray(cut, cut + 999));
        setImmediate(done);
      },
      destroy(error, done) {
        setImmediate(() => sides[1 - at]!.destroy());
        done(error);
      },
    });
  sides.push(side(0), side(1));
  return [sides[0]!, sides[1]!];
}

it('served as etcd: histories are linearizable, watches complete, through lost connections', async (t) => {
  const alive = setInterval(() => undefined, 1000);
  t.after(() => clearInterval(alive));
  const deps = { clock: systemClock, log: silentLogger, random: systemRandom };
  const open = async (): Promise<DisturbedStore> => {
    const behind = memoryStore(deps);
    let face = await serveEtcd(behind, { address: '127.0.0.1:0' }, deps);
    const { endpoint } = face;
    const store = await openEtcdStore({ endpoints: [endpoint] }, deps);
    return {
      store: () => store,
      async disturb() {
        face.close();
        face = await serveEtcd(behind, { address: endpoint.slice('http://'.length) }, deps);
      },
      async close() {
        await store.close();
        face.close();
        await behind.close();
      },
    };
  };
  await runSeeds(t, seedsOf(3), open, { clients: 8, operations: 400, disturbances: 3 });
});

it('etcd of three: histories are linearizable, watches complete, through kills and pauses', {
  skip: etcdMissing ?? false,
}, async (t) => {
  const alive = setInterval(() => undefined, 1000);
  t.after(() => clearInterval(alive));
  const deps = { clock: systemClock, log: silentLogger, random: systemRandom };
  const open = async (): Promise<DisturbedStore> => {
    const cluster = await startEtcd(3);
    const store = await openEtcdStore({ endpoints: cluster.endpoints, requestTimeoutMs: 5000 }, deps);
    for (let attempt = 0; attempt < 20; attempt++)
      if (
        await store.health().then(
          () => true,
          () => false,
        )
      )
        break;
    let mend = (): void => undefined;
    return {
      store: () => store,
      async disturb(random) {
        mend();
        const member = randomInteger(random, 3);
        if (random.next() < 0.5) {
          await cluster.kill(member);
          mend = () => cluster.restart(member);
        } else {
          cluster.pause(member);
          mend = () => cluster.resume(member);
        }
      },
      async close() {
        mend();
        await store.close();
        await cluster.stop();
      },
    };
  };
  await runSeeds(t, seedsOf(1), open, { clients: 8, operations: 1500, disturbances: 4 });
});
