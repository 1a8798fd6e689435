import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { test } from 'node:test';
import { silentLogger } from '../base/log.ts';
import { selfSigned } from '../testing/self-signed.ts';
import { renewRegularly } from './serving-certificate.ts';

const pair = () => selfSigned(generateKeyPairSync('ec', { namedCurve: 'prime256v1' }));

test('a renewed pair is served once both halves fit; what cannot be read leaves the old one', async () => {
  const [first, second] = [pair(), pair()];
  const answers = [
    () => first,
    () => ({ ...second, key: first.key }),
    () => {
      throw new Error('gone');
    },
    () => second,
    () => second,
  ];
  const abort = new AbortController();
  const renewed: string[] = [];
  const clock = {
    now: () => 0,
    monotonic: () => 0,
    after(_delayMs: number, fire: () => void) {
      queueMicrotask(fire);
      return { cancel: () => undefined };
    },
  };
  const reread = async () => {
    const next = answers.shift();
    if (next === undefined) {
      abort.abort(new Error('done'));
      return second;
    }
    return next();
  };
  await renewRegularly({ renew: (key) => renewed.push(key) }, { ...first, reread }, clock, silentLogger, abort.signal);
  assert.deepEqual(renewed, [second.key]);
});
