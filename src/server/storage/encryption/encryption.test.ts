// Tests encryption at rest through whole API servers on one store: what is stored, rotation, damage, a KMS plugin that changes its key and goes away.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { systemClock } from '../../../base/clock.ts';
import { silentLogger } from '../../../base/log.ts';
import { systemRandom } from '../../../base/random.ts';
import type { KubeObject } from '../../../api/meta.ts';
import { isStatusError } from '../../../api/status-error.ts';
import { memoryStore } from '../../../store/memory.ts';
import type { Store } from '../../../store/store.ts';
import { KeyManagementService } from '../../../wire/generated/kms-v2.ts';
import { grpcServer, served } from '../../../wire/grpc-server.ts';
import { GrpcError } from '../../../wire/grpc-service.ts';
import { startTestServer } from '../../start.suite.ts';
import type { TestServer } from '../../start.suite.ts';
import { Encryption } from './encryption.ts';

const deps = { clock: systemClock, random: systemRandom, log: silentLogger };
const head = 'apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n';
const keyOf = (fill: number) => Buffer.alloc(32, fill).toString('base64');
const config = (...providers: string[]) =>
  `${head}- resources: [secrets]\n  providers:\n${providers.map((one) => `  - ${one}\n`).join('')}`;
const cipher = (type: string, name: string, fill: number) =>
  `${type}: {keys: [{name: ${name}, secret: ${keyOf(fill)}}]}`;

const path = '/api/v1/namespaces/default/secrets';
const secret = (name: string) => ({ apiVersion: 'v1', kind: 'Secret', metadata: { name }, data: { k: 'aGlkZGVu' } });
const place = (name: string) => `/registry/secrets/default/${name}`;

async function stored(store: Store, key: string): Promise<Buffer> {
  return Buffer.from((await store.range({ start: key })).items[0]!.value);
}

async function withServer<T>(
  store: Store,
  text: string | undefined,
  work: (running: TestServer) => Promise<T>,
): Promise<T> {
  const running = await startTestServer(text === undefined ? {} : { encryption: { config: text } }, store);
  try {
    return await work(running);
  } finally {
    await running.stop();
  }
}

const get = (running: TestServer, name: string): Promise<KubeObject & { data?: Record<string, string> }> =>
  running.admin.call({ method: 'GET', path: `${path}/${name}` }) as Promise<KubeObject>;
const create = (running: TestServer, name: string): Promise<unknown> =>
  running.admin.call({ method: 'POST', path, body: secret(name) });

