// Owns the proof that ours and upstream's API server can follow each other on one etcd: what kube-apiserver 1.37 stored is served as it
// served it and written as it writes it. The bytes are read here by hand, not by the codec under test.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log.ts';
import { systemRandom } from '../../src/base/random.ts';
import { schemaOf } from '../../src/api/schema/builtin.ts';
import type { KubeObject } from '../../src/api/meta.ts';
import { startTestServer, type TestServer } from '../../src/server/start.suite.ts';
import { protobufStorage } from '../../src/server/storage/envelope.ts';
import { etcdMissing, startEtcd } from '../../src/store/etcd/etcd-process.suite.ts';
import { openEtcdStore } from '../../src/store/etcd/etcd.ts';
import { memoryStore } from '../../src/store/memory.ts';
import { prefixRange, type Store } from '../../src/store/store.ts';

interface Stored {
  readonly key: string;
  readonly value: string;
  readonly path?: string;
  readonly object?: KubeObject;
}

const read = (name: string): unknown =>
  JSON.parse(readFileSync(new URL(`../../../test/interop/upstream-store/${name}`, import.meta.url), 'utf8'));
const recorded = (read('stored.json') as { readonly items: readonly Stored[] }).items;
const bytesOf = ({ value }: Stored): Buffer => Buffer.from(value, 'base64');
/** Not all services were recorded; an address without its service would be given back. */
const isOwned = ({ key }: Stored): boolean =>
  !key.startsWith('/registry/ipaddresses/') ||
  recorded.some(
    (one) =>
      one.key.startsWith('/registry/services/specs/') &&
      bytesOf(one).includes(key.slice('/registry/ipaddresses/'.length)),
  );
// What the ConfigMap says of authorities is each server's own.
const items = recorded.filter((one) => isOwned(one) && !one.key.endsWith('/extension-apiserver-authentication'));
const { config, items: encrypted } = read('encrypted.json') as {
  readonly config: string;
  readonly items: readonly Stored[];
};

const deps = { clock: systemClock, random: systemRandom, log: silentLogger };

async function fill(store: Store, from: readonly Stored[]): Promise<void> {
  for (const item of from)
    await store.transact({ compare: [], then: [{ type: 'put', key: item.key, value: bytesOf(item) }] });
}

/** Fields of a protobuf message by number, as they stand: the wire format and nothing else. */
function fieldsOf(message: Buffer): Map<number, Buffer[]> {
  const fields = new Map<number, Buffer[]>();
  let at = 0;
  const varint = (): number => {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = message[at++]!;
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < message.length) {
    const tag = varint();
    const begun = at;
    if (tag % 8 === 0) varint();
    else if (tag % 8 === 2) {
      const length = varint();
      at += length;
      fields.set(tag >>> 3, [...(fields.get(tag >>> 3) ?? []), message.subarray(at - length, at)]);
      continue;
    } else at += tag % 8 === 1 ? 8 : 4;
    fields.set(tag >>> 3, [...(fields.get(tag >>> 3) ?? []), message.subarray(begun, at)]);
  }
  assert.equal(at, message.length, 'fields end where the message does');
  return fields;
}

/** "k8s\0" and runtime.Unknown: typeMeta 1 (apiVersion 1, kind 2), raw 2, contentEncoding 3, contentType 4. */
function unwrap(value: Buffer): { readonly apiVersion: string; readonly kind: string; readonly raw: Buffer } {
  assert.equal(value.subarray(0, 4).toString('latin1'), 'k8s\0');
  const unknown = fieldsOf(value.subarray(4));
  const type = fieldsOf(unknown.get(1)![0]!);
  for (const empty of [3, 4]) assert.equal(unknown.get(empty)?.[0]?.length ?? 0, 0);
  return { apiVersion: String(type.get(1)![0]), kind: String(type.get(2)![0]), raw: unknown.get(2)![0]! };
}

const isProtobuf = (item: Stored): boolean => bytesOf(item).subarray(0, 4).toString('latin1') === 'k8s\0';
const withoutVersion = (object: object): object => {
  const { resourceVersion: _, ...metadata } = (object as KubeObject).metadata;
  return { ...object, metadata };
};

