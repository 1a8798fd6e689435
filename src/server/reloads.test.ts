// Tests over real sockets that authorities, certificates by name, issuers and authorizers are taken over while the server runs.
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { request } from 'node:https';
import { connect } from 'node:tls';
import type { TLSSocket } from 'node:tls';
import { after, before, test } from 'node:test';
import { systemRandom } from '../base/random.ts';
import { createAuthority, issue } from '../base/x509.ts';
import type { KeyAndCertificate } from '../base/x509.ts';
import { selfSigned } from '../testing/self-signed.ts';
import type { ApiServerOptions } from './options.ts';
import { startTestServer } from './start.suite.ts';
import type { TestServer } from './start.suite.ts';

const dayMs = 24 * 3600 * 1000;
const span = { notBeforeMs: Date.now() - dayMs, notAfterMs: Date.now() + dayMs };
const authority = (name: string): KeyAndCertificate =>
  createAuthority(name, span.notBeforeMs, span.notAfterMs, systemRandom);
const client = (by: KeyAndCertificate, commonName: string): KeyAndCertificate =>
  issue(by, { subject: { commonName }, usages: ['client auth'], ...span }, systemRandom);
const [oldCa, newCa, oldProxyCa, newProxyCa] = ['old', 'new', 'old-proxy', 'new-proxy'].map(authority) as [
  KeyAndCertificate,
  KeyAndCertificate,
  KeyAndCertificate,
  KeyAndCertificate,
];
const pair = () => selfSigned(generateKeyPairSync('ec', { namedCurve: 'prime256v1' }));
const [firstName, secondName] = [pair(), pair()];
const named = ({ key, certificate }: ReturnType<typeof pair>) => [{ names: ['a.example.com'], key, certificate }];

/** The files, as they are at the moment. */
const files = {
  clientCa: oldCa.certificatePem,
  proxyCa: oldProxyCa.certificatePem,
  named: named(firstName),
  authentication: { anonymousAuth: true } as Pick<ApiServerOptions, 'anonymousAuth' | 'jwtIssuers'>,
  authorizers: [{ type: 'RBAC' }] as NonNullable<ApiServerOptions['authorizers']>,
};
let running: TestServer;

before(async () => {
  running = await startTestServer({
    clientCa: files.clientCa,
    requestHeader: { clientCa: files.proxyCa },
    transport: { named: files.named },
    authorizers: files.authorizers,
    reread: {
      everyMs: 5,
      clientCa: async () => files.clientCa,
      requestHeaderCa: async () => files.proxyCa,
      named: async () => files.named,
      authentication: async () => files.authentication,
      authorization: async () => files.authorizers,
    },
  });
});
after(() => running.stop());

function get(path: string, by?: KeyAndCertificate, headers: Record<string, string> = {}): Promise<number> {
  return new Promise((resolve, reject) => {
    request(
      {
        host: '127.0.0.1',
        port: running.port,
        path,
        headers,
        rejectUnauthorized: false,
        agent: false,
        ...(by && { key: by.keyPem, cert: by.certificatePem }),
      },
      (answer) => {
        answer.resume();
        answer.on('end', () => resolve(answer.statusCode ?? 0));
      },
    )
      .on('error', reject)
      .end();
  });
}

