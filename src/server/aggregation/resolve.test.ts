import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Service } from '../../api/generated/core.v1.ts';
import type { EndpointSlice } from '../../api/generated/discovery.v1.ts';
import { resolveService } from './resolve.ts';

const service = (spec: object): Service =>
  ({ apiVersion: 'v1', kind: 'Service', metadata: { name: 's', namespace: 'n' }, spec }) as unknown as Service;
const slice = (port: number, name: string, endpoints: object[], of = 's'): EndpointSlice =>
  ({
    metadata: { name: 'x', namespace: 'n', labels: { 'kubernetes.io/service-name': of } },
    ports: [{ name, port }],
    endpoints,
  }) as unknown as EndpointSlice;

const slices = [
  slice(8443, 'https', [
    { addresses: ['10.0.0.1'], conditions: { ready: true } },
    { addresses: ['10.0.0.2'], conditions: { ready: false } },
    { addresses: ['10.0.0.3'] },
  ]),
  slice(9, 'other', [{ addresses: ['10.0.0.4'] }]),
  slice(8443, 'https', [{ addresses: ['10.9.9.9'] }], 'another'),
];
const clusterIP = service({ clusterIP: '10.96.0.7', ports: [{ name: 'https', port: 443 }] });

describe('resolving a service', () => {
  it('takes its own address', () => {
    assert.deepEqual(resolveService(clusterIP, slices, 443, false), [{ host: '10.96.0.7', port: 443 }]);
  });

  it('takes the ready endpoints of the port by name', () => {
    assert.deepEqual(resolveService(clusterIP, slices, 443, true), [
      { host: '10.0.0.1', port: 8443 },
      { host: '10.0.0.3', port: 8443 },
    ]);
  });

  it('takes an external name with the port asked for', () => {
    const external = service({ type: 'ExternalName', externalName: 'a.example.com' });
    assert.deepEqual(resolveService(external, [], 6443, true), [{ host: 'a.example.com', port: 6443 }]);
  });

  for (const [what, given, port, byEndpoints] of [
    ['absent', undefined, 443, false],
    ['without the port', clusterIP, 444, false],
    ['headless', service({ clusterIP: 'None', ports: [{ port: 443 }] }), 443, false],
    ['without endpoints', service({ clusterIP: '10.96.0.7', ports: [{ port: 443 }] }), 443, true],
  ] as const)
    it(`refuses a service ${what}`, () => {
      assert.throws(() => resolveService(given, slices, port, byEndpoints), { name: 'Unresolvable' });
    });
});
