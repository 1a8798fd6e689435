// Owns the tests of etcd's HTTP/1.1 side: health beside gRPC on one port, in plain and over TLS, and alone on a metrics port.
import assert from 'node:assert/strict';
import { Agent, request } from 'node:https';
import { connect } from 'node:net';
import { once } from 'node:events';
import { it } from 'node:test';
import type { TestContext } from 'node:test';
import { systemClock } from '../../base/clock.ts';
import { silentLogger } from '../../base/log.ts';
import { seededRandom, systemRandom } from '../../base/random.ts';
import { VirtualClock } from '../../base/virtual-clock.ts';
import { createAuthority, issue } from '../../base/x509.ts';
import { KV } from '../../wire/generated/etcd-rpc.ts';
import { grpcConnection } from '../../wire/grpc-client.ts';
import { memoryStore } from '../memory.ts';
import { type EtcdFaceOptions, serveEtcd } from './face.ts';
import { serveEtcdHttp } from './http.ts';

const system = { clock: systemClock, log: silentLogger };

async function served(t: TestContext, tls?: EtcdFaceOptions['tls']) {
  const store = memoryStore({ clock: new VirtualClock(), log: silentLogger, random: seededRandom(1) });
  const face = await serveEtcd(store, { address: '127.0.0.1:0', ...(tls && { tls }) }, system);
  const health = await serveEtcdHttp(store, '127.0.0.1:0', tls);
  t.after(async () => {
    face.close();
    health.close();
    await store.close();
  });
  return { store, face, health };
}

const answers: readonly (readonly [string, number, string])[] = [
  ['/health', 200, '{"health":"true","reason":""}'],
  ['/health?serializable=true', 200, '{"health":"true","reason":""}'],
  ['/readyz', 200, 'ok\n'],
  ['/livez', 200, 'ok\n'],
  ['/version', 200, '{"etcdserver":"3.5.21","etcdcluster":"3.5.0"}'],
  ['/nothing', 404, '404 page not found\n'],
];

it('one port speaks both, in any order', async (t) => {
  const { face, health } = await served(t);
  const address = face.endpoint.slice('http://'.length);
  for (const [path, status, text] of answers) {
    const answer = await fetch(`${face.endpoint}${path}`);
    assert.deepEqual([answer.status, await answer.text()], [status, text], path);
    assert.equal((await fetch(`http://${health.address}${path}`)).status, status);
  }
  assert.equal((await fetch(`${face.endpoint}/health`, { method: 'POST', body: 'x' })).status, 405);
  const connection = await grpcConnection({ address });
  t.after(() => connection.close());
  await connection.service(KV).put({ key: Buffer.from('a'), value: Buffer.from('b') });
  assert.equal((await connection.service(KV).range({ key: Buffer.from('a') })).kvs[0]?.value.toString(), 'b');
});

it('metrics have the names of etcd', async () => {
  const store = memoryStore({ clock: new VirtualClock(), log: silentLogger, random: seededRandom(1) });
  await store.transact({ compare: [], then: [{ type: 'put', key: '/a', value: Buffer.from('x') }] });
  const face = await serveEtcd(store, { address: '127.0.0.1:0' }, system);
  try {
    const answer = await fetch(`${face.endpoint}/metrics`);
    assert.equal(answer.status, 200);
    const text = await answer.text();
    assert.match(text, /^etcd_server_has_leader 1$/m);
    assert.match(text, /^etcd_debugging_mvcc_current_revision 2$/m);
    assert.match(text, /^etcd_debugging_mvcc_keys_total 1$/m);
  } finally {
    face.close();
    await store.close();
  }
});

it('a closed store is not healthy', async (t) => {
  const { store, face } = await served(t);
  await store.close();
  const answer = await fetch(`${face.endpoint}/health`);
  assert.equal(answer.status, 503);
  assert.equal(((await answer.json()) as { health: string }).health, 'false');
  assert.equal((await fetch(`${face.endpoint}/readyz`)).status, 503);
});

it('the port for health alone does not give the store away', async (t) => {
  const { health } = await served(t);
  const connection = await grpcConnection({ address: health.address });
  t.after(() => connection.close());
  await assert.rejects(connection.service(KV).range({ key: Buffer.from('a') }, { signal: AbortSignal.timeout(2000) }));
});

it('the first bytes may come apart, and nonsense is answered as HTTP/1.1', async (t) => {
  const { face } = await served(t);
  const { port, hostname } = new URL(face.endpoint);
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  socket.setNoDelay(true);
  for (const part of ['P', 'R', 'x\r\n\r\n']) {
    socket.write(part);
    await new Promise((resolve) => setImmediate(resolve));
  }
  const [answer] = (await once(socket, 'data')) as [Buffer];
  assert.match(answer.toString(), /^HTTP\/1\.1 400/);
  socket.destroy();
});

it('over TLS, with and without a client certificate', async (t) => {
  const now = Date.now();
  const ca = createAuthority('etcd-ca', now - 60_000, now + 3_600_000, systemRandom);
  const times = { notBeforeMs: now - 60_000, notAfterMs: now + 3_600_000 };
  const pair = (commonName: string) => {
    const usages = ['server auth', 'client auth'] as const;
    const made = issue(ca, { subject: { commonName }, usages, ipAddresses: ['127.0.0.1'], ...times }, systemRandom);
    return { key: Buffer.from(made.keyPem), cert: Buffer.from(made.certificatePem) };
  };
  const authority = Buffer.from(ca.certificatePem);
  const { face } = await served(t, { ...pair('server'), clientCa: authority });
  const client = pair('client');
  const ask = (agent: Agent): Promise<number> =>
    new Promise((resolve, reject) => {
      const asked = request(`${face.endpoint}/health`, { agent }, (answer) => {
        answer.resume();
        resolve(answer.statusCode ?? 0);
      });
      asked.on('error', reject);
      asked.end();
    });
  assert.equal(await ask(new Agent({ ca: authority, ...client })), 200);
  await assert.rejects(ask(new Agent({ ca: authority })));
  const address = face.endpoint.slice('https://'.length);
  const connection = await grpcConnection({ address, tls: { ca: authority, ...client } });
  t.after(() => connection.close());
  assert.equal((await connection.service(KV).range({ key: Buffer.from('a') })).kvs.length, 0);
});
