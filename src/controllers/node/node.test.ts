import assert from 'node:assert/strict';
import test from 'node:test';
import type { Node, Pod } from '../../api/generated/core.v1.ts';
import { leases, nodes, pods } from '../../api/generated/resources.ts';
import { isNotFound } from '../../api/status-error.ts';
import { timeOf } from '../../api/time.ts';
import { type ControllerWorld, withControllers } from '../../testing/controller-world.ts';
import { planGarbage } from '../pod-gc/plan.ts';
import { CidrPool } from './cidr.ts';
import { evictionRate, planTaints } from './taints.ts';

const condition = (type: string, status: string) => ({ type, status, lastHeartbeatTime: '2026-01-01T00:00:00Z' });

async function readyNode(world: ControllerWorld, name: string) {
  await world.create(nodes, {
    metadata: { name, labels: { 'kubernetes.io/os': 'linux' } },
    spec: { taints: [{ key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' }] },
    status: { conditions: [condition('Ready', 'True')] },
  });
  await renew(world, name);
}

async function renew(world: ControllerWorld, name: string): Promise<void> {
  const metadata = { name, namespace: 'kube-node-lease' };
  const spec = { renewTime: timeOf(world.clock.now()) };
  const client = world.client.resource(leases);
  const known = await client.get(metadata).catch(() => undefined);
  await (known ? client.update({ ...known, spec }) : client.create({ metadata, spec }));
}

const taintsOf = async (world: ControllerWorld, name: string) =>
  ((await world.get(nodes, name)).spec.taints ?? []).map(({ key, effect }) => `${key.split('/')[1]}:${effect}`);

test('a silent node becomes Unknown, is tainted, its pods are not ready and go after their toleration', () =>
  withControllers({ controllers: ['node-lifecycle-controller', 'taint-eviction-controller'] }, async (world) => {
    await readyNode(world, 'dead');
    await readyNode(world, 'alive');
    const tolerations = [
      { key: 'node.kubernetes.io/unreachable', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 100 },
    ];
    const metadata = { name: 'p', namespace: 'default' };
    const pod = await world.create(pods, { metadata, spec: { nodeName: 'dead', tolerations, containers: [] } });
    await world.pod(pod, 'Running');
    await world.settle();
    assert.deepEqual(await taintsOf(world, 'dead'), []);
    assert.equal((await world.get(nodes, 'dead')).metadata.labels?.['beta.kubernetes.io/os'], 'linux');
    const live = async (seconds: number) => {
      for (let at = 0; at < seconds; at += 10) {
        await renew(world, 'alive');
        await world.settle(10_000);
      }
    };
    await live(40);
    assert.deepEqual(await taintsOf(world, 'dead'), []);
    await live(30);
    assert.deepEqual(await taintsOf(world, 'dead'), ['unreachable:NoSchedule', 'unreachable:NoExecute']);
    const { conditions } = (await world.get(nodes, 'dead')).status;
    assert.deepEqual(
      conditions?.map(({ type, status, reason }) => `${type}=${status} ${reason}`),
      [
        'Ready=Unknown NodeStatusUnknown',
        'MemoryPressure=Unknown NodeStatusNeverUpdated',
        'DiskPressure=Unknown NodeStatusNeverUpdated',
        'PIDPressure=Unknown NodeStatusNeverUpdated',
      ],
    );
    const marked = await world.get(pods, 'p');
    assert.equal(marked.status?.conditions?.find(({ type }) => type === 'Ready')?.status, 'False');
    await live(100);
    const gone = await world.get(pods, 'p');
    assert.ok(gone.metadata.deletionTimestamp);
    assert.equal(
      gone.status?.conditions?.find(({ type }) => type === 'DisruptionTarget')?.reason,
      'DeletionByTaintManager',
    );
    assert.deepEqual(await taintsOf(world, 'alive'), []);
  }));

test('each node gets a range of its own; those of others are kept', () =>
  withControllers(
    { controllers: ['node-ipam-controller', 'ttl-controller'], clusterCidrs: ['10.244.0.0/16'] },
    async (world) => {
      await world.create(nodes, {
        metadata: { name: 'own' },
        spec: { podCIDR: '10.244.0.0/24', podCIDRs: ['10.244.0.0/24'] },
      });
      await world.settle();
      for (const name of ['a', 'b']) await world.create(nodes, { metadata: { name }, spec: {} });
      await world.settle();
      const ranges = (await world.list(nodes)).map((node) => node.spec.podCIDR).sort((a, b) => (a! < b! ? -1 : 1));
      assert.deepEqual(ranges, ['10.244.0.0/24', '10.244.1.0/24', '10.244.2.0/24']);
      assert.equal((await world.get(nodes, 'a')).metadata.annotations?.['node.alpha.kubernetes.io/ttl'], '0');
    },
  ));

test('pods of a node that is gone are failed and deleted after the quarantine', () =>
  withControllers({ controllers: ['pod-garbage-collector-controller'] }, async (world) => {
    await world.create(pods, {
      metadata: { name: 'p', namespace: 'default' },
      spec: { nodeName: 'gone', containers: [] },
    });
    await world.settle(39_000);
    await world.get(pods, 'p');
    await world.settle(40_000);
    await assert.rejects(world.get(pods, 'p'), isNotFound);
    assert.ok(world.api.requests.includes('PATCH /api/v1/namespaces/default/pods/p/status'));
  }));

test('the oldest finished pods beyond the threshold are garbage', () => {
  const finished = (name: string, time: string) =>
    ({
      metadata: { name, creationTimestamp: time },
      spec: { nodeName: 'n' },
      status: { phase: 'Succeeded' },
    }) as unknown as Pod;
  const all = [finished('new', '2026-02-01T00:00:00Z'), finished('old', '2026-01-01T00:00:00Z')];
  const plan = planGarbage({ pods: all, nodes: new Map(), missing: new Set(), threshold: 1 });
  assert.deepEqual(
    plan.map(({ pod }) => pod.metadata.name),
    ['old'],
  );
});

test('IPv4 and IPv6 pools', () => {
  const four = new CidrPool('10.0.0.0/23', 24);
  assert.deepEqual([four.allocate(), four.allocate(), four.allocate()], ['10.0.0.0/24', '10.0.1.0/24', undefined]);
  four.release('10.0.0.0/24');
  assert.equal(four.allocate(), '10.0.0.0/24');
  const six = new CidrPool('fd00:10:244::/56', 64);
  six.occupy('fd00:10:244::/64');
  assert.deepEqual([six.allocate(), six.allocate()], ['fd00:10:244:1::/64', 'fd00:10:244:2::/64']);
  assert.throws(() => new CidrPool('10.0.0.0/25', 24), /does not fit/);
  assert.throws(() => new CidrPool('10.0.0/8', 24), /not a CIDR/);
});

const tables: [
  conditions: [string, string][],
  unschedulable: boolean,
  evict: boolean,
  expected: string[] | undefined,
][] = [
  [[['Ready', 'True']], false, true, undefined],
  [[['Ready', 'False']], false, false, ['node.kubernetes.io/not-ready:NoSchedule']],
  [
    [['Ready', 'Unknown']],
    false,
    true,
    ['node.kubernetes.io/unreachable:NoSchedule', 'node.kubernetes.io/unreachable:NoExecute'],
  ],
  [
    [
      ['Ready', 'True'],
      ['DiskPressure', 'True'],
    ],
    true,
    true,
    ['node.kubernetes.io/disk-pressure:NoSchedule', 'node.kubernetes.io/unschedulable:NoSchedule'],
  ],
];
for (const [at, [conditions, unschedulable, evict, expected]] of tables.entries())
  test(`taints ${at}`, () => {
    const node = {
      spec: { unschedulable },
      status: { conditions: conditions.map(([type, status]) => ({ type, status })) },
    };
    const plan = planTaints(node as unknown as Node, evict, 0);
    assert.deepEqual(
      plan?.map(({ key, effect }) => `${key}:${effect}`),
      expected,
    );
  });

test('eviction rates', () => {
  const zone = (ready: number, notReady: number) => ({ ready, notReady });
  assert.equal(evictionRate(zone(0, 3), [zone(0, 3)]), 0);
  assert.equal(evictionRate(zone(0, 3), [zone(0, 3), zone(1, 0)]), 0.1);
  assert.equal(evictionRate(zone(1, 3), [zone(1, 3)]), 0);
  assert.equal(evictionRate(zone(20, 40), [zone(20, 40)]), 0.01);
  assert.equal(evictionRate(zone(5, 1), [zone(5, 1)]), 0.1);
});