it('the fixture has every form', () => {
  assert.ok(items.length > 200 && items.filter(isProtobuf).length > 190);
  for (const prefix of [
    'ranges/servicenodeports',
    'apiregistration.k8s.io/apiservices/',
    'leases/',
    'events/',
    'ipaddresses/',
  ])
    assert.ok(
      items.some(({ key }) => key.startsWith(`/registry/${prefix}`)),
      prefix,
    );
  assert.ok(
    items.some(({ key, ...item }) => key.includes('.example.com/') && !isProtobuf({ key, ...item })),
    'a custom object',
  );
});

it('what is read and written again is the same, byte by byte', () => {
  for (const item of items.filter(isProtobuf)) {
    if (item.key.startsWith('/registry/peerserverleases/')) continue;
    const { apiVersion, kind } = unwrap(bytesOf(item));
    const schema = schemaOf(apiVersion, kind);
    assert.ok(schema !== undefined, `${apiVersion} ${kind}`);
    const codec = protobufStorage(schema);
    const again = codec.encode(codec.canonical(codec.decode(bytesOf(item))));
    assert.equal(Buffer.from(again).toString('hex'), bytesOf(item).toString('hex'), item.key);
  }
});

function servedAsUpstream(
  name: string,
  open: () => Promise<{ readonly store: Store; close(): Promise<void> }>,
  skip?: string,
) {
  describe(`on a store that upstream wrote (${name})`, { skip: skip ?? false, timeout: 120_000 }, () => {
    let under: Awaited<ReturnType<typeof open>>;
    let server: TestServer;
    before(async () => {
      under = await open();
      await fill(under.store, items);
      server = await startTestServer({}, under.store, { exclusiveStore: false });
    });
    after(async () => {
      await server?.stop();
      await under?.close();
    });
    const valueOf = async (key: string): Promise<Buffer> =>
      Buffer.from((await under.store.range({ start: key })).items[0]?.value ?? `${key} is gone`);

    it('each object is served as upstream served it', async () => {
      for (const { path, object, key } of items) {
        if (path === undefined || object === undefined) continue;
        const served = (await server.admin.call({ method: 'GET', path })) as object;
        assert.deepEqual(withoutVersion(JSON.parse(JSON.stringify(served)) as object), withoutVersion(object), key);
      }
    });

    it('starting has changed nothing of it', async () => {
      for (const item of items) assert.deepEqual(await valueOf(item.key), bytesOf(item), item.key);
    });

    it('a label that is added changes the metadata alone, and is where upstream looks for it', async () => {
      for (const { path, key, object, ...item } of items) {
        if (path === undefined || object === undefined || object.metadata.deletionTimestamp !== undefined) continue;
        const before = bytesOf({ key, ...item });
        const contentType = 'application/merge-patch+json';
        const body = { metadata: { labels: { 'k8ts.test/written': 'yes' } } };
        await server.admin.call({ method: 'PATCH', path, body, contentType });
        const now = await valueOf(key);
        if (!isProtobuf({ key, ...item })) {
          const parsed = JSON.parse(now.toString()) as KubeObject;
          assert.equal(parsed.metadata.labels?.['k8ts.test/written'], 'yes');
          assert.equal(parsed.metadata.resourceVersion, undefined, 'versions are not stored');
          const { metadata: _, ...rest } = parsed;
          const { metadata: __, ...old } = JSON.parse(before.toString()) as KubeObject;
          assert.deepEqual(rest, old, key);
          continue;
        }
        const [was, is] = [unwrap(before), unwrap(now)];
        assert.deepEqual([is.apiVersion, is.kind], [was.apiVersion, was.kind], key);
        const [old, next] = [fieldsOf(was.raw), fieldsOf(is.raw)];
        const [oldMeta, meta] = [fieldsOf(old.get(1)![0]!), fieldsOf(next.get(1)![0]!)];
        // ObjectMeta: name 1, namespace 3, uid 5, resourceVersion 6, labels 11.
        for (const field of [1, 3, 5, 8, 12])
          assert.deepEqual(meta.get(field), oldMeta.get(field), `${key}: metadata ${field}`);
        assert.equal(meta.get(6)?.[0]?.length ?? 0, 0, 'versions are not stored');
        const labels = new Map(
          meta.get(11)!.map((entry) => [String(fieldsOf(entry).get(1)![0]), String(fieldsOf(entry).get(2)![0])]),
        );
        assert.equal(labels.get('k8ts.test/written'), 'yes');
        old.delete(1);
        next.delete(1);
        // A claim's phase is a default that is set when it is read, and so written with the next change; upstream's does the same.
        if (was.kind === 'PersistentVolumeClaim') for (const fields of [old, next]) fields.delete(3);
        assert.deepEqual(next, old, `${key}: all but the metadata`);
      }
    });

    it("new objects lie under upstream's keys; node ports go into its record", async () => {
      const { metadata, spec } = (await server.admin.call({
        method: 'POST',
        path: '/api/v1/namespaces/default/services',
        body: {
          apiVersion: 'v1',
          kind: 'Service',
          metadata: { name: 'of-ours' },
          spec: { type: 'NodePort', ports: [{ port: 80, nodePort: 30_100 }] },
        },
      })) as KubeObject & { spec: { clusterIP: string } };
      const service = unwrap(await valueOf('/registry/services/specs/default/of-ours'));
      assert.deepEqual([service.apiVersion, service.kind], ['v1', 'Service']);
      assert.equal(String(fieldsOf(fieldsOf(service.raw).get(1)![0]!).get(5)![0]), metadata.uid);
      const address = unwrap(await valueOf(`/registry/ipaddresses/${spec.clusterIP}`));
      assert.deepEqual([address.apiVersion, address.kind], ['networking.k8s.io/v1', 'IPAddress']);
      // RangeAllocation: range 2, data 3: one big number, whose bit 100 is port 30100.
      const ports = fieldsOf(unwrap(await valueOf('/registry/ranges/servicenodeports')).raw);
      assert.equal(String(ports.get(2)![0]), '30000-32767');
      const data = BigInt(`0x${ports.get(3)![0]!.toString('hex')}`);
      assert.equal((data >> 100n) & 1n, 1n);
    });
  });
}

