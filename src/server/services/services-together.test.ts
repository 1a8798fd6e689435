// Owns the tests of several API servers that give out addresses and ports of one store at once: no duplicates, no leaks, and repair.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Service } from '../../api/generated/core.v1.ts';
import { schemaOf } from '../../api/schema/builtin.ts';
import { isStatusError } from '../../api/status-error.ts';
import type { KubeObject } from '../../api/meta.ts';
import { systemClock } from '../../base/clock.ts';
import { silentLogger } from '../../base/log.ts';
import { seededRandom, systemRandom } from '../../base/random.ts';
import { VirtualClock } from '../../base/virtual-clock.ts';
import type { Transport } from '../../client/transport.ts';
import { memoryStore } from '../../store/memory.ts';
import { prefixRange } from '../../store/store.ts';
import type { Store } from '../../store/store.ts';
import { startTestServer } from '../start.suite.ts';
import type { TestServer } from '../start.suite.ts';
import { protobufStorage } from '../storage/envelope.ts';
import { NodePortLedger, ledgerKey } from './node-port-ledger.ts';

const path = '/api/v1/namespaces/default/services';
/** 62 addresses and 40 ports: all of them are wanted. */
const small = { serviceClusterIpRange: '10.7.0.0/26', serviceNodePortRange: '30000-30039' };

type Made = KubeObject & Service;

function service(name: string, spec: object = {}): object {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name },
    spec: { type: 'NodePort', ports: [{ name: 'a', port: 80 }], ...spec },
  };
}

async function recordedPorts(store: Store): Promise<number[]> {
  const range = { from: 30_000, to: 30_039 };
  const ports: number[] = [];
  const ledger = new NodePortLedger(store, range, () => []);
  await ledger.look();
  for (let port = range.from; port <= range.to; port++) if (ledger.has(port)) ports.push(port);
  return ports;
}

async function recordedAddresses(store: Store): Promise<string[]> {
  const { items } = await store.range(prefixRange('/registry/ipaddresses/'), { keysOnly: true });
  return items.map(({ key }) => key.split('/').at(-1)!).sort();
}

const wanted = (error: unknown, code: number, text: RegExp): boolean =>
  isStatusError(error) && error.code === code && text.test(error.message);