describe('encryption at rest', () => {
  for (const type of ['aescbc', 'aesgcm', 'secretbox'])
    it(`${type}: the store never sees the value, servers with the key do`, async () => {
      const store = memoryStore(deps);
      const text = config(cipher(type, 'key1', 1), 'identity: {}');
      await withServer(store, text, (running) => create(running, 'a'));
      const bytes = await stored(store, place('a'));
      assert.ok(bytes.toString('latin1').startsWith(`k8s:enc:${type}:v1:key1:`));
      assert.ok(!bytes.includes('hidden') && !bytes.includes('Secret'));
      await withServer(store, text, async (running) => {
        assert.equal((await get(running, 'a')).data?.['k'], 'aGlkZGVu');
        const map = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'm' }, data: { k: 'open' } };
        await running.admin.call({ method: 'POST', path: '/api/v1/namespaces/default/configmaps', body: map });
      });
      assert.ok((await stored(store, '/registry/configmaps/default/m')).includes('open'));
      await store.close();
    });

  it('rotation: an unchanged write stores the value anew under the new key, and only then', async () => {
    const store = memoryStore(deps);
    await withServer(store, undefined, (running) => create(running, 'a'));
    assert.ok((await stored(store, place('a'))).includes('hidden'));
    const turns = [
      [config(cipher('aescbc', 'key1', 1), 'identity: {}'), 'k8s:enc:aescbc:v1:key1:'],
      [config(cipher('aesgcm', 'key2', 2), cipher('aescbc', 'key1', 1)), 'k8s:enc:aesgcm:v1:key2:'],
      [config('identity: {}', cipher('aesgcm', 'key2', 2)), 'k8s\0'],
    ] as const;
    for (const [text, prefix] of turns)
      await withServer(store, text, async (running) => {
        const object = await get(running, 'a');
        const replace = (body: object) =>
          running.admin.call({ method: 'PUT', path: `${path}/a`, body }) as Promise<KubeObject>;
        const first = await replace(object);
        assert.notEqual(first.metadata.resourceVersion, object.metadata.resourceVersion);
        assert.ok((await stored(store, place('a'))).toString('latin1').startsWith(prefix), prefix);
        const { resourceVersion: _, ...metadata } = object.metadata;
        assert.equal((await replace({ ...object, metadata })).metadata.resourceVersion, first.metadata.resourceVersion);
      });
    await store.close();
  });

  it('what was changed, moved, or is under a lost key is refused with its key, and the others are served', async () => {
    const store = memoryStore(deps);
    const text = config(cipher('aesgcm', 'key1', 1));
    await withServer(store, text, async (running) => {
      for (const name of ['a', 'b', 'c']) await create(running, name);
    });
    const bytes = await stored(store, place('a'));
    const changed = Buffer.from(bytes);
    changed[changed.length - 20]! ^= 1;
    const put = (key: string, value: Uint8Array) =>
      store.transact({ compare: [], then: [{ type: 'put', key, value }] });
    await put(place('b'), changed);
    await put(place('c'), bytes);
    const refused = (running: TestServer, name: string) =>
      assert.rejects(get(running, name), (error: Error) => {
        assert.ok(isStatusError(error, 'InternalError'));
        assert.match(error.message, new RegExp(`unable to transform key "${place(name)}"`));
        return true;
      });
    await withServer(store, text, async (running) => {
      assert.equal((await get(running, 'a')).data?.['k'], 'aGlkZGVu');
      await refused(running, 'b');
      await refused(running, 'c');
      // Damage that arrives while the server runs.
      await put(place('a'), changed);
      for (let left = 500; left > 0; left--) {
        const still = await get(running, 'a').catch(() => undefined);
        if (still === undefined) break;
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
      await refused(running, 'a');
      await create(running, 'd');
    });
    await withServer(store, config(cipher('aesgcm', 'key1', 2)), (running) => refused(running, 'd'));
    await withServer(store, config(cipher('aesgcm', 'other', 1)), (running) => refused(running, 'd'));
    await withServer(store, undefined, (running) =>
      assert.rejects(get(running, 'd'), /encrypted, and no --encryption-provider-config/),
    );
    await store.close();
  });

  it('reload: a right configuration takes over, a wrong one does not and is told', async () => {
    const store = memoryStore(deps);
    let text = config(cipher('aesgcm', 'key1', 1));
    const resources = [{ prefix: '/registry/secrets/', group: '', plural: 'secrets' }];
    const encryption = new Encryption({ config: text, reread: () => text }, { ...deps, resources });
    const over = encryption.over(store).store;
    const write = async (name: string) => {
      const key = place(name);
      await over.transact({ compare: [], then: [{ type: 'put', key, value: Buffer.from('v') }] });
      return (await stored(store, key)).toString('latin1');
    };
    assert.ok((await write('a')).startsWith('k8s:enc:aesgcm:v1:key1:'));
    text = 'nonsense';
    await encryption.reload();
    assert.match(encryption.healthChecks()[0]!.check()!, /must be an object/);
    assert.ok((await write('b')).startsWith('k8s:enc:aesgcm:v1:key1:'));
    text = config(cipher('secretbox', 'key2', 2), cipher('aesgcm', 'key1', 1));
    await encryption.reload();
    assert.equal(encryption.healthChecks()[0]!.check(), undefined);
    assert.ok((await write('c')).startsWith('k8s:enc:secretbox:v1:key2:'));
    const { items } = await over.range({ start: '/registry/', end: '/registry0' });
    assert.deepEqual(
      items.map(({ value }) => Buffer.from(value).toString()),
      ['v', 'v', 'v'],
    );
    await store.close();
  });
});

