import assert from 'node:assert/strict';
import test from 'node:test';
import type { ResourceRef } from '../../api/meta.ts';
import { configMaps, pods } from '../../api/generated/resources.ts';
import { type ControllerWorld, withControllers } from '../../testing/controller-world.ts';
import { type OwnerFact, planItem } from './plan.ts';

const only = { controllers: ['garbage-collector-controller'] };

async function family(world: ControllerWorld, block = true) {
  const parent = await world.create(configMaps, { metadata: { name: 'parent', namespace: 'default' } });
  const owner = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    name: 'parent',
    uid: parent.metadata.uid,
    blockOwnerDeletion: block,
  };
  const child = (name: string, ...more: object[]) =>
    world.create(configMaps, { metadata: { name, namespace: 'default', ownerReferences: [owner, ...more] } });
  return { parent, owner, child };
}

const names = async (world: ControllerWorld) => (await world.list(configMaps)).map((obj) => obj.metadata.name).sort();
const key = { namespace: 'default', name: 'parent' };

test('background: dependents go after their owner', () =>
  withControllers(only, async (world) => {
    const { child } = await family(world);
    await child('a');
    await child('b');
    await world.settle();
    assert.deepEqual(await names(world), ['a', 'b', 'parent']);
    await world.client.resource(configMaps).delete(key);
    await world.settle();
    assert.deepEqual(await names(world), []);
  }));

test('foreground: the owner waits for its blocking dependents', () =>
  withControllers(only, async (world) => {
    const { child } = await family(world);
    await world.merge(configMaps, await child('a'), { metadata: { finalizers: ['test/hold'] } });
    await world.settle();
    await world.client.resource(configMaps).delete(key, { propagationPolicy: 'Foreground' });
    await world.settle();
    assert.deepEqual(await names(world), ['a', 'parent']);
    const held = await world.get(configMaps, 'a');
    assert.ok(held.metadata.deletionTimestamp);
    await world.merge(configMaps, held, { metadata: { finalizers: null } });
    await world.settle(100);
    assert.deepEqual(await names(world), []);
  }));

test('orphan: dependents stay, without the owner', () =>
  withControllers(only, async (world) => {
    const { child } = await family(world);
    await child('a');
    await world.settle();
    await world.client.resource(configMaps).delete(key, { propagationPolicy: 'Orphan' });
    await world.settle();
    assert.deepEqual(await names(world), ['a']);
    assert.equal((await world.get(configMaps, 'a')).metadata.ownerReferences, undefined);
  }));

test('an owner that never was: the dependent goes; of two owners the dead one is dropped', () =>
  withControllers(only, async (world) => {
    const { owner, child } = await family(world);
    const ghost = { apiVersion: 'v1', kind: 'ConfigMap', name: 'ghost', uid: 'no-such' };
    await world.create(configMaps, { metadata: { name: 'lost', namespace: 'default', ownerReferences: [ghost] } });
    await child('two', ghost);
    await world.settle();
    assert.deepEqual(await names(world), ['parent', 'two']);
    assert.deepEqual((await world.get(configMaps, 'two')).metadata.ownerReferences, [owner]);
  }));

test('custom resources are collected once the server has them', () =>
  withControllers(only, async (world) => {
    const widgets: ResourceRef = {
      group: 'x.example',
      version: 'v1',
      kind: 'Widget',
      plural: 'widgets',
      namespaced: true,
    };
    world.api.serve(widgets);
    await world.settle(31_000);
    const { owner } = await family(world);
    await world.create(widgets, { metadata: { name: 'w', namespace: 'default', ownerReferences: [owner] } });
    await world.settle();
    await world.client.resource(configMaps).delete(key);
    await world.settle();
    assert.equal((await world.list(widgets)).length, 0);
    assert.equal((await world.list(pods)).length, 0);
  }));

const owner = { apiVersion: 'v1', kind: 'X', name: 'x', uid: 'u' };
const facts = (...states: OwnerFact['state'][]): OwnerFact[] => states.map((state) => ({ owner, state }));
const none = { any: false, anyForeground: false };
const plans: [OwnerFact[], string[], typeof none, ReturnType<typeof planItem>][] = [
  [[], [], none, { do: 'keep' }],
  [facts('solid'), [], none, { do: 'keep' }],
  [facts('solid', 'dangling'), [], none, { do: 'dropOwners', uids: ['u'] }],
  [facts('dangling'), [], none, { do: 'delete', propagationPolicy: 'Background', unblock: false }],
  [facts('dangling'), ['orphan'], none, { do: 'delete', propagationPolicy: 'Orphan', unblock: false }],
  [
    facts('waiting'),
    [],
    { any: true, anyForeground: false },
    { do: 'delete', propagationPolicy: 'Foreground', unblock: false },
  ],
  [
    facts('waiting'),
    [],
    { any: true, anyForeground: true },
    { do: 'delete', propagationPolicy: 'Foreground', unblock: true },
  ],
  [facts('waiting'), [], none, { do: 'delete', propagationPolicy: 'Background', unblock: false }],
];
for (const [at, [given, finalizers, dependents, expected]] of plans.entries())
  test(`plan ${at}`, () => assert.deepEqual(planItem(given, finalizers, dependents), expected));
