import assert from 'node:assert/strict';
import test from 'node:test';
import type { Service } from '../api/generated/core.v1.ts';
import type { Endpoint, EndpointSlice } from '../api/generated/discovery.v1.ts';
import type { Frozen } from '../api/meta.ts';
import { planService, serviceOfSlice } from './service-plan.ts';

const view = { nodeName: 'me', family: 'IPv4', zone: 'z1' } as const;

function service(spec: object, extra: object = {}): Frozen<Service> {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'svc', namespace: 'ns', uid: 'u', resourceVersion: '1', creationTimestamp: '' },
    spec: { clusterIP: '10.96.0.9', ports: [{ name: 'p80', port: 80, protocol: 'TCP' }], ...spec },
    status: { loadBalancer: {} },
    ...extra,
  } as Frozen<Service>;
}

type Kind = Partial<Endpoint> & { ip: string };

function slice(endpoints: readonly Kind[], addressType = 'IPv4'): Frozen<EndpointSlice> {
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name: 's', namespace: 'ns', labels: { 'kubernetes.io/service-name': 'svc' } },
    addressType,
    endpoints: endpoints.map(({ ip, ...rest }) => ({ addresses: [ip], ...rest })),
    ports: [{ name: 'p80', port: 8080, protocol: 'TCP' }],
  } as unknown as Frozen<EndpointSlice>;
}

const down = { ready: false, serving: false, terminating: false };
const draining = { ready: false, serving: true, terminating: true };

const cases: readonly {
  name: string;
  spec?: object;
  endpoints: readonly Kind[];
  cluster: string;
  local?: string;
  any?: boolean;
}[] = [
  { name: 'ready ones', endpoints: [{ ip: '10.0.0.2' }, { ip: '10.0.0.1', conditions: down }], cluster: '10.0.0.2' },
  { name: 'none', endpoints: [{ ip: '10.0.0.1', conditions: down }], cluster: '', any: false },
  {
    name: 'those that drain, when nobody is ready',
    endpoints: [
      { ip: '10.0.0.1', conditions: draining },
      { ip: '10.0.0.2', conditions: down },
    ],
    cluster: '10.0.0.1',
  },
  {
    name: 'draining ones wait while someone is ready',
    endpoints: [{ ip: '10.0.0.1', conditions: draining }, { ip: '10.0.0.2' }],
    cluster: '10.0.0.2',
  },
  {
    name: 'local policy falls back to local draining ones',
    spec: { internalTrafficPolicy: 'Local' },
    endpoints: [
      { ip: '10.0.0.1', nodeName: 'me', conditions: draining },
      { ip: '10.0.0.2', nodeName: 'other' },
    ],
    cluster: '10.0.0.2',
    local: '10.0.0.1',
  },
  {
    name: 'zone hints on all endpoints',
    endpoints: [
      { ip: '10.0.0.1', hints: { forZones: [{ name: 'z1' }] } },
      { ip: '10.0.0.2', hints: { forZones: [{ name: 'z2' }] } },
    ],
    cluster: '10.0.0.1',
  },
  {
    name: 'a missing hint voids all',
    endpoints: [{ ip: '10.0.0.1', hints: { forZones: [{ name: 'z1' }] } }, { ip: '10.0.0.2' }],
    cluster: '10.0.0.1 10.0.0.2',
  },
  {
    name: 'node hints before zone hints',
    endpoints: [
      { ip: '10.0.0.1', hints: { forNodes: [{ name: 'me' }], forZones: [{ name: 'z1' }] } },
      { ip: '10.0.0.2', hints: { forNodes: [{ name: 'x' }], forZones: [{ name: 'z1' }] } },
    ],
    cluster: '10.0.0.1',
  },
];

for (const { name, spec = {}, endpoints, cluster, local = '', any = true } of cases)
  test(`backends: ${name}`, () => {
    const port = planService(service(spec), [slice(endpoints)], view)!.ports[0]!;
    assert.equal(port.clusterBackends.map(({ ip }) => ip).join(' '), cluster);
    assert.equal(port.localBackends.map(({ ip }) => ip).join(' '), local);
    assert.equal(port.anyBackends, any);
  });

test('what is not proxied', () => {
  for (const spec of [
    { clusterIP: 'None' },
    { clusterIP: '' },
    { type: 'ExternalName', clusterIP: '' },
    { clusterIP: 'fd00::1' },
  ])
    assert.equal(planService(service(spec), [], view), undefined);
  const labelled = slice([]);
  assert.equal(serviceOfSlice(labelled), 'ns/svc');
  const headless = {
    ...labelled,
    metadata: { ...labelled.metadata, labels: { ...labelled.metadata.labels, 'service.kubernetes.io/headless': '' } },
  };
  assert.equal(serviceOfSlice(headless), undefined);
});

test('external addresses, affinity and health check', () => {
  const plan = planService(
    service(
      {
        type: 'LoadBalancer',
        externalIPs: ['1.2.3.4', 'fd00::2'],
        externalTrafficPolicy: 'Local',
        healthCheckNodePort: 30100,
        loadBalancerSourceRanges: [' 10.0.0.0/8 ', 'fd00::/8'],
        sessionAffinity: 'ClientIP',
        ports: [{ name: 'p80', port: 80, nodePort: 30080 }],
      },
      {
        status: {
          loadBalancer: { ingress: [{ ip: '5.6.7.8' }, { ip: '9.9.9.9', ipMode: 'Proxy' }, { hostname: 'x' }] },
        },
      },
    ),
    [
      slice([
        { ip: '10.0.0.1', nodeName: 'me' },
        { ip: '10.0.0.2', nodeName: 'you' },
      ]),
    ],
    view,
  )!;
  const port = plan.ports[0]!;
  assert.equal(port.id, 'ns/svc:p80');
  assert.deepEqual(port.externalIPs, ['1.2.3.4']);
  assert.deepEqual(port.loadBalancerIPs, ['5.6.7.8']);
  assert.deepEqual(port.sourceRanges, ['10.0.0.0/8']);
  assert.equal(port.affinitySeconds, 10_800);
  assert.equal(plan.healthCheckNodePort, 30100);
  assert.equal(plan.localReady, 1);
});