describe('three API servers on one store', () => {
  let store: Store;
  let servers: TestServer[];
  let at: Transport[];
  const call = (server: number, method: 'GET' | 'POST' | 'PUT' | 'DELETE', name: string, body?: object) =>
    at[server % 3]!.call({
      method,
      path: name === '' ? path : `${path}/${name}`,
      ...(body && { body }),
    }) as Promise<Made>;
  const all = async (): Promise<Made[]> =>
    ((await call(0, 'GET', '')) as unknown as { items: Made[] }).items.filter(
      ({ metadata }) => metadata.name !== 'kubernetes',
    );
  const inUse = async () => {
    const services = await all();
    const ports = services.flatMap(({ spec }) => spec?.ports?.flatMap(({ nodePort }) => nodePort ?? []) ?? []);
    const ips = services.flatMap(({ spec }) => spec?.clusterIPs ?? []).filter((ip) => ip !== 'None');
    return { ports: ports.toSorted((a, b) => a - b), ips: [...ips, '10.7.0.1'].sort() };
  };
  const agrees = async () => {
    const { ports, ips } = await inUse();
    assert.equal(new Set(ports).size, ports.length, 'no port twice');
    assert.equal(new Set(ips).size, ips.length, 'no address twice');
    assert.deepEqual(await recordedPorts(store), ports);
    assert.deepEqual(await recordedAddresses(store), ips);
  };
  before(async () => {
    store = memoryStore({ clock: systemClock, random: systemRandom, log: silentLogger });
    servers = [];
    for (let one = 0; one < 3; one++) servers.push(await startTestServer(small, store, { exclusiveStore: false }));
    at = servers.map(({ admin }) => admin);
    for (let left = 200; (await recordedAddresses(store)).length === 0 && left > 0; left--)
      await new Promise((resolve) => setTimeout(resolve, 10));
  });
  after(async () => {
    await Promise.all(servers.map((server) => server.stop()));
    await store.close();
  });

  it('parallel creates get addresses and ports of their own, until all are gone', async () => {
    const results = await Promise.allSettled(
      Array.from({ length: 50 }, (_, turn) => call(turn, 'POST', '', service(`s${turn}`))),
    );
    const refused = results.filter((result) => result.status === 'rejected').map(({ reason }) => reason as unknown);
    assert.equal(refused.length, 10, 'there are 40 ports');
    for (const reason of refused)
      assert.ok(wanted(reason, 500, /failed to allocate a nodePort: range is full/), String(reason));
    await agrees();
  });

  it('what one names is had by one; the others are told', async () => {
    await call(1, 'DELETE', 's0').catch(() => undefined);
    await Promise.all((await all()).map(({ metadata }, turn) => call(turn, 'DELETE', metadata.name)));
    await agrees();
    for (const [field, spec] of [
      ['spec.ports[0].nodePort', { ports: [{ port: 80, nodePort: 30_007 }] }],
      ['spec.clusterIPs', { clusterIP: '10.7.0.9' }],
    ] as const) {
      const results = await Promise.allSettled(
        Array.from({ length: 9 }, (_, turn) => call(turn, 'POST', '', service(`n${turn}`, spec))),
      );
      const refused = results.filter((result) => result.status === 'rejected').map(({ reason }) => reason as unknown);
      assert.equal(refused.length, 8, field);
      for (const reason of refused)
        assert.ok(wanted(reason, 422, /is already allocated/) && String(reason).includes(field), String(reason));
      await agrees();
      await Promise.all((await all()).map(({ metadata }, turn) => call(turn, 'DELETE', metadata.name)));
      await agrees();
    }
  });

  it('the same service by all at once is made once, and takes nothing for the others', async () => {
    const results = await Promise.allSettled(
      Array.from({ length: 9 }, (_, turn) => call(turn, 'POST', '', service('same'))),
    );
    const refused = results.filter((result) => result.status === 'rejected').map(({ reason }) => reason as unknown);
    assert.equal(refused.length, 8);
    for (const reason of refused) assert.ok(wanted(reason, 409, /"same" already exists/), String(reason));
    await agrees();
    await call(2, 'DELETE', 'same');
  });

  it('creates, changes of type and deletes at once leave no port and no address behind', async () => {
    const random = seededRandom(7);
    const worker = async (name: string, server: number) => {
      for (let turn = 0; turn < 12; turn++) {
        const type = ['NodePort', 'ClusterIP', 'ExternalName', 'LoadBalancer'][Math.floor(random.next() * 4)]!;
        const spec = type === 'ExternalName' ? { type, externalName: 'example.com' } : { type };
        const done = await call(server + turn, 'POST', '', service(name, spec)).catch((error: unknown) => error);
        if (isStatusError(done) && done.code === 409) {
          const now = await call(server + turn, 'GET', name);
          const next = { ...now, spec: { ...now.spec, type: type === 'ExternalName' ? 'ClusterIP' : type } };
          await call(server + turn, 'PUT', name, next).catch((error: unknown) => {
            // Another turn of this worker came through another server: not so here; all else is a failure.
            if (!isStatusError(error) || error.code !== 409) throw error;
          });
        } else if (isStatusError(done)) throw done;
        if (random.next() < 0.3) await call(server + turn + 1, 'DELETE', name);
      }
    };
    await Promise.all(Array.from({ length: 9 }, (_, one) => worker(`w${one}`, one)));
    await agrees();
    await Promise.all((await all()).map(({ metadata }, turn) => call(turn, 'DELETE', metadata.name)));
    assert.deepEqual(await recordedPorts(store), []);
    assert.deepEqual(await recordedAddresses(store), ['10.7.0.1']);
  });
});

