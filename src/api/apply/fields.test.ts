// Proves the algebra of field sets, their canonical form and their order.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  difference,
  differenceBeneath,
  type Fields,
  fieldsOfPaths,
  intersection,
  parseFields,
  pathsOf,
  sameFields,
  union,
} from './fields.ts';

const name = fc.constantFrom('a', 'b', 'c', '__proto__', 'constructor');
const paths = fc.array(fc.array(name, { minLength: 1, maxLength: 3 }), { maxLength: 8 });
const sets = paths.map((list) => fieldsOfPaths(list));
const text = (set: Fields) => JSON.stringify(set);

test('sets behave as sets of paths', () => {
  fc.assert(
    fc.property(sets, sets, (a, b) => {
      const left = new Set(pathsOf(a));
      const right = new Set(pathsOf(b));
      assert.deepEqual(new Set(pathsOf(union(a, b))), new Set([...left, ...right]));
      assert.deepEqual(new Set(pathsOf(difference(a, b))), new Set([...left].filter((path) => !right.has(path))));
      assert.deepEqual(new Set(pathsOf(intersection(a, b))), new Set([...left].filter((path) => right.has(path))));
      const beneath = (path: string) => [...right].some((root) => path === root || path.startsWith(`${root}.`));
      assert.deepEqual(new Set(pathsOf(differenceBeneath(a, b))), new Set([...left].filter((path) => !beneath(path))));
      assert.equal(text(union(a, b)), text(union(b, a)));
      assert.ok(sameFields(union(a, a), a));
    }),
  );
});

test('what does not change is shared', () => {
  const a = fieldsOfPaths([
    ['spec', 'x'],
    ['status', 'y'],
  ]);
  assert.equal(union(a, fieldsOfPaths([['spec', 'x']])), a);
  assert.equal(difference(a, fieldsOfPaths([['other']])), a);
  assert.equal(union(a, fieldsOfPaths([['spec', 'z']]))['f:status'], a['f:status']);
});

test('any text form of a set is read as the one canonical form', () => {
  const cases: readonly [unknown, string | undefined][] = [
    [{ 'f:b': {}, 'f:a': { 'f:x': {}, '.': {} } }, '{"f:a":{".":{},"f:x":{}},"f:b":{}}'],
    [{ 'k:{"b": 1, "a":"x"}': {} }, '{"k:{\\"a\\":\\"x\\",\\"b\\":1}":{}}'],
    [
      { 'i:3': {}, 'v:"x"': {}, 'k:{"a":443}': {}, 'k:{"a":80}': {}, 'f:z': {} },
      '{"f:z":{},"k:{\\"a\\":80}":{},"k:{\\"a\\":443}":{},"v:\\"x\\"":{},"i:3":{}}',
    ],
    [{ '.': {} }, '{}'],
    [{ 'f:a': null }, '{"f:a":{}}'],
    [{ 'q:a': {}, 'f:b': { 'q:c': {} } }, '{"f:b":{}}'],
    [{ 'q:a': {} }, '{}'],
    [{ 'f:a': { ff: {} } }, undefined],
    [{ f: {} }, undefined],
    [{ 'k:{': {} }, undefined],
    [{ 'i:x': {} }, undefined],
    [{ 'f:a': 1 }, undefined],
    [[], undefined],
    ['x', undefined],
  ];
  for (const [given, wanted] of cases) {
    const set = parseFields(given);
    assert.equal(set === undefined ? undefined : text(set), wanted, JSON.stringify(given));
  }
});

test('reading never fails on anything else, and is stable', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
      const set = parseFields(value);
      if (set !== undefined) assert.equal(parseFields(set), set);
    }),
  );
  let deep: unknown = {};
  for (let level = 0; level < 50_000; level++) deep = { 'f:a': deep };
  assert.equal(parseFields(deep), undefined);
});
