// Owns the proof that shapes of published faults of API servers do not work here: each names what it guards against.
import assert from 'node:assert/strict';
import { request } from 'node:https';
import { after, before, test } from 'node:test';
import { adminToken, startTestServer } from '../../src/server/start.suite.ts';
import type { TestServer } from '../../src/server/start.suite.ts';

let running: TestServer;

interface Reply {
  readonly status: number;
  readonly body: string;
}

function send(
  method: string,
  path: string,
  headers: Record<string, string | string[]> = {},
  body?: string | Buffer,
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const sent = request(
      { host: '127.0.0.1', port: running.port, method, path, headers, rejectUnauthorized: false, agent: false },
      (answer) => {
        const chunks: Buffer[] = [];
        answer.on('data', (chunk: Buffer) => chunks.push(chunk));
        answer.on('end', () => resolve({ status: answer.statusCode ?? 0, body: Buffer.concat(chunks).toString() }));
      },
    );
    sent.on('error', reject);
    sent.end(body);
  });
}

const alice = { authorization: 'Bearer other-token' };
const admin = { authorization: `Bearer ${adminToken}` };
const json = { 'content-type': 'application/json' };
type Headers = Record<string, string | string[]>;
const refused = (status: number): boolean => status >= 400 && status < 500;

before(async () => {
  running = await startTestServer({ enableAdmissionPlugins: ['NodeRestriction'] });
  const made = await send(
    'POST',
    '/api/v1/namespaces/kube-system/secrets',
    { ...admin, ...json },
    JSON.stringify({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' }, stringData: { k: 'hush' } }),
  );
  assert.equal(made.status, 201);
});
after(() => running.stop());

const secret = '/api/v1/namespaces/kube-system/secrets/s';

/** Another spelling of a path must not be authorised as one thing and served as another (CVE-2018-1002105's and CVE-2022-3162's kind). */
const spellings = [
  secret,
  '//api/v1/namespaces/kube-system/secrets/s',
  '/api//v1/namespaces/kube-system/secrets/s',
  '/api/v1/namespaces/kube-system/secrets//s',
  '/api/v1/namespaces/kube-system/./secrets/s',
  '/healthz/../api/v1/namespaces/kube-system/secrets/s',
  '/healthz/%2e%2e/api/v1/namespaces/kube-system/secrets/s',
  '/api/v1/namespaces/default/../kube-system/secrets/s',
  '/api/v1/namespaces/kube-system%2fsecrets%2fs',
  '/api/v1/namespaces/kube-system/secrets%2fs',
  '/api/v1/namespaces/kube-system/SECRETS/s',
  '/API/v1/namespaces/kube-system/secrets/s',
  '/api/v1/watch/namespaces/kube-system/secrets/s',
  `${secret}/`,
  `${secret}%00`,
  `${secret};x=y`,
  `${secret}?watch=1`,
  '/version/../api/v1/namespaces/kube-system/secrets/s',
  '/openapi/v3/../../api/v1/namespaces/kube-system/secrets/s',
];
for (const path of spellings)
  test(`no way round authorization: ${path}`, async () => {
    for (const headers of [{}, alice]) {
      const { status, body } = await send('GET', path, headers);
      assert.ok(refused(status), `${status} ${body}`);
      assert.ok(!body.includes(Buffer.from('hush').toString('base64')));
    }
  });

test('rights on a path are none on a resource that is spelled alike, nor the other way round', async () => {
  const rbac = 'rbac.authorization.k8s.io';
  const post = (path: string, body: object) =>
    send('POST', path, { ...admin, ...json }, JSON.stringify({ apiVersion: `${rbac}/v1`, ...body }));
  const role = {
    kind: 'ClusterRole',
    metadata: { name: 'paths' },
    rules: [{ nonResourceURLs: ['/secrets/*', '/*'], verbs: ['get', 'list'] }],
  };
  assert.equal((await post(`/apis/${rbac}/v1/clusterroles`, role)).status, 201);
  const bound = {
    kind: 'ClusterRoleBinding',
    metadata: { name: 'paths' },
    roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: 'paths' },
    subjects: [{ kind: 'User', apiGroup: rbac, name: 'alice' }],
  };
  assert.equal((await post(`/apis/${rbac}/v1/clusterrolebindings`, bound)).status, 201);
  // Asked for first as a path, so that what is remembered of it is there when the resource is asked for.
  for (const path of ['/secrets/%20kube-system', '/secrets/ kube-system'.replace(' ', '%20'), '/secrets/'])
    await send('GET', path, alice);
  assert.equal((await send('GET', secret, alice)).status, 403);
  assert.equal((await send('GET', '/api/v1/namespaces/kube-system/secrets', alice)).status, 403);
  await send('DELETE', `/apis/${rbac}/v1/clusterrolebindings/paths`, admin);
});

test('headers of a front proxy are nothing without its certificate (header smuggling)', async () => {
  for (const spelled of [
    { 'x-remote-user': 'admin', 'x-remote-group': 'system:masters' },
    { 'X-Remote-User': 'admin', 'X-Remote-Group': ['system:masters', 'x'] },
    { x_remote_user: 'admin', x_remote_group: 'system:masters' },
  ] as Headers[])
    for (const headers of [spelled, { ...alice, ...spelled }])
      assert.equal((await send('GET', secret, headers)).status, 403);
});

test('nobody impersonates without the right to, in any part', async () => {
  for (const headers of [
    { 'impersonate-user': 'admin', 'impersonate-group': 'system:masters' },
    { 'impersonate-user': 'alice', 'impersonate-group': 'system:masters' },
    { 'impersonate-user': 'system:serviceaccount:kube-system:default' },
    { 'impersonate-user': 'alice', 'impersonate-uid': '1' },
    { 'impersonate-user': 'alice', 'impersonate-extra-scopes': 'x' },
    { 'impersonate-group': 'system:masters' },
  ] as Headers[])
    assert.ok(refused((await send('GET', secret, { ...alice, ...headers })).status));
});

test('nobody grants more than they hold, also by aggregation or an update (privilege escalation)', async () => {
  const rbac = 'rbac.authorization.k8s.io';
  const all = [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }];
  const post = (path: string, body: object, headers: Record<string, string>) =>
    send('POST', path, { ...headers, ...json }, JSON.stringify({ apiVersion: `${rbac}/v1`, ...body }));
  const editor = {
    kind: 'ClusterRole',
    metadata: { name: 'role-editor' },
    rules: [{ apiGroups: [rbac], resources: ['*'], verbs: ['create', 'update', 'patch', 'get'] }],
  };
  assert.equal((await post(`/apis/${rbac}/v1/clusterroles`, editor, admin)).status, 201);
  const bound = {
    kind: 'ClusterRoleBinding',
    metadata: { name: 'role-editor' },
    roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: 'role-editor' },
    subjects: [{ kind: 'User', apiGroup: rbac, name: 'alice' }],
  };
  assert.equal((await post(`/apis/${rbac}/v1/clusterrolebindings`, bound, admin)).status, 201);
  assert.equal(
    (await post(`/apis/${rbac}/v1/clusterroles`, { kind: 'ClusterRole', metadata: { name: 'x' }, rules: all }, alice))
      .status,
    403,
  );
  assert.equal(
    (
      await post(
        `/apis/${rbac}/v1/clusterroles`,
        { kind: 'ClusterRole', metadata: { name: 'x' }, aggregationRule: { clusterRoleSelectors: [{}] } },
        alice,
      )
    ).status,
    403,
  );
  const masters = {
    ...bound,
    metadata: { name: 'y' },
    roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: 'cluster-admin' },
  };
  assert.equal((await post(`/apis/${rbac}/v1/clusterrolebindings`, masters, alice)).status, 403);
  const patched = await send(
    'PATCH',
    `/apis/${rbac}/v1/clusterroles/role-editor`,
    { ...alice, 'content-type': 'application/merge-patch+json' },
    JSON.stringify({ rules: all }),
  );
  assert.equal(patched.status, 403);
});

