// Tests tokens of service accounts over real sockets: keys that change, tokens kept in Secrets, what the audit log says of them.
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { request } from 'node:https';
import { after, before, test } from 'node:test';
import { systemClock } from '../../base/clock.ts';
import { silentLogger } from '../../base/log.ts';
import { systemRandom } from '../../base/random.ts';
import { memoryStore } from '../../store/memory.ts';
import { auditPolicy } from '../audit/policy.ts';
import { startTestServer } from '../start.suite.ts';
import type { TestServer } from '../start.suite.ts';
import { signingKey, signToken } from './jwt.ts';

const pem = (): string =>
  generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
    .privateKey.export({ type: 'pkcs8', format: 'pem' })
    .toString();
const [oldKey, newKey] = [pem(), pem()];
const store = memoryStore({ clock: systemClock, random: systemRandom, log: silentLogger });
const events: Record<string, unknown>[] = [];
let running: TestServer;

before(async () => {
  running = await startTestServer(
    {
      serviceAccounts: { signingKey: oldKey },
      audit: {
        policy: auditPolicy({ apiVersion: 'audit.k8s.io/v1', kind: 'Policy', rules: [{ level: 'Metadata' }] }),
        log: {
          path: '-',
          standardOutput: (text: string) => {
            for (const line of text.split('\n')) if (line !== '') events.push(JSON.parse(line) as never);
          },
        },
      },
    },
    store,
  );
  await post('/api/v1/namespaces/default/serviceaccounts', { kind: 'ServiceAccount', metadata: { name: 'bot' } });
});
after(async () => {
  await running.stop();
  await store.close();
});

const post = (path: string, body: object): Promise<Record<string, never>> =>
  running.admin.call({ method: 'POST', path, body: { apiVersion: 'v1', ...body } }) as never;

interface Who {
  readonly status: number;
  readonly warning: string | undefined;
  readonly user?: { readonly username: string; readonly extra?: Record<string, string[]> };
}

function whoAmI(token: string, { port } = running): Promise<Who> {
  const body = JSON.stringify({ apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' });
  return new Promise((resolve, reject) => {
    request(
      {
        host: '127.0.0.1',
        port,
        method: 'POST',
        path: '/apis/authentication.k8s.io/v1/selfsubjectreviews',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        rejectUnauthorized: false,
        agent: false,
      },
      (answer) => {
        let text = '';
        answer.on('data', (chunk: Buffer) => (text += chunk.toString()));
        answer.on('end', () => {
          const status = answer.statusCode ?? 0;
          const warning = answer.headers['warning'] as string | undefined;
          const said = JSON.parse(text) as { status?: { userInfo?: Who['user'] } };
          resolve({ status, warning, ...(said.status?.userInfo && { user: said.status.userInfo }) });
        });
      },
    )
      .on('error', reject)
      .end(body);
  });
}

/** The log is written a little later than the answer. */
async function noted(annotation: string, value: string | undefined): Promise<void> {
  const isThere = (): boolean =>
    events.some((event) => (event['annotations'] as Record<string, string> | undefined)?.[annotation] === value);
  for (const started = performance.now(); !isThere(); await new Promise((resolve) => setImmediate(resolve)))
    assert.ok(performance.now() - started < 5000, `${annotation} was not noted`);
}

async function tokenOf(account: string): Promise<string> {
  const path = `/api/v1/namespaces/default/serviceaccounts/${account}/token`;
  const made = await post(path, { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} });
  return (made['status'] as unknown as { token: string }).token;
}

test('keys may change: what the old one signed holds as long as it is among those that verify', async () => {
  const token = await tokenOf('bot');
  assert.equal((await whoAmI(token)).status, 201);
  const both = await startTestServer({ serviceAccounts: { signingKey: newKey, verifyKeys: [oldKey] } }, store);
  const one = await startTestServer({ serviceAccounts: { signingKey: newKey } }, store);
  try {
    assert.equal((await whoAmI(token, both)).user?.username, 'system:serviceaccount:default:bot');
    assert.equal((await whoAmI(token, one)).status, 401);
    const keys = (await both.admin.call({ method: 'GET', path: '/openid/v1/jwks' })) as unknown;
    const text = typeof keys === 'string' ? keys : JSON.stringify(keys);
    assert.equal(text.match(/"?kid/g)?.length, 2, text);
  } finally {
    await both.stop();
    await one.stop();
  }
});

test('the audit log tells by which credential something was done, and which request made it', async () => {
  events.length = 0;
  const token = await tokenOf('bot');
  const { user } = await whoAmI(token);
  const [id] = user?.extra?.['authentication.kubernetes.io/credential-id'] ?? [];
  assert.match(id ?? '', /^JTI=/);
  await noted('authentication.kubernetes.io/issued-credential-id', id);
});

test('tokens in Secrets: accepted while Secret and account are there, their use noted, refused once they are marked', async () => {
  const account = (await running.admin.call({
    method: 'GET',
    path: '/api/v1/namespaces/default/serviceaccounts/bot',
  })) as unknown as { metadata: { uid: string } };
  const claim = 'kubernetes.io/serviceaccount';
  const token = signToken(
    {
      iss: 'kubernetes/serviceaccount',
      sub: 'system:serviceaccount:default:bot',
      [`${claim}/namespace`]: 'default',
      [`${claim}/secret.name`]: 'kept',
      [`${claim}/service-account.name`]: 'bot',
      [`${claim}/service-account.uid`]: account.metadata.uid,
    },
    signingKey(oldKey),
  );
  assert.equal((await whoAmI(token)).status, 401, 'the Secret is not there');
  const path = '/api/v1/namespaces/default/secrets/kept';
  await post('/api/v1/namespaces/default/secrets', {
    kind: 'Secret',
    type: 'kubernetes.io/service-account-token',
    metadata: { name: 'kept', annotations: { 'kubernetes.io/service-account.name': 'bot' } },
    data: { token: Buffer.from(token).toString('base64') },
  });
  events.length = 0;
  const who = await whoAmI(token);
  assert.equal(who.user?.username, 'system:serviceaccount:default:bot');
  assert.equal(who.warning, undefined);
  await noted('authentication.k8s.io/legacy-token', 'system:serviceaccount:default:bot');
  const labelsOf = async (): Promise<Record<string, string>> =>
    (
      (await running.admin.call({ method: 'GET', path })) as unknown as {
        metadata: { labels?: Record<string, string> };
      }
    ).metadata.labels ?? {};
  const today = new Date().toISOString().slice(0, 10);
  for (const started = performance.now(); (await labelsOf())['kubernetes.io/legacy-token-last-used'] === undefined; )
    assert.ok(performance.now() - started < 5000, 'its use was not noted');
  assert.ok((await labelsOf())['kubernetes.io/legacy-token-last-used']! >= today);
  const tracking = '/api/v1/namespaces/kube-system/configmaps/kube-apiserver-legacy-service-account-token-tracking';
  const { data } = (await running.admin.call({ method: 'GET', path: tracking })) as unknown as {
    data: { since: string };
  };
  assert.match(data.since, /^\d{4}-\d\d-\d\d$/);
  // Another server has not yet heard of the token, and sees the mark.
  const marked = { metadata: { labels: { 'kubernetes.io/legacy-token-invalid-since': today } } };
  await running.admin.call({ method: 'PATCH', path, contentType: 'application/merge-patch+json', body: marked });
  const other = await startTestServer({ serviceAccounts: { signingKey: oldKey } }, store);
  assert.equal((await whoAmI(token, other)).status, 401);
  await other.stop();
});
