// Proves that tokens of an account are asked for once, renewed in time, and that a missing account is made.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VirtualClock } from '../base/virtual-clock.ts';
import { notFound, statusError } from '../api/status-error.ts';
import { accountToken } from './account-token.ts';
import type { Transport } from './transport.ts';

function server(clock: VirtualClock, { exists = true, lifeMs = 3_600_000 } = {}) {
  const calls: string[] = [];
  let has = exists;
  const transport = {
    async call({ method, path }: { method: string; path: string }) {
      calls.push(`${method} ${path.replace('/api/v1/namespaces/kube-system/serviceaccounts', '')}`);
      if (!path.endsWith('/token')) {
        if (has) throw statusError('AlreadyExists', 'there');
        has = true;
        return {};
      }
      if (!has) throw notFound({ group: '', plural: 'serviceaccounts' }, 'robot');
      const expirationTimestamp = new Date(clock.now() + lifeMs).toISOString();
      return { status: { token: `token ${calls.length}`, expirationTimestamp } };
    },
  } as unknown as Transport;
  return { transport, calls };
}

test('one request for many at once, and again when four fifths of its life are over', async () => {
  const clock = new VirtualClock();
  const { transport, calls } = server(clock);
  const token = accountToken(transport, 'kube-system', 'robot', clock);
  assert.deepEqual(await Promise.all([token(), token(), token()]), ['token 1', 'token 1', 'token 1']);
  await clock.advance(47 * 60_000);
  assert.equal(await token(), 'token 1');
  await clock.advance(2 * 60_000);
  assert.equal(await token(), 'token 2');
  assert.deepEqual(calls, ['POST /robot/token', 'POST /robot/token']);
});

test('a token that the server gives a shorter life is renewed sooner', async () => {
  const clock = new VirtualClock();
  const token = accountToken(server(clock, { lifeMs: 600_000 }).transport, 'kube-system', 'robot', clock);
  assert.equal(await token(), 'token 1');
  await clock.advance(500_000);
  assert.equal(await token(), 'token 2');
});

test('a missing account is made; a refusal is told, and the next one asks again', async () => {
  const clock = new VirtualClock();
  const { transport, calls } = server(clock, { exists: false });
  assert.equal(await accountToken(transport, 'kube-system', 'robot', clock)(), 'token 3');
  assert.deepEqual(calls, ['POST /robot/token', 'POST ', 'POST /robot/token']);
  let refuses = true;
  const refusing: Transport = {
    ...transport,
    call: (request) => (refuses ? Promise.reject(statusError('Forbidden', 'no')) : transport.call(request)),
  };
  const token = accountToken(refusing, 'kube-system', 'robot', clock);
  await assert.rejects(token(), /no/);
  refuses = false;
  assert.equal(await token(), 'token 4');
});
