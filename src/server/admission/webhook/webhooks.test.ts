import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { systemRandom } from '../../../base/random.ts';
import { createAuthority, issue } from '../../../base/x509.ts';
import { isStatusError, StatusError } from '../../../api/status-error.ts';
import type { KubeObject } from '../../../api/meta.ts';
import { selfSigned } from '../../../testing/self-signed.ts';
import { auditPolicy } from '../../audit/policy.ts';
import { startTestServer } from '../../start.suite.ts';
import type { TestServer } from '../../start.suite.ts';

type Review = {
  request: { uid: string; name: string; operation: string; object: KubeObject & { data?: Record<string, string> } };
};
type Respond = (review: Review) => Record<string, unknown>;

const { key, certificate } = selfSigned(generateKeyPairSync('ec', { namedCurve: 'prime256v1' }));
const respond = new Map<string, Respond>();
const calls: string[] = [];
let redirected = 0;

function serve(request: IncomingMessage, response: ServerResponse): void {
  const path = request.url ?? '';
  calls.push(path);
  if (path === '/secret') redirected++;
  if (path === '/redirect') {
    response.writeHead(307, { location: '/secret' }).end();
    return;
  }
  if (path === '/flood') {
    response.writeHead(200);
    response.end(Buffer.alloc(5 * 1024 * 1024, 'x'));
    return;
  }
  if (path === '/silent') return;
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const review = JSON.parse(Buffer.concat(chunks).toString()) as Review;
    const answer = respond.get(path)?.(review) ?? { allowed: true };
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(
      JSON.stringify({
        apiVersion: 'admission.k8s.io/v1',
        kind: 'AdmissionReview',
        response: { uid: review.request.uid, ...answer },
      }),
    );
  });
}

const hooks = createServer({ key, cert: certificate }, serve);
let running: TestServer;
let audited = '';
let url: string;

before(async () => {
  running = await startTestServer({
    audit: {
      policy: auditPolicy({ apiVersion: 'audit.k8s.io/v1', kind: 'Policy', rules: [{ level: 'Metadata' }] }),
      log: { path: '-', standardOutput: (text: string) => void (audited += text) },
    },
  });
  await new Promise<void>((resolve) => hooks.listen(0, '127.0.0.1', resolve));
  url = `https://127.0.0.1:${(hooks.address() as AddressInfo).port}`;
  await post('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'a' } });
});

after(async () => {
  hooks.closeAllConnections();
  hooks.close();
  await running.stop();
});

const post = (path: string, body: unknown, query = ''): Promise<KubeObject & { data?: Record<string, string> }> =>
  running.admin.call({ method: 'POST', path, query: new URLSearchParams(query), body }) as never;
const configMap = (name: string): object => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name },
  data: { k: 'v' },
});
const maps = '/api/v1/namespaces/a/configmaps';

async function withHooks(
  kind: 'Mutating' | 'Validating',
  list: Record<string, unknown>[],
  work: () => Promise<void>,
): Promise<void> {
  const plural = `/apis/admissionregistration.k8s.io/v1/${kind.toLowerCase()}webhookconfigurations`;
  await post(plural, {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: `${kind}WebhookConfiguration`,
    metadata: { name: 'w' },
    webhooks: list.map(({ path, ...more }, at) => ({
      name: `h${at}.example.com`,
      clientConfig: { url: url + String(path), caBundle: Buffer.from(certificate).toString('base64') },
      rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] }],
      sideEffects: 'None',
      admissionReviewVersions: ['v1'],
      ...more,
    })),
  });
  try {
    await work();
  } finally {
    await running.admin.call({ method: 'DELETE', path: `${plural}/w`, query: new URLSearchParams() });
  }
}

const patch = (operations: unknown[]): Record<string, unknown> => ({
  allowed: true,
  patchType: 'JSONPatch',
  patch: Buffer.from(JSON.stringify(operations)).toString('base64'),
});

