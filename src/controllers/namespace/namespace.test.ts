import assert from 'node:assert/strict';
import test from 'node:test';
import { configMaps, namespaces, pods, serviceAccounts } from '../../api/generated/resources.ts';
import { isNotFound } from '../../api/status-error.ts';
import { withControllers } from '../../testing/controller-world.ts';

test('an active namespace gets its account and the CA; both are put right', () =>
  withControllers({ controllers: ['*'], rootCaPem: 'PEM' }, async (world) => {
    await world.create(namespaces, { metadata: { name: 'a' } });
    await world.settle();
    assert.equal((await world.list(serviceAccounts, 'a'))[0]?.metadata.name, 'default');
    const map = await world.get(configMaps, 'kube-root-ca.crt', 'a');
    assert.deepEqual(map.data, { 'ca.crt': 'PEM' });
    await world.merge(configMaps, map, { data: { 'ca.crt': 'x', more: 'y' } });
    await world.client.resource(serviceAccounts).delete({ namespace: 'a', name: 'default' });
    await world.settle();
    assert.deepEqual((await world.get(configMaps, 'kube-root-ca.crt', 'a')).data, { 'ca.crt': 'PEM' });
    assert.equal((await world.list(serviceAccounts, 'a')).length, 1);
  }));

test('a terminating namespace loses pods first, then the rest, then itself', () =>
  withControllers({ controllers: ['namespace-controller'] }, async (world) => {
    await world.create(namespaces, { metadata: { name: 'a' } });
    await world.create(configMaps, { metadata: { name: 'm', namespace: 'a' } });
    const spec = { nodeName: 'n', terminationGracePeriodSeconds: 5, containers: [] };
    await world.create(pods, { metadata: { name: 'p', namespace: 'a' }, spec });
    await world.client.resource(namespaces).delete({ namespace: '', name: 'a' });
    await world.settle(1000);
    const status = async () =>
      Object.fromEntries(
        ((await world.get(namespaces, 'a')).status?.conditions ?? []).map(({ type, reason }) => [type, reason]),
      );
    assert.deepEqual(await status(), {});
    assert.equal((await world.list(configMaps, 'a')).length, 1);
    await world.settle(10_000);
    assert.equal((await status())['NamespaceDeletionContentFailure'], 'ContentDeletionFailed');
    await world.client.resource(pods).delete({ namespace: 'a', name: 'p' }, { gracePeriodSeconds: 0 });
    await world.settle(20_000);
    await assert.rejects(world.get(namespaces, 'a'), isNotFound);
    assert.equal((await world.list(configMaps, 'a')).length, 0);
  }));

test('finalizers of contents hold the namespace, and the conditions say so', () =>
  withControllers({ controllers: ['namespace-controller'] }, async (world) => {
    await world.create(namespaces, { metadata: { name: 'a' } });
    const map = await world.create(configMaps, { metadata: { name: 'm', namespace: 'a', finalizers: ['x/y'] } });
    await world.client.resource(namespaces).delete({ namespace: '', name: 'a' });
    await world.settle(1000);
    const { conditions } = (await world.get(namespaces, 'a')).status;
    assert.equal(
      conditions?.find(({ type }) => type === 'NamespaceFinalizersRemaining')?.message,
      'Some content in the namespace has finalizers remaining: x/y in 1 resource instances',
    );
    await world.merge(configMaps, map, { metadata: { finalizers: null } });
    await world.settle(20_000);
    await assert.rejects(world.get(namespaces, 'a'), isNotFound);
  }));
