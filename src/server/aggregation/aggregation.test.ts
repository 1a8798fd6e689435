// Proves aggregation with real servers: another API server of ours behind an API service, and a rough HTTPS server for what must not pass.
import assert from 'node:assert/strict';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, get as httpsGet, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { after, before, describe, it } from 'node:test';
import { WebSocket, WebSocketServer } from 'ws';
import { systemClock } from '../../base/clock.ts';
import { systemRandom } from '../../base/random.ts';
import { createAuthority, issue, type KeyAndCertificate } from '../../base/x509.ts';
import { httpTransport } from '../../client/http-transport.ts';
import type { Transport } from '../../client/transport.ts';
import { adminToken, startTestServer, type TestServer } from '../start.suite.ts';

type Json = Readonly<Record<string, unknown>>;

/** What is at "a/0/b" of an answer. */
function at(value: unknown, path: string): unknown {
  return path.split('/').reduce((inner, key) => (inner as Record<string, unknown> | undefined)?.[key], value);
}

const listAt = (value: unknown, path: string): unknown[] => at(value, path) as unknown[];
const named = (group: string) => (item: unknown) => at(item, 'metadata/name') === group;

const year = 365 * 24 * 3600 * 1000;
const now = systemClock.now();
const authority = (name: string): KeyAndCertificate => createAuthority(name, now - 60_000, now + year, systemRandom);
const leaf = (by: KeyAndCertificate, commonName: string, dnsNames: string[] = []): KeyAndCertificate =>
  issue(
    by,
    {
      subject: { commonName },
      usages: ['server auth', 'client auth'],
      dnsNames,
      notBeforeMs: now - 60_000,
      notAfterMs: now + year,
    },
    systemRandom,
  );

const serving = authority('serving');
const frontProxy = authority('front-proxy');
const proxyCertificate = leaf(frontProxy, 'aggregator');
const apiServices = '/apis/apiregistration.k8s.io/v1/apiservices';

const call = async (transport: Transport, method: string, path: string, body?: unknown): Promise<Json> =>
  (await transport.call({ method, path, ...(body !== undefined && { body }) } as never)) as Json;

async function until<T>(ask: () => Promise<T | undefined | false>): Promise<T> {
  for (let attempt = 0; attempt < 100_000; attempt++) {
    const found = await ask().catch(() => undefined);
    if (found !== undefined && found !== false) return found;
    await new Promise((resolve) => setImmediate(resolve));
  }
  return assert.fail('it did not come to be');
}

function available(transport: Transport, name: string, reason: string): Promise<Json> {
  return until(async () => {
    const service = await call(transport, 'GET', `${apiServices}/${name}`);
    const condition = listAt(service, 'status/conditions').find((one) => at(one, 'type') === 'Available');
    return at(condition, 'reason') === reason && (condition as Json);
  });
}

/** A Service that leads out of the cluster, and the API service on it. */
async function register(transport: Transport, group: string, name: string, port: number, spec: Json): Promise<void> {
  await call(transport, 'POST', '/api/v1/namespaces/default/services', {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name },
    spec: { type: 'ExternalName', externalName: 'localhost' },
  });
  await call(transport, 'POST', apiServices, {
    apiVersion: 'apiregistration.k8s.io/v1',
    kind: 'APIService',
    metadata: { name: `v1.${group}` },
    spec: {
      group,
      version: 'v1',
      groupPriorityMinimum: 100,
      versionPriority: 100,
      service: { namespace: 'default', name, port },
      ...spec,
    },
  });
}

/** What /openapi/v3 says. */
interface Index {
  readonly paths: Readonly<Record<string, { readonly serverRelativeURL: string }>>;
}

interface Answer {
  readonly code: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

function ask(port: number, path: string, headers: Record<string, string> = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const options = { port, path, rejectUnauthorized: false, agent: false as const };
    httpsGet({ ...options, headers: { authorization: `Bearer ${adminToken}`, ...headers } }, (answer) => {
      let body = '';
      answer.on('data', (chunk: Buffer) => {
        body += chunk.toString();
      });
      answer.on('end', () => resolve({ code: answer.statusCode ?? 0, headers: answer.headers, body }));
      answer.on('error', reject);
    }).on('error', reject);
  });
}

