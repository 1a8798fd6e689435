// Tests attaching by a world whose driver and kubelet are played.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  nodes,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  volumeAttachments,
} from '../../api/generated/resources.ts';
import { withControllers } from '../../testing/controller-world.ts';

test('a volume is attached for its pod, noted on the node, and taken off when the kubelet is done with it', async () => {
  await withControllers({ controllers: ['persistentvolume-attach-detach-controller'] }, async (world) => {
    const node = await world.create(nodes, { metadata: { name: 'n1' }, spec: {} });
    const csi = { driver: 'disk.example', volumeHandle: 'h1' };
    await world.create(persistentVolumes, {
      metadata: { name: 'pv1' },
      spec: {
        csi,
        accessModes: ['ReadWriteOnce'],
        capacity: { storage: '1Gi' },
        claimRef: { namespace: 'default', name: 'c' },
      },
    });
    const claim = await world.create(persistentVolumeClaims, {
      metadata: { name: 'c', namespace: 'default' },
      spec: { volumeName: 'pv1', accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
    });
    await world.merge(persistentVolumeClaims, claim, { status: { phase: 'Bound' } }, 'status');
    await world.create(pods, {
      metadata: { name: 'p', namespace: 'default' },
      spec: {
        nodeName: 'n1',
        containers: [{ name: 'c', image: 'any' }],
        volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'c' } }],
      },
    });
    await world.settle(100);
    const [attachment] = await world.list(volumeAttachments);
    assert.deepEqual(attachment?.spec, {
      attacher: 'disk.example',
      nodeName: 'n1',
      source: { persistentVolumeName: 'pv1' },
    });
    await world.merge(volumeAttachments, attachment!, { status: { attached: true } }, 'status');
    await world.settle(100);
    const name = 'kubernetes.io/csi/disk.example^h1';
    assert.deepEqual((await world.get(nodes, 'n1')).status?.volumesAttached, [{ name, devicePath: '' }]);

    await world.merge(nodes, node, { status: { volumesInUse: [name] } }, 'status');
    await world.client.resource(pods).delete({ namespace: 'default', name: 'p' }, { gracePeriodSeconds: 0 });
    await world.settle(100);
    assert.equal((await world.list(volumeAttachments)).length, 1, 'the kubelet still uses it');
    await world.merge(nodes, node, { status: { volumesInUse: null } }, 'status');
    await world.settle(100);
    assert.equal((await world.list(volumeAttachments)).length, 0);
    assert.equal((await world.get(nodes, 'n1')).status?.volumesAttached, undefined);
  });
});
