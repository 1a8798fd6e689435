import assert from 'node:assert/strict';
import test from 'node:test';
import {
  persistentVolumeClaims as claims,
  persistentVolumes as volumes,
  pods,
  storageClasses,
} from '../../api/generated/resources.ts';
import { type ControllerWorld, withControllers } from '../../testing/controller-world.ts';

const only = { controllers: ['persistentvolume-binder-controller'] };

const addVolume = (world: ControllerWorld, name: string, storage: string, more: object = {}) =>
  world.create(volumes, {
    metadata: { name },
    spec: { capacity: { storage }, accessModes: ['ReadWriteOnce'], persistentVolumeReclaimPolicy: 'Retain', ...more },
  });

const addClaim = (world: ControllerWorld, storage: string, more: object = {}) =>
  world.create(claims, {
    metadata: { name: 'c', namespace: 'default' },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage } }, ...more },
  });

test('a claim gets the smallest volume that is large enough; when it goes the volume is released', () =>
  withControllers(only, async (world) => {
    await addVolume(world, 'small', '1Gi');
    await addVolume(world, 'large', '10Gi');
    await addVolume(world, 'middle', '5Gi');
    await world.settle();
    await addClaim(world, '2Gi');
    await world.settle();
    const claim = await world.get(claims, 'c');
    assert.deepEqual(
      [claim.spec.volumeName, claim.status.phase, claim.status.capacity],
      ['middle', 'Bound', { storage: '5Gi' }],
    );
    const volume = await world.get(volumes, 'middle');
    assert.deepEqual([volume.status.phase, volume.spec.claimRef?.uid], ['Bound', claim.metadata.uid]);
    assert.equal((await world.get(volumes, 'large')).status.phase, 'Available');
    await world.client.resource(claims).delete({ namespace: 'default', name: 'c' });
    await world.settle();
    assert.equal((await world.get(volumes, 'middle')).status.phase, 'Released');
  }));

test('a claim that waits is bound when its volume comes; one that loses its volume is lost', () =>
  withControllers(only, async (world) => {
    await addClaim(world, '1Gi');
    await world.settle();
    assert.equal((await world.get(claims, 'c')).status.phase, 'Pending');
    await addVolume(world, 'v', '1Gi');
    await world.settle();
    assert.equal((await world.get(claims, 'c')).status.phase, 'Bound');
    await world.client.resource(volumes).delete({ namespace: '', name: 'v' });
    await world.settle();
    await world.merge(claims, await world.get(claims, 'c'), { metadata: { labels: { look: 'again' } } });
    await world.settle();
    assert.equal((await world.get(claims, 'c')).status.phase, 'Lost');
  }));

test('a reserved volume is for its claim; a class is asked for by its provisioner; waiting ones wait', () =>
  withControllers(only, async (world) => {
    await addVolume(world, 'other', '1Gi', { claimRef: { namespace: 'default', name: 'someone' } });
    await world.create(storageClasses, {
      metadata: { name: 'fast' },
      provisioner: 'x.example',
      volumeBindingMode: 'Immediate',
    });
    await addClaim(world, '1Gi', { storageClassName: 'fast' });
    await world.settle();
    const claim = await world.get(claims, 'c');
    assert.equal(claim.metadata.annotations?.['volume.kubernetes.io/storage-provisioner'], 'x.example');
    assert.deepEqual([claim.status.phase, claim.spec.volumeName], ['Pending', undefined]);
    await addVolume(world, 'mine', '1Gi', { claimRef: { namespace: 'default', name: 'c' } });
    await world.settle(16_000);
    assert.equal((await world.get(claims, 'c')).spec.volumeName, 'mine');
    assert.equal((await world.get(volumes, 'other')).status.phase, 'Available');
  }));

test('a bound claim says whether a pod uses it', () =>
  withControllers({ controllers: ['persistentvolumeclaim-protection-controller'] }, async (world) => {
    const claim = await addClaim(world, '1Gi');
    await world.merge(claims, claim, { status: { phase: 'Bound' } }, 'status');
    const unused = async () => {
      await world.settle();
      const { conditions } = (await world.get(claims, 'c')).status;
      return conditions?.map(({ type, status, reason }) => `${type}=${status} ${reason}`);
    };
    assert.deepEqual(await unused(), ['Unused=True NoPodsUsingPVC']);
    const spec = { containers: [], volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'c' } }] };
    const pod = await world.create(pods, { metadata: { name: 'p', namespace: 'default' }, spec });
    assert.deepEqual(await unused(), ['Unused=False PodUsingPVC']);
    await world.pod(pod, 'Succeeded', false);
    assert.deepEqual(await unused(), ['Unused=True NoPodsUsingPVC']);
  }));