describe('encryption at rest by a KMS v2 plugin', () => {
  const folder = mkdtempSync(join(tmpdir(), 'kms-'));
  after(() => rmSync(folder, { recursive: true, force: true }));

  /** Seals by turning bytes over: a stand-in for a vault. */
  async function plugin(socket: string) {
    const state = { keyId: 'k1', healthz: 'ok', encrypts: 0, decrypts: 0 };
    const turn = (bytes: Uint8Array) => Buffer.from(bytes.map((byte) => byte ^ 0x5a));
    const server = await grpcServer(`unix:${socket}`, [
      served(KeyManagementService, {
        status: async () => ({ version: 'v2', healthz: state.healthz, keyId: state.keyId }),
        encrypt: async ({ plaintext }) => {
          state.encrypts++;
          return {
            ciphertext: turn(plaintext),
            keyId: state.keyId,
            annotations: { 'a.example.com': Buffer.from('x') },
          };
        },
        decrypt: async ({ ciphertext, keyId, annotations }) => {
          state.decrypts++;
          if (keyId === 'lost') throw new GrpcError('NOT_FOUND', 'no such key');
          assert.equal(Buffer.from(annotations['a.example.com']!).toString(), 'x');
          return { plaintext: turn(ciphertext) };
        },
      }),
    ]);
    return { state, close: () => server.close() };
  }

  it('one seed serves many values; a changed key is taken up; without the plugin what is known still reads', async () => {
    const socket = join(folder, 'one.sock');
    const kms = await plugin(socket);
    const store = memoryStore(deps);
    const text = config(`kms: {apiVersion: v2, name: vault, endpoint: "unix://${socket}"}`);
    const resources = [{ prefix: '/registry/secrets/', group: '', plural: 'secrets' }];
    const encryption = new Encryption({ config: text }, { ...deps, resources });
    const { store: over, stale } = encryption.over(store);
    const write = (name: string) =>
      over.transact({ compare: [], then: [{ type: 'put', key: place(name), value: Buffer.from(name) }] });
    await assert.rejects(write('a'), /KMS plugin vault is away/);
    await encryption.start();
    assert.deepEqual(
      encryption.healthChecks().map(({ name, check }) => [name, check()]),
      [['kms-provider-0', undefined]],
    );
    for (const name of ['a', 'b', 'c']) await write(name);
    assert.equal(kms.state.encrypts, 1);
    assert.ok((await stored(store, place('a'))).toString('latin1').startsWith('k8s:enc:kms:v2:vault:'));
    assert.equal(await stale(place('a')), false);
    kms.state.keyId = 'k2';
    await encryption.start();
    assert.equal(await stale(place('a')), true);
    await write('a');
    assert.equal(await stale(place('a')), false);
    // Another server, which knows no seed yet: each is asked for once.
    const other = new Encryption({ config: text }, { ...deps, resources });
    const read = () => other.over(store).store.range({ start: '/registry/', end: '/registry0' });
    await other.start();
    for (let turn = 0; turn < 2; turn++)
      assert.deepEqual(
        (await read()).items.map(({ value }) => Buffer.from(value).toString()),
        ['a', 'b', 'c'],
      );
    assert.equal(kms.state.decrypts, 2);
    kms.state.healthz = 'sealed';
    await other.start();
    assert.match(other.healthChecks()[0]!.check()!, /not healthy: sealed/);
    kms.close();
    await other.start();
    assert.match(other.healthChecks()[0]!.check()!, /No connection|broke/);
    assert.equal((await read()).items.length, 3);
    // Who knows no seed must not take the value for damaged: the plugin comes back.
    const third = new Encryption({ config: text }, { ...deps, resources });
    await assert.rejects(third.over(store).store.range({ start: place('a') }), /does not decrypt/);
    for (const one of [encryption, other, third]) {
      const abort = new AbortController();
      const ended = one.run(abort.signal);
      abort.abort();
      await ended;
    }
    await store.close();
  });

  it('serves through an API server, whose readiness shows the plugin', async () => {
    const socket = join(folder, 'two.sock');
    const kms = await plugin(socket);
    const store = memoryStore(deps);
    const text = config(`kms: {apiVersion: v2, name: vault, endpoint: "unix://${socket}"}`);
    await withServer(store, text, (running) => create(running, 'a'));
    await withServer(store, text, async (running) => {
      assert.equal((await get(running, 'a')).data?.['k'], 'aGlkZGVu');
      const ready = await running.admin.call({ method: 'GET', path: '/readyz/kms-provider-0' });
      assert.equal(String(ready), 'ok');
    });
    kms.close();
    await store.close();
  });
});
