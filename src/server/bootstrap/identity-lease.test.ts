// Owns the tests of the leases by which API servers tell that they are there.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Lease } from '../../api/generated/coordination.v1.ts';
import type { KubeObject } from '../../api/meta.ts';
import { silentLogger } from '../../base/log.ts';
import { seededRandom } from '../../base/random.ts';
import { VirtualClock } from '../../base/virtual-clock.ts';
import { memoryStore } from '../../store/memory.ts';
import { startTestServer } from '../start.suite.ts';
import { collectExpired, identityOf } from './identity-lease.ts';

const leases = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases';

it('names the lease as upstream does', () => {
  // Recorded from kube-apiserver 1.37 on a host named "vm".
  assert.equal(identityOf('vm'), 'apiserver-wlv32tlttr4jl3gtroqexyxapa');
  assert.notEqual(identityOf('vm2'), identityOf('vm'));
});

it('each server renews its lease every ten seconds; those of servers that have gone are taken away', async () => {
  const clock = new VirtualClock();
  const store = memoryStore({ clock, random: seededRandom(1), log: silentLogger });
  const start = (hostname: string) =>
    startTestServer({ hostname, advertise: { address: '10.0.0.7', port: 6443 } }, store, {
      clock,
      exclusiveStore: false,
    });
  const [one, two] = [await start('host-one'), await start('host-two')];
  const read = async (): Promise<Map<string, KubeObject & Lease>> => {
    const list = one.admin.call({ method: 'GET', path: leases });
    await clock.advance(20);
    const { items } = (await list) as unknown as { items: (KubeObject & Lease)[] };
    return new Map(items.map((lease) => [lease.metadata.labels?.['kubernetes.io/hostname'] ?? '', lease]));
  };
  try {
    for (let turn = 0; turn < 50; turn++) await clock.advance(10);
    const before = await read();
    assert.deepEqual([...before.keys()].sort(), ['host-one', 'host-two']);
    const lease = before.get('host-one')!;
    assert.equal(lease.metadata.name, identityOf('host-one'));
    assert.equal(lease.metadata.labels?.['apiserver.kubernetes.io/identity'], 'kube-apiserver');
    assert.equal(lease.metadata.annotations?.['kubernetes.io/peer-advertise-address'], '10.0.0.7:6443');
    assert.equal(lease.spec?.leaseDurationSeconds, 3600);
    assert.match(lease.spec?.holderIdentity ?? '', /^apiserver-[a-z2-7]{26}_[0-9a-f-]{36}$/);
    for (let turn = 0; turn < 12; turn++) await clock.advance(1000);
    const later = (await read()).get('host-one')!;
    const renewed = ({ spec }: KubeObject & Lease) => Date.parse(String(spec?.renewTime));
    assert.ok(renewed(later) - renewed(lease) >= 10_000);
    assert.equal(later.spec?.holderIdentity, lease.spec?.holderIdentity);

    const gone = two.stop();
    await clock.advance(1000);
    await gone;
    for (let minute = 0; minute < 59; minute++) await clock.advance(60_000);
    assert.ok((await read()).has('host-two'), 'it may come back within the hour');
    for (let minute = 0; minute < 65; minute++) await clock.advance(60_000);
    const left = await read();
    assert.deepEqual([...left.keys()], ['host-one']);
  } finally {
    const stopped = one.stop();
    await clock.advance(1000);
    await stopped;
    await store.close();
  }
});

it('a lease that was renewed in between is kept, one that says nothing of its time is not', async () => {
  const clock = new VirtualClock();
  const labels = { 'apiserver.kubernetes.io/identity': 'kube-apiserver' };
  const item = (name: string, spec: object) => ({ metadata: { name, uid: name, resourceVersion: '7', labels }, spec });
  const deleted: unknown[] = [];
  await collectExpired({
    clock,
    log: silentLogger,
    transport: {
      async call({ method, path, body, query }) {
        if (method === 'GET') {
          assert.equal(query?.get('labelSelector'), 'apiserver.kubernetes.io/identity=kube-apiserver');
          const renewTime = new Date(clock.now() - 10_000).toISOString();
          const items = [
            item('fresh', { renewTime, leaseDurationSeconds: 3600 }),
            item('old', { renewTime, leaseDurationSeconds: 5 }),
            item('without', {}),
          ];
          return { items };
        }
        deleted.push([path.split('/').at(-1), (body as { preconditions: unknown }).preconditions]);
        return {};
      },
      watch: () => assert.fail('nothing is watched'),
    },
  });
  assert.deepEqual(deleted, [
    ['old', { uid: 'old', resourceVersion: '7' }],
    ['without', { uid: 'without', resourceVersion: '7' }],
  ]);
});
