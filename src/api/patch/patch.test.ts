// Proves the laws of patches, and that strangers' input is either applied or refused with a StatusError.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { freeze } from '../meta.ts';
import { schemaOf } from '../schema/builtin.ts';
import { isStatusError } from '../status-error.ts';
import { applyJsonPatch, unknownJsonPatchMembers } from './json-patch.ts';
import { applyMergePatch } from './merge-patch.ts';
import { applyStrategicPatch } from './strategic-patch.ts';

const pod = schemaOf('v1', 'Pod')!;

/** Undefined when refused. */
function orRefused<T>(apply: () => T): T | undefined {
  try {
    return apply();
  } catch (error) {
    if (!isStatusError(error)) throw error;
    assert.ok(error.code >= 400 && error.code < 500, error.message);
    return undefined;
  }
}

const key = fc.constantFrom('a', 'b', 'c', 'spec', 'containers', '__proto__', 'constructor');
const json = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom('x', 'y', 0, 1, true),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(key, tie('value'), { maxKeys: 4 }),
  ),
})).value;
const document = fc.dictionary(key, json, { maxKeys: 4 });

function diff(from: unknown, to: unknown): unknown {
  const isObject = (value: unknown): value is Record<string, unknown> =>
    typeof value === 'object' && value !== null && !Array.isArray(value);
  if (!isObject(from) || !isObject(to)) return to;
  const entries: [string, unknown][] = [];
  for (const name of new Set([...Object.keys(from), ...Object.keys(to)])) {
    if (!Object.hasOwn(to, name)) entries.push([name, null]);
    else if (!Object.hasOwn(from, name)) entries.push([name, to[name]]);
    else if (isObject(from[name]) !== isObject(to[name]) || JSON.stringify(from[name]) !== JSON.stringify(to[name]))
      entries.push([name, diff(from[name], to[name])]);
  }
  return Object.fromEntries(entries);
}

const plain = (value: unknown) => JSON.parse(JSON.stringify(value)) as unknown;

test('a merge patch made of the difference of two documents gives the second', () => {
  fc.assert(
    fc.property(document, document, (from, to) => {
      const before = JSON.stringify(from);
      const result = applyMergePatch(freeze(from), diff(from, to));
      assert.deepEqual(plain(result), plain(to));
      assert.equal(JSON.stringify(from), before);
    }),
  );
});

test('merge patch: applied twice is applied once, and what does not change is the same object', () => {
  fc.assert(
    fc.property(document, document, (object, patch) => {
      const once = applyMergePatch(freeze(object), patch);
      assert.equal(applyMergePatch(once, patch), once);
    }),
  );
});

const pointer = fc
  .array(fc.oneof(key, fc.constantFrom('0', '1', '-1', '-', '99', '~0', '~1', '')), { maxLength: 4 })
  .map((segments) => segments.map((segment) => `/${segment}`).join(''));
const operation = fc.record(
  {
    op: fc.oneof(fc.constantFrom('add', 'remove', 'replace', 'move', 'copy', 'test'), fc.anything()),
    path: fc.oneof({ weight: 5, arbitrary: pointer }, { weight: 1, arbitrary: fc.anything() }),
    from: pointer,
    value: json,
  },
  { requiredKeys: [] },
);

test('JSON patch: applied or refused, and the document is never changed in place', () => {
  fc.assert(
    fc.property(document, fc.array(operation, { maxLength: 6 }), (object, operations) => {
      const before = JSON.stringify(object);
      orRefused(() => applyJsonPatch(freeze(object), operations));
      assert.equal(JSON.stringify(object), before);
    }),
    { numRuns: 500 },
  );
  for (const body of [1, 'x', {}, [1], [null], [[]]])
    assert.equal(
      orRefused(() => applyJsonPatch({}, body)),
      undefined,
    );
});

test('JSON patch: a copy is its own', () => {
  const result = applyJsonPatch(freeze({ a: { x: 1 } }), [
    { op: 'copy', from: '/a', path: '/b' },
    { op: 'replace', path: '/b/x', value: 2 },
    { op: 'add', path: '/c', value: { y: 1 } },
    { op: 'add', path: '/c/y', value: 2 },
  ]);
  assert.deepEqual(result, { a: { x: 1 }, b: { x: 2 }, c: { y: 2 } });
});

