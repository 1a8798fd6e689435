import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { test } from 'node:test';
import type { Clock } from '../base/clock.ts';
import { silentLogger } from '../base/log.ts';
import { metricsRegistry } from '../base/metrics.ts';
import { selfSigned } from '../testing/self-signed.ts';
import { keepReloaded } from './reload.ts';
import { servingPair } from './serving-certificate.ts';

const hurried: Clock = {
  now: () => 5000,
  monotonic: () => 0,
  after(_delayMs, fire) {
    queueMicrotask(fire);
    return { cancel: () => undefined };
  },
};

/** Reads the answers one after the other, then ends. */
function script<T>(answers: (() => T)[]): { read(): Promise<T>; signal: AbortSignal } {
  const abort = new AbortController();
  return {
    signal: abort.signal,
    read: async () => {
      const next = answers.shift();
      if (answers.length === 0) abort.abort(new Error('done'));
      return next!();
    },
  };
}

test('what changed is taken over once, what is wrong or cannot be read leaves the old, and both are counted', async () => {
  const fail = (): string => {
    throw new Error('gone');
  };
  const { read, signal } = script([
    () => 'a',
    () => 'b',
    fail,
    () => 'bad',
    () => 'bad',
    () => 'b',
    () => 'c',
    () => 'c',
  ]);
  const taken: string[] = [];
  const metrics = metricsRegistry();
  const apply = (next: string): void => {
    if (next === 'bad') throw new Error('wrong');
    taken.push(next);
  };
  await keepReloaded(
    { what: 'texts', current: 'a', metric: 'authentication_config', read, apply },
    { clock: hurried, log: silentLogger, metrics, serverId: 'x' },
    signal,
  );
  assert.deepEqual(taken, ['b', 'c']);
  const text = metrics.text();
  assert.match(text, /_config_controller_automatic_reloads_total\{[^}]*status="success"\} 2/);
  assert.match(text, /_config_controller_automatic_reloads_total\{[^}]*status="failure"\} 2/);
  assert.match(text, /_automatic_reload_last_timestamp_seconds\{[^}]*status="success"\} 5/);
  assert.equal(text.match(/last_config_info\{/g)?.length, 1, 'only the configuration in force');
});

test('a renewed serving pair is served once both halves fit', async () => {
  const pair = () => selfSigned(generateKeyPairSync('ec', { namedCurve: 'prime256v1' }));
  const [first, second] = [pair(), pair()];
  const { read, signal } = script([
    () => first,
    () => ({ ...second, key: first.key }),
    () => ({ ...second, key: first.key }),
    () => second,
    () => second,
  ]);
  const renewed: string[] = [];
  await keepReloaded(
    servingPair({ ...first, reread: read }, ({ key }) => void renewed.push(key)),
    { clock: hurried, log: silentLogger, serverId: 'x' },
    signal,
  );
  assert.deepEqual(renewed, [second.key]);
});
