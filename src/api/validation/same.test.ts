// Proves when two values mean the same to the API: absent and empty are one.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { schemaOfType } from '../schema/builtin.ts';
import { same, sameAs } from './same.ts';

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

test('what upstream keeps behind a pointer differs absent from empty, lists and maps do not', () => {
  const pod = schemaOfType('core.v1.PodSpec');
  const container = (more: object) => ({ containers: [{ name: 'c', ...more }] });
  for (const [a, b, expected] of [
    [{ affinity: {} }, {}, false],
    [{ affinity: {} }, { affinity: null }, false],
    [{ affinity: {} }, { affinity: {} }, true],
    [{ affinity: { nodeAffinity: {} } }, { affinity: {} }, false],
    [{ nodeSelector: {}, tolerations: [] }, {}, true],
    [{ nodeSelector: { a: 'b' } }, { nodeSelector: { a: 'c' } }, false],
    [{ nodeSelector: { a: '' } }, { nodeSelector: { b: '' } }, false],
    [{ tolerations: [{ key: 'a' }] }, { tolerations: [{ key: 'a' }, {}] }, false],
    [container({ securityContext: {} }), container({}), false],
    [container({ resources: {} }), container({}), true],
    [container({ image: 'a' }), container({ image: 'b' }), false],
    [undefined, {}, true],
  ] as const)
    assert.equal(sameAs(pod, a, b), expected, JSON.stringify([a, b]));
});
