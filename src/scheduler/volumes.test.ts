// Volumes decide where a pod may go; through the whole scheduler, with the volume controller played by the test.
import assert from 'node:assert/strict';
import test from 'node:test';
import { csiNodes, persistentVolumeClaims, persistentVolumes, storageClasses } from '../api/generated/resources.ts';
import { inWorld, type World } from './scenario.suite.ts';

const uses = (...claims: string[]) => ({
  spec: { volumes: claims.map((claimName) => ({ name: claimName, persistentVolumeClaim: { claimName } })) },
});

function claim(world: World, name: string, spec: object, more: object = {}): Promise<void> {
  return world.create(persistentVolumeClaims, {
    metadata: { name, namespace: 'default', ...more },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, ...spec },
    status: { phase: 'Pending' },
  });
}

const bound = { annotations: { 'pv.kubernetes.io/bind-completed': 'yes' } };
const onNode = (name: string) => ({
  nodeAffinity: {
    required: {
      nodeSelectorTerms: [{ matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: [name] }] }],
    },
  },
});

function volume(
  world: World,
  name: string,
  size: string,
  spec: object,
  labels: Record<string, string> = {},
): Promise<void> {
  return world.create(persistentVolumes, {
    metadata: { name, labels },
    spec: { capacity: { storage: size }, accessModes: ['ReadWriteOnce', 'ReadWriteOncePod'], ...spec },
    status: { phase: 'Available' },
  });
}

const waits = (world: World, more: object = {}) =>
  world.create(storageClasses, {
    metadata: { name: 'local' },
    provisioner: 'kubernetes.io/no-provisioner',
    volumeBindingMode: 'WaitForFirstConsumer',
    ...more,
  });

test('missing, unbound and bound claims', () =>
  inWorld(async (world) => {
    await world.node('n1');
    await world.node('n2');
    await world.pod('a', {}, uses('c'));
    assert.match(await world.why('a'), /^0\/2 nodes are available: persistentvolumeclaim "c" not found\./);
    await claim(world, 'c', {});
    await world.settle(1000);
    assert.match(await world.why('a'), /pod has unbound immediate PersistentVolumeClaims\./);
    await volume(world, 'v', '1Gi', onNode('n2'));
    await claim(world, 'd', { volumeName: 'v' }, bound);
    await world.pod('b', {}, uses('d'));
    await world.pod('elsewhere', {}, { spec: { ...uses('d').spec, nodeSelector: { 'kubernetes.io/hostname': 'n1' } } });
    assert.equal(await world.placed(), 'a=- b=n2 elsewhere=-');
    assert.match(await world.why('elsewhere'), /1 node\(s\) didn't match PersistentVolume's node affinity/);
  }));

test('a claim that waits takes the smallest volume that will do, and the pod waits until it is bound', () =>
  inWorld(async (world) => {
    for (const name of ['n1', 'n2', 'n3']) await world.node(name);
    await waits(world);
    await volume(world, 'small', '500Mi', { storageClassName: 'local', ...onNode('n1') });
    await volume(world, 'big', '10Gi', { storageClassName: 'local', ...onNode('n2') });
    await volume(world, 'right', '2Gi', { storageClassName: 'local', ...onNode('n2') });
    await claim(world, 'c', { storageClassName: 'local' });
    await world.pod('a', {}, uses('c'));
    assert.equal(await world.placed(), 'a=-');
    assert.equal(await world.nominated('a'), 'n2');
    assert.ok(world.api.requests.includes('PUT /api/v1/persistentvolumes/right'));
    await world.patch('persistentvolumeclaims', 'c', { metadata: bound, spec: { volumeName: 'right' } });
    assert.equal(await world.placed(), 'a=n2');
    await claim(world, 'huge', { storageClassName: 'local', resources: { requests: { storage: '1Ti' } } });
    await world.pod('b', {}, uses('huge'));
    assert.match(await world.why('b'), /3 node\(s\) didn't find available persistent volumes to bind\./);
  }));

test('a claim that is provisioned names the node, where its class allows it', () =>
  inWorld(async (world) => {
    await world.node('n1', {}, { labels: { zone: 'a' } });
    await world.node('n2', {}, { labels: { zone: 'b' } });
    await waits(world, {
      provisioner: 'disks.example.com',
      allowedTopologies: [{ matchLabelExpressions: [{ key: 'zone', values: ['b'] }] }],
    });
    await claim(world, 'c', { storageClassName: 'local' });
    await world.pod('a', {}, uses('c'));
    assert.equal(await world.placed(), 'a=-');
    await world.patch('persistentvolumeclaims', 'c', {
      metadata: { annotations: { 'volume.kubernetes.io/selected-node': null } },
    });
    assert.match(await world.why('a'), /the node is no longer selected/);
    await world.settle(1000);
    assert.equal(await world.nominated('a'), 'n2');
    await volume(world, 'v', '1Gi', {});
    await world.patch('persistentvolumeclaims', 'c', { metadata: bound, spec: { volumeName: 'v' } });
    assert.equal(await world.placed(), 'a=n2');
  }));

test('zones, limits and one pod at a time', () =>
  inWorld(async (world) => {
    await world.node('n1', {}, { labels: { 'topology.kubernetes.io/zone': 'a' } });
    await world.node('n2', {}, { labels: { 'topology.kubernetes.io/zone': 'b' } });
    await world.create(csiNodes, {
      metadata: { name: 'n2' },
      spec: { drivers: [{ name: 'd', nodeID: 'n2', allocatable: { count: 1 } }] },
    });
    const csi = (volumeHandle: string) => ({ csi: { driver: 'd', volumeHandle } });
    await volume(world, 'v1', '1Gi', csi('h1'), { 'topology.kubernetes.io/zone': 'b__c' });
    await volume(world, 'v2', '1Gi', csi('h2'), { 'topology.kubernetes.io/zone': 'b' });
    await volume(world, 'v3', '1Gi', {});
    await claim(world, 'c1', { volumeName: 'v1' }, bound);
    await claim(world, 'c2', { volumeName: 'v2' }, bound);
    await claim(world, 'once', { volumeName: 'v3', accessModes: ['ReadWriteOncePod'] }, bound);
    await world.pod('a', {}, uses('c1'));
    await world.settle();
    await world.pod('again', {}, uses('c1'));
    await world.pod('b', {}, uses('c2'));
    assert.equal(await world.placed(), 'a=n2 again=n2 b=-');
    assert.match(
      await world.why('b'),
      /1 node\(s\) exceed max volume count, 1 node\(s\) had no available volume zone\./,
    );
    await world.pod('one', {}, uses('once'));
    await world.settle();
    await world.pod('two', {}, uses('once'));
    assert.match(
      await world.why('two'),
      /2 node\(s\) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode/,
    );
    await world.remove('pods', 'one');
    await world.settle(1000);
    assert.match(await world.placed(), /two=n1/);
  }));
