// Owns the tests of the face: the suite through our own etcd engine, and what only etcd's clients use.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import type { TestContext } from 'node:test';
import { systemClock } from '../../base/clock.ts';
import { silentLogger } from '../../base/log.ts';
import { seededRandom, systemRandom } from '../../base/random.ts';
import { VirtualClock } from '../../base/virtual-clock.ts';
import { createAuthority, issue } from '../../base/x509.ts';
import { KV, Lease, Maintenance, Watch } from '../../wire/generated/etcd-rpc.ts';
import type { WatchResponse } from '../../wire/generated/etcd-rpc.ts';
import { grpcConnection } from '../../wire/grpc-client.ts';
import { isGrpcError } from '../../wire/grpc-service.ts';
import { openEmbeddedStore } from '../embedded/embedded.ts';
import { etcdMissing, startEtcd } from '../etcd/etcd-process.suite.ts';
import { openEtcdStore } from '../etcd/etcd.ts';
import { memoryStore } from '../memory.ts';
import { forkStore } from '../fork.ts';
import { saveSnapshot } from '../snapshot.ts';
import { StoreUnavailable, prefixRange } from '../store.ts';
import type { Store } from '../store.ts';
import { storeSuite } from '../store.suite.ts';
import { serveEtcd } from './face.ts';
import type { EtcdFace } from './face.ts';

const system = { clock: systemClock, log: silentLogger, random: systemRandom };
const bytes = (text: string): Uint8Array => Buffer.from(text);

storeSuite('embedded, served as etcd, through the etcd engine', {
  remote: true,
  async open() {
    const directory = mkdtempSync(join(tmpdir(), 'k8ts-face-'));
    const clock = new VirtualClock();
    const behind = await openEmbeddedStore(directory, { ...system, clock });
    const face = await serveEtcd(behind, { address: '127.0.0.1:0' }, system);
    const store = await openEtcdStore({ endpoints: [face.endpoint] }, system);
    return {
      store,
      elapse: (ms) => clock.advance(ms),
      async cleanup() {
        face.close();
        await behind.close();
        rmSync(directory, { recursive: true, force: true });
      },
    };
  },
});

async function connected(t: TestContext) {
  const store = memoryStore({ clock: new VirtualClock(), log: silentLogger, random: seededRandom(1) });
  const face = await serveEtcd(store, { address: '127.0.0.1:0' }, system);
  const connection = await grpcConnection({ address: face.endpoint.slice('http://'.length) });
  t.after(async () => {
    connection.close();
    face.close();
    await store.close();
  });
  return {
    store,
    kv: connection.service(KV),
    watch: connection.service(Watch),
    lease: connection.service(Lease),
    maintenance: connection.service(Maintenance),
  };
}

it('ranges end between characters, sort, and filter as etcd does', async (t) => {
  const { kv } = await connected(t);
  for (const [key, value] of [
    ['¿a', '3'],
    ['¿b', '1'],
    ['À', '2'],
    ['z', '0'],
  ] as const)
    await kv.put({ key: bytes(key), value: bytes(value) });
  // The prefix ¿ is C2 BF; its end C2 C0 is no text.
  const prefix = await kv.range({ key: Uint8Array.of(0xc2, 0xbf), rangeEnd: Uint8Array.of(0xc2, 0xc0) });
  assert.deepEqual(
    prefix.kvs.map(({ value }) => Buffer.from(value).toString()),
    ['3', '1'],
  );
  const everything = { key: Uint8Array.of(0), rangeEnd: Uint8Array.of(0) };
  const values = async (request: object) =>
    (await kv.range({ ...everything, ...request })).kvs.map(({ value }) => Buffer.from(value).toString());
  assert.deepEqual(await values({ sortTarget: 'VALUE', sortOrder: 'DESCEND' }), ['3', '2', '1', '0']);
  assert.deepEqual(await values({ sortTarget: 'MOD', sortOrder: 'ASCEND', limit: 2 }), ['3', '1']);
  assert.deepEqual(await values({ sortOrder: 'DESCEND' }), ['2', '1', '3', '0']);
  assert.deepEqual(await values({ minModRevision: 3, maxModRevision: 4 }), ['1', '2']);
});