async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 10_000;
  while (!(await holds())) {
    assert.ok(performance.now() < deadline, `${what} did not come`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

const trusted = async (): Promise<Record<string, string>> => {
  const path = '/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication';
  const answer = (await running.admin.call({ method: 'GET', path })) as unknown as { data: Record<string, string> };
  return answer.data;
};
const body = (pem: string): string => pem.replace(/\s|-----[A-Z ]+-----/g, '');

test('authorities of clients are replaced: new certificates are believed, old ones refused, extension servers told', async () => {
  const [before_, after_] = [client(oldCa, 'ann'), client(newCa, 'ann')];
  assert.equal(await get('/version', before_), 200);
  assert.equal(await get('/version', after_), 401);
  files.clientCa = newCa.certificatePem;
  await until('the new authority', async () => (await get('/version', after_)) === 200);
  assert.equal(await get('/version', before_), 401);
  await until('the ConfigMap', async () =>
    body((await trusted())['client-ca-file']!).includes(body(newCa.certificatePem)),
  );
  assert.ok(
    body((await trusted())['client-ca-file']!).includes(body(oldCa.certificatePem)),
    'another server of the cluster may still be at the old one',
  );
});

test('a file of authorities that holds none leaves the old ones', async () => {
  const good = files.clientCa;
  files.clientCa = 'nothing';
  const mine = client(newCa, 'ann');
  let reads = 0;
  await until('some looks at the file', async () => ++reads > 20 && (await get('/version', mine)) === 200);
  files.clientCa = good;
});

test('authorities of front proxies are replaced', async () => {
  const proxy = client(newProxyCa, 'front');
  const as = { 'x-remote-user': 'root', 'x-remote-group': 'system:masters' };
  assert.equal(await get('/api/v1/nodes', proxy, as), 401);
  files.proxyCa = newProxyCa.certificatePem;
  await until('the new authority', async () => (await get('/api/v1/nodes', proxy, as)) === 200);
  await until('the ConfigMap', async () =>
    body((await trusted())['requestheader-client-ca-file']!).includes(body(newProxyCa.certificatePem)),
  );
});

test('who deletes or damages the ConfigMap gets it back', async () => {
  const path = '/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication';
  await running.admin.call({ method: 'DELETE', path });
  await until('the ConfigMap', () =>
    trusted().then(
      (data) => body(data['client-ca-file']!) === body(newCa.certificatePem),
      () => false,
    ),
  );
  const present = (await running.admin.call({ method: 'GET', path })) as unknown as { data: object };
  await running.admin.call({ method: 'PUT', path, body: { ...present, data: { 'client-ca-file': 'damaged' } } });
  await until('the ConfigMap', async () => body((await trusted())['client-ca-file']!) === body(newCa.certificatePem));
});

test('certificates by name are replaced', async () => {
  const shown = (): Promise<string> =>
    new Promise((resolve, reject) => {
      const socket: TLSSocket = connect(
        { host: '127.0.0.1', port: running.port, servername: 'a.example.com', rejectUnauthorized: false },
        () => {
          resolve(socket.getPeerX509Certificate()!.toString());
          socket.destroy();
        },
      );
      socket.on('error', reject);
    });
  assert.equal(body(await shown()), body(firstName.certificate));
  files.named = named(secondName);
  await until('the new certificate', async () => body(await shown()) === body(secondName.certificate));
});

test('an AuthenticationConfiguration is taken over: nobody is anonymous any more', async () => {
  assert.equal(await get('/version'), 200);
  files.authentication = { anonymousAuth: false };
  await until('the end of anonymity', async () => (await get('/version')) === 401);
});

test('an AuthorizationConfiguration is taken over, but only webhooks come and go', async () => {
  const alice = { authorization: 'Bearer other-token' };
  assert.equal(await get('/api/v1/nodes', undefined, alice), 403);
  files.authorizers = [{ type: 'AlwaysAllow' }];
  let looks = 0;
  await until('some looks at the file', async () => {
    assert.equal(await get('/api/v1/nodes', undefined, alice), 403, 'RBAC gave way to AlwaysAllow');
    return ++looks > 10;
  });
  // One that nobody answers for, and whose failure is a no: also for discovery, which RBAC allows.
  const gone = { url: new URL('https://127.0.0.1:1/'), ca: firstName.certificate };
  files.authorizers = [{ type: 'Webhook', name: 'gone', callee: gone, failurePolicy: 'Deny' }, { type: 'RBAC' }];
  await until('the webhook', async () => (await get('/apis', undefined, alice)) === 403);
});