test('JSON patch: what upstream is lenient about', () => {
  const cases: readonly [object, unknown[], unknown][] = [
    [{ a: {} }, [{ op: 'replace', path: '/a/new', value: 1 }], { a: { new: 1 } }],
    [{ l: [1, 2, 3] }, [{ op: 'remove', path: '/l/-1' }], { l: [1, 2] }],
    [{ l: [1] }, [{ op: 'add', path: '/l/-1', value: 2 }], { l: [1, 2] }],
    [{ a: 1 }, [{ op: 'add', path: 'x/a', value: 2 }], { a: 2 }],
    [{ a: 1 }, [{ op: 'add', path: '/b' }], { a: 1, b: null }],
    [{ 'a/b': 1 }, [{ op: 'test', path: '/a~1b', value: 1 }], { 'a/b': 1 }],
  ];
  for (const [object, operations, wanted] of cases)
    assert.deepEqual(applyJsonPatch(freeze(object), operations), wanted, JSON.stringify(operations));
  assert.throws(
    () =>
      applyJsonPatch(
        {},
        Array.from({ length: 10_001 }, () => ({})),
      ),
    { code: 413 },
  );
  assert.throws(() => applyJsonPatch({}, [{ op: 'remove', path: '/nothing' }]), { code: 422 });
  assert.deepEqual(unknownJsonPatchMembers([{ op: 'add', comment: 1 }]), ['json patch unknown field "[0].comment"']);
});

const directives = fc.constantFrom(
  '$patch',
  '$retainKeys',
  '$setElementOrder/containers',
  '$deleteFromPrimitiveList/finalizers',
  '$setElementOrder/env',
);
const podKey = fc.constantFrom(
  'metadata',
  'spec',
  'containers',
  'env',
  'name',
  'value',
  'volumes',
  'finalizers',
  'labels',
  'tolerations',
  'image',
);
const podPatch = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 6 },
    fc.constantFrom('a', 'b', 'delete', 'replace', 'merge', 1, null),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(fc.oneof({ weight: 6, arbitrary: podKey }, { weight: 1, arbitrary: directives }), tie('value'), {
      maxKeys: 5,
    }),
  ),
})).value;
const aPod = freeze({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p', finalizers: ['a', 'b'], labels: { a: 'b' } },
  spec: {
    containers: [
      {
        name: 'a',
        image: 'x',
        env: [
          { name: 'a', value: '1' },
          { name: 'b', value: '2' },
        ],
      },
      { name: 'b', image: 'y' },
    ],
    volumes: [{ name: 'a', emptyDir: {} }],
    tolerations: [{ key: 'a' }],
  },
});

test('strategic merge patch: any body is applied or refused', () => {
  const before = JSON.stringify(aPod);
  fc.assert(
    fc.property(fc.dictionary(fc.constantFrom('metadata', 'spec', '$patch'), podPatch), (patch) => {
      orRefused(() => applyStrategicPatch(aPod, patch, pod));
      assert.equal(JSON.stringify(aPod), before);
    }),
    { numRuns: 1000 },
  );
});

test('strategic merge patch without directives: applied twice is applied once', () => {
  const container = fc.record({ name: fc.constantFrom('a', 'b', 'c'), image: fc.constantFrom('x', 'z') });
  const patch = fc.record({
    metadata: fc.record({ finalizers: fc.uniqueArray(fc.constantFrom('a', 'c', 'd')) }, { requiredKeys: [] }),
    spec: fc.record(
      { containers: fc.uniqueArray(container, { selector: ({ name }) => name, maxLength: 3 }) },
      { requiredKeys: [] },
    ),
  });
  fc.assert(
    fc.property(patch, (body) => {
      const once = applyStrategicPatch(aPod, body, pod);
      assert.deepEqual(applyStrategicPatch(once, body, pod), once);
    }),
  );
});

test('what nests too deep is refused, not a stack overflow', () => {
  let deep: unknown = 1;
  for (let level = 0; level < 20_000; level++) deep = { a: deep };
  assert.equal(
    orRefused(() => applyMergePatch({}, deep)),
    undefined,
  );
  assert.equal(
    orRefused(() => applyStrategicPatch({}, deep, pod)),
    undefined,
  );
});

interface Operation {
  readonly op: string;
  readonly path: string;
  readonly value?: unknown;
  readonly from?: string;
}

