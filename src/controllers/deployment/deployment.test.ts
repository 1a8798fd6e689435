import assert from 'node:assert/strict';
import test from 'node:test';
import { deployments, events, pods, replicaSets } from '../../api/generated/resources.ts';
import { type ControllerWorld, withControllers } from '../../testing/controller-world.ts';

const only = { controllers: ['deployment-controller', 'replicaset-controller'] };

const web = (
  replicas: number,
  strategy: object = { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 1 } },
) => ({
  metadata: { name: 'web', namespace: 'default' },
  spec: {
    replicas,
    strategy,
    progressDeadlineSeconds: 600,
    revisionHistoryLimit: 1,
    selector: { matchLabels: { app: 'web' } },
    template: { metadata: { labels: { app: 'web', v: '1' } }, spec: { containers: [{ name: 'c', image: 'i' }] } },
  },
});

async function makeReady(world: ControllerWorld): Promise<void> {
  for (const pod of await world.list(pods)) if (pod.status?.phase !== 'Running') await world.pod(pod, 'Running');
  await world.settle();
}

async function sizes(world: ControllerWorld): Promise<Record<string, number>> {
  const sets = await world.list(replicaSets);
  return Object.fromEntries(sets.map((set) => [set.spec.template?.metadata?.labels?.['v'], set.spec.replicas]));
}

const setVersion = async (world: ControllerWorld, v: string) => {
  const deployment = await world.get(deployments, 'web');
  await world.merge(deployments, deployment, { spec: { template: { metadata: { labels: { v } } } } });
  await world.settle();
};

test('a deployment gets its pods and the status upstream gives it', () =>
  withControllers(only, async (world) => {
    await world.create(deployments, web(3));
    await world.settle();
    assert.equal((await world.list(pods)).length, 3);
    await makeReady(world);
    const { status, metadata } = await world.get(deployments, 'web');
    const conditions = status.conditions?.map(({ type, status: value, reason }) => [type, value, reason]);
    assert.deepEqual(
      { ...status, conditions },
      {
        observedGeneration: 1,
        replicas: 3,
        updatedReplicas: 3,
        readyReplicas: 3,
        availableReplicas: 3,
        terminatingReplicas: 0,
        conditions: [
          ['Available', 'True', 'MinimumReplicasAvailable'],
          ['Progressing', 'True', 'NewReplicaSetAvailable'],
        ],
      },
    );
    assert.equal(metadata.annotations?.['deployment.kubernetes.io/revision'], '1');
    const messages = (await world.list(events)).map((event) => event.message?.replace(/web-\S+/, 'X'));
    assert.ok(messages.includes('Scaled up replica set X from 0 to 3'), JSON.stringify(messages));
  }));

test('a rolling update keeps to surge and unavailable: 4 desired, then 3+2, 2+3, 1+4, 0+4', () =>
  withControllers(only, async (world) => {
    await world.create(deployments, web(4));
    await world.settle();
    await makeReady(world);
    await setVersion(world, '2');
    assert.deepEqual(await sizes(world), { 1: 3, 2: 2 });
    const ready = async () => {
      const next = (await world.list(pods)).find((pod) => pod.metadata.labels?.['v'] === '2' && !pod.status?.phase);
      if (next) await world.pod(next, 'Running');
      await world.settle();
    };
    await ready();
    assert.deepEqual(await sizes(world), { 1: 2, 2: 3 });
    await ready();
    assert.deepEqual(await sizes(world), { 1: 1, 2: 4 });
    await ready();
    assert.deepEqual(await sizes(world), { 1: 0, 2: 4 });
    await ready();
    await ready();
    const deployment = await world.get(deployments, 'web');
    assert.equal(deployment.status.availableReplicas, 4);
    assert.equal(deployment.metadata.annotations?.['deployment.kubernetes.io/revision'], '2');
  }));

test('going back to an old template reuses its set with a new revision; history is cut', () =>
  withControllers(only, async (world) => {
    await world.create(deployments, web(1));
    for (const v of ['2', '3', '2']) {
      await world.settle();
      await makeReady(world);
      await setVersion(world, v);
    }
    for (let i = 0; i < 4; i++) await makeReady(world);
    const sets = await world.list(replicaSets);
    const current = sets.find((set) => set.spec.template?.metadata?.labels?.['v'] === '2');
    assert.equal(current?.metadata.annotations?.['deployment.kubernetes.io/revision'], '4');
    assert.equal(current?.metadata.annotations?.['deployment.kubernetes.io/revision-history'], '2');
    assert.deepEqual(await sizes(world), { 2: 1, 3: 0 });
  }));

test('Recreate waits for the last old pod', () =>
  withControllers(only, async (world) => {
    await world.create(deployments, web(2, { type: 'Recreate' }));
    await world.settle();
    await makeReady(world);
    for (const pod of await world.list(pods)) await world.merge(pods, pod, { spec: { nodeName: 'n' } });
    await setVersion(world, '2');
    assert.deepEqual(await sizes(world), { 1: 0 });
    const old = await world.list(pods);
    assert.ok(old.every((pod) => pod.metadata.deletionTimestamp));
    for (const pod of old)
      await world.client
        .resource(pods)
        .delete({ namespace: 'default', name: pod.metadata.name }, { gracePeriodSeconds: 0 });
    await world.settle();
    assert.deepEqual(await sizes(world), { 1: 0, 2: 2 });
  }));

test('a paused deployment does not roll but scales; the deadline is noticed', () =>
  withControllers(only, async (world) => {
    await world.create(deployments, web(2));
    await world.settle();
    await makeReady(world);
    const before = await world.get(deployments, 'web');
    await world.merge(deployments, before, {
      spec: { paused: true, replicas: 3, template: { metadata: { labels: { v: '2' } } } },
    });
    await world.settle();
    assert.deepEqual(await sizes(world), { 1: 3 });
    await world.merge(deployments, before, { spec: { paused: false } });
    await world.settle();
    assert.deepEqual(await sizes(world), { 1: 2, 2: 2 });
    await world.settle(700_000);
    const { status } = await world.get(deployments, 'web');
    assert.deepEqual(
      status.conditions
        ?.filter(({ type }) => type === 'Progressing')
        .map(({ status: value, reason }) => [value, reason]),
      [['False', 'ProgressDeadlineExceeded']],
    );
  }));

test('a name taken by another template is a collision: the next hash is used', () =>
  withControllers(only, async (world) => {
    await world.create(deployments, web(1));
    await world.settle();
    const [set] = await world.list(replicaSets);
    await world.client.resource(deployments).delete({ namespace: 'default', name: 'web' });
    await world.merge(replicaSets, set!, { metadata: { ownerReferences: null, labels: { app: 'other' } } });
    await world.settle();
    await world.create(deployments, web(1));
    await world.settle(100);
    assert.equal((await world.get(deployments, 'web')).status.collisionCount, 1);
    assert.equal((await world.list(replicaSets)).length, 2);
  }));
