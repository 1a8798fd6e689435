// Proves rules in CEL on custom objects: judgement, transitions, forgiveness, places, messages and estimated costs.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Frozen, KubeObject } from '../../api/meta.ts';
import { compileRules } from './compile-rules.ts';
import { ruleErrors } from './rule-errors.ts';
import { structural } from './structural.ts';
import type { Props } from './structural.ts';

const schema = (spec: object): Props =>
  ({ type: 'object', properties: { spec: { type: 'object', ...spec } } }) as unknown as Props;
const object = (spec: object): Frozen<KubeObject> =>
  ({ apiVersion: 'a/v1', kind: 'K', metadata: { name: 'x' }, spec }) as unknown as Frozen<KubeObject>;

const rules = compileRules(
  structural(
    schema({
      properties: {
        min: { type: 'integer' },
        max: { type: 'integer' },
        fixed: { type: 'string', 'x-kubernetes-validations': [{ rule: 'self == oldSelf', message: 'is fixed' }] },
        m: {
          type: 'object',
          additionalProperties: { type: 'integer', 'x-kubernetes-validations': [{ rule: 'self < 5' }] },
        },
      },
      'x-kubernetes-validations': [
        {
          rule: '!has(self.min) || !has(self.max) || self.min <= self.max',
          messageExpression: '"min %d above max".format([self.min])',
          reason: 'FieldValueForbidden',
          fieldPath: '.min',
        },
      ],
    }),
  ),
)!;

const told = (next: object, prev?: object): string[] =>
  rules.judge(object(next), prev && object(prev)).map(({ reason, field, message }) => `${reason} ${field} ${message}`);

test('a rule that fails is told with its reason, place and message', () => {
  assert.deepEqual(told({ min: 1, max: 2 }), []);
  assert.deepEqual(told({ min: 3, max: 2 }), ['FieldValueForbidden spec.min Forbidden: min 3 above max']);
  assert.deepEqual(told({ m: { a: 7 } }), ['FieldValueInvalid spec.m[a] Invalid value: 7: failed rule: self < 5']);
});

test('transition rules need something to compare with', () => {
  assert.deepEqual(told({ fixed: 'a' }), []);
  assert.deepEqual(told({ fixed: 'b' }, { fixed: 'a' }), ['FieldValueInvalid spec.fixed Invalid value: "b": is fixed']);
  assert.deepEqual(told({ fixed: 'b' }, {}), []);
});

test('what did not change is forgiven, with a warning', () => {
  assert.deepEqual(told({ min: 1, m: { a: 7 } }, { m: { a: 7 } }), []);
  assert.equal(rules.warnings(object({ min: 1, m: { a: 7 } }), object({ m: { a: 7 } })).length, 1);
});

const refusals = (spec: object): string[] =>
  ruleErrors(structural(schema(spec)), '', []).map(({ reason, field }) => `${reason} ${field.split('.').at(-1)}`);

test('expressions that do not compile or cost too much are refused', () => {
  const list = (rule: string, maxItems?: number) => ({
    properties: {
      l: {
        type: 'array',
        items: { type: 'integer' },
        ...(maxItems && { maxItems }),
        'x-kubernetes-validations': [{ rule }],
      },
    },
  });
  assert.deepEqual(refusals(list('self.nope')), ['FieldValueInvalid rule']);
  assert.deepEqual(refusals(list('size(self)')), ['FieldValueInvalid rule']);
  const square = 'self.all(x, self.all(y, x == y))';
  assert.deepEqual(refusals(list(square, 1000)), []);
  assert.deepEqual(refusals(list(square, 2000)), ['FieldValueForbidden rule']);
  assert.equal(refusals(list(square)).length, 3);
});
