// Owns the proof that published faults of Kubernetes API servers (the official CVE feed) do not work here. Each test names its own; docs/security.md has the table.
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { createServer as createTlsServer, request } from 'node:https';
import { type AddressInfo, createServer as createTcpServer, connect as connectTcp } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { after, before, test } from 'node:test';
import { logger } from '../../src/base/log.ts';
import { metricsRegistry } from '../../src/base/metrics.ts';
import { systemClock } from '../../src/base/clock.ts';
import { systemRandom } from '../../src/base/random.ts';
import { apiServer } from '../../src/server/api-server.ts';
import { callout } from '../../src/server/callout.ts';
import { adminToken, startTestServer } from '../../src/server/start.suite.ts';
import type { TestServer } from '../../src/server/start.suite.ts';
import { memoryStore } from '../../src/store/memory.ts';
import { selfSigned } from '../../src/testing/self-signed.ts';
import { requestUpgrade } from '../../src/wire/streams/upgrade.ts';

let running: TestServer;

interface Reply {
  readonly status: number;
  readonly body: string;
}
type Headers = Record<string, string | string[]>;

function send(method: string, path: string, headers: Headers = {}, body?: object | string, port = running.port) {
  return new Promise<Reply>((resolve, reject) => {
    const sent = request(
      {
        host: '127.0.0.1',
        port,
        method,
        path,
        headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
        rejectUnauthorized: false,
        agent: false,
      },
      (answer) => {
        let text = '';
        answer.on('data', (chunk: Buffer) => (text += chunk.toString()));
        answer.on('end', () => resolve({ status: answer.statusCode ?? 0, body: text }));
      },
    );
    sent.on('error', reject);
    sent.end(typeof body === 'object' ? JSON.stringify(body) : body);
  });
}

const admin = { authorization: `Bearer ${adminToken}` };
const alice = { authorization: 'Bearer other-token' };
const node = { ...admin, 'impersonate-user': 'system:node:n', 'impersonate-group': 'system:nodes' };
const merge = { 'content-type': 'application/merge-patch+json' };
const rbac = 'rbac.authorization.k8s.io';
const pods = '/api/v1/namespaces/default/pods';

async function make(path: string, body: object, headers: Headers = admin): Promise<Record<string, never>> {
  const { status, body: text } = await send('POST', path, headers, body);
  assert.equal(status, 201, text);
  return JSON.parse(text) as Record<string, never>;
}

const pod = (name: string, spec: object = {}, metadata: object = {}): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, ...metadata },
  spec: { containers: [{ name: 'c', image: 'x' }], ...spec },
});

before(async () => {
  running = await startTestServer({ enableAdmissionPlugins: ['NodeRestriction'] });
  await make('/api/v1/namespaces/default/serviceaccounts', {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { name: 'default' },
  });
});
after(() => running.stop());

test('CVE-2016-1905, CVE-2016-1906: a patch passes admission like any other write', async () => {
  await make('/api/v1/namespaces', {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: 'strict', labels: { 'pod-security.kubernetes.io/enforce': 'baseline' } },
  });
  await make('/api/v1/namespaces/strict/limitranges', {
    apiVersion: 'v1',
    kind: 'LimitRange',
    metadata: { name: 'l' },
    spec: { limits: [{ type: 'PersistentVolumeClaim', max: { storage: '1Gi' } }] },
  });
  const claim = { accessModes: ['ReadWriteOnce'], storageClassName: '', resources: { requests: { storage: '1Gi' } } };
  const path = '/api/v1/namespaces/strict/persistentvolumeclaims';
  await make(path, { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: { name: 'p' }, spec: claim });
  const bound = { status: { phase: 'Bound', capacity: { storage: '1Gi' } } };
  assert.equal((await send('PATCH', `${path}/p/status`, { ...admin, ...merge }, bound)).status, 200);
  const more = { spec: { resources: { requests: { storage: '5Gi' } } } };
  assert.equal((await send('PATCH', `${path}/p`, { ...admin, ...merge }, more)).status, 403);
});