test('a node touches no other node, nor labels that others trust (node escalation)', async () => {
  const node = { ...admin, 'impersonate-user': 'system:node:a', 'impersonate-group': 'system:nodes' };
  const post = (name: string, labels: object) =>
    send(
      'POST',
      '/api/v1/nodes',
      { ...node, ...json },
      JSON.stringify({ apiVersion: 'v1', kind: 'Node', metadata: { name, labels } }),
    );
  assert.equal((await post('b', {})).status, 403);
  assert.equal((await post('a', { 'node-restriction.kubernetes.io/tier': 'x' })).status, 403);
  assert.equal((await post('a', {})).status, 201);
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p', namespace: 'kube-system' },
    spec: { nodeName: 'a', containers: [{ name: 'c', image: 'x' }], serviceAccountName: 'default' },
  };
  assert.equal(
    (await send('POST', '/api/v1/namespaces/kube-system/pods', { ...node, ...json }, JSON.stringify(pod))).status,
    403,
  );
  assert.equal((await send('GET', secret, node)).status, 403);
  assert.equal((await send('GET', '/api/v1/secrets', node)).status, 403);
});

/** Bodies that are larger when read than when sent, or that mean something to the language (CVE-2019-11253's kind). */
const anchors = Array.from(
  { length: 12 },
  (_, at) => `l${at}: &l${at} [${Array.from({ length: 10 }, () => (at === 0 ? 'x' : `*l${at - 1}`)).join(', ')}]`,
);
const bodies: readonly (readonly [string, string, string | Buffer])[] = [
  [
    'billion laughs',
    'application/yaml',
    `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: y}\n${anchors.join('\n')}\n`,
  ],
  [
    'deep nesting',
    'application/json',
    `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"d"},"data":${'['.repeat(100_000)}${']'.repeat(100_000)}}`,
  ],
  ['deep objects', 'application/json', `${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}`],
  ['deep YAML', 'application/yaml', `a: ${'['.repeat(50_000)}`],
  [
    'a huge number',
    'application/json',
    `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"n","generation":1e999999}}`,
  ],
  ['too large', 'application/json', Buffer.alloc(4 * 1024 * 1024, 0x20)],
  ['cut protobuf', 'application/vnd.kubernetes.protobuf', Buffer.from('6b3873000a0f0a02763112', 'hex')],
  [
    'endless varint',
    'application/vnd.kubernetes.protobuf',
    Buffer.concat([Buffer.from('6b387300', 'hex'), Buffer.alloc(64, 0xff)]),
  ],
  ['no UTF-8', 'application/json', Buffer.from([0x22, 0xff, 0xfe, 0x22])],
  ['nothing', 'application/json', ''],
  ['null', 'application/json', 'null'],
];
for (const [name, type, body] of bodies)
  test(`a hostile body is a clear refusal: ${name}`, async () => {
    const started = performance.now();
    const { status } = await send(
      'POST',
      '/api/v1/namespaces/default/configmaps',
      { ...admin, 'content-type': type },
      body,
    );
    assert.ok(refused(status), String(status));
    assert.ok(performance.now() - started < 5000);
  });

