import assert from 'node:assert/strict';
import test from 'node:test';
import { persistentVolumeClaims, pods, statefulSets } from '../../api/generated/resources.ts';
import { type ControllerWorld, withControllers } from '../../testing/controller-world.ts';

const only = { controllers: ['statefulset-controller', 'garbage-collector-controller'] };

const web = (spec: object = {}) => ({
  metadata: { name: 'web', namespace: 'default' },
  spec: {
    serviceName: 'web',
    replicas: 3,
    selector: { matchLabels: { app: 'web' } },
    updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 0, maxUnavailable: 1 } },
    template: { metadata: { labels: { app: 'web', v: '1' } }, spec: { containers: [{ name: 'c' }] } },
    ...spec,
  },
});

const names = async (world: ControllerWorld) =>
  (await world.list(pods))
    .map((pod) => `${pod.metadata.name}:${pod.metadata.labels?.['v']}`)
    .sort((a, b) => (a < b ? -1 : 1));

async function ready(world: ControllerWorld, rounds = 1): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    for (const pod of await world.list(pods)) if (pod.status?.phase !== 'Running') await world.pod(pod, 'Running');
    await world.settle();
  }
}

const change = async (world: ControllerWorld, spec: object) => {
  await world.merge(statefulSets, await world.get(statefulSets, 'web'), { spec });
  await world.settle();
};

test('pods come in order, with names and claims of their own, and go in reverse', () =>
  withControllers(only, async (world) => {
    const volumeClaimTemplates = [{ metadata: { name: 'data' }, spec: { accessModes: ['ReadWriteOnce'] } }];
    await world.create(statefulSets, web({ volumeClaimTemplates }));
    await world.settle();
    assert.deepEqual(await names(world), ['web-0:1']);
    const first = await world.get(pods, 'web-0');
    assert.deepEqual([first.spec.hostname, first.spec.subdomain], ['web-0', 'web']);
    assert.deepEqual(first.spec.volumes, [{ name: 'data', persistentVolumeClaim: { claimName: 'data-web-0' } }]);
    await ready(world, 3);
    assert.deepEqual(await names(world), ['web-0:1', 'web-1:1', 'web-2:1']);
    const { currentRevision, updateRevision, ...status } = (await world.get(statefulSets, 'web')).status;
    assert.equal(currentRevision, updateRevision);
    assert.deepEqual(status, {
      observedGeneration: 1,
      replicas: 3,
      readyReplicas: 3,
      currentReplicas: 3,
      updatedReplicas: 3,
      collisionCount: 0,
      availableReplicas: 3,
    });
    await change(world, { replicas: 1 });
    assert.deepEqual(await names(world), ['web-0:1']);
    assert.equal((await world.list(persistentVolumeClaims)).length, 3);
  }));

test('a rolling update goes down from the highest, waiting for each; then the revision is the current one', () =>
  withControllers(only, async (world) => {
    await world.create(statefulSets, web());
    await world.settle();
    await ready(world, 3);
    await change(world, { template: { metadata: { labels: { v: '2' } } } });
    assert.deepEqual(await names(world), ['web-0:1', 'web-1:1', 'web-2:2']);
    const { status } = await world.get(statefulSets, 'web');
    assert.deepEqual([status.currentReplicas, status.updatedReplicas, status.readyReplicas], [2, 1, 2]);
    await ready(world);
    assert.deepEqual(await names(world), ['web-0:1', 'web-1:2', 'web-2:2']);
    await ready(world, 3);
    const done = (await world.get(statefulSets, 'web')).status;
    assert.deepEqual(await names(world), ['web-0:2', 'web-1:2', 'web-2:2']);
    assert.equal(done.currentRevision, done.updateRevision);
  }));

test('a partition keeps the lower ones, also when they are made anew', () =>
  withControllers(only, async (world) => {
    await world.create(statefulSets, web());
    await world.settle();
    await ready(world, 3);
    await change(world, {
      updateStrategy: { rollingUpdate: { partition: 2 } },
      template: { metadata: { labels: { v: '2' } } },
    });
    await ready(world, 2);
    assert.deepEqual(await names(world), ['web-0:1', 'web-1:1', 'web-2:2']);
    await world.client.resource(pods).delete({ namespace: 'default', name: 'web-0' });
    await world.settle();
    assert.deepEqual(await names(world), ['web-0:1', 'web-1:1', 'web-2:2']);
  }));

test('Parallel makes all at once; failed pods are made anew', () =>
  withControllers(only, async (world) => {
    await world.create(statefulSets, web({ podManagementPolicy: 'Parallel' }));
    await world.settle();
    assert.equal((await names(world)).length, 3);
    const before = await world.get(pods, 'web-1');
    await world.pod(before, 'Failed', false);
    await world.settle();
    assert.notEqual((await world.get(pods, 'web-1')).metadata.uid, before.metadata.uid);
  }));

test('claims go with their pods when scaled down, if told so', () =>
  withControllers(only, async (world) => {
    const volumeClaimTemplates = [{ metadata: { name: 'data' }, spec: {} }];
    const persistentVolumeClaimRetentionPolicy = { whenDeleted: 'Retain', whenScaled: 'Delete' };
    await world.create(
      statefulSets,
      web({ podManagementPolicy: 'Parallel', volumeClaimTemplates, persistentVolumeClaimRetentionPolicy }),
    );
    await world.settle();
    await ready(world);
    await change(world, { replicas: 1 });
    await world.settle(1000);
    assert.deepEqual(
      (await world.list(persistentVolumeClaims)).map(({ metadata }) => metadata.name),
      ['data-web-0'],
    );
  }));