it("the record of ports is upstream's", async () => {
  const store = memoryStore({ clock: systemClock, random: systemRandom, log: silentLogger });
  const codec = protobufStorage(schemaOf('v1', 'RangeAllocation')!);
  const ledger = new NodePortLedger(store, { from: 30_000, to: 32_767 }, () => []);
  const begun = await ledger.begin([30_000, 30_009], []);
  assert.ok(begun.attempt !== undefined);
  const { revision } = await store.transact({ compare: begun.attempt.compare, then: begun.attempt.operations });
  begun.attempt.settled?.(revision);
  const value = async () => Buffer.from((await store.range({ start: ledgerKey })).items[0]!.value);
  assert.equal((await value()).subarray(0, 4).toString('latin1'), 'k8s\0');
  const object = codec.decode(await value()) as unknown as { range: string; data: string };
  assert.equal(object.range, '30000-32767');
  // The big number 2^9 + 2^0.
  assert.equal(Buffer.from(object.data, 'base64').toString('hex'), '0201');
  // As recorded from kube-apiserver 1.37: an empty record.
  const empty =
    '6b3873000a150a02763112 0f52616e6765416c6c6f636174696f6e12210a100a0012001a0022002a0032003800420012 0b33303030302d33323736371a001a0022000a'.replaceAll(
      ' ',
      '',
    );
  await store.transact({
    compare: [],
    then: [{ type: 'put', key: ledgerKey, value: Buffer.from(empty.slice(0, -2), 'hex') }],
  });
  const other = new NodePortLedger(store, { from: 30_000, to: 32_767 }, () => []);
  await other.look();
  assert.equal(other.has(30_000), false);
  // Whose knowledge is old is told, and knows then.
  assert.deepEqual(await ledger.begin([30_009], []), { taken: [30_009] });
  await store.close();
});

it('repair: what is used is recorded, what nobody has is given back, but not at once', async () => {
  const clock = new VirtualClock();
  const store = memoryStore({ clock, random: seededRandom(1), log: silentLogger });
  const server = await startTestServer(small, store, { clock });
  const pass = async (ms: number) => {
    for (let step = 0; step < 20; step++) await clock.advance(ms / 20);
  };
  const settled = async <T>(work: Promise<T>): Promise<T> => {
    let done = false;
    const ended = work.finally(() => {
      done = true;
    });
    while (!done) await clock.advance(1);
    return ended;
  };
  const post = (body: object) => settled(server.admin.call({ method: 'POST', path, body })) as Promise<Made>;
  const made = await post(service('kept'));
  const ip = made.spec!.clusterIP!;
  const port = made.spec!.ports![0]!.nodePort!;
  // A server that took a port and an address, and died before it wrote the service.
  const leaked = port === 30_011 ? 30_012 : 30_011;
  const begun = await new NodePortLedger(store, { from: 30_000, to: 30_039 }, () => []).begin([leaked], [port]);
  assert.ok(begun.attempt !== undefined);
  await store.transact({ compare: [], then: begun.attempt.operations });
  await settled(
    server.admin.call({
      method: 'POST',
      path: '/apis/networking.k8s.io/v1/ipaddresses',
      body: {
        apiVersion: 'networking.k8s.io/v1',
        kind: 'IPAddress',
        metadata: {
          name: '10.7.0.33',
          labels: {
            'ipaddress.kubernetes.io/ip-family': 'IPv4',
            'ipaddress.kubernetes.io/managed-by': 'ipallocator.k8s.io',
          },
        },
        spec: { parentRef: { resource: 'services', namespace: 'default', name: 'never-made' } },
      },
    }),
  );
  // A hand that deleted the record of an address that is in use.
  await store.transact({ compare: [], then: [{ type: 'delete', range: { start: `/registry/ipaddresses/${ip}` } }] });
  assert.deepEqual(await recordedPorts(store), [leaked]);
  await pass(181_000);
  assert.deepEqual(
    await recordedPorts(store),
    [port, leaked].toSorted((a, b) => a - b),
    'used again; the other may be under way',
  );
  assert.ok((await recordedAddresses(store)).includes(ip));
  for (let turn = 0; turn < 3; turn++) await pass(181_000);
  assert.deepEqual(await recordedPorts(store), [port]);
  assert.deepEqual(await recordedAddresses(store), ['10.7.0.1', ip].sort());
  const stopped = server.stop();
  await clock.advance(1000);
  await stopped;
  await store.close();
});
