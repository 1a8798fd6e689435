// Owns the tests of the wire's edges as measured with kube-apiserver 1.37: methods, media types, queries, paths, limits, headers.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Action } from '../action.ts';
import { statusError } from '../../api/status-error.ts';
import { adminToken, startTestServer } from '../start.suite.ts';
import type { TestServer } from '../start.suite.ts';
import { ask } from './ask.suite.ts';
import type { Ask } from './ask.suite.ts';

const maps = '/api/v1/namespaces/default/configmaps';
const map = `${maps}/a`;
const json = { 'content-type': 'application/json' };
const body = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"n"}}';
let running: TestServer;

before(async () => {
  running = await startTestServer();
  await running.admin.call({
    method: 'POST',
    path: maps,
    body: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } },
  });
});

after(() => running.stop());

async function table(cases: readonly (readonly [Ask, number])[]): Promise<void> {
  for (const [question, want] of cases) {
    const { status, text } = await ask(running.port, question);
    const { method = 'GET', path, headers } = question;
    assert.equal(status, want, `${method} ${path} ${JSON.stringify(headers ?? {})}: ${text.slice(0, 200)}`);
  }
}

test('methods on paths that are no resources', async () => {
  const any: readonly (readonly [string, Record<string, number>])[] = [
    ['/healthz', { POST: 200, PUT: 200, DELETE: 200, HEAD: 200, OPTIONS: 200 }],
    ['/apis', { POST: 200, HEAD: 200, OPTIONS: 200 }],
    ['/apis/apps', { POST: 200, HEAD: 200, PATCH: 200 }],
    ['/api', { POST: 405, HEAD: 405, OPTIONS: 405 }],
    ['/api/v1', { POST: 405, HEAD: 405, PATCH: 405 }],
    ['/apis/apps/v1', { POST: 405, HEAD: 405, DELETE: 405 }],
    ['/version', { POST: 405, HEAD: 405, PUT: 405 }],
    ['/openid/v1/jwks', { POST: 405, HEAD: 405 }],
    ['/.well-known/openid-configuration', { POST: 405, OPTIONS: 405 }],
    ['/statusz', { POST: 200, HEAD: 200 }],
    ['/openapi/v2', { HEAD: 200, POST: 200 }],
    [maps, { HEAD: 405, OPTIONS: 405, PUT: 405, PATCH: 405, TRACE: 405 }],
    [map, { HEAD: 405, OPTIONS: 405, POST: 405 }],
    ['/none', { GET: 404, POST: 404, HEAD: 404 }],
  ];
  for (const [path, methods] of any)
    await table(
      Object.entries(methods).map(([method, code]) => [{ method, path, headers: json, body: '' }, code] as const),
    );
});

test('media types of bodies', async () => {
  const types: Readonly<Record<string, number>> = {
    'application/json': 201,
    'APPLICATION/JSON': 201,
    'application/json; charset=utf-8': 201,
    'application/json;x': 415,
    'application/json;a="b c";d=e': 201,
    ';': 415,
    'application/*': 415,
    '*/*': 415,
    'text/plain': 415,
    'application/cbor': 415,
    [`application/json${' '.repeat(5000)};x`]: 415,
  };
  for (const [type, code] of Object.entries(types))
    await table([[{ method: 'POST', path: `${maps}?dryRun=All`, headers: { 'content-type': type }, body }, code]]);
  await table([
    [{ method: 'POST', path: `${maps}?dryRun=All`, body }, 201],
    [{ method: 'PATCH', path: `${map}?dryRun=x`, headers: json, body: '{}' }, 415],
    [
      {
        method: 'PATCH',
        path: `${map}?dryRun=x`,
        headers: { 'content-type': 'application/merge-patch+json' },
        body: '{}',
      },
      422,
    ],
  ]);
});

test('Accept', async () => {
  const partial = 'as=PartialObjectMetadata;g=meta.k8s.io;v=v1';
  const as = 'as=Table;g=meta.k8s.io;v=v1';
  const accepts: readonly (readonly [string, path: string, code: number, type: string])[] = [
    ['application/JSON', map, 406, 'application/json'],
    ['application/json;q=abc', map, 200, 'application/json'],
    ['text/*', map, 406, 'application/json'],
    ['application/json,', map, 200, 'application/json'],
    [`application/vnd.kubernetes.protobuf;${as}`, `${maps}/none`, 406, 'application/json'],
    [`application/vnd.kubernetes.protobuf;${partial}`, map, 200, 'application/vnd.kubernetes.protobuf'],
    [`application/vnd.kubernetes.protobuf;${partial}`, `${maps}/none`, 404, 'application/json'],
    [`application/yaml;${partial}`, `${maps}/none`, 404, 'application/json'],
    [`application/json;${as},application/yaml`, `${maps}/none`, 404, 'application/yaml'],
  ];
  for (const [accept, path, code, type] of accepts) {
    const { status, headers } = await ask(running.port, { path, headers: { accept } });
    assert.deepEqual([status, headers['content-type']], [code, type], `${accept} ${path}`);
  }
});