it('answers with the errors that etcd clients know', async (t) => {
  const { kv, lease } = await connected(t);
  const refused = async (call: Promise<unknown>, code: Parameters<typeof isGrpcError>[1], message: string) =>
    assert.rejects(call, (error) => isGrpcError(error, code) && error.message.includes(message));
  const put = (key: string) => ({ requestPut: { key: bytes(key), value: bytes('x') } });
  await refused(kv.put({ value: bytes('x') }), 'INVALID_ARGUMENT', 'etcdserver: key is not provided');
  await refused(
    kv.txn({ success: [put('a'), put('a')] }),
    'INVALID_ARGUMENT',
    'etcdserver: duplicate key given in txn request',
  );
  await refused(
    kv.txn({ success: Array.from({ length: 129 }, (_, i) => put(`k${i}`)) }),
    'INVALID_ARGUMENT',
    'etcdserver: too many operations',
  );
  await refused(
    kv.put({ key: bytes('a'), value: new Uint8Array(1_700_000) }),
    'INVALID_ARGUMENT',
    'etcdserver: request is too large',
  );
  await refused(kv.range({ key: bytes('a'), revision: 99 }), 'OUT_OF_RANGE', 'future revision');
  await refused(kv.put({ key: bytes('a'), lease: 77 }), 'NOT_FOUND', 'etcdserver: requested lease not found');
  await refused(lease.leaseGrant({ TTL: 5, ID: 2n ** 60n }), 'INVALID_ARGUMENT', 'beyond 2^53');
  await refused(kv.txn({ success: [{ requestTxn: {} }] }), 'UNIMPLEMENTED', 'a transaction within a transaction');
  await refused(kv.put({ key: Uint8Array.of(0xff), value: bytes('x') }), 'INVALID_ARGUMENT', 'UTF-8');
});

it('serves several watches on one stream: ids, filters, fragments, progress, cancelling', async (t) => {
  const { kv, watch } = await connected(t);
  const stream = watch.watch();
  const responses = stream[Symbol.asyncIterator]();
  const next = async (): Promise<WatchResponse> => {
    const result = await responses.next();
    assert.ok(!result.done);
    return result.value;
  };
  stream.send({ createRequest: { key: bytes('a'), rangeEnd: bytes('b'), startRevision: 1, filters: ['NOPUT'] } });
  const first = await next();
  assert.deepEqual([first.created, first.watchId], [true, 0n]);
  stream.send({
    createRequest: {
      key: bytes('a'),
      rangeEnd: bytes('b'),
      startRevision: 1,
      watchId: 7,
      fragment: true,
      prevKv: true,
    },
  });
  const second = await next();
  assert.deepEqual([second.created, second.watchId], [true, 7n]);
  const value = Buffer.alloc(700_000, 1);
  await kv.txn({ success: [{ requestPut: { key: bytes('a1'), value } }, { requestPut: { key: bytes('a2'), value } }] });
  assert.equal((await next()).events.length, 2, 'fits in one response');
  await kv.txn({ success: [{ requestPut: { key: bytes('a1'), value } }, { requestPut: { key: bytes('a2'), value } }] });
  const parts = [await next(), await next()];
  assert.deepEqual(
    parts.map(({ fragment, events }) => [fragment, events.length]),
    [
      [true, 1],
      [false, 1],
    ],
  );
  assert.equal(parts[1]!.events[0]!.prevKv?.value.length, 700_000);
  await kv.deleteRange({ key: bytes('a1') });
  const deletions = [await next(), await next()];
  assert.deepEqual(new Set(deletions.map(({ watchId }) => watchId)), new Set([0n, 7n]));
  assert.ok(deletions.every(({ events }) => events[0]?.type === 'DELETE'));
  const elsewhere = await kv.put({ key: bytes('z'), value: bytes('x') });
  stream.send({ progressRequest: {} });
  const progress = await next();
  assert.deepEqual(
    [progress.watchId, progress.events, progress.header?.revision],
    [-1n, [], elsewhere.header?.revision],
  );
  stream.send({ cancelRequest: { watchId: 7 } });
  const cancelled = await next();
  assert.deepEqual([cancelled.watchId, cancelled.canceled], [7n, true]);
  await kv.compact({ revision: elsewhere.header!.revision });
  stream.send({ createRequest: { key: bytes('a'), startRevision: 1 } });
  assert.equal((await next()).created, true);
  const compacted = await next();
  assert.deepEqual([compacted.canceled, compacted.compactRevision], [true, elsewhere.header!.revision]);
  stream.end();
});

