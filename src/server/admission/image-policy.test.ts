import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { isStatusError } from '../../api/status-error.ts';
import { selfSigned } from '../../testing/self-signed.ts';
import { startTestServer } from '../start.suite.ts';
import type { TestServer } from '../start.suite.ts';
import { admissionPlugins } from './plugins.ts';

const { key, certificate } = selfSigned(generateKeyPairSync('ec', { namedCurve: 'prime256v1' }));
interface Asked {
  readonly authorization: string | undefined;
  readonly spec: {
    readonly containers: { image?: string }[];
    readonly annotations?: object;
    readonly namespace: string;
  };
}
const asked: Asked[] = [];
let failures = 0;

const backend = createServer({ key, cert: certificate }, (request, response) => {
  let body = '';
  request.on('data', (chunk: Buffer) => (body += chunk.toString()));
  request.on('end', () => {
    const { spec } = JSON.parse(body) as Asked;
    asked.push({ authorization: request.headers.authorization, spec });
    if (failures > 0) {
      failures--;
      response.statusCode = 503;
      response.end();
      return;
    }
    const bad = spec.containers.some(({ image }) => image?.startsWith('evil/') === true);
    response.end(
      JSON.stringify({ status: { allowed: !bad, reason: bad ? 'evil' : '', auditAnnotations: { seen: 'x' } } }),
    );
  });
});
let strict: TestServer;
let lenient: TestServer;

async function start(defaultAllow: boolean): Promise<TestServer> {
  const url = new URL(`https://127.0.0.1:${(backend.address() as AddressInfo).port}/review`);
  const running = await startTestServer({
    enableAdmissionPlugins: ['ImagePolicyWebhook'],
    imagePolicy: {
      callee: { url, ca: certificate },
      bearerToken: 'secret',
      allowTtlMs: 60_000,
      denyTtlMs: 0,
      retryBackoffMs: 1,
      defaultAllow,
    },
  });
  await running.admin.call({
    method: 'POST',
    path: '/api/v1/namespaces/default/serviceaccounts',
    body: { kind: 'ServiceAccount', apiVersion: 'v1', metadata: { name: 'default' } },
  });
  return running;
}

before(async () => {
  await new Promise<void>((resolve) => backend.listen(0, '127.0.0.1', resolve));
  [strict, lenient] = await Promise.all([start(false), start(true)]);
});
after(async () => {
  await Promise.all([strict.stop(), lenient.stop()]);
  backend.closeAllConnections();
  backend.close();
});

let made = 0;
const pod = (image: string, on = strict) =>
  on.admin.call({
    method: 'POST',
    path: '/api/v1/namespaces/default/pods',
    body: {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: `p${made++}`, annotations: { 'mine.image-policy.k8s.io/ticket': '7', other: 'x' } },
      spec: { containers: [{ name: 'c', image }], initContainers: [{ name: 'i', image: 'good/init' }] },
    },
  });
const forbidden = (error: unknown): boolean => isStatusError(error, 'Forbidden');

test('the backend is told images, namespace and its own annotations, once while it is remembered', async () => {
  asked.length = 0;
  await pod('good/a');
  await pod('good/a');
  assert.deepEqual(asked, [
    {
      authorization: 'Bearer secret',
      spec: {
        containers: [{ image: 'good/a' }, { image: 'good/init' }],
        annotations: { 'mine.image-policy.k8s.io/ticket': '7' },
        namespace: 'default',
      },
    },
  ]);
});

test('what it denies is refused, also as an ephemeral container', async () => {
  await assert.rejects(pod('evil/a'), forbidden);
  await pod('good/a');
  const path = `/api/v1/namespaces/default/pods/p${made - 1}`;
  const present = (await strict.admin.call({ method: 'GET', path })) as unknown as { spec: object };
  const body = { ...present, spec: { ...present.spec, ephemeralContainers: [{ name: 'e', image: 'evil/b' }] } };
  await assert.rejects(strict.admin.call({ method: 'PUT', path: `${path}/ephemeralcontainers`, body }), forbidden);
});

test('a backend that fails is asked again; one that stays away is what the configuration says', async () => {
  failures = 2;
  await pod('good/again');
  failures = 100;
  await assert.rejects(pod('good/b'), forbidden);
  await pod('evil/b', lenient);
  failures = 0;
});

test('without its configuration it cannot be turned on', () => {
  assert.throws(
    () => admissionPlugins({ imagePolicy: undefined, config: () => undefined } as never, ['ImagePolicyWebhook']),
    /ImagePolicyWebhook/,
  );
});
