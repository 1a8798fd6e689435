// Proves when two values mean the same to the API: absent and empty are one.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { same } from './same.ts';

test('absent and empty', () => {
  for (const [a, b] of [
    [undefined, {}],
    [undefined, []],
    [{ a: undefined, b: 1 }, { b: 1 }],
    [
      { a: 1, b: [1] },
      { b: [1], a: 1 },
    ],
  ])
    assert.equal(same(a, b), true, JSON.stringify([a, b]));
});

test('differences', () => {
  for (const [a, b] of [
    [{ a: 1 }, {}],
    // An entry of a map.
    [{ a: '' }, { a: undefined }],
    [{ a: '' }, {}],
    [[1], [2]],
    [[1], [1, 2]],
    ['a', 'b'],
    [{ a: 'x' }, ['x']],
  ])
    assert.equal(same(a, b), false, JSON.stringify([a, b]));
});
