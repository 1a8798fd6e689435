// Proves in a whole server what services are given, and that IPAddress objects are put right.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Service, ServiceSpec } from '../../api/generated/core.v1.ts';
import type { IPAddress } from '../../api/generated/networking.v1.ts';
import { isStatusError } from '../../api/status-error.ts';
import { systemClock } from '../../base/clock.ts';
import { silentLogger } from '../../base/log.ts';
import { WatchCache } from '../cache/watch-cache.ts';
import { startTestServer, type TestServer } from '../start.suite.ts';
import { addressObject } from './plan-repair.ts';
import { keepRepaired } from './repair.ts';
import { Entry } from '../cache/entry.ts';
import type { KubeObject } from '../../api/meta.ts';

let running: TestServer;
const path = '/api/v1/namespaces/default/services';
const addresses = '/apis/networking.k8s.io/v1/ipaddresses';

before(async () => {
  running = await startTestServer();
});
after(() => running.stop());

const post = <T>(to: string, body: object): Promise<T> =>
  running.admin.call({ method: 'POST', path: to, body }) as Promise<T>;
const patch = (name: string, spec: object): Promise<Service> =>
  running.admin.call({
    method: 'PATCH',
    path: `${path}/${name}`,
    body: { spec },
    contentType: 'application/merge-patch+json',
  }) as Promise<Service>;
const service = (name: string, spec: Partial<ServiceSpec>): object => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name },
  spec: { ports: [{ name: 'a', port: 80 }], ...spec },
});

async function refused(field: string, work: Promise<unknown>): Promise<void> {
  await assert.rejects(work, (error) => {
    assert.ok(isStatusError(error, 'Invalid'), String(error));
    assert.deepEqual(
      error.status.details?.causes?.map((cause) => cause.field),
      [field],
    );
    return true;
  });
}

test('an address that an IPAddress holds is nobody else’s, whoever made it', async () => {
  await post(addresses, {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'IPAddress',
    metadata: { name: '10.96.0.77' },
    spec: { parentRef: { group: 'gateway.example.com', resource: 'gateways', name: 'g' } },
  });
  await refused('spec.clusterIPs', post(path, service('held', { clusterIP: '10.96.0.77' })));
});

test('every ready ServiceCIDR gives addresses', async () => {
  await refused('spec.clusterIPs', post(path, service('far', { clusterIP: '10.200.0.7' })));
  await post('/apis/networking.k8s.io/v1/servicecidrs', {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'ServiceCIDR',
    metadata: { name: 'more' },
    spec: { cidrs: ['10.200.0.0/24'] },
  });
  const made = await post<Service>(path, service('far', { clusterIP: '10.200.0.7' }));
  assert.deepEqual(made.spec.clusterIPs, ['10.200.0.7']);
  const address = (await running.admin.call({ method: 'GET', path: `${addresses}/10.200.0.7` })) as IPAddress;
  assert.equal(address.spec.parentRef?.name, 'far');
});

test('what is refused takes nothing', async () => {
  const wrong = service('none', { clusterIP: '10.96.0.88', ports: [{ name: 'A_', port: 80 }] as never });
  await refused('spec.ports[0].name', post(path, wrong));
  const made = await post<Service>(path, service('later', { clusterIP: '10.96.0.88' }));
  assert.equal(made.spec.clusterIP, '10.96.0.88');
});

test('node ports stay with the names of ports, and go when they are taken away', async () => {
  const made = await post<Service>(path, service('np', { type: 'NodePort' }));
  const port = made.spec.ports![0]!.nodePort!;
  const moved = await patch('np', { ports: [{ name: 'a', port: 81 }] });
  assert.equal(moved.spec.ports![0]!.nodePort, port);
  const renamed = await patch('np', { ports: [{ name: 'b', port: 81 }] });
  assert.notEqual(renamed.spec.ports![0]!.nodePort, port);
  const plain = await patch('np', { type: 'ClusterIP' });
  assert.equal(plain.spec.ports![0]!.nodePort, undefined);
});

test('addresses of no service are removed, missing ones made', async () => {
  const cache = (...objects: object[]): WatchCache => {
    const made = new WatchCache({ historyLimit: 10 });
    const entries = objects.map((object, at) => Entry.of(`x/${at}`, at + 1, object as KubeObject));
    made.load(entries, entries.length);
    return made;
  };
  const calls: string[] = [];
  const stop = new AbortController();
  await keepRepaired(
    {
      services: cache({ metadata: { namespace: 'a', name: 's' }, spec: { clusterIPs: ['10.0.0.1'] } }),
      addresses: cache({
        ...addressObject('10.0.0.9', 'a', 'gone'),
        metadata: {
          ...(addressObject('10.0.0.9', 'a', 'gone') as KubeObject).metadata,
          creationTimestamp: '2020-01-01T00:00:00Z',
        },
      }),
      ranges: () => [],
      nodePorts: { from: 1, to: 2 },
      transport: {
        call: ({ method, path: to, body }) => {
          calls.push(`${method} ${to} ${(body as KubeObject | undefined)?.metadata.name ?? ''}`.trim());
          if (calls.length === 2) queueMicrotask(() => stop.abort());
          return Promise.resolve({});
        },
        watch: () => assert.fail('nothing is watched'),
      },
      events: { event: () => undefined },
      clock: systemClock,
      log: silentLogger,
    },
    stop.signal,
  );
  assert.deepEqual(calls, [`DELETE ${addresses}/10.0.0.9`, `POST ${addresses} 10.0.0.1`]);
});
