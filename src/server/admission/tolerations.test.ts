import assert from 'node:assert/strict';
import { test } from 'node:test';
import { covers, mergeTolerations } from './tolerations.ts';

const any = { operator: 'Exists' };
const key = { key: 'a', operator: 'Exists' };
const effect = { ...key, effect: 'NoExecute' };
const brief = { ...effect, tolerationSeconds: 5 };
const value = { key: 'a', value: 'x', effect: 'NoExecute' };

test('what covers what', () => {
  const chain = [any, key, effect, brief];
  chain.forEach((wide, at) =>
    chain.forEach((narrow, other) => assert.equal(covers(wide, narrow), at <= other, `${at} ${other}`)),
  );
  assert.ok(covers(effect, value));
  assert.ok(!covers(value, effect));
  assert.ok(covers(value, { ...value, operator: 'Equal' }), 'Equal goes without saying');
  assert.ok(!covers({ ...value, value: 'y' }, value));
  assert.ok(!covers({ ...key, effect: 'NoSchedule' }, effect));
});

test('merged lists hold nothing twice and nothing that is covered, in order', () => {
  const other = { key: 'b', operator: 'Exists' };
  assert.deepEqual(mergeTolerations([brief, other], [effect]), [other, effect]);
  assert.deepEqual(mergeTolerations([key, other], [effect, other]), [key, other]);
  assert.deepEqual(mergeTolerations([], []), []);
});
