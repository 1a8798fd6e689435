// Proves the way from OpenAPI 2 to 3: our own document of the old form tells the same in the new one, and strangers' documents break nothing.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { swaggerToV3 } from './v2-to-v3.ts';

const widget = { type: 'object', properties: { spec: { description: 'what is wanted', $ref: '#/definitions/Spec' } } };
const document = {
  info: { title: 'widgets', version: 'v1' },
  paths: {
    '/apis/example.com/v1/widgets': {
      parameters: [{ uniqueItems: true, type: 'string', description: 'how to print', name: 'pretty', in: 'query' }],
      post: {
        description: 'make a Widget',
        consumes: ['application/json', 'application/yaml'],
        produces: ['application/json'],
        operationId: 'createWidget',
        schemes: ['https'],
        parameters: [
          { name: 'body', in: 'body', required: true, schema: { $ref: '#/definitions/Widget' } },
          { name: 'limit', in: 'query', type: 'integer', format: 'int64' },
        ],
        responses: {
          200: { description: 'OK', schema: { type: 'array', items: { $ref: '#/definitions/Widget' } } },
          401: { description: 'Unauthorized' },
        },
        'x-kubernetes-action': 'post',
      },
    },
  },
  definitions: { Widget: widget, Spec: { type: 'object', default: { $ref: 'no reference' } } },
};

test('bodies, parameters, answers and references are told in the new form', () => {
  const reference = { $ref: '#/components/schemas/Widget' };
  assert.deepEqual(swaggerToV3(document), {
    openapi: '3.0.0',
    info: { title: 'widgets', version: 'v1' },
    paths: {
      '/apis/example.com/v1/widgets': {
        parameters: [
          { name: 'pretty', in: 'query', description: 'how to print', schema: { type: 'string', uniqueItems: true } },
        ],
        post: {
          description: 'make a Widget',
          operationId: 'createWidget',
          'x-kubernetes-action': 'post',
          parameters: [{ name: 'limit', in: 'query', schema: { type: 'integer', format: 'int64' } }],
          requestBody: {
            content: { 'application/json': { schema: reference }, 'application/yaml': { schema: reference } },
          },
          responses: {
            200: {
              description: 'OK',
              content: { 'application/json': { schema: { type: 'array', items: reference } } },
            },
            401: { description: 'Unauthorized' },
          },
        },
      },
    },
    components: {
      schemas: {
        Widget: {
          type: 'object',
          properties: { spec: { description: 'what is wanted', allOf: [{ $ref: '#/components/schemas/Spec' }] } },
        },
        Spec: { type: 'object', default: { $ref: 'no reference' } },
      },
    },
  });
});

test('whatever stands in a document, something of the new form comes of it', () => {
  const odd = fc.dictionary(fc.string(), fc.jsonValue() as fc.Arbitrary<unknown>);
  fc.assert(
    fc.property(odd, odd, fc.jsonValue(), (paths, definitions, info) => {
      const made = swaggerToV3({ info, paths, definitions });
      assert.equal(made['openapi'], '3.0.0');
      JSON.stringify(made);
    }),
  );
});
