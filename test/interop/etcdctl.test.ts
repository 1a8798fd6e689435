// Owns the proof that real etcdctl works against our store served as etcd.
import assert from 'node:assert/strict';
import { execFile, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log.ts';
import { systemRandom } from '../../src/base/random.ts';
import { openEmbeddedStore } from '../../src/store/embedded/embedded.ts';
import type { EmbeddedStore } from '../../src/store/embedded/embedded.ts';
import { serveEtcd } from '../../src/store/face/face.ts';
import type { EtcdFace } from '../../src/store/face/face.ts';
import { snapshotStatus } from '../../src/store/snapshot.ts';

const missing =
  spawnSync('etcdctl', ['version']).status === 0 ? false : 'etcdctl is not installed (Debian: etcd-client)';
const deps = { clock: systemClock, log: silentLogger, random: systemRandom };
const run = promisify(execFile);

describe('etcdctl against k8ts', { skip: missing, timeout: 60_000 }, () => {
  const directory = mkdtempSync(join(tmpdir(), 'k8ts-etcdctl-'));
  let store: EmbeddedStore;
  let face: EtcdFace;
  const environment = { ...process.env, ETCDCTL_API: '3' };

  before(async () => {
    store = await openEmbeddedStore(join(directory, 'store'), deps);
    face = await serveEtcd(store, { address: '127.0.0.1:0' }, deps);
  });
  after(async () => {
    face.close();
    await store.close();
    rmSync(directory, { recursive: true, force: true });
  });

  const command = (...args: string[]) => ['--endpoints', face.endpoint.slice('http://'.length), ...args];
  async function etcdctl(...args: string[]): Promise<string> {
    return (await run('etcdctl', command(...args), { env: environment })).stdout;
  }

  it('puts, gets, deletes, compacts', async () => {
    assert.equal(await etcdctl('put', '/registry/a', 'one'), 'OK\n');
    assert.equal(await etcdctl('put', '/registry/b', 'two', '--prev-kv'), 'OK\n');
    assert.equal(await etcdctl('get', '/registry/', '--prefix'), '/registry/a\none\n/registry/b\ntwo\n');
    assert.equal(
      await etcdctl('get', '', '--prefix', '--keys-only', '--order', 'DESCEND'),
      '/registry/b\n\n/registry/a\n\n',
    );
    assert.equal(await etcdctl('get', '/registry/', '--prefix', '--rev', '2', '--print-value-only'), 'one\n');
    assert.equal(await etcdctl('del', '/registry/a', '--prev-kv'), '1\n/registry/a\none\n');
    const json = JSON.parse(await etcdctl('get', '/registry/b', '-w', 'json')) as {
      header: { revision: number };
      count: number;
    };
    assert.deepEqual([json.header.revision, json.count], [4, 1]);
    assert.equal(await etcdctl('compaction', '4'), 'compacted revision 4\n');
    await assert.rejects(etcdctl('get', 'x', '--rev', '2'), /required revision has been compacted/);
  });

  it('runs transactions', async () => {
    const child = spawn('etcdctl', command('txn'), { env: environment });
    child.stdin.end('mod("/t") = "0"\n\nput /t first\nget /t\n\nput /t other\n\n');
    let out = '';
    for await (const chunk of child.stdout) out += String(chunk);
    assert.match(out, /^SUCCESS\n\nOK\n\n\/t\nfirst\n$/);
  });

  it('watches with previous pairs', async () => {
    const watching = spawn('etcdctl', command('watch', '/w/', '--prefix', '--prev-kv', '--rev', '4'), {
      env: environment,
    });
    await etcdctl('put', '/w/a', '1');
    await etcdctl('put', '/w/a', '2');
    await etcdctl('del', '/w/a');
    const lines: string[] = [];
    for await (const line of createInterface({ input: watching.stdout })) {
      lines.push(line);
      if (lines.length === 12) watching.kill();
    }
    assert.deepEqual(lines, ['PUT', '/w/a', '1', 'PUT', '/w/a', '1', '/w/a', '2', 'DELETE', '/w/a', '2', '/w/a', '']);
  });

  it('handles leases', async () => {
    const id = /lease (\w+) granted with TTL\(100s\)/.exec(await etcdctl('lease', 'grant', '100'))![1]!;
    await etcdctl('put', '/l/a', 'x', '--lease', id);
    assert.match(
      await etcdctl('lease', 'timetolive', id, '--keys'),
      /granted with TTL\(100s\), remaining\(\d+s\), attached keys\(\[\/l\/a\]\)/,
    );
    assert.match(await etcdctl('lease', 'keep-alive', id, '--once'), /keepalived with TTL\(100\)/);
    assert.match(await etcdctl('lease', 'list'), new RegExp(id));
    assert.match(await etcdctl('lease', 'revoke', id), /revoked/);
    assert.equal(await etcdctl('get', '/l/a'), '');
    assert.match(await etcdctl('lease', 'timetolive', id), /already expired/);
  });

  it('tells status, members, health, and saves a snapshot that we can read', async () => {
    assert.match(await etcdctl('endpoint', 'status', '-w', 'fields'), /"Version" : "3\.5/);
    // This one is said on stderr.
    assert.match((await run('etcdctl', command('endpoint', 'health'), { env: environment })).stderr, /is healthy/);
    assert.match(await etcdctl('member', 'list'), /started, k8ts/);
    assert.match(await etcdctl('defrag'), /Finished defragmenting/);
    assert.equal(await etcdctl('alarm', 'list'), '');
    const path = join(directory, 'snapshot');
    await etcdctl('snapshot', 'save', path);
    const { keys, revision } = await snapshotStatus(path);
    assert.deepEqual([keys, revision], [(await store.status()).keys, (await store.status()).revision]);
  });

  it('hashes what it holds, at each revision the same', async () => {
    interface Hash {
      readonly HashKV: { readonly hash: number; readonly header: { readonly revision: number } };
    }
    const hash = async (...args: string[]) =>
      (JSON.parse(await etcdctl('endpoint', 'hashkv', '-w', 'json', ...args)) as Hash[])[0]!.HashKV;
    const before = await hash();
    await etcdctl('put', '/hash', 'x');
    const after = await hash();
    assert.notEqual(after.hash, before.hash);
    assert.equal((await hash('--rev', String(before.header.revision))).hash, before.hash);
  });

  it('refuses what it has not, by name', async () => {
    await assert.rejects(
      etcdctl('member', 'add', 'x', '--peer-urls', 'http://127.0.0.1:1'),
      /unknown|[Uu]nimplemented|not/,
    );
    await assert.rejects(etcdctl('auth', 'enable'), /authentication by password is not in it|root user/);
  });

  it('locks and elects through leases, watches and transactions', async () => {
    assert.equal(await etcdctl('lock', 'l', 'echo', 'held'), 'held\n');
  });
});
