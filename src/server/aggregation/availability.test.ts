import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Service as CoreService } from '../../api/generated/core.v1.ts';
import type { EndpointSlice } from '../../api/generated/discovery.v1.ts';
import type { Service } from './api-services.ts';
import { judgeByObjects, nextCondition, passed } from './availability.ts';

const of = (service: object | undefined, conditions?: object[]): Service =>
  ({ metadata: { name: 'v1.g' }, spec: { service }, status: { conditions } }) as unknown as Service;
const core = (spec: object): CoreService =>
  ({ metadata: { name: 's', namespace: 'n' }, spec }) as unknown as CoreService;
const slice = (portName: string, ready = true): EndpointSlice =>
  ({
    metadata: { namespace: 'n', labels: { 'kubernetes.io/service-name': 's' } },
    ports: [{ name: portName, port: 8443 }],
    endpoints: [{ addresses: ['10.0.0.1'], conditions: { ready } }],
  }) as unknown as EndpointSlice;

const port = { ports: [{ name: 'https', port: 443 }] };

describe('whether an API service can be used', () => {
  for (const [reason, service, found, slices] of [
    ['Local', undefined, undefined, []],
    ['ServiceNotFound', { namespace: 'n', name: 's' }, undefined, []],
    ['ServicePortError', { namespace: 'n', name: 's', port: 8443 }, core(port), []],
    ['EndpointsNotFound', { namespace: 'n', name: 's', port: 443 }, core(port), []],
    ['MissingEndpoints', { namespace: 'n', name: 's' }, core(port), [slice('other')]],
    ['MissingEndpoints', { namespace: 'n', name: 's' }, core(port), [slice('https', false)]],
    [undefined, { namespace: 'n', name: 's' }, core(port), [slice('https')]],
    [undefined, { namespace: 'n', name: 's', port: 6443 }, core({ type: 'ExternalName', externalName: 'x' }), []],
  ] as const)
    it(`is said by the objects: ${reason ?? 'the server is to be asked'}`, () => {
      const verdict = judgeByObjects(
        of(service),
        (key) => (key === 'n/s' ? found : undefined),
        () => slices,
      );
      assert.equal(verdict?.reason, reason);
      assert.equal(verdict?.status, reason === undefined ? undefined : reason === 'Local' ? 'True' : 'False');
    });

  it('is written once, with the time of the last change of status', () => {
    const first = nextCondition(of(undefined), passed, 't1');
    assert.deepEqual(first, { type: 'Available', ...passed, lastTransitionTime: 't1' });
    assert.equal(nextCondition(of(undefined, [first!]), passed, 't2'), undefined);
    const other = { ...passed, reason: 'Local' };
    assert.equal(nextCondition(of(undefined, [first!]), other, 't2')?.lastTransitionTime, 't1');
    assert.equal(
      nextCondition(of(undefined, [first!]), { ...passed, status: 'False' }, 't2')?.lastTransitionTime,
      't2',
    );
  });
});