test('prototype keys are data like any other', async () => {
  const text =
    '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"proto","labels":{"__proto__":"x"},"annotations":{"constructor":"y"}},"data":{"__proto__":"z","toString":"t"}}';
  const { status } = await send('POST', '/api/v1/namespaces/default/configmaps', { ...admin, ...json }, text);
  assert.ok(status < 500);
  assert.equal(({} as Record<string, unknown>)['polluted'], undefined);
  const patch =
    '{"__proto__":{"polluted":"yes"},"metadata":{"__proto__":{"polluted":"yes"}},"data":{"constructor":{"prototype":{"polluted":"yes"}}}}';
  for (const type of ['application/merge-patch+json', 'application/strategic-merge-patch+json']) {
    const patched = await send(
      'PATCH',
      '/api/v1/namespaces/default/configmaps/proto',
      { ...admin, 'content-type': type },
      patch,
    );
    assert.ok(patched.status < 500, String(patched.status));
  }
  assert.equal(({} as Record<string, unknown>)['polluted'], undefined);
});

test('what is no credential is nobody, never a crash', async () => {
  for (const value of [
    'Bearer',
    'Bearer ',
    'Bearer a.b.c',
    `Bearer ${'x'.repeat(5000)}`,
    'Basic YTpi',
    'Bearer eyJhbGciOiJub25lIn0.eyJpc3MiOiJodHRwczovL2t1YmVybmV0ZXMuZGVmYXVsdC5zdmMifQ.',
    'Bearer __proto__',
  ])
    assert.ok(refused((await send('GET', secret, { authorization: value })).status), value);
});
