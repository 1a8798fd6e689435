// Owns the seeded simulation of a whole cluster: users at work, faults, restarts; in the end everything must be as it was asked for.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deployments, jobs, nodes, pods, replicaSets } from '../../src/api/generated/resources.ts';
import { isNotFound } from '../../src/api/status-error.ts';
import { isPodActive } from '../../src/api/pod-readiness.ts';
import { type Random, randomInteger, seededRandom } from '../../src/base/random.ts';
import { taskGroup } from '../../src/base/task-group.ts';
import { VirtualClock } from '../../src/base/virtual-clock.ts';
import type { Client } from '../../src/client/client.ts';
import { informerFactory } from '../../src/client/informer-factory.ts';
import { silentLogger } from '../../src/base/log.ts';
import { startCluster } from '../../src/main/cluster.ts';
import { type Faults, faultyTransport } from './faults.ts';

const given = process.env['K8TS_SIM_SEED'];
const seeds = given === undefined ? [1, 2, 3] : [Number(given)];
const namespace = 'default';

const template = (app: string) => ({
  metadata: { labels: { app } },
  spec: { containers: [{ name: 'c', image: 'any', resources: { requests: { cpu: '100m' } } }] },
});

/** What the users asked for last. */
interface Wanted {
  readonly deployments: Map<string, { replicas: number; version: number }>;
  readonly jobs: Map<string, number>;
}

/** One thing that a user does, by chance. */
async function act(client: Client, wanted: Wanted, random: Random): Promise<void> {
  const pick = <T>(list: readonly T[]): T | undefined => list[randomInteger(random, Math.max(1, list.length))];
  const name = pick([...wanted.deployments.keys()]);
  const known = name === undefined ? undefined : wanted.deployments.get(name);
  const patch = (body: object) =>
    client.resource(deployments).patch({ namespace, name: name! }, { type: 'merge', body });
  switch (randomInteger(random, 7)) {
    case 0:
    case 1: {
      const app = `web-${wanted.deployments.size}-${randomInteger(random, 1000)}`;
      const replicas = 1 + randomInteger(random, 6);
      await client.resource(deployments).create({
        metadata: { name: app, namespace },
        spec: { replicas, selector: { matchLabels: { app } }, template: template(app) },
      });
      wanted.deployments.set(app, { replicas, version: 0 });
      return;
    }
    case 2:
      if (!known) return;
      known.replicas = randomInteger(random, 8);
      await patch({ spec: { replicas: known.replicas } });
      return;
    case 3:
      if (!known) return;
      known.version++;
      await patch({ spec: { template: { metadata: { annotations: { version: String(known.version) } } } } });
      return;
    case 4:
      if (!known || wanted.deployments.size < 3) return;
      await client.resource(deployments).delete({ namespace, name: name! });
      wanted.deployments.delete(name!);
      return;
    case 5: {
      const completions = 1 + randomInteger(random, 4);
      const job = `sum-${wanted.jobs.size}`;
      const { spec } = template(job);
      await client.resource(jobs).create({
        metadata: { name: job, namespace },
        spec: { completions, parallelism: 2, template: { spec: { ...spec, restartPolicy: 'Never' } } },
      });
      wanted.jobs.set(job, completions);
      return;
    }
    default: {
      const victim = pick((await client.resource(pods).list({ namespace })).items);
      if (!victim || victim.metadata.labels?.['job-name']) return;
      await client
        .resource(pods)
        .delete({ namespace, name: victim.metadata.name })
        .catch((error: unknown) => {
          if (!isNotFound(error)) throw error;
        });
    }
  }
}

async function check(client: Client, wanted: Wanted): Promise<void> {
  const live = (await client.resource(deployments).list({ namespace })).items;
  assert.deepEqual(live.map(({ metadata }) => metadata.name).toSorted(), [...wanted.deployments.keys()].toSorted());
  const all = (await client.resource(pods).list({ namespace })).items;
  const sets = (await client.resource(replicaSets).list({ namespace })).items;
  for (const [app, { replicas }] of wanted.deployments) {
    const mine = all.filter((pod) => pod.metadata.labels?.['app'] === app && isPodActive(pod));
    assert.equal(mine.length, replicas, `pods of ${app}`);
    const status = live.find(({ metadata }) => metadata.name === app)?.status;
    assert.equal(status?.readyReplicas ?? 0, replicas, `ready replicas of ${app}`);
    assert.equal(status?.updatedReplicas ?? 0, replicas, `updated replicas of ${app}`);
  }
  const owners = new Set([...live, ...sets].map(({ metadata }) => metadata.uid));
  for (const { metadata } of sets)
    assert.ok(owners.has(metadata.ownerReferences?.[0]?.uid ?? ''), `${metadata.name} has lost its deployment`);
  for (const [name, completions] of wanted.jobs) {
    const job = await client.resource(jobs).get({ namespace, name });
    assert.equal(job.status?.succeeded, completions, `completions of ${name}`);
  }
  const known = new Set((await client.resource(nodes).list()).items.map(({ metadata }) => metadata.name));
  for (const { spec, metadata } of all) assert.ok(known.has(spec.nodeName ?? ''), `${metadata.name} is on no node`);
}

for (const seed of seeds)
  test(`seed ${seed}: all is as asked for after faults and restarts`, { timeout: 120_000 }, async (t) => {
    t.diagnostic(`K8TS_SIM_SEED=${seed} repeats this run`);
    const clock = new VirtualClock();
    const random = seededRandom(seed);
    const faults: Faults = { isOn: false, counts: { refused: 0, slow: 0, lost: 0, dropped: 0 } };
    const transport = faultyTransport(faults, { clock, random: seededRandom(seed + 1_000_000) });
    const cluster = await startCluster({ clock, random: seededRandom(seed), node: 'simulated', nodes: 3, transport });
    const watching = taskGroup();
    try {
      const { client } = cluster;
      // A pod's node never changes: seen by a watch without faults.
      const homes = new Map<string, string>();
      const moved: string[] = [];
      const informers = informerFactory(client, { clock, random, logger: silentLogger });
      informers.informer(pods).on({
        updated({ metadata, spec }) {
          const before = homes.get(metadata.uid);
          if (before !== undefined && before !== spec.nodeName) moved.push(metadata.name);
          if (spec.nodeName) homes.set(metadata.uid, spec.nodeName);
        },
      });
      watching.run('informers', (signal) => informers.run(signal));
      const wanted: Wanted = { deployments: new Map(), jobs: new Map() };
      faults.isOn = true;
      let restarts = 0;
      for (let step = 0; step < 60; step++) {
        await act(client, wanted, random);
        if (randomInteger(random, 10) === 0) {
          restarts++;
          cluster.restart(randomInteger(random, 2) === 0 ? 'kube-scheduler' : 'kube-controller-manager');
        }
        for (let turn = 0; turn < 20; turn++) await clock.advance(randomInteger(random, 500));
      }
      faults.isOn = false;
      for (let second = 0; second < 900; second++) await clock.advance(1000);
      await check(client, wanted);
      assert.deepEqual(moved, [], 'pods that changed their node');
      assert.ok(
        Object.values(faults.counts).every((count) => count > 0),
        JSON.stringify(faults.counts),
      );
      t.diagnostic(`${JSON.stringify(faults.counts)}, ${restarts} restarts, ${homes.size} pods`);
    } finally {
      await watching.stop();
      await cluster.stop();
    }
  });
