// Owns the tests of keys that come twice: what is left, and what is told.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseJson } from './json-parse.ts';
import { parseYaml } from './yaml.ts';

test('what comes twice: merged where the type is known, else the last counts; told either way', () => {
  const cases: [text: string, merged: unknown, last: unknown][] = [
    [
      '{"metadata":{"name":"a"},"metadata":{"uid":"u"}}',
      { metadata: { name: 'a', uid: 'u' } },
      { metadata: { uid: 'u' } },
    ],
    ['{"data":{"a":"1"},"data":{"a":"2","b":"3"}}', { data: { a: '2', b: '3' } }, { data: { a: '2', b: '3' } }],
    ['{"data":{"a":"1"},"data":{"b":"3"}}', { data: { a: '1', b: '3' } }, { data: { b: '3' } }],
    ['{"data":{"a":"1"},"data":null}', { data: null }, { data: null }],
    ['{"spec":{"a":{"x":1}},"spec":{"a":{"y":2}}}', { spec: { a: { x: 1, y: 2 } } }, { spec: { a: { y: 2 } } }],
    ['{"metadata":{"name":"a"},"metadata":null}', { metadata: { name: 'a' } }, { metadata: null }],
    ['{"a":[1],"a":[2]}', { a: [2] }, { a: [2] }],
    ['{"a":1,"a":"x"}', { a: 'x' }, { a: 'x' }],
    ['{"a":{"b":1},"a":2}', { a: 2 }, { a: 2 }],
  ];
  for (const [text, merged, last] of cases) {
    assert.deepEqual(parseJson(text, true).value, merged, text);
    assert.deepEqual(parseJson(text).value, last, text);
    assert.deepEqual(parseJson(text, true).problems[0], `duplicate field ${/^\{("\w+")/.exec(text)![1]}`, text);
  }
  const { value } = parseJson('{"__proto__":{"a":1},"__proto__":{"b":2}}', true);
  assert.deepEqual(Object.getOwnPropertyDescriptor(value, '__proto__')?.value, { a: 1, b: 2 });
  assert.equal(Object.getPrototypeOf(value), Object.prototype);
});

test('bytes in YAML are read as text', () => {
  assert.deepEqual(parseYaml('a: !!binary YWJj\n').value, { a: 'abc' });
  assert.deepEqual(parseYaml('a: !!binary |\n  YW\n  Jj\n').value, { a: 'abc' });
  assert.throws(() => parseYaml('a: !!binary "!"\n'), /error converting YAML to JSON/);
});
