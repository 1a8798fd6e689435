// What definitions of well-known projects rely on: a status that is there from the start, versions that name their successors, bounds.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestServer } from '../start.suite.ts';
import { compileJudge, validateValue } from './validate.ts';

const collection = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const condition = { type: 'Accepted', status: 'Unknown' };
const schema = {
  openAPIV3Schema: {
    type: 'object',
    properties: {
      spec: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
      status: {
        type: 'object',
        default: { conditions: [condition] },
        'x-kubernetes-preserve-unknown-fields': true,
      },
    },
  },
};
const version = (name: string, more: object) => ({
  name,
  served: true,
  storage: false,
  schema,
  subresources: { status: {} },
  ...more,
});

test('a default of the status is there as soon as the object is, also in a dry run', async (t) => {
  const server = await startTestServer();
  t.after(() => server.stop());
  const versions = [
    version('v1', { storage: true }),
    version('v1beta1', { deprecated: true }),
    version('v1alpha1', { deprecated: true }),
  ];
  const { admin } = server;
  await admin.call({
    method: 'POST',
    path: collection,
    body: {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'gates.example.com' },
      spec: { group: 'example.com', scope: 'Cluster', names: { plural: 'gates', kind: 'Gate' }, versions },
    },
  });
  const path = '/apis/example.com/v1/gates';
  const body = { apiVersion: 'example.com/v1', kind: 'Gate', metadata: { name: 'one' }, status: { mine: 1 } };
  for (let attempt = 0; ; attempt++) {
    const found = await admin.call({ method: 'GET', path }).catch((error: unknown) => error);
    if (!(found instanceof Error)) break;
    assert.ok(attempt < 50_000, String(found));
    await new Promise((resolve) => setImmediate(resolve));
  }
  const dry = await admin.call({ method: 'POST', path, query: new URLSearchParams({ dryRun: 'All' }), body });
  const made = await admin.call({ method: 'POST', path, body });
  const read = await admin.call({ method: 'GET', path: `${path}/one` });
  for (const answer of [dry, made, read])
    assert.deepEqual((answer as { status?: unknown }).status, { conditions: [condition] });
});

test('a dry run takes a resourceVersion, a creation does not', async (t) => {
  const server = await startTestServer();
  t.after(() => server.stop());
  const path = '/api/v1/namespaces/default/configmaps';
  const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', resourceVersion: '7' } };
  await server.admin.call({ method: 'POST', path, query: new URLSearchParams({ dryRun: 'All' }), body });
  await assert.rejects(server.admin.call({ method: 'POST', path, body }), { code: 400 });
});

test('what is below an object of too many properties is judged as well', () => {
  const judge = compileJudge({
    type: 'object',
    maxProperties: 1,
    properties: { a: { type: 'string' }, b: { type: 'string' } },
  });
  assert.deepEqual(
    validateValue(judge, { a: 'x', b: 1 }).map(({ reason, field }) => [reason, field]),
    [
      ['FieldValueTooMany', '<nil>'],
      ['FieldValueTypeInvalid', 'b'],
    ],
  );
});

test('bounds that no value of the format can reach are told of each value', () => {
  const judge = compileJudge({ type: 'integer', format: 'int32', maximum: 4_294_967_295 });
  const [only, ...others] = validateValue(judge, 64_512, undefined, ['spec', 'asn']);
  assert.match(only!.message ?? '', /Maximum boundary value must be of type integer with format int32 in spec\.asn/);
  assert.deepEqual(others, []);
});