const segment = (name: string | number): string => `/${String(name).replaceAll('~', '~0').replaceAll('/', '~1')}`;

/** A JSON patch that makes `to` of `from`. */
function operations(from: unknown, to: unknown, path = ''): Operation[] {
  if (JSON.stringify(from) === JSON.stringify(to)) return [];
  if (Array.isArray(from) && Array.isArray(to)) {
    const both = Math.min(from.length, to.length);
    const changed = to.slice(0, both).flatMap((item, at) => operations(from[at], item, path + segment(at)));
    const gone = from.slice(both).map(() => ({ op: 'remove', path: path + segment(both) }));
    return [
      ...changed,
      ...gone,
      ...to.slice(both).map((value) => ({ op: 'add', path: `${path}/-`, value: value as unknown })),
    ];
  }
  const isMap = (value: unknown): value is Record<string, unknown> =>
    typeof value === 'object' && value !== null && !Array.isArray(value);
  if (!isMap(from) || !isMap(to)) return [{ op: 'replace', path, value: to }];
  return [
    ...Object.keys(from).flatMap((name) =>
      Object.hasOwn(to, name)
        ? operations(from[name], to[name], path + segment(name))
        : [{ op: 'remove', path: path + segment(name) }],
    ),
    ...Object.keys(to)
      .filter((name) => !Object.hasOwn(from, name))
      .map((name) => ({ op: 'add', path: path + segment(name), value: to[name] })),
  ];
}

test('a JSON patch made of the difference of two documents gives the second, and that of the other direction the first', () => {
  fc.assert(
    fc.property(document, document, (from, to) => {
      const there = applyJsonPatch(freeze(from), operations(from, to));
      assert.deepEqual(plain(there), plain(to));
      assert.deepEqual(plain(applyJsonPatch(there, operations(to, from))), plain(from));
    }),
    { numRuns: 500 },
  );
});

test('JSON patch: a move is a copy and a removal; a test of what is there passes, and of anything else does not', () => {
  fc.assert(
    fc.property(document, key, json, (object, name, value) => {
      const all = freeze({ ...object, source: value });
      const path = `/target-${name}`;
      const moved = applyJsonPatch(all, [{ op: 'move', from: '/source', path }]);
      const copied = applyJsonPatch(all, [
        { op: 'copy', from: '/source', path },
        { op: 'remove', path: '/source' },
      ]);
      assert.deepEqual(plain(moved), plain(copied));
      assert.deepEqual(plain(applyJsonPatch(all, [{ op: 'test', path: '/source', value }])), plain(all));
      assert.equal(
        orRefused(() => applyJsonPatch(all, [{ op: 'test', path: '/source', value: { other: value } }])),
        undefined,
      );
    }),
  );
});

test('strategic directives that meet nothing, or something of another type', () => {
  const object = { metadata: { finalizers: ['a.b/c'] }, spec: { volumes: [{ name: 'v', emptyDir: {} }] } };
  const patched = (patch: unknown) => applyStrategicPatch(object, patch, pod) as typeof object;
  // $retainKeys of an item that is new stays, for whoever decodes to complain about.
  const added = { name: 'w', $retainKeys: ['name'], emptyDir: {} };
  assert.deepEqual(patched({ spec: { volumes: [added] } }).spec.volumes[0], added);
  // A merge key of null says nothing, and is for validation to refuse.
  assert.deepEqual(patched({ spec: { volumes: [{ name: null, emptyDir: {} }] } }).spec.volumes[0], {
    name: null,
    emptyDir: {},
  });
  for (const patch of [
    { metadata: { '$deleteFromPrimitiveList/finalizers': [1] } },
    { spec: { '$setElementOrder/unknown': [] } },
  ])
    assert.throws(
      () => patched(patch),
      (error) => isStatusError(error, 'BadRequest'),
    );
});

test('directives that are whole numbers of 64 bits are refused as others are', () => {
  const schema = schemaOf('apps/v1', 'Deployment')!;
  for (const patch of [
    { $patch: 2n ** 60n },
    { spec: { template: { spec: { containers: [{ name: 'c', $patch: 2n ** 60n }] } } } },
  ])
    assert.throws(
      () => applyStrategicPatch({ spec: { template: { spec: { containers: [{ name: 'c' }] } } } }, patch, schema),
      (error) => isStatusError(error, 'BadRequest'),
    );
});