servedAsUpstream('memory', async () => {
  const store = memoryStore(deps);
  return { store, close: () => store.close() };
});

servedAsUpstream(
  'etcd',
  async () => {
    const cluster = await startEtcd(1);
    const store = await openEtcdStore({ endpoints: cluster.endpoints, requestTimeoutMs: 10_000 }, deps);
    return {
      store,
      async close() {
        await store.close();
        await cluster.stop();
      },
    };
  },
  etcdMissing,
);

it('values that upstream encrypted are served, and written so that it can read them', async () => {
  const store = memoryStore(deps);
  await fill(store, [...items.filter(({ key }) => key.startsWith('/registry/namespaces/')), ...encrypted]);
  const server = await startTestServer({ encryption: { config } }, store);
  try {
    const algorithms = new Set(
      encrypted.map((item) => /^k8s:enc:(\w+):v1:/.exec(bytesOf(item).toString('latin1'))?.[1]),
    );
    assert.deepEqual(algorithms, new Set(['aescbc', 'aesgcm', 'secretbox']));
    for (const { key, path = '', object, ...item } of encrypted) {
      const served = (await server.admin.call({ method: 'GET', path })) as object;
      assert.deepEqual(withoutVersion(JSON.parse(JSON.stringify(served)) as object), withoutVersion(object!), key);
      const body = { metadata: { labels: { written: 'yes' } } };
      await server.admin.call({ method: 'PATCH', path, body, contentType: 'application/merge-patch+json' });
      const now = Buffer.from((await store.range(prefixRange(key))).items[0]!.value).toString('latin1');
      const before = bytesOf({ key, ...item }).toString('latin1');
      const prefix = /^k8s:enc:\w+:v1:\w+:/;
      assert.equal(prefix.exec(now)?.[0], prefix.exec(before)?.[0], key);
      assert.ok(!now.includes('written'));
    }
  } finally {
    await server.stop();
    await store.close();
  }
});
