import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isSharedJson, jsonText, sharedJson, sharedJsonOf } from './shared-json.ts';

test('values that are written alike are one, frozen to the bottom', () => {
  const one = sharedJsonOf('{"f:metadata": {"f:labels": {".": {}}}}') as Record<string, Record<string, object>>;
  const other = sharedJsonOf('{"f:metadata":{"f:labels":{".":{}}}}');
  assert.equal(one, other);
  assert.ok(Object.isFrozen(one['f:metadata']!['f:labels']));
  assert.equal(jsonText(one), '{"f:metadata":{"f:labels":{".":{}}}}');
  assert.equal(
    sharedJson(Object.freeze({ 'f:metadata': Object.freeze({ 'f:labels': Object.freeze({ '.': {} }) }) })),
    one,
  );
});

test('order counts, and what is no object stays what it is', () => {
  assert.notEqual(sharedJsonOf('{"f:a":{},"f:b":{}}'), sharedJsonOf('{"f:b":{},"f:a":{}}'));
  assert.equal(sharedJsonOf('3'), 3);
  assert.equal(sharedJsonOf('null'), null);
  assert.ok(!isSharedJson({}));
  assert.throws(() => sharedJsonOf('{'), SyntaxError);
});

test('keys like __proto__ are keys', () => {
  const value = sharedJsonOf('{"__proto__":{"f:x":{}}}') as object;
  assert.deepEqual(Object.keys(value), ['__proto__']);
  assert.equal(jsonText(value), '{"__proto__":{"f:x":{}}}');
});

test('it forgets: values beyond its bound are made anew, and stay right', () => {
  const first = sharedJsonOf('{"f:first":{}}');
  for (let at = 0; at < 10_000; at++) sharedJsonOf(`{"f:n${at}":{}}`);
  const again = sharedJsonOf('{"f:first":{}}');
  assert.notEqual(first, again);
  assert.deepEqual(first, again);
  assert.equal(jsonText(first), jsonText(again));
});
