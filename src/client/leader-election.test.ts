import assert from 'node:assert/strict';
import test from 'node:test';
import { silentLogger } from '../base/log.ts';
import { seededRandom } from '../base/random.ts';
import { VirtualClock } from '../base/virtual-clock.ts';
import { leases } from '../api/generated/resources.ts';
import { statusError } from '../api/status-error.ts';
import { memoryApi } from '../testing/memory-api.ts';
import { lead, LeadershipLost } from './leader-election.ts';
import { client } from './rest.ts';

const lease = { namespace: 'kube-system', name: 'test' };

function setUp() {
  const clock = new VirtualClock();
  const api = memoryApi({ clock, random: seededRandom(1) });
  const shared = { client: client(api), clock, random: seededRandom(2), logger: silentLogger, lease };
  const started: string[] = [];
  const start = (identity: string) => {
    const abort = new AbortController();
    const done = lead(
      { ...shared, identity },
      (signal) => {
        started.push(identity);
        return new Promise((resolve) => signal.addEventListener('abort', () => resolve()));
      },
      abort.signal,
    );
    const ended = done.then(
      () => undefined,
      (error: unknown) => error,
    );
    return { abort, ended };
  };
  return { clock, api, started, start, holder: () => shared.client.resource(leases).get(lease) };
}

test('one leads, the other waits; a released lease is taken within the retry period', async () => {
  const { clock, started, start, holder } = setUp();
  const first = start('a');
  const second = start('b');
  await clock.advance(30_000);
  assert.deepEqual(started, ['a']);
  first.abort.abort();
  assert.equal(await first.ended, undefined);
  await clock.advance(5_000);
  assert.deepEqual(started, ['a', 'b']);
  assert.equal((await holder()).spec.leaseTransitions, 1);
  second.abort.abort();
  await second.ended;
  assert.equal((await holder()).spec.holderIdentity, '');
});

test('a leader that cannot renew steps down, and the other leads when the lease has run out', async () => {
  const { clock, api, started, start } = setUp();
  const first = start('a');
  await clock.advance(3_000);
  let isDown = true;
  const refuse = () => {
    api.failOnce(() => isDown, statusError('ServiceUnavailable', 'down'));
  };
  for (let i = 0; i < 16; i++) {
    refuse();
    await clock.advance(1_000);
  }
  assert.ok((await first.ended) instanceof LeadershipLost);
  isDown = false;
  const second = start('b');
  await clock.advance(8_000);
  assert.deepEqual(started, ['a']);
  await clock.advance(15_000);
  assert.deepEqual(started, ['a', 'b']);
  second.abort.abort();
  await second.ended;
});
