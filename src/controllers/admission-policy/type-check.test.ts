import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ValidatingAdmissionPolicy } from '../../api/generated/admissionregistration.v1.ts';
import { celTypeOf } from './openapi-types.ts';
import { expressionWarnings, resourcesToCheck } from './type-check.ts';

const schemas = {
  Thing: {
    type: 'object',
    properties: { spec: { type: 'object', properties: { size: { type: 'integer' }, name: { type: 'string' } } } },
  },
  Limit: { type: 'object', properties: { most: { type: 'integer' } } },
};
const thing = { title: 'v1, Kind=Thing', type: celTypeOf({ $ref: '#/Thing' }, schemas) };
const policy = (spec: object): ValidatingAdmissionPolicy => ({ spec }) as unknown as ValidatingAdmissionPolicy;
const fields = (spec: object, params = false): string[] =>
  expressionWarnings(policy(spec), [thing], params ? celTypeOf({ $ref: '#/Limit' }, schemas) : undefined).map(
    ({ fieldRef }) => fieldRef,
  );

test('expressions are checked against the kinds that they are about', () => {
  assert.deepEqual(fields({ validations: [{ expression: 'object.spec.size > 1' }] }), []);
  assert.deepEqual(
    fields({
      validations: [
        { expression: 'object.spec.size > "a"' },
        { expression: 'object.spec.gone == 1', messageExpression: 'object.spec.name' },
        { expression: 'true', messageExpression: 'object.spec.none' },
      ],
    }),
    ['spec.validations[0].expression', 'spec.validations[1].expression', 'spec.validations[2].messageExpression'],
  );
});

test('composed variables have types; a broken one may be anything', () => {
  const variables = [
    { name: 'size', expression: 'object.spec.size' },
    { name: 'broken', expression: 'object.nowhere' },
  ];
  const validations = [{ expression: 'variables.size == "x"' }, { expression: 'variables.broken == "x"' }];
  assert.deepEqual(fields({ variables, validations }), ['spec.validations[0].expression']);
});

test('parameters have the type of their kind where it is served', () => {
  const spec = {
    paramKind: { apiVersion: 'v1', kind: 'Limit' },
    validations: [{ expression: 'object.spec.size < params.most' }, { expression: 'params.least < 1' }],
  };
  assert.deepEqual(fields(spec, true), ['spec.validations[1].expression']);
  assert.deepEqual(fields(spec), [], 'of a kind that is not served nothing is known');
});

test('rules with wildcards or subresources say no type; ten kinds are checked', () => {
  const rule = (resources: string[], apiGroups = ['apps']) => ({ apiGroups, apiVersions: ['v1'], resources });
  const of = (...resourceRules: object[]) => resourcesToCheck(policy({ matchConstraints: { resourceRules } }));
  assert.deepEqual(of(rule(['*']), rule(['pods/status']), rule(['pods'], ['*'])), []);
  assert.equal(of(rule(Array.from({ length: 20 }, (_, at) => `r${at}`))).length, 10);
});