const aggregatedForm = { accept: 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList' };

describe('an API server behind an API service', () => {
  let front: TestServer;
  let extension: TestServer;
  const group = 'ext.example.com';
  const gadgets = `/apis/${group}/v1/namespaces/default/gadgets`;

  before(async () => {
    const own = leaf(serving, 'extension', ['ext.default.svc']);
    extension = await startTestServer({
      tls: { key: own.keyPem, certificate: own.certificatePem },
      requestHeader: { clientCa: frontProxy.certificatePem, allowedNames: ['aggregator'] },
    });
    front = await startTestServer({
      proxyClient: () => ({ certificate: proxyCertificate.certificatePem, key: proxyCertificate.keyPem }),
    });
    await call(extension.admin, 'POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: `gadgets.${group}` },
      spec: {
        group,
        scope: 'Namespaced',
        names: { plural: 'gadgets', kind: 'Gadget', shortNames: ['gd'] },
        versions: [
          {
            name: 'v1',
            served: true,
            storage: true,
            schema: {
              openAPIV3Schema: {
                type: 'object',
                properties: { spec: { type: 'object', properties: { size: { type: 'integer' } } } },
              },
            },
          },
        ],
      },
    });
    await until(() => call(extension.admin, 'GET', gadgets));
    await register(front.admin, group, 'ext', extension.port, {
      caBundle: Buffer.from(serving.certificatePem).toString('base64'),
    });
    await available(front.admin, `v1.${group}`, 'Passed');
  });

  after(async () => {
    await front.stop();
    await extension.stop();
  });

  it('is written to and read from', async () => {
    const made = await call(front.admin, 'POST', gadgets, {
      apiVersion: `${group}/v1`,
      kind: 'Gadget',
      metadata: { name: 'one' },
      spec: { size: 3 },
    });
    assert.equal(at(made, 'spec/size'), 3);
    const behind = await call(extension.admin, 'GET', `${gadgets}/one`);
    assert.equal(at(behind, 'metadata/uid'), at(made, 'metadata/uid'));
    const table = await ask(front.port, gadgets, { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' });
    assert.deepEqual(
      listAt(JSON.parse(table.body), 'rows').map((row) => at(row, 'cells/0')),
      ['one'],
    );
  });

  it('answers errors as its own', async () => {
    await assert.rejects(call(front.admin, 'GET', `${gadgets}/none`), { code: 404 });
    await assert.rejects(
      call(front.admin, 'POST', gadgets, { apiVersion: `${group}/v1`, kind: 'Gadget', spec: { size: 'x' } }),
      { code: 422 },
    );
  });

  it('judges the user by what it is told, after the front has', async () => {
    const refused = await ask(front.port, gadgets, { authorization: 'Bearer other-token' });
    assert.equal(refused.code, 403);
    const subjects = [{ kind: 'User', name: 'alice', apiGroup: 'rbac.authorization.k8s.io' }];
    const allow = async (server: TestServer): Promise<void> => {
      const rbac = { apiVersion: 'rbac.authorization.k8s.io/v1', metadata: { name: 'gadgets' } };
      const root = '/apis/rbac.authorization.k8s.io/v1';
      const rules = [{ apiGroups: [group], resources: ['gadgets'], verbs: ['get', 'list'] }];
      await call(server.admin, 'POST', `${root}/clusterroles`, { ...rbac, kind: 'ClusterRole', rules });
      await call(server.admin, 'POST', `${root}/clusterrolebindings`, {
        ...rbac,
        kind: 'ClusterRoleBinding',
        subjects,
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'gadgets' },
      });
    };
    await allow(front);
    const behind = await until(async () => {
      const answer = await ask(front.port, gadgets, { authorization: 'Bearer other-token' });
      return answer.body.includes('alice') && answer;
    });
    assert.equal(behind.code, 403);
    await allow(extension);
    await until(async () => (await ask(front.port, gadgets, { authorization: 'Bearer other-token' })).code === 200);
  });

  for (const [what, transportOf] of [
    ['over HTTP/2', () => overHttp(front)],
    ['within the process', () => ({ transport: front.admin, close: () => undefined })],
  ] as const)
    it(`streams a watch ${what}`, async () => {
      const { transport, close } = transportOf();
      const abort = new AbortController();
      const name = `watched-${what.length}`;
      const seen: string[] = [];
      const watching = transport.watch({
        method: 'GET',
        path: gadgets,
        query: new URLSearchParams({ watch: 'true', fieldSelector: `metadata.name=${name}` }),
        signal: abort.signal,
      });
      const events = (async () => {
        for await (const { type, object } of watching) {
          seen.push(`${type} ${String(at(object, 'metadata/name'))}`);
          if (type === 'DELETED') return;
        }
      })();
      await call(front.admin, 'POST', gadgets, { apiVersion: `${group}/v1`, kind: 'Gadget', metadata: { name } });
      await until(async () => seen.length === 1);
      await call(front.admin, 'DELETE', `${gadgets}/${name}`);
      await events;
      abort.abort();
      close();
      assert.deepEqual(seen, [`ADDED ${name}`, `DELETED ${name}`]);
    });

  it('is discovered in both forms, and described in both OpenAPIs', async () => {
    const groups = await call(front.admin, 'GET', '/apis');
    assert.equal(at(listAt(groups, 'groups').at(-1), 'name'), group);
    const entry = await until(async () => {
      const { body } = await ask(front.port, '/apis', aggregatedForm);
      const found = listAt(JSON.parse(body), 'items').find(named(group));
      return at(found, 'versions/0/freshness') === 'Current' && found;
    });
    assert.equal(at(entry, 'versions/0/resources/0/resource'), 'gadgets');
    assert.deepEqual(at(entry, 'versions/0/resources/0/shortNames'), ['gd']);
    const own = `apis/${group}/v1`;
    const url = await until(async () => {
      const paths = at(JSON.parse((await ask(front.port, '/openapi/v3')).body), 'paths') as Record<string, unknown>;
      return at(paths[own], 'serverRelativeURL') as string | undefined;
    });
    const v3 = await ask(front.port, url);
    assert.ok(at(JSON.parse(v3.body), 'components/schemas/com.example.ext.v1.Gadget'));
    const first = await ask(front.port, '/openapi/v2');
    const v2: unknown = JSON.parse(first.body);
    const paths = Object.keys(at(v2, 'paths') as object);
    assert.ok(paths.includes(`/${own}/namespaces/{namespace}/gadgets`) && paths.includes('/api/v1/pods'));
    assert.ok(at(v2, 'definitions/com.example.ext.v1.Gadget'));
    const again = await ask(front.port, '/openapi/v2', { 'if-none-match': first.headers.etag! });
    assert.equal(again.code, 304);
  });

  it('is told from one whose certificate cannot be believed', async () => {
    const other = Buffer.from(frontProxy.certificatePem).toString('base64');
    await register(front.admin, 'wrong.example.com', 'wrong', extension.port, { caBundle: other });
    await available(front.admin, 'v1.wrong.example.com', 'FailedDiscoveryCheck');
    const answer = await ask(front.port, '/apis/wrong.example.com/v1');
    assert.deepEqual([answer.code, answer.body], [503, 'service unavailable\n']);
  });

  it('is stale in discovery and answered for with 503 once it has gone', async () => {
    await extension.stop();
    const answer = await ask(front.port, gadgets);
    assert.equal(answer.code, 503);
    // Any change of the Service has it asked again at once.
    await front.admin.call({
      method: 'PATCH',
      path: '/api/v1/namespaces/default/services/ext',
      contentType: 'application/merge-patch+json',
      body: { metadata: { labels: { touched: 'yes' } } },
    });
    const { status } = await available(front.admin, `v1.${group}`, 'FailedDiscoveryCheck');
    assert.equal(status, 'False');
    assert.equal((await ask(front.port, gadgets)).body, 'service unavailable\n');
    await until(async () => {
      const { body } = await ask(front.port, '/apis', aggregatedForm);
      const found = listAt(JSON.parse(body), 'items').find(named(group));
      return at(found, 'versions/0/freshness') === 'Stale' && listAt(found, 'versions/0/resources').length === 1;
    });
  });
});

function overHttp(server: TestServer): { readonly transport: Transport; close(): void } {
  const transport = httpTransport({
    server: `https://127.0.0.1:${server.port}`,
    tls: { insecureSkipVerify: true },
    token: () => Promise.resolve(adminToken),
    clock: systemClock,
  } as never);
  return { transport, close: () => transport.close() };
}

describe('what passes to and from a server behind an API service', () => {
  let front: TestServer;
  let backend: Server;
  const group = 'rough.example.com';
  const root = `/apis/${group}/v1`;
  const swagger = {
    swagger: '2.0',
    info: { title: 'rough', version: 'v1' },
    paths: { [`${root}/things`]: { get: { responses: { 200: { description: 'OK' } } } }, '/elsewhere': {} },
    definitions: { Thing: { type: 'object', properties: { of: { $ref: '#/definitions/Thing' } } } },
  };
  const seen: IncomingMessage[] = [];
  const sockets = new Set<Duplex>();

  function respond(message: IncomingMessage, answer: ServerResponse): void {
    seen.push(message);
    const { pathname } = new URL(message.url!, 'http://x');
    const what = pathname.split('/').at(-1);
    if (what === 'redirect') answer.writeHead(302, { location: 'https://169.254.169.254/latest' }).end();
    else if (what === 'notmodified') answer.writeHead(304, { etag: '"x"' }).end();
    else if (pathname === '/openapi/v3') answer.writeHead(404).end();
    else if (pathname === '/openapi/v2')
      answer.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(swagger));
    else if (pathname === root)
      answer.writeHead(200, { 'content-type': 'application/json' }).end('{"kind":"APIResourceList","resources":[]}');
    else if (what === 'hops')
      answer.writeHead(200, { connection: 'close', 'x-kept': 'yes', 'content-type': 'text/plain' }).end('body');
    else if (what === 'cut') {
      answer.writeHead(200, { 'content-type': 'text/plain' });
      answer.write('half');
      setImmediate(() => answer.socket?.destroy());
    } else answer.writeHead(200, { 'content-type': 'application/json' }).end('{"kind":"Things"}');
  }

  before(async () => {
    const own = leaf(serving, 'rough', ['rough.default.svc']);
    backend = createServer({ key: own.keyPem, cert: own.certificatePem, requestCert: true, rejectUnauthorized: false });
    backend.on('request', respond);
    backend.on('connection', (socket) => sockets.add(socket));
    const webSockets = new WebSocketServer({ noServer: true });
    backend.on('upgrade', (message: IncomingMessage, socket: Duplex, head: Buffer) => {
      seen.push(message);
      if (message.url!.includes('redirect')) {
        socket.end('HTTP/1.1 302 Found\r\nLocation: https://169.254.169.254/\r\nContent-Length: 0\r\n\r\n');
        return;
      }
      webSockets.handleUpgrade(message, socket, head, (webSocket) => {
        webSocket.on('message', (data) => webSocket.send(`echo ${(data as Buffer).toString()}`));
      });
    });
    await new Promise<void>((resolve) => backend.listen(0, 'localhost', resolve));
    front = await startTestServer({
      proxyClient: () => ({ certificate: proxyCertificate.certificatePem, key: proxyCertificate.keyPem }),
      requestHeader: { clientCa: frontProxy.certificatePem, usernameHeaders: ['X-Corp-User', 'X-Remote-User'] },
    });
    await register(front.admin, group, 'rough', (backend.address() as AddressInfo).port, {
      caBundle: Buffer.from(serving.certificatePem).toString('base64'),
    });
    await available(front.admin, `v1.${group}`, 'Passed');
  });

  after(async () => {
    await front.stop();
    backend.close();
    for (const socket of sockets) socket.destroy();
  });

  const last = (): IncomingMessage => seen.filter(({ headers }) => headers['user-agent'] === 'tester').at(-1)!;
  const tester = { 'user-agent': 'tester' };

  it('is the user, proven by a certificate, and nothing that the caller says of himself', async () => {
    await ask(front.port, `${root}/things?a=b%20c&a=d`, {
      ...tester,
      'x-remote-user': 'root',
      'x-remote-group': 'system:nodes',
      'x-remote-extra-scopes': 'all',
      'x-corp-user': 'root',
      'x-other': 'kept',
    });
    const message = last();
    const { headers } = message;
    assert.equal(headers['x-remote-user'], 'admin');
    assert.equal(headers['x-remote-uid'], '1');
    assert.equal(headers['x-remote-group'], 'system:masters, system:authenticated');
    assert.equal(headers['x-other'], 'kept');
    assert.equal(headers['x-forwarded-for'], '127.0.0.1');
    for (const name of ['authorization', 'x-corp-user', 'x-remote-extra-scopes'])
      assert.equal(headers[name], undefined);
    assert.equal(new URL(message.url!, 'http://x').searchParams.getAll('a').join(), 'b c,d');
    const host = `localhost:${(backend.address() as AddressInfo).port}`;
    assert.deepEqual([headers.host, headers['x-forwarded-host']], [host, host]);
    assert.deepEqual([headers['x-forwarded-proto'], headers['x-forwarded-uri']], ['https', `${root}/things`]);
  });

  it('is no redirect', async () => {
    const { code, headers } = await ask(front.port, `${root}/redirect`, tester);
    assert.deepEqual([code, headers.location], [502, undefined]);
    assert.equal((await ask(front.port, `${root}/notmodified`, tester)).code, 304);
  });

  it('is its document in the new form, where it has one of the old form only', async () => {
    const own = root.slice(1);
    const url = await until(async () => {
      const { body } = await ask(front.port, '/openapi/v3');
      return (JSON.parse(body) as Index).paths[own]?.serverRelativeURL;
    });
    const { code, body, headers } = await ask(front.port, url);
    assert.deepEqual(
      [code, JSON.parse(body)],
      [
        200,
        {
          openapi: '3.0.0',
          info: swagger.info,
          paths: { [`${root}/things`]: { get: { responses: { 200: { description: 'OK' } } } } },
          components: {
            schemas: { Thing: { type: 'object', properties: { of: { $ref: '#/components/schemas/Thing' } } } },
          },
        },
      ],
    );
    assert.equal((await ask(front.port, url, { 'if-none-match': headers.etag! })).code, 304);
  });

  it('is no header of the connection', async () => {
    const { code, headers, body } = await ask(front.port, `${root}/hops`, tester);
    assert.deepEqual([code, headers['x-kept'], body], [200, 'yes', 'body']);
    assert.deepEqual(
      [headers['cache-control'], headers['audit-id']],
      ['no-cache, private', last().headers['audit-id']],
    );
  });

  it('is no path that climbs', async () => {
    for (const path of [`${root}/../../../api/v1/secrets`, `${root}/things/%2e%2e/x`])
      assert.equal((await ask(front.port, path, tester)).code, 400);
  });

  it('is no body beyond the limit', async () => {
    const { transport, close } = overHttp(front);
    await assert.rejects(
      transport.call({ method: 'POST', path: `${root}/things`, body: { text: 'x'.repeat(4 * 1024 * 1024) } }),
      { code: 413 },
    );
    close();
  });

  it('breaks off where the other server does', async () => {
    await assert.rejects(ask(front.port, `${root}/cut`, tester));
  });

  it('is an upgraded connection, both ways, as the user', async () => {
    const url = `wss://127.0.0.1:${front.port}${root}/namespaces/default/things/a/exec`;
    const headers = { authorization: `Bearer ${adminToken}`, 'x-remote-user': 'root', ...tester };
    const socket = new WebSocket(url, { rejectUnauthorized: false, headers });
    const text = await new Promise<string>((resolve, reject) => {
      socket.on('open', () => socket.send('hello'));
      socket.on('message', (data) => resolve((data as Buffer).toString()));
      socket.on('error', reject);
    });
    socket.close();
    assert.equal(text, 'echo hello');
    assert.equal(last().headers['x-remote-user'], 'admin');
    assert.equal(last().headers.authorization, undefined);
    const refused = new WebSocket(`${url}?redirect`, { rejectUnauthorized: false, headers });
    await assert.rejects(new Promise((_resolve, reject) => refused.on('error', reject)), /502/);
  });
});