test('queries', async () => {
  const queries: Readonly<Record<string, number>> = {
    'limit=': 400,
    'limit=x': 400,
    'limit=1.0': 400,
    'limit=0x1': 400,
    'limit=%2B1': 200,
    'limit=-1': 200,
    'limit=99999999999999999999': 400,
    'timeoutSeconds=x': 400,
    'timeoutSeconds=-5': 200,
    'watch=1&timeoutSeconds=x': 400,
    'watch=&timeoutSeconds=1': 200,
    'watch=false': 200,
    'timeout=': 200,
    'timeout=abc': 400,
    'timeout=5': 400,
    'timeout=0s': 200,
    'timeout=-1s': 200,
    'timeout=1h': 200,
    'watch=1&timeout=x&timeoutSeconds=1': 200,
    'resourceVersionMatch=Exact': 422,
    'sendInitialEvents=true': 422,
    'continue=x': 400,
    'unknown=parameter': 200,
    'fieldSelector=a%3Db': 400,
    'labelSelector=a%3D%3D%3D': 400,
  };
  await table(Object.entries(queries).map(([query, code]) => [{ path: `${maps}?${query}` }, code] as const));
  await table(
    Object.entries({
      'fieldValidation=x': 422,
      'fieldValidation=strict': 422,
      'dryRun=': 422,
      'dryRun=All&dryRun=x': 422,
    }).map(([query, code]) => [{ method: 'POST', path: `${maps}?${query}`, headers: json, body }, code] as const),
  );
  const watched = await ask(running.port, { path: `${maps}?watch=&timeoutSeconds=1` });
  assert.match(watched.text, /^\{"type":"ADDED"/);
});

test('paths', async () => {
  const paths: Readonly<Record<string, number>> = {
    [`${maps}/`]: 200,
    [`${map}/`]: 200,
    [`${maps}/%61`]: 200,
    [`${maps}/a%2Fb`]: 404,
    [`${maps}/..`]: 400,
    [`${maps}/%2e%2e`]: 400,
    [`${maps}/A`]: 404,
    '/api/v1/namespaces//configmaps': 200,
    '/api/v1/namespaces/none/configmaps': 200,
    '/api/v1/configmaps/a': 404,
    '/api/v1/namespaces/default/nothing': 404,
    [`${map}/status`]: 404,
    '/api/v2/pods': 404,
    '/apis/none/v1/x': 404,
    '/healthz/ping': 200,
    '/healthz/ping/': 404,
    '/healthz/ping/x': 404,
    '/version/': 200,
    '/version/x': 404,
  };
  await table(Object.entries(paths).map(([path, code]) => [{ path }, code] as const));
});

test('headers that each answer has', async () => {
  for (const path of [map, `${maps}/none`, '/none', '/healthz', '/version', '/api', '/apis']) {
    const { headers } = await ask(running.port, { path });
    assert.match(String(headers['audit-id']), /^[0-9a-f-]{36}$/, path);
    assert.equal(headers['cache-control'], 'no-cache, private', path);
    for (const name of ['x-kubernetes-pf-flowschema-uid', 'x-kubernetes-pf-prioritylevel-uid'])
      assert.match(String(headers[name]), /^[0-9a-f-]{36}$/, `${path} ${name}`);
  }
  const given = await ask(running.port, { path: map, headers: { 'audit-id': 'mine' } });
  assert.equal(given.headers['audit-id'], 'mine');
});

test('limits of size', async () => {
  const large = JSON.stringify({ metadata: { name: 'n' }, data: { a: 'x'.repeat(3 * 1024 * 1024) } });
  const { status, text } = await ask(running.port, { method: 'POST', path: maps, headers: json, body: large });
  assert.equal(status, 413);
  assert.deepEqual(JSON.parse(text), {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message: 'Request entity too large: limit is 3145728',
    reason: 'RequestEntityTooLarge',
    code: 413,
  });
  const headers = { 'x-large': 'y'.repeat(1_200_000) };
  const refused = await ask(running.port, { path: map, headers }).catch(() => ({ status: 0 }));
  assert.ok([0, 400, 431].includes(refused.status), `${refused.status}`);
});

test('requests that take too long are answered, and what goes on for them is told to stop', async () => {
  let stopped: Promise<void> | undefined;
  const slow: Action = {
    group: '',
    resource: 'pods',
    subresource: 'eviction',
    handle: (_parts, request) =>
      new Promise((_resolve, reject) => {
        stopped = new Promise((resolve) => {
          request.signal.addEventListener('abort', () => {
            resolve();
            reject(statusError('InternalError', 'stopped'));
          });
        });
      }),
  } as Action;
  const own = await startTestServer({ requestTimeoutMs: 5_000 }, undefined, { actions: [slow] });
  try {
    const path = '/api/v1/namespaces/default/pods/x/eviction?timeout=50ms';
    const { status, text } = await ask(own.port, {
      method: 'POST',
      path,
      headers: json,
      body: '{}',
      token: adminToken,
    });
    assert.deepEqual([status, (JSON.parse(text) as { reason: string }).reason], [504, 'Timeout']);
    await stopped;
  } finally {
    await own.stop();
  }
});
