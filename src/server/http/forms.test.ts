// Owns the tests of forms on the wire: which media types go in and out by default and with CBOR on, and who gets indented JSON.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { decodeCbor, encodeCbor } from '../../api/codec/cbor.ts';
import { startTestServer } from '../start.suite.ts';
import type { TestServer } from '../start.suite.ts';
import { ask } from './ask.suite.ts';
import type { Ask } from './ask.suite.ts';

const maps = '/api/v1/namespaces/default/configmaps';
const cbor = 'application/cbor';
let plain: TestServer;
let withCbor: TestServer;

before(async () => {
  plain = await startTestServer();
  withCbor = await startTestServer({ featureGates: { CBORServingAndStorage: true } });
});

after(async () => {
  await plain.stop();
  await withCbor.stop();
});

const mapNamed = (name: string, data: Record<string, string> = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name },
  data,
});

test('CBOR is off by default, as in 1.37', async () => {
  const body = encodeCbor(mapNamed('a'));
  const table: readonly (readonly [Ask, number])[] = [
    [{ method: 'POST', path: maps, headers: { 'content-type': cbor }, body }, 415],
    [
      {
        method: 'PATCH',
        path: `${maps}/a?fieldManager=x`,
        headers: { 'content-type': 'application/apply-patch+cbor' },
        body,
      },
      415,
    ],
    [{ path: maps, headers: { accept: cbor } }, 406],
    [{ path: `${maps}?watch=1`, headers: { accept: 'application/cbor-seq' } }, 406],
    [{ path: '/api', headers: { accept: cbor } }, 406],
    [{ path: maps, headers: { accept: `${cbor}, application/json;q=0.1` } }, 200],
  ];
  for (const [question, want] of table) {
    const { status, headers } = await ask(plain.port, question);
    assert.equal(status, want, question.path);
    assert.equal(headers['content-type'], 'application/json');
  }
});

test('with CBOR on: writes, applies, reads and watches', async () => {
  const { port } = withCbor;
  const headers = { 'content-type': cbor, accept: cbor };
  const made = await ask(port, { method: 'POST', path: maps, headers, body: encodeCbor(mapNamed('a', { x: '1' })) });
  assert.deepEqual([made.status, made.headers['content-type']], [201, cbor]);
  assert.deepEqual((decodeCbor(made.bytes) as { data: unknown }).data, { x: '1' });
  const applied = await ask(port, {
    method: 'PATCH',
    path: `${maps}/a?fieldManager=me&force=true`,
    headers: { ...headers, 'content-type': 'application/apply-patch+cbor' },
    body: encodeCbor(mapNamed('a', { y: '2' })),
  });
  assert.deepEqual((decodeCbor(applied.bytes) as { data: unknown }).data, { x: '1', y: '2' });
  const list = await ask(port, { path: maps, headers: { accept: cbor } });
  assert.equal((decodeCbor(list.bytes) as { items: unknown[] }).items.length, 1);
  const watched = await ask(port, {
    path: `${maps}?watch=1&timeoutSeconds=1&fieldSelector=metadata.name%3Da`,
    headers: { accept: cbor },
  });
  assert.equal(watched.headers['content-type'], 'application/cbor-seq');
  const { type, object } = decodeCbor(watched.bytes) as { type: string; object: { data: unknown } };
  assert.deepEqual([type, object.data], ['ADDED', { x: '1', y: '2' }]);
  const twice = await ask(port, { method: 'POST', path: maps, headers, body: Buffer.from('a2616101616102', 'hex') });
  assert.equal(twice.status, 400);
});

test('indented JSON: asked for, or for people', async () => {
  const table: readonly (readonly [query: string, headers: Record<string, string>, indented: boolean])[] = [
    ['', {}, false],
    ['?pretty=true', {}, true],
    ['?pretty=1', {}, true],
    ['?pretty=0', {}, false],
    ['?pretty=yes', {}, false],
    ['?pretty', { 'user-agent': 'curl/8.1' }, true],
    ['', { 'user-agent': 'curl/8.1' }, true],
    ['', { 'user-agent': 'Mozilla/5.0 (X11)' }, true],
    ['', { 'user-agent': 'Mozilla/4.0' }, false],
    ['?pretty=false', { 'user-agent': 'Wget/1.2' }, false],
    ['', { accept: 'application/json;pretty=1' }, true],
  ];
  for (const path of [maps, `${maps}/none`, '/apis'])
    for (const [query, headers, indented] of table) {
      const { text } = await ask(plain.port, { path: `${path}${query}`, headers });
      assert.equal(/^\{\n {2}"kind"/.test(text), indented, `${path}${query} ${JSON.stringify(headers)}`);
      assert.equal(text.endsWith('\n'), !indented);
    }
});

test('refusals come in the form asked for, also before the resource is known', async () => {
  const denied = await ask(plain.port, { path: maps, token: '', headers: { accept: 'application/yaml' } });
  assert.deepEqual([denied.status, denied.headers['content-type']], [403, 'application/yaml']);
  const binary = await ask(plain.port, {
    path: maps,
    token: 'nobody',
    headers: { accept: 'application/vnd.kubernetes.protobuf' },
  });
  assert.deepEqual([binary.status, binary.text.slice(0, 4)], [401, 'k8s\0']);
  const neither = await ask(plain.port, { path: maps, token: '', headers: { accept: 'text/html' } });
  assert.deepEqual([neither.status, neither.headers['content-type']], [403, 'application/json']);
});
