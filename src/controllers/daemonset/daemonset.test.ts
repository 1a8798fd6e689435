import assert from 'node:assert/strict';
import test from 'node:test';
import { controllerRevisions, daemonSets, nodes, pods } from '../../api/generated/resources.ts';
import { type ControllerWorld, withControllers } from '../../testing/controller-world.ts';
import { targetNode } from './plan.ts';

const only = { controllers: ['daemonset-controller'] };

const manifest = (rollingUpdate: object = {}, more: object = {}) => ({
  metadata: { name: 'ds', namespace: 'default' },
  spec: {
    selector: { matchLabels: { app: 'ds' } },
    updateStrategy: { type: 'RollingUpdate', rollingUpdate },
    revisionHistoryLimit: 10,
    template: { metadata: { labels: { app: 'ds', v: '1' } }, spec: { containers: [{ name: 'c' }], ...more } },
  },
});

const addNode = (world: ControllerWorld, name: string, spec: object = {}, labels: object = {}) =>
  world.create(nodes, { metadata: { name, labels }, spec });

const byNode = async (world: ControllerWorld) =>
  Object.fromEntries((await world.list(pods)).map((pod) => [targetNode(pod), pod.metadata.labels?.['v']]));

const ready = async (world: ControllerWorld) => {
  for (const pod of await world.list(pods)) if (pod.status?.phase !== 'Running') await world.pod(pod, 'Running');
  await world.settle();
};

const update = async (world: ControllerWorld, v: string) => {
  await world.merge(daemonSets, await world.get(daemonSets, 'ds'), {
    spec: { template: { metadata: { labels: { v } } } },
  });
  await world.settle();
};

test('one pod on each node that fits; nodes come and go', () =>
  withControllers(only, async (world) => {
    await addNode(world, 'a', {}, { disk: 'ssd' });
    await addNode(world, 'b');
    await addNode(world, 'tainted', { taints: [{ key: 'x', effect: 'NoSchedule' }] }, { disk: 'ssd' });
    await addNode(
      world,
      'pressed',
      { taints: [{ key: 'node.kubernetes.io/disk-pressure', effect: 'NoSchedule' }] },
      { disk: 'ssd' },
    );
    await world.create(daemonSets, manifest({}, { nodeSelector: { disk: 'ssd' } }));
    await world.settle();
    assert.deepEqual(
      Object.keys(await byNode(world)).sort((a, b) => (a < b ? -1 : 1)),
      ['a', 'pressed'],
    );
    await ready(world);
    const { status } = await world.get(daemonSets, 'ds');
    assert.deepEqual(status, {
      currentNumberScheduled: 2,
      numberMisscheduled: 0,
      desiredNumberScheduled: 2,
      numberReady: 2,
      observedGeneration: 1,
      updatedNumberScheduled: 2,
      numberAvailable: 2,
    });
    await world.merge(nodes, await world.get(nodes, 'a'), { metadata: { labels: { disk: 'hdd' } } });
    await addNode(world, 'c', {}, { disk: 'ssd' });
    await world.settle();
    assert.deepEqual(
      Object.keys(await byNode(world)).sort((a, b) => (a < b ? -1 : 1)),
      ['c', 'pressed'],
    );
  }));

test('a rolling update replaces as many as may be unavailable; going back reuses the revision', () =>
  withControllers(only, async (world) => {
    for (const name of ['a', 'b', 'c']) await addNode(world, name);
    await world.create(daemonSets, manifest({ maxUnavailable: 1, maxSurge: 0 }));
    await world.settle();
    await ready(world);
    const versions = async () => Object.values(await byNode(world)).join('');
    await update(world, '2');
    assert.equal((await versions()).split('2').length - 1, 1);
    await ready(world);
    await ready(world);
    await ready(world);
    assert.equal(await versions(), '222');
    await update(world, '1');
    for (let i = 0; i < 4; i++) await ready(world);
    assert.equal(await versions(), '111');
    const revisions = (await world.list(controllerRevisions)).map(({ revision }) => revision);
    assert.deepEqual(
      revisions.sort((a, b) => a - b),
      [2, 3],
    );
  }));

test('with surge the new pod is there before the old one goes', () =>
  withControllers(only, async (world) => {
    await addNode(world, 'a');
    await world.create(daemonSets, manifest({ maxUnavailable: 0, maxSurge: 1 }));
    await world.settle();
    await ready(world);
    await update(world, '2');
    assert.equal((await world.list(pods)).length, 2);
    await ready(world);
    assert.deepEqual(await byNode(world), { a: '2' });
  }));

test('failed pods are replaced, each time later', () =>
  withControllers(only, async (world) => {
    await addNode(world, 'a');
    await world.create(daemonSets, manifest());
    await world.settle();
    const fail = async () => {
      await world.pod((await world.list(pods))[0]!, 'Failed', false);
      await world.settle();
      return (await world.list(pods))[0]?.status?.phase;
    };
    assert.equal(await fail(), undefined);
    assert.equal(await fail(), 'Failed');
    await world.settle(1000);
    assert.equal((await world.list(pods))[0]?.status?.phase, undefined);
  }));