it('is forked and saved like any other store', async (t) => {
  const { store, kv } = await connected(t);
  const directory = mkdtempSync(join(tmpdir(), 'k8ts-face-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  for (let i = 0; i < 1500; i++)
    await store.transact({ compare: [], then: [{ type: 'put', key: `k${i}`, value: bytes(`${i}`) }] });
  const { id } = await store.grantLease(100);
  const { header } = await kv.put({ key: bytes('leased'), value: bytes('x'), lease: id });
  await kv.put({ key: bytes('later'), value: bytes('x') });
  const remote = await openEtcdStore({ endpoints: [(await addressOf(t, store)).endpoint] }, system);
  const revision = Number(header!.revision);
  const fork = await forkStore(remote, revision, {
    clock: new VirtualClock(),
    log: silentLogger,
    random: seededRandom(1),
  });
  const all = prefixRange('');
  assert.deepEqual((await fork.range(all)).items, (await store.range(all, { revision })).items);
  assert.deepEqual(await fork.leases(), [id]);
  assert.equal((await saveSnapshot(remote, join(directory, 'snapshot'))).keys, 1502);
  await fork.close();
  await remote.close();
});

async function addressOf(t: TestContext, store: Store): Promise<EtcdFace> {
  const face = await serveEtcd(store, { address: '127.0.0.1:0' }, system);
  t.after(() => face.close());
  return face;
}

it('ends watches as unavailable when the store closes', async (t) => {
  const { store, watch } = await connected(t);
  const stream = watch.watch();
  stream.send({ createRequest: { key: bytes('a') } });
  const responses = stream[Symbol.asyncIterator]();
  await responses.next();
  const waiting = assert.rejects(responses.next(), (error) => isGrpcError(error, 'UNAVAILABLE'));
  await store.close();
  await waiting;
});

/** Files as Debian's etcd wants them, and the same as buffers. */
function certificates(t: TestContext) {
  const directory = mkdtempSync(join(tmpdir(), 'k8ts-face-tls-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const notBeforeMs = Date.now() - 60_000;
  const times = { notBeforeMs, notAfterMs: notBeforeMs + 3_600_000 };
  const authority = createAuthority('etcd-ca', times.notBeforeMs, times.notAfterMs, systemRandom);
  const other = createAuthority('other-ca', times.notBeforeMs, times.notAfterMs, systemRandom);
  const server = {
    subject: { commonName: 'etcd' },
    usages: ['server auth', 'client auth'] as const,
    ipAddresses: ['127.0.0.1'],
  };
  const client = { subject: { commonName: 'kube-apiserver' }, usages: ['client auth'] as const };
  const make = (by: typeof authority, options: typeof server | typeof client) => {
    const { keyPem, certificatePem } = issue(by, { ...options, ...times }, systemRandom);
    return { key: Buffer.from(keyPem), cert: Buffer.from(certificatePem) };
  };
  const ca = Buffer.from(authority.certificatePem);
  const files = { ca: join(directory, 'ca'), cert: join(directory, 'cert'), key: join(directory, 'key') };
  const own = make(authority, server);
  writeFileSync(files.ca, ca);
  writeFileSync(files.cert, own.cert);
  writeFileSync(files.key, own.key);
  return { ca, server: own, client: make(authority, client), stranger: make(other, client), files };
}

async function checkTls(endpoint: string, { ca, client, stranger }: ReturnType<typeof certificates>): Promise<void> {
  const good = await openEtcdStore({ endpoints: [endpoint], tls: { ca, ...client } }, system);
  const put = { compare: [], then: [{ type: 'put' as const, key: 'a', value: bytes('x') }] };
  assert.ok((await good.transact(put)).revision > 1);
  await good.health();
  await good.close();
  for (const tls of [{ ca }, { ca, ...stranger }, { ...client }]) {
    const bad = await openEtcdStore({ endpoints: [endpoint], tls, requestTimeoutMs: 1000 }, system);
    await assert.rejects(bad.range({ start: 'a' }), StoreUnavailable);
    await bad.close();
  }
}

it('asks for client certificates, and our engine shows one', async (t) => {
  const alive = setInterval(() => undefined, 1000);
  t.after(() => clearInterval(alive));
  const made = certificates(t);
  const store = memoryStore({ clock: new VirtualClock(), log: silentLogger, random: seededRandom(1) });
  const face = await serveEtcd(store, { address: '127.0.0.1:0', tls: { ...made.server, clientCa: made.ca } }, system);
  try {
    assert.ok(face.endpoint.startsWith('https://'));
    await checkTls(face.endpoint, made);
  } finally {
    face.close();
    await store.close();
  }
});

it('shows its certificate to real etcd', { skip: etcdMissing ?? false }, async (t) => {
  const alive = setInterval(() => undefined, 1000);
  t.after(() => clearInterval(alive));
  const made = certificates(t);
  const cluster = await startEtcd(1, made.files);
  try {
    await checkTls(cluster.endpoints[0]!, made);
  } finally {
    await cluster.stop();
  }
});