test('a mutating webhook changes the object, and is asked again when another changed it after', async () => {
  respond.set('/first', ({ request }) =>
    patch([{ op: 'add', path: '/data/seen', value: request.object.data?.['second'] ?? 'nothing' }]),
  );
  respond.set('/second', () => patch([{ op: 'add', path: '/data/second', value: 'yes' }]));
  await withHooks('Mutating', [{ path: '/first', reinvocationPolicy: 'IfNeeded' }, { path: '/second' }], async () => {
    const { data } = await post(maps, configMap('mutated'));
    assert.deepEqual(data, { k: 'v', seen: 'yes', second: 'yes' });
  });
  const noted = (place: string, webhook: string): RegExp =>
    new RegExp(`mutation.webhook.admission.k8s.io/${place}":"[^}]*${webhook}[^}]*mutated[^}]*true`);
  const isNoted = (): boolean =>
    noted('round_0_index_0', 'h0').test(audited) &&
    noted('round_0_index_1', 'h1').test(audited) &&
    noted('round_1_index_0', 'h0').test(audited);
  // The log is written a little later than the answer.
  for (const started = performance.now(); !isNoted(); await new Promise((resolve) => setImmediate(resolve)))
    assert.ok(performance.now() - started < 5000, 'the audit log does not say who changed it');
});

test('as envtest sets one up: its own certificate as the authority, a doubled slash before the path', async () => {
  const now = Date.now();
  const times = { notBeforeMs: now - 60_000, notAfterMs: now + 3_600_000 };
  const ca = createAuthority('unknown', times.notBeforeMs, times.notAfterMs, systemRandom);
  const usages = ['server auth'] as const;
  const leaf = issue(ca, { subject: { commonName: 'x' }, usages, ipAddresses: ['127.0.0.1'], ...times }, systemRandom);
  const apart = createServer({ key: leaf.keyPem, cert: leaf.certificatePem }, serve);
  await new Promise<void>((resolve) => apart.listen(0, '127.0.0.1', resolve));
  respond.set('/apart', () => patch([{ op: 'add', path: '/data/apart', value: 'yes' }]));
  const to = (caBundle: string) => ({
    url: `https://127.0.0.1:${(apart.address() as AddressInfo).port}//apart/`,
    caBundle: Buffer.from(caBundle).toString('base64'),
  });
  try {
    await withHooks('Mutating', [{ clientConfig: to(leaf.certificatePem) }], async () => {
      assert.deepEqual((await post(maps, configMap('apart'))).data, { k: 'v', apart: 'yes' });
    });
    await withHooks('Mutating', [{ clientConfig: to(certificate) }], () =>
      assert.rejects(post(maps, configMap('x')), (error) => isStatusError(error, 'InternalError')),
    );
  } finally {
    apart.closeAllConnections();
    apart.close();
  }
});

test('a refusal carries the code and the words of the webhook', async () => {
  respond.set('/no', () => ({ allowed: false, status: { code: 418, message: 'teapot' } }));
  await withHooks('Validating', [{ path: '/no' }], () =>
    assert.rejects(post(maps, configMap('refused')), (error) => {
      assert.ok(error instanceof StatusError);
      assert.equal(error.code, 418);
      assert.match(error.message, /h0\.example\.com.*teapot/);
      return true;
    }),
  );
});

for (const path of ['/redirect', '/flood', '/silent'])
  test(`a webhook that answers ${path} is no answer: refused by Fail, passed over by Ignore`, async () => {
    await withHooks('Validating', [{ path, timeoutSeconds: 1 }], () =>
      assert.rejects(post(maps, configMap('x'), 'dryRun=All'), (error) => isStatusError(error, 'InternalError')),
    );
    await withHooks('Validating', [{ path, timeoutSeconds: 1, failurePolicy: 'Ignore' }], async () => {
      await post(maps, configMap('x'), 'dryRun=All');
    });
    assert.equal(redirected, 0, 'a redirect was followed');
  });

test('an answer to another request, and a patch by a validating webhook, are refused', async () => {
  respond.set('/forged', () => ({ uid: 'other', allowed: true }));
  respond.set('/patching', () => patch([]));
  for (const path of ['/forged', '/patching'])
    await withHooks('Validating', [{ path }], () =>
      assert.rejects(post(maps, configMap('x')), (error) => isStatusError(error, 'InternalError')),
    );
});

test('conditions and selectors decide who is asked', async () => {
  calls.length = 0;
  await withHooks(
    'Validating',
    [
      { path: '/condition', matchConditions: [{ name: 'c', expression: "object.metadata.name == 'wanted'" }] },
      { path: '/selector', objectSelector: { matchLabels: { a: 'b' } } },
      { path: '/namespace', namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'other' } } },
    ],
    async () => {
      await post(maps, configMap('unwanted'), 'dryRun=All');
      await post(maps, configMap('wanted'), 'dryRun=All');
    },
  );
  assert.deepEqual(calls, ['/condition']);
});