test('CVE-2018-1002105: an upgrade that the backend refuses leaves no open way to it', async () => {
  let requests = 0;
  let closed: () => void;
  const gone = new Promise<void>((resolve) => (closed = resolve));
  const backend = createTcpServer((socket) => {
    socket.on('error', () => undefined);
    socket.on('close', () => closed());
    socket.on('data', (chunk) => {
      requests += chunk.toString().split('HTTP/1.1\r\n').length - 1;
      socket.write('HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno');
    });
  });
  await new Promise<void>((resolve) => backend.listen(0, '127.0.0.1', resolve));
  const { port } = backend.address() as AddressInfo;
  const connect = () =>
    new Promise<import('node:net').Socket>((resolve, reject) => {
      const socket = connectTcp(port, '127.0.0.1', () => resolve(socket));
      socket.on('error', reject);
    });
  await assert.rejects(requestUpgrade({ host: `127.0.0.1:${port}`, path: '/exec', connect }, 'POST', {}));
  await gone;
  assert.equal(requests, 1);
  backend.close();
  // And towards the client: what follows a refused upgrade on the same connection is nobody's request.
  const socket = connectTls({ host: '127.0.0.1', port: running.port, rejectUnauthorized: false });
  socket.on('error', () => undefined);
  let text = '';
  socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
  socket.write(
    `GET ${pods}/none/exec?command=id HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nAuthorization: ${admin.authorization}\r\n\r\nGET /api/v1/namespaces/kube-system/secrets HTTP/1.1\r\nHost: x\r\nAuthorization: ${admin.authorization}\r\n\r\n`,
  );
  await new Promise((resolve) => socket.on('close', resolve));
  assert.match(text, /^HTTP\/1\.1 4\d\d /);
  assert.ok(!text.includes('SecretList'));
});

test('CVE-2019-1002100: JSON patches of many or of growing operations end soon', async () => {
  await make('/api/v1/namespaces/default/configmaps', {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'patched' },
    data: { a: 'x'.repeat(1000) },
  });
  const path = '/api/v1/namespaces/default/configmaps/patched';
  const json = { ...admin, 'content-type': 'application/json-patch+json' };
  const many = JSON.stringify(
    Array.from({ length: 10_001 }, () => ({ op: 'test', path: '/kind', value: 'ConfigMap' })),
  );
  const grow = JSON.stringify(
    Array.from({ length: 60 }, (_, at) => ({ op: 'copy', from: '/data', path: `/data/k${at}` })),
  );
  for (const body of [many, grow]) {
    const started = performance.now();
    const { status } = await send('PATCH', path, json, body);
    assert.ok(status >= 400 && status < 500, String(status));
    assert.ok(performance.now() - started < 5000);
  }
});

test('CVE-2019-11247: objects of the cluster are not reached by way of a namespace', async () => {
  await make('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'gadgets.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Cluster',
      names: { plural: 'gadgets', kind: 'Gadget' },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
    },
  });
  const gadget = { apiVersion: 'example.com/v1', kind: 'Gadget', metadata: { name: 'g' } };
  for (let tries = 0; tries < 100; tries++)
    if ((await send('POST', '/apis/example.com/v1/gadgets', admin, gadget)).status === 201) break;
  assert.equal((await send('GET', '/apis/example.com/v1/gadgets/g', admin)).status, 200);
  await make(`/apis/${rbac}/v1/namespaces/default/roles`, {
    apiVersion: `${rbac}/v1`,
    kind: 'Role',
    metadata: { name: 'all' },
    rules: [{ apiGroups: ['example.com'], resources: ['*'], verbs: ['*'] }],
  });
  await make(`/apis/${rbac}/v1/namespaces/default/rolebindings`, {
    apiVersion: `${rbac}/v1`,
    kind: 'RoleBinding',
    metadata: { name: 'all' },
    roleRef: { apiGroup: rbac, kind: 'Role', name: 'all' },
    subjects: [{ kind: 'User', apiGroup: rbac, name: 'alice' }],
  });
  const inside = '/apis/example.com/v1/namespaces/default/gadgets';
  for (const [method, path] of [
    ['GET', `${inside}/g`],
    ['GET', inside],
    ['DELETE', `${inside}/g`],
  ] as const)
    assert.equal((await send(method, path, alice)).status, 404, `${method} ${path}`);
  assert.equal((await send('GET', '/apis/example.com/v1/gadgets/g', alice)).status, 403);
});

