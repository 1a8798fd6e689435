import assert from 'node:assert/strict';
import test from 'node:test';
import type { Frozen } from '../../api/meta.ts';
import type { EndpointSlice } from '../../api/generated/discovery.v1.ts';
import { endpoints, endpointSlices, nodes, pods, services } from '../../api/generated/resources.ts';
import { type ControllerWorld, withControllers } from '../../testing/controller-world.ts';
import { type EndpointGroup, maxPerSlice, planSlices } from './slice-plan.ts';

const only = { controllers: ['endpoints-controller', 'endpointslice-controller'] };

async function withService(world: ControllerWorld, spec: object = {}): Promise<void> {
  await world.create(nodes, { metadata: { name: 'n' } });
  const ports = [{ name: 'http', port: 80, targetPort: 'web' }];
  const manifest = {
    metadata: { name: 'svc', namespace: 'default' },
    spec: { clusterIP: '10.0.0.1', selector: { app: 'a' }, ports, ...spec },
  };
  await world.create(services, manifest);
}

async function addPod(world: ControllerWorld, name: string, ip: string, containerPort = 8080, nodeName = 'n') {
  const containers = [{ name: 'c', ports: [{ name: 'web', containerPort }] }];
  const pod = await world.create(pods, {
    metadata: { name, namespace: 'default', labels: { app: 'a' } },
    spec: { nodeName, containers },
  });
  await world.merge(pods, pod, { status: { podIP: ip, podIPs: [{ ip }] } }, 'status');
  return world.get(pods, name);
}

test('pods come, get ready, terminate and go', () =>
  withControllers(only, async (world) => {
    await withService(world);
    await world.settle();
    const slice = async () => (await world.list(endpointSlices))[0]!;
    assert.deepEqual([(await slice()).endpoints, (await world.list(endpointSlices)).length], [[], 1]);
    const pod = await addPod(world, 'p', '10.1.0.1');
    await world.pod(pod, 'Running');
    await world.settle();
    const {
      endpoints: [one],
      ports,
      metadata,
    } = await slice();
    assert.deepEqual(ports, [{ name: 'http', protocol: 'TCP', port: 8080 }]);
    assert.deepEqual(one?.conditions, { ready: true, serving: true, terminating: false });
    assert.deepEqual([one?.addresses, one?.nodeName, one?.targetRef?.name], [['10.1.0.1'], 'n', 'p']);
    assert.deepEqual(metadata.labels, {
      'kubernetes.io/service-name': 'svc',
      'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io',
    });
    assert.deepEqual(
      (await world.get(endpoints, 'svc')).subsets?.[0]?.addresses?.map(({ ip }) => ip),
      ['10.1.0.1'],
    );
    await world.client.resource(pods).delete({ namespace: 'default', name: 'p' });
    await world.settle();
    assert.deepEqual((await slice()).endpoints[0]?.conditions, { ready: false, serving: true, terminating: true });
    assert.deepEqual((await world.get(endpoints, 'svc')).subsets, []);
  }));

test('a named port with other numbers on other pods makes a slice each; pods of unknown nodes are left out', () =>
  withControllers(only, async (world) => {
    await withService(world);
    await addPod(world, 'p1', '10.1.0.1');
    await addPod(world, 'p2', '10.1.0.2', 9090);
    await addPod(world, 'p3', '10.1.0.3', 8080, 'gone');
    await world.settle();
    const slices = await world.list(endpointSlices);
    assert.deepEqual(
      slices.map(({ ports, endpoints: [one] }) => [ports[0]?.port, one?.addresses[0]].join(' ')).sort(),
      ['8080 10.1.0.1', '9090 10.1.0.2'],
    );
    assert.equal((await world.get(endpoints, 'svc')).subsets?.length, 2);
  }));

const endpoint = (at: number) => ({ addresses: [`10.0.${at >> 8}.${at & 255}`], targetRef: { uid: `u${at}` } });
const group = (from: number, to: number): EndpointGroup => ({
  family: 'IPv4',
  ports: [],
  endpoints: Array.from({ length: to - from }, (_, at) => endpoint(from + at)),
});
const slice = (name: string, from: number, to: number): Frozen<EndpointSlice> =>
  ({
    metadata: { name },
    addressType: 'IPv4',
    ports: [],
    endpoints: group(from, to).endpoints,
  }) as unknown as Frozen<EndpointSlice>;
const counts = (existing: Frozen<EndpointSlice>[], ...groups: EndpointGroup[]) => {
  const plan = planSlices(existing, groups, ['IPv4'], () => false);
  return [plan.create.length, plan.update.length, plan.remove.length];
};

test('slices are filled with the fewest writes', () => {
  assert.deepEqual(counts([], group(0, 250)), [3, 0, 0]);
  assert.deepEqual(counts([slice('a', 0, 100), slice('b', 100, 150)], group(0, 151)), [0, 1, 0]);
  assert.deepEqual(counts([slice('a', 0, 100)], group(0, 100)), [0, 0, 0]);
  assert.deepEqual(counts([slice('a', 0, 100), slice('b', 100, 101)], group(0, 100)), [0, 0, 1]);
  assert.deepEqual(counts([slice('a', 0, 3)]), [0, 1, 0]);
  assert.deepEqual(counts([]), [1, 0, 0]);
  const full = planSlices([slice('a', 0, 50)], [group(25, 200)], ['IPv4'], () => false);
  assert.equal(full.update[0]?.content.endpoints.length, maxPerSlice);
});

test('hand-made endpoints are mirrored while their service has no selector', () =>
  withControllers({ controllers: ['endpointslice-mirroring-controller'] }, async (world) => {
    const metadata = { name: 'svc', namespace: 'default' };
    const ports = [{ name: 'http', port: 8080 }];
    const source = await world.create(endpoints, {
      metadata: { ...metadata, labels: { l: 'v' } },
      subsets: [{ addresses: [{ ip: '10.9.0.1' }, { ip: 'fd00::1' }], notReadyAddresses: [{ ip: '10.9.0.2' }], ports }],
    });
    await world.settle();
    assert.equal((await world.list(endpointSlices)).length, 0);
    const service = await world.create(services, { metadata, spec: { clusterIP: '10.0.0.1', ports: [{ port: 80 }] } });
    await world.settle();
    const mirrored = (await world.list(endpointSlices)).map((slice) => [
      slice.addressType,
      slice.endpoints.map(({ addresses, conditions }) => `${addresses[0]} ${conditions?.ready}`),
    ]);
    assert.deepEqual(mirrored, [
      ['IPv4', ['10.9.0.1 true', '10.9.0.2 false']],
      ['IPv6', ['fd00::1 true']],
    ]);
    await world.merge(endpoints, source, { subsets: [{ addresses: [{ ip: '10.9.0.4' }], ports }] });
    await world.settle();
    assert.equal((await world.list(endpointSlices)).length, 1);
    await world.merge(services, service, { spec: { selector: { a: 'b' } } });
    await world.settle();
    assert.equal((await world.list(endpointSlices)).length, 0);
  }));
