// Proves what a service account keeps of its secrets.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ServiceAccount } from '../../../api/generated/core.v1.ts';
import { nameSecretsOnly } from './service-account.ts';

test('of the secrets that an account names nothing but the name is kept', () => {
  const account: ServiceAccount = {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { name: 'a', uid: '', resourceVersion: '', creationTimestamp: '' },
    secrets: [{ kind: 'Secret', namespace: 'other', name: 'b', uid: 'u' }, { kind: 'Secret' }],
  };
  nameSecretsOnly(account);
  assert.deepEqual(account.secrets, [{ name: 'b' }, {}]);
});
