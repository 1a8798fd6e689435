// Owns a table of requests and what a 1.37 server answers them with: status, type, and what else a client may notice.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startTestServer } from '../start.suite.ts';
import type { TestServer } from '../start.suite.ts';
import { ask } from './ask.suite.ts';

let running: TestServer;
before(async () => {
  running = await startTestServer();
});
after(() => running.stop());

const maps = '/api/v1/namespaces/default/configmaps';
const json = 'application/json';
const text = 'text/plain; charset=utf-8';
const late =
  '{"metadata":{},"status":"Failure","message":"Timeout: request did not complete within the allotted timeout","reason":"Timeout","details":{},"code":504}\n';
const discovery = (version: string): string =>
  `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`;

interface Case {
  readonly path: string;
  readonly method?: string;
  readonly accept?: string;
  readonly token?: string;
  readonly body?: string;
  readonly code: number;
  readonly type?: string;
  readonly says?: string | RegExp;
  readonly headers?: Readonly<Record<string, string | undefined>>;
}

const unrecognized =
  "the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse error:";

const cases: readonly Case[] = [
  // Time limits.
  { path: `${maps}?timeout=1ns`, code: 504, type: text, says: late },
  { path: '/version?timeout=1ns', code: 504, type: text, says: late },
  { path: `${maps}?timeout=0s`, code: 200, type: json },
  { path: `${maps}?timeout=-1s`, code: 200, type: json },
  { path: `${maps}?timeout=1`, code: 400, type: json, says: /time: missing unit in duration/ },
  { path: `${maps}?timeout=1d`, code: 400, type: json, says: /time: unknown unit \\"d\\" in duration \\"1d\\"/ },
  { path: `${maps}?timeout=abc`, code: 400, type: json, says: /time: invalid duration \\"abc\\"/ },
  // Queries: what is broken is passed over.
  { path: `${maps}?labelSelector=%zz`, code: 200, type: json },
  { path: `${maps}?labelSelector=a,,b;c`, code: 200, type: json },
  { path: `${maps}?labelSelector=a,,b`, code: 400, type: json },
  // Forms.
  { path: maps, accept: 'application/json;v=v9', code: 406, type: json, says: /only the following media types/ },
  { path: maps, accept: 'application/json;g=x', code: 406, type: json },
  { path: maps, accept: 'application/json;sv=v1', code: 406, type: json },
  { path: maps, accept: 'application/*', code: 406, type: json, says: /^\{"kind":"Status".*Available representations/ },
  { path: maps, accept: 'text/html', code: 406, type: json, says: /^\{\n {2}"kind": "Status"/ },
  { path: '/apis', accept: 'application/*', code: 200, type: json },
  { path: '/apis/apps', accept: 'application/*', code: 200, type: json },
  { path: '/apis/apps/v1', accept: 'application/*', code: 406, type: json },
  { path: '/api/v1/nope', accept: 'text/html', code: 404, type: json, says: /^\{\n {2}"kind": "Status"/ },
  {
    path: '/apis',
    accept: discovery('v2'),
    code: 200,
    type: discovery('v2'),
    headers: { 'cache-control': 'public', vary: 'Accept' },
  },
  { path: '/apis', accept: discovery('v2beta1'), code: 406 },
  {
    path: '/version',
    accept: 'text/plain',
    code: 406,
    type: json,
    says: /Available representations: application\/json/,
  },
  { path: '/openid/v1/jwks', accept: 'application/*', code: 406, type: json },
  {
    path: '/openid/v1/jwks',
    code: 200,
    type: 'application/jwk-set+json',
    says: /^\{"keys":\[\{"use":"sig","kty":"EC","kid":/,
  },
  {
    path: '/flagz',
    accept: 'application/vnd.kubernetes.protobuf',
    code: 406,
    type: json,
    says: /^\{\n {2}"kind": "Status"/,
  },
  // Paths.
  { path: '/metrics/', code: 404, type: text },
  { path: '/version/', code: 200, type: json },
  {
    path: '/openapi/v2',
    code: 200,
    type: json,
    headers: { 'accept-ranges': 'bytes', vary: 'Accept-Encoding, Accept' },
  },
  { path: '/openapi/v3', code: 200, type: text, headers: { etag: undefined, 'accept-ranges': 'bytes' } },
  { path: '/openapi/v3/version?hash=old', code: 301, type: json, headers: { vary: 'Accept' } },
  // Refusals repeat what strangers wrote.
  { path: maps, token: 'other-token', code: 403, type: json, headers: { 'x-content-type-options': 'nosniff' } },
  { path: `${maps}/none`, code: 404, type: json, headers: { 'x-content-type-options': undefined } },
  // Options.
  { path: `${maps}?watch=1&timeoutSeconds=1&limit=`, code: 400, says: 'strconv.ParseInt: parsing "": invalid syntax' },
  { path: `${maps}?watch=1&timeoutSeconds=1&continue=a`, code: 422, says: /"field":"resourceVersionMatch"/ },
  { path: `${maps}?fieldSelector=%3D`, code: 200 },
  { method: 'DELETE', path: `${maps}/none?gracePeriodSeconds=`, code: 400 },
  {
    method: 'DELETE',
    path: `${maps}/none?gracePeriodSeconds=99999999999999999999`,
    code: 400,
    says: /value out of range/,
  },
  { method: 'DELETE', path: `${maps}/none?propagationPolicy=`, code: 422, says: /FieldValueNotSupported/ },
  { method: 'DELETE', path: `${maps}?dryRun=All&ignoreStoreReadErrorWithClusterBreakingPotential=true`, code: 422 },
  // Methods.
  { method: 'POST', path: '/api/v1/configmaps', body: '{}', code: 405 },
  { method: 'DELETE', path: '/api/v1/configmaps', code: 405 },
  { method: 'POST', path: '/api/v1/bindings', body: '{}', code: 404 },
  { method: 'HEAD', path: '/api/v1/bindings', code: 404 },
  { method: 'HEAD', path: `${maps}/a/foo`, code: 404 },
  { method: 'OPTIONS', path: `${maps}/a/status`, code: 404 },
  { method: 'OPTIONS', path: maps, code: 405 },
  { method: 'DELETE', path: '/api/v1/watch/configmaps', code: 405 },
  { method: 'PUT', path: '/apis/apps/v1/namespaces/default/deployments/x/scale', body: '{}', code: 400 },
  // Bodies.
  { method: 'POST', path: maps, body: '', code: 400, says: `${unrecognized} unexpected end of JSON input (<empty>)` },
  {
    method: 'POST',
    path: maps,
    body: '{"a":}',
    code: 400,
    says: `${unrecognized} invalid character '}' looking for beginning of value ({"a":})`,
  },
  {
    method: 'POST',
    path: maps,
    body: '[1]',
    code: 400,
    says: /cannot unmarshal array into Go value of type struct .* \(5b315d\)/,
  },
  {
    method: 'POST',
    path: maps,
    body: `{"kind":"${'x'.repeat(40)}`,
    code: 400,
    says: `${unrecognized} unexpected end of JSON input ({"kind":"${'x'.repeat(21)} ...)`,
  },
  {
    method: 'DELETE',
    path: `${maps}/a`,
    body: 'hello',
    code: 400,
    says: "couldn't get version/kind; json parse error: invalid character 'h' looking for beginning of value",
  },
];

test('requests and their answers', async () => {
  for (const { path, method = 'GET', accept, token, body, code, type, says, headers = {} } of cases) {
    const what = `${method} ${path} ${accept ?? ''} ${body ?? ''}`;
    const answer = await ask(running.port, {
      method,
      path,
      headers: {
        ...(accept !== undefined && { accept }),
        ...(body !== undefined && { 'content-type': json, 'content-length': String(body.length) }),
      },
      ...(token !== undefined && { token }),
      ...(body !== undefined && { body }),
    });
    assert.equal(answer.status, code, what);
    if (type !== undefined) assert.equal(answer.headers['content-type'], type, what);
    if (says instanceof RegExp) assert.match(answer.text, says, what);
    else if (says !== undefined)
      assert.equal(type === text ? answer.text : (JSON.parse(answer.text) as { message: string }).message, says, what);
    for (const [name, value] of Object.entries(headers)) assert.equal(answer.headers[name], value, `${what}: ${name}`);
  }
});

test('tags of discovery are those of upstream for the same', async () => {
  const accept = discovery('v2');
  const { headers, text: body } = await ask(running.port, { path: '/api', headers: { accept } });
  const again = await ask(running.port, {
    path: '/api',
    headers: { accept, 'if-none-match': String(headers['etag']) },
  });
  assert.equal(again.status, 304);
  // Recorded of a 1.37 server, whose document is the same to the byte.
  assert.match(body, /^\{"kind":"APIGroupDiscoveryList"/);
  assert.match(String(headers['etag']), /^"4D7E1BED90B364BC86049DD9E636494980AEF65B/);
});
