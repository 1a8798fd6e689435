// Tests the life of a ServiceCIDR: finalizer, and its end once its addresses are gone or held by another.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ipAddresses, serviceCIDRs } from '../../api/generated/resources.ts';
import { withControllers } from '../../testing/controller-world.ts';
import { holds } from './service-cidr.ts';

test('ranges and addresses', () => {
  assert.equal(holds(['10.1.0.0/16'], '10.1.2.3'), true);
  assert.equal(holds(['10.1.0.0/16'], '10.2.0.1'), false);
  assert.equal(holds(['fd00::/112'], 'fd00::7'), true);
  assert.equal(holds(['10.1.0.0/16'], 'fd00::7'), false);
});

test('a range in use stays until another one holds its addresses', async () => {
  await withControllers({ controllers: ['service-cidr-controller'] }, async (world) => {
    await world.create(serviceCIDRs, { metadata: { name: 'old' }, spec: { cidrs: ['10.9.0.0/28'] } });
    await world.create(ipAddresses, {
      metadata: { name: '10.9.0.5' },
      spec: { parentRef: { resource: 'services', name: 's', namespace: 'default' } },
    });
    await world.settle(100);
    const { metadata, status } = await world.get(serviceCIDRs, 'old');
    assert.deepEqual(metadata.finalizers, ['networking.k8s.io/service-cidr-finalizer']);
    assert.equal(status?.conditions?.[0]?.status, 'True');
    await world.client.resource(serviceCIDRs).delete({ namespace: '', name: 'old' });
    await world.settle(30_000);
    assert.equal((await world.get(serviceCIDRs, 'old')).status?.conditions?.[0]?.reason, 'Terminating');
    await world.create(serviceCIDRs, { metadata: { name: 'new' }, spec: { cidrs: ['10.9.0.0/24'] } });
    await world.settle(30_000);
    assert.deepEqual(
      (await world.list(serviceCIDRs)).map((cidr) => cidr.metadata.name),
      ['new'],
    );
  });
});
