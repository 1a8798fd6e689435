import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { mergeSwagger, swaggerOfStructural } from './merge.ts';

const ref = (name: string) => ({ schema: { $ref: `#/definitions/${name}` } });

describe('merging OpenAPI v2', () => {
  const base = {
    swagger: '2.0',
    paths: { '/a': ref('A') },
    definitions: { A: { type: 'string' }, Meta: { type: 'object' } },
  };

  it('adds paths with the definitions that they need, and keeps its own', () => {
    const merged = mergeSwagger(base, [
      {
        paths: { '/a': ref('B'), '/b': ref('B') },
        definitions: { B: { properties: { m: { $ref: '#/definitions/Meta' } } }, Meta: { type: 'object' }, Other: {} },
      },
    ]);
    assert.deepEqual(merged['paths'], { '/a': ref('A'), '/b': ref('B') });
    assert.deepEqual(Object.keys(merged['definitions'] as object), ['A', 'B', 'Meta']);
  });

  it('gives definitions of the same name that differ another one', () => {
    const merged = mergeSwagger(base, [{ paths: { '/b': ref('A') }, definitions: { A: { type: 'integer' } } }]);
    assert.deepEqual((merged['paths'] as Record<string, unknown>)['/b'], ref('A_v2'));
    assert.deepEqual(merged['definitions'], {
      A: { type: 'string' },
      A_v2: { type: 'integer' },
      Meta: { type: 'object' },
    });
  });
});

describe('structural schemas as Swagger', () => {
  it('leave out what it cannot say', () => {
    const schema = {
      type: 'object',
      anyOf: [{ required: ['a'] }],
      properties: {
        port: { 'x-kubernetes-int-or-string': true, anyOf: [{ type: 'integer' }, { type: 'string' }] },
        maybe: { type: 'object', nullable: true, properties: { x: { type: 'string' } }, description: 'd' },
        list: { type: 'array', items: { type: 'string', default: 'x' } },
      },
    };
    assert.deepEqual(swaggerOfStructural(schema as never), {
      type: 'object',
      properties: {
        port: { 'x-kubernetes-int-or-string': true },
        maybe: { description: 'd' },
        list: { type: 'array', items: { type: 'string' } },
      },
    });
  });
});
