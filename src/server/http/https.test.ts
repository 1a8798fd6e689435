import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:http2';
import { request } from 'node:https';
import type { IncomingMessage } from 'node:http';
import { after, before, test } from 'node:test';
import { adminToken, startTestServer } from '../start.suite.ts';
import type { TestServer } from '../start.suite.ts';
import { type Ask, ask as askServer, type Reply } from './ask.suite.ts';

let running: TestServer;

before(async () => {
  running = await startTestServer();
});

after(() => running.stop());

const ask = (asked: Ask): Promise<Reply> => askServer(running.port, asked);

const maps = '/api/v1/namespaces/default/configmaps';
const json = { 'content-type': 'application/json' };

test('bodies and answers in several forms', async () => {
  const yaml = 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: forms\ndata:\n  a: "1"\n';
  const made = await ask({ method: 'POST', path: maps, headers: { 'content-type': 'application/yaml' }, body: yaml });
  assert.equal(made.status, 201);
  const shown = await ask({ path: `${maps}/forms`, headers: { accept: 'application/yaml' } });
  assert.match(shown.text, /^kind: ConfigMap$/m);
  const binary = await ask({ path: `${maps}/forms`, headers: { accept: 'application/vnd.kubernetes.protobuf' } });
  assert.equal(binary.text.slice(0, 4), 'k8s\0');
  const table = await ask({ path: maps, headers: { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' } });
  assert.equal((JSON.parse(table.text) as { kind: string }).kind, 'Table');
});

test('metadata alone has a protobuf form, also of custom kinds; tables have none', async () => {
  const group = 'protobuf.example.com';
  await running.admin.call({
    method: 'POST',
    path: '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
    body: {
      metadata: { name: `widgets.${group}` },
      spec: {
        group,
        scope: 'Cluster',
        names: { plural: 'widgets', kind: 'Widget' },
        versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
      },
    },
  });
  const widgets = `/apis/${group}/v1/widgets`;
  const made = { apiVersion: `${group}/v1`, kind: 'Widget', metadata: { name: 'custom-one' } };
  for (let tries = 0; ; tries++) {
    const { status } = await ask({ method: 'POST', path: widgets, headers: json, body: JSON.stringify(made) });
    if (status === 201) break;
    assert.ok(tries < 200, `creating: ${status}`);
    await new Promise((resolve) => setImmediate(resolve));
  }
  await ask({
    method: 'POST',
    path: maps,
    headers: json,
    body: '{"metadata":{"name":"metadata-one"},"data":{"a":"a value"}}',
  });
  const as = (kind: string) => ({
    accept: `application/vnd.kubernetes.protobuf;as=${kind};g=meta.k8s.io;v=v1`,
  });
  for (const [path, name] of [
    [maps, 'metadata-one'],
    [widgets, 'custom-one'],
  ] as const) {
    const one = await ask({ path: `${path}/${name}`, headers: as('PartialObjectMetadata') });
    assert.deepEqual([one.status, one.headers['content-type']], [200, 'application/vnd.kubernetes.protobuf']);
    assert.match(one.text, /^k8s\0.*meta\.k8s\.io\/v1.*PartialObjectMetadata/s);
    assert.ok(one.text.includes(name) && !one.text.includes('a value'));
    const list = await ask({ path, headers: as('PartialObjectMetadataList') });
    assert.equal(list.status, 200);
    assert.match(list.text, /^k8s\0.*PartialObjectMetadataList/s);
    assert.ok(list.text.includes(name) && !list.text.includes('a value'));
    const watch = await ask({ path: `${path}?watch=true&timeoutSeconds=1`, headers: as('PartialObjectMetadata') });
    assert.ok(watch.status === 200 && watch.text.includes('ADDED') && watch.text.includes(name));
    assert.equal((await ask({ path, headers: as('Table') })).status, 406);
  }
  assert.equal((await ask({ path: widgets, headers: { accept: 'application/vnd.kubernetes.protobuf' } })).status, 406);
});

test('refusals come as Status, whatever is sent', async () => {
  const table: readonly (readonly [Ask, number])[] = [
    [{ path: `${maps}/x`, headers: { accept: 'text/html' } }, 406],
    [{ method: 'POST', path: maps, headers: { 'content-type': 'text/css' }, body: 'x' }, 415],
    [{ method: 'POST', path: maps, headers: json, body: '{' }, 400],
    [{ method: 'POST', path: maps, headers: json, body: '[]' }, 400],
    [{ method: 'POST', path: maps, headers: json, body: '' }, 400],
    [{ method: 'POST', path: maps, headers: json, body: `{"data":{"a":"${'x'.repeat(4 << 20)}"}}` }, 413],
    [
      {
        method: 'POST',
        path: maps,
        headers: { 'content-type': 'application/vnd.kubernetes.protobuf' },
        body: 'k8s\0\x12\xff',
      },
      400,
    ],
    [
      {
        method: 'POST',
        path: maps,
        headers: json,
        body: '{"metadata":{"name":"__proto__"},"__proto__":{"x":1},"data":{"__proto__":"y"}}',
      },
      422,
    ],
    [{ path: maps, token: 'wrong' }, 401],
    [{ path: maps, token: 'other-token' }, 403],
    [{ path: maps, token: '' }, 403],
    [{ path: `${maps}?resourceVersion=abc` }, 400],
    [{ path: `${maps}?limit=many` }, 400],
    [{ method: 'HEAD', path: `${maps}` }, 405],
  ];
  for (const [question, want] of table) {
    const { status, text } = await ask(question);
    assert.equal(
      status,
      want,
      `${question.method ?? 'GET'} ${question.path} ${String(question.body ?? '').slice(0, 40)}: ${text.slice(0, 200)}`,
    );
    if (question.method !== 'HEAD') assert.equal((JSON.parse(text) as { kind: string }).kind, 'Status');
  }
});

test('paths that are no resources', async () => {
  for (const path of ['/healthz', '/livez', '/readyz', '/version', '/api', '/apis', '/apis/apps', '/apis/apps/v1', '/'])
    assert.equal((await ask({ path })).status, 200, path);
  assert.equal((await ask({ path: '/none' })).status, 404);
  const wanted = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
  const first = await ask({ path: '/apis', headers: { accept: wanted } });
  const again = await ask({ path: '/apis', headers: { accept: wanted, 'if-none-match': first.headers.etag! } });
  assert.equal(again.status, 304);
});

/** Both versions of HTTP: open watches must neither hold up the end nor outlive it. */
test('a server with open watches and idle connections ends at once', async () => {
  const own = await startTestServer();
  const headers = { authorization: `Bearer ${adminToken}` };
  const session = connect(`https://127.0.0.1:${own.port}`, { rejectUnauthorized: false });
  session.on('error', () => undefined);
  const stream = session.request({ ':path': `${maps}?watch=1`, ...headers });
  stream.on('error', () => undefined);
  await once(stream, 'response');
  const sent = request({
    host: '127.0.0.1',
    port: own.port,
    rejectUnauthorized: false,
    agent: false,
    path: `${maps}?watch=1`,
    headers,
  });
  sent.on('error', () => undefined);
  sent.end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  response.on('error', () => undefined);
  response.resume();
  stream.resume();
  const closed = Promise.all([once(session, 'close'), once(response, 'close')]);
  await own.stop();
  await closed;
});

test('one watch event reaches watchers of both versions', async () => {
  const headers = { authorization: `Bearer ${adminToken}` };
  const session = connect(`https://127.0.0.1:${running.port}`, { rejectUnauthorized: false });
  const stream = session.request({ ':path': `${maps}?watch=1&fieldSelector=metadata.name%3Dseen`, ...headers });
  await once(stream, 'response');
  const sent = request({
    host: '127.0.0.1',
    port: running.port,
    rejectUnauthorized: false,
    agent: false,
    path: `${maps}?watch=1&fieldSelector=metadata.name%3Dseen`,
    headers,
  });
  sent.end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  const lines = Promise.all([once(stream, 'data'), once(response, 'data')]);
  await ask({ method: 'POST', path: maps, headers: json, body: '{"metadata":{"name":"seen"}}' });
  for (const [chunk] of await lines)
    assert.match(String(chunk), /^\{"type":"ADDED","object":\{.*"name":"seen".*\}\}\n$/);
  sent.destroy();
  session.destroy();
});