test('CVE-2022-3162: rights on one custom kind do not reach another, whatever the name in the path', async () => {
  for (const path of [
    '/apis/example.com/v1/gadgets/..%2f..%2fv1%2fgadgets%2fg',
    '/apis/example.com/v1/namespaces/default/things/..%2f..%2f..%2fgadgets%2fg',
    '/apis/example.com/v1/namespaces/..%2fgadgets/g',
    '/apis/example.com/v1/namespaces/default/../../gadgets/g',
  ]) {
    const { status, body } = await send('GET', path, alice);
    assert.ok(status >= 400 && status < 500, `${path}: ${status}`);
    assert.ok(!body.includes('"kind":"Gadget"'));
  }
});

test('CVE-2019-11254, CVE-2019-11253: YAML that is slow to read is not', async () => {
  for (const body of [
    `a: ${'- '.repeat(100_000)}x`,
    `${'? '.repeat(50_000)}x`,
    `${'a: {'.repeat(20_000)}`,
    `"${'\\'.repeat(1_000_001)}`,
    `a: ${'!'.repeat(200_000)}`,
    `&a [${'*a,'.repeat(100_000)}]`,
    `${'{'.repeat(100_000)}`,
    `a: >\n${' \n'.repeat(200_000)}`,
  ]) {
    const started = performance.now();
    const headers = { ...admin, 'content-type': 'application/yaml' };
    const { status } = await send('POST', '/api/v1/namespaces/default/configmaps', headers, body);
    assert.ok(status >= 400 && status < 500, `${body.slice(0, 20)}: ${status}`);
    assert.ok(performance.now() - started < 5000, body.slice(0, 20));
  }
});

test('CVE-2019-11250, CVE-2020-8565: tokens are not written into the log, however much is logged', async () => {
  const { key, certificate } = selfSigned(generateKeyPairSync('ec', { namedCurve: 'prime256v1' }));
  let said = '';
  const log = logger('debug', (line) => void (said += line));
  const deps = { clock: systemClock, random: systemRandom, log };
  const server = apiServer(
    {
      bindAddress: '127.0.0.1',
      securePort: 0,
      tls: { key, certificate },
      serviceAccounts: { signingKey: key },
      tokenFile: 'very-secret-token,a,1\n',
    },
    { store: memoryStore(deps), exclusiveStore: true, ...deps },
  );
  const stop = new AbortController();
  const ended = server.run(stop.signal);
  const { port } = await server.ready;
  for (const token of ['very-secret-token', 'very-secret-but-wrong', 'eyJhbGciOiJub25lIn0.very-secret.x'])
    await send('GET', '/api/v1/nodes?token=very-secret-query', { authorization: `Bearer ${token}` }, undefined, port);
  stop.abort();
  await ended;
  assert.ok(said.length > 0, 'something was logged');
  assert.ok(!said.includes('very-secret'), said.slice(0, 2000));
});

test('CVE-2020-8552: strangers cannot make metrics grow with paths and verbs of their own', async () => {
  const metrics = metricsRegistry();
  const { key, certificate } = selfSigned(generateKeyPairSync('ec', { namedCurve: 'prime256v1' }));
  const deps = { clock: systemClock, random: systemRandom, log: logger('error', 2), metrics };
  const server = apiServer(
    { bindAddress: '127.0.0.1', securePort: 0, tls: { key, certificate }, serviceAccounts: { signingKey: key } },
    { store: memoryStore(deps), exclusiveStore: true, ...deps },
  );
  const stop = new AbortController();
  const ended = server.run(stop.signal);
  const { port } = await server.ready;
  const ask = async (at: number): Promise<void> => {
    await send('GET', `/apis/g${at}.example.com/v${at}/things${at}/n${at}/sub${at}`, {}, undefined, port);
    await send('PROPFIND', `/x${at}`, {}, undefined, port);
    await send('GET', `/api/v1/namespaces/n${at}/pods/p${at}/whatever${at}?dryRun=d${at}`, {}, undefined, port);
  };
  for (let at = 0; at < 20; at++) await ask(at);
  const before_ = metrics.text().length;
  for (let at = 20; at < 120; at++) await ask(at);
  const grown = metrics.text().length - before_;
  stop.abort();
  await ended;
  assert.ok(grown < 2000, `${grown} bytes for 300 requests`);
});

