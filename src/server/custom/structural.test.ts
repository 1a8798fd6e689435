// Proves pruning, defaulting and validation by schema, each as the documentation of structural schemas says.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { jsonPath } from './json-path.ts';
import { validateListTypes } from './list-types.ts';
import { applyDefaults, dropNulls, prune } from './prune.ts';
import { structural } from './structural.ts';
import type { Props } from './structural.ts';
import { compileJudge, validateValue } from './validate.ts';

const props = {
  type: 'object',
  properties: {
    size: { type: 'integer', minimum: 1, default: 3 },
    name: { type: 'string', maxLength: 3, pattern: '^[a-z]+$' },
    free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true, properties: { known: { type: 'object' } } },
    set: { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'set' },
    any: { type: 'object', additionalProperties: true },
    port: { 'x-kubernetes-int-or-string': true },
    null: { type: 'string', nullable: true },
  },
  required: ['name'],
} as unknown as Props;
const root = structural(props);
const judge = compileJudge(props);

test('pruning takes what is not named, and tells where', () => {
  const object = {
    apiVersion: 'a/v1',
    kind: 'K',
    metadata: {},
    extra: 1,
    free: { x: { y: 1 }, known: { z: 1 } },
    any: { a: { b: 1 } },
  };
  assert.deepEqual(prune(object, root, true), ['any.a.b', 'extra', 'free.known.z']);
  assert.deepEqual(object, {
    apiVersion: 'a/v1',
    kind: 'K',
    metadata: {},
    free: { x: { y: 1 }, known: {} },
    any: { a: {} },
  });
});

test('defaults fill what is missing or null; other nulls go unless they are values', () => {
  const object: Record<string, unknown> = { size: null, name: null, null: null };
  applyDefaults(object, root);
  dropNulls(object, root);
  assert.deepEqual(object, { size: 3, null: null });
});

test('a key named __proto__ is a key', () => {
  const object = JSON.parse('{"__proto__": {"x": 1}, "name": "a"}') as Record<string, unknown>;
  assert.deepEqual(prune(object, root, true), ['__proto__']);
  assert.deepEqual(Object.keys(object), ['name']);
});

const causes = (value: unknown): string[] =>
  validateValue(judge, value).map(({ reason, field }) => `${reason} ${field}`);

test('values are judged with reason and place', () => {
  assert.deepEqual(causes({ name: 'abc', size: 1, port: '80' }), []);
  assert.deepEqual(causes({ name: 'abcd', size: 0 }), ['FieldValueTooLong name', 'FieldValueInvalid size']);
  assert.deepEqual(causes({ size: 1.5, port: true }), [
    'FieldValueTypeInvalid size',
    'FieldValueInvalid <nil>',
    'FieldValueTypeInvalid port',
    'FieldValueRequired name',
  ]);
  assert.deepEqual(causes({ name: '😀😀😀' }), ['FieldValueInvalid name']);
});

test('what did not change is not complained of', () => {
  assert.deepEqual(validateValue(judge, { name: 'LONG', size: 2 }, { name: 'LONG', size: 1 }), []);
  assert.equal(validateValue(judge, { name: 'LONGER' }, { name: 'LONG' }).length, 1);
});

test('sets tell each value that comes again once', () => {
  const found = validateListTypes({ set: ['a', 'b', 'a', 'b', 'a'] }, root);
  assert.deepEqual(
    found.map(({ field }) => field),
    ['set[2]', 'set[3]'],
  );
});

test('paths of printer columns', () => {
  const value = {
    a: {
      list: [
        { k: 'x', v: 1 },
        { k: 'y', v: 2 },
      ],
    },
    'b.c': 3,
  };
  const table: [string, unknown[]][] = [
    ['.a.list[0].v', [1]],
    ['.a.list[-1].v', [2]],
    ['.a.list[*].k', ['x', 'y']],
    ['.a.list[?(@.k=="y")].v', [2]],
    ['.b\\.c', [3]],
    ["['b.c']", [3]],
    ['.none', []],
    ['..v', [1, 2]],
  ];
  for (const [path, wanted] of table) assert.deepEqual(jsonPath(path)(value), wanted, path);
  assert.throws(() => jsonPath('.a['), { name: 'JsonPathError' });
});
