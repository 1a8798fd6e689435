import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { APIService } from '../../api/generated/apiregistration.v1.ts';
import type { Frozen } from '../../api/meta.ts';
import { planAvailability } from './api-service-conditions.ts';

const of = (service: object | undefined, conditions?: object[]): Frozen<APIService> =>
  ({ spec: { service }, status: { conditions } }) as unknown as Frozen<APIService>;
const service = { namespace: 'n', name: 's' };

test('local ones are available, missing services are told, others are left to who asks them', () => {
  const none = (): boolean => false;
  const local = planAvailability(of(undefined), none, 't1');
  assert.deepEqual([local?.status, local?.reason], ['True', 'Local']);
  const missing = planAvailability(of(service), none, 't1');
  assert.deepEqual([missing?.status, missing?.reason], ['False', 'ServiceNotFound']);
  assert.equal(planAvailability(of(service, [missing!]), none, 't2'), undefined);
  assert.equal(
    planAvailability(of(service), (key) => key === 'n/s', 't1'),
    undefined,
  );
});
