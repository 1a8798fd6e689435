// Owns the long run of histories over API servers. K8TS_SEED=n runs that seed only, K8TS_SEEDS=n so many.
import { it } from 'node:test';
import { etcdMissing } from '../../src/store/etcd/etcd-process.suite.ts';
import { killedServers, runApiSeeds, seedsOf } from '../interop/api-history-runs.ts';

const options = { clients: 10, operations: 3000, disturbances: 15 };

it('two processes on `k8ts etcd`', { timeout: 3_600_000 }, async (t) => {
  await runApiSeeds(t, seedsOf(10), killedServers({ workers: 1 }), options);
});

it('three workers behind one port', { timeout: 3_600_000 }, async (t) => {
  await runApiSeeds(t, seedsOf(10), killedServers({ workers: 3 }), options);
});

it('two processes on an etcd of three', { timeout: 3_600_000, skip: etcdMissing ?? false }, async (t) => {
  await runApiSeeds(t, seedsOf(10), killedServers({ workers: 1, members: 3 }), options);
});