test('CVE-2020-8561: what the server calls itself does not lead it elsewhere by a redirect', async () => {
  const { key, certificate } = selfSigned(generateKeyPairSync('ec', { namedCurve: 'prime256v1' }));
  const hits: string[] = [];
  const backend = createTlsServer({ key, cert: certificate }, (asked, answer) => {
    hits.push(asked.url ?? '');
    answer.writeHead(302, { Location: '/elsewhere' }).end('hush');
  });
  await new Promise<void>((resolve) => backend.listen(0, '127.0.0.1', resolve));
  const calls = callout(systemClock);
  const url = new URL(`https://127.0.0.1:${(backend.address() as AddressInfo).port}/`);
  await assert.rejects(calls.call({ url, ca: certificate }, { method: 'GET', timeoutMs: 5000 }), (error: Error) => {
    assert.match(error.message, /redirect/);
    assert.ok(!error.message.includes('hush'), 'nor is what it answered told');
    return true;
  });
  calls.close();
  assert.deepEqual(hits, ['/']);
  backend.closeAllConnections();
  backend.close();
});

test('CVE-2020-8562, CVE-2022-3294, CVE-2020-8555: proxies lead to pods and nodes, never back to the server’s own neighbourhood', async () => {
  for (const [at, address] of ['127.0.0.1', '169.254.169.254', '::1', '0.0.0.0', 'localhost'].entries()) {
    const name = `n${at}`;
    await make('/api/v1/nodes', { apiVersion: 'v1', kind: 'Node', metadata: { name } });
    const addresses = [{ type: 'InternalIP', address }];
    await send('PATCH', `/api/v1/nodes/${name}/status`, { ...admin, ...merge }, { status: { addresses } });
    const { status, body } = await send('GET', `/api/v1/nodes/http:${name}:${running.port}/proxy/healthz`, admin);
    assert.ok(status >= 400, `${address}: ${status} ${body}`);
    assert.notEqual(body, 'ok');
  }
});

test('CVE-2021-25735: a webhook that judges changes of nodes sees what was stored, not what the client says was', async () => {
  const { key, certificate } = selfSigned(generateKeyPairSync('ec', { namedCurve: 'prime256v1' }));
  const seen: unknown[] = [];
  const hook = createTlsServer({ key, cert: certificate }, (asked, answer) => {
    let text = '';
    asked.on('data', (chunk: Buffer) => (text += chunk.toString()));
    asked.on('end', () => {
      const { request: review } = JSON.parse(text) as {
        request: {
          uid: string;
          object: { metadata: { labels?: object } };
          oldObject: { metadata: { labels?: object } };
        };
      };
      seen.push([review.oldObject.metadata.labels, review.object.metadata.labels]);
      answer.end(
        JSON.stringify({
          apiVersion: 'admission.k8s.io/v1',
          kind: 'AdmissionReview',
          response: { uid: review.uid, allowed: false },
        }),
      );
    });
  });
  await new Promise<void>((resolve) => hook.listen(0, '127.0.0.1', resolve));
  await make('/api/v1/nodes', {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'judged', labels: { a: 'stored' } },
  });
  const configurations = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations';
  await make(configurations, {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingWebhookConfiguration',
    metadata: { name: 'w' },
    webhooks: [
      {
        name: 'w.example.com',
        clientConfig: {
          url: `https://127.0.0.1:${(hook.address() as AddressInfo).port}/`,
          caBundle: Buffer.from(certificate).toString('base64'),
        },
        rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['UPDATE'], resources: ['nodes'] }],
        sideEffects: 'None',
        admissionReviewVersions: ['v1'],
      },
    ],
  });
  const changed = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'judged', labels: { a: 'wanted' } } };
  assert.equal((await send('PUT', '/api/v1/nodes/judged', admin, changed)).status, 403);
  assert.deepEqual(seen, [[{ a: 'stored' }, { a: 'wanted' }]]);
  await send('DELETE', `${configurations}/w`, admin);
  hook.closeAllConnections();
  hook.close();
});

test('CVE-2021-25737: endpoints on the host itself are refused', async () => {
  for (const address of ['127.0.0.1', '169.254.169.254', '0.0.0.0', '224.0.0.1']) {
    const slice = {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { name: 'e' },
      addressType: 'IPv4',
      endpoints: [{ addresses: [address] }],
    };
    const { status } = await send('POST', '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices', admin, slice);
    assert.equal(status, 422, address);
  }
});

test('CVE-2021-25740: the roles for users do not let them write endpoints', async () => {
  for (const name of ['system:aggregate-to-edit', 'system:aggregate-to-admin', 'edit', 'admin']) {
    const { body } = await send('GET', `/apis/${rbac}/v1/clusterroles/${name}`, admin);
    const { rules } = JSON.parse(body) as { rules: { resources?: string[]; verbs: string[] }[] | null };
    for (const { resources = [], verbs } of rules ?? [])
      if (resources.includes('endpoints') || resources.includes('endpointslices'))
        assert.ok(
          verbs.every((verb) => ['get', 'list', 'watch'].includes(verb)),
          `${name}: ${verbs.join(' ')}`,
        );
  }
});

test('CVE-2023-2728, CVE-2024-3177: an account’s list of secrets holds for every kind of container and reference', async () => {
  await make('/api/v1/namespaces/default/serviceaccounts', {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { name: 'limited', annotations: { 'kubernetes.io/enforce-mountable-secrets': 'true' } },
    secrets: [{ name: 'ok' }],
  });
  const serviceAccountName = 'limited';
  const from = { envFrom: [{ secretRef: { name: 'other' } }] };
  const env = { env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 'other', key: 'k' } } }] };
  for (const more of [from, env])
    for (const spec of [
      { containers: [{ name: 'c', image: 'x', ...more }] },
      { initContainers: [{ name: 'i', image: 'x', ...more }] },
    ])
      assert.equal((await send('POST', pods, admin, pod('p', { serviceAccountName, ...spec }))).status, 403);
  await make(pods, pod('limited', { serviceAccountName }));
  for (const more of [from, env]) {
    const body = { spec: { ephemeralContainers: [{ name: 'e', image: 'x', ...more }] } };
    const headers = { ...admin, 'content-type': 'application/strategic-merge-patch+json' };
    const { status } = await send('PATCH', `${pods}/limited/ephemeralcontainers`, headers, body);
    assert.ok(status >= 400, String(status));
  }
});

test('CVE-2024-0793: an autoscaler that names no metric properly is refused, or harmless', async () => {
  const of = (metrics: unknown) => ({
    apiVersion: 'autoscaling/v2',
    kind: 'HorizontalPodAutoscaler',
    metadata: { name: 'h' },
    spec: { scaleTargetRef: { kind: 'Deployment', name: 'd' }, maxReplicas: 2, metrics },
  });
  for (const metrics of [
    [{}],
    [{ type: 'Object' }],
    [{ type: 'Pods', pods: {} }],
    [{ type: 'ContainerResource' }],
    [null],
  ]) {
    const path = '/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers';
    const { status } = await send('POST', path, admin, of(metrics));
    assert.ok(status >= 400 && status < 500, `${JSON.stringify(metrics)}: ${status}`);
  }
});

test('CVE-2025-4563: a node’s mirror pods claim no devices', async () => {
  await make('/api/v1/nodes', { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n' } });
  const { body } = await send('GET', '/api/v1/nodes/n', admin);
  const { uid } = (JSON.parse(body) as { metadata: { uid: string } }).metadata;
  const mirror = (spec: object): object =>
    pod(
      'mirror',
      { nodeName: 'n', ...spec },
      {
        annotations: { 'kubernetes.io/config.mirror': 'x' },
        ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'n', uid, controller: true }],
      },
    );
  const claims = { resourceClaims: [{ name: 'a', resourceClaimName: 'others' }] };
  assert.equal((await send('POST', `${pods}?dryRun=All`, node, mirror(claims))).status, 403);
  assert.equal((await send('POST', `${pods}?dryRun=All`, node, mirror({}))).status, 201);
});

test('CVE-2025-5187: a node gives itself no owner, and so cannot have itself deleted', async () => {
  const owner = { ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'gone', uid: 'u' }] };
  const { status } = await send('PATCH', '/api/v1/nodes/n', { ...node, ...merge }, { metadata: owner });
  assert.equal(status, 403);
});
