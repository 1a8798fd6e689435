// Owns the proof that the commands `k8ts etcd` and `k8ts snapshot` work as processes.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log.ts';
import { systemRandom } from '../../src/base/random.ts';
import { openEtcdStore } from '../../src/store/etcd/etcd.ts';
import { prefixRange } from '../../src/store/store.ts';

const k8ts = fileURLToPath(new URL('../../src/main/k8ts.js', import.meta.url));
const run = promisify(execFile);
const deps = { clock: systemClock, log: silentLogger, random: systemRandom };

interface Running {
  readonly process: ChildProcess;
  readonly endpoint: string;
  stop(): Promise<void>;
}

async function start(directory: string): Promise<Running> {
  const args = [k8ts, 'etcd', '--data-dir', directory, '--listen-client-urls', 'http://127.0.0.1:0'];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe'] });
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
  for await (const line of createInterface({ input: child.stderr })) {
    const endpoint = / at (http:\S+)/.exec(line)?.[1];
    if (endpoint === undefined) continue;
    const stop = async () => {
      child.kill('SIGTERM');
      assert.equal(await ended, 0);
    };
    return { process: child, endpoint, stop };
  }
  throw new Error('k8ts etcd ended');
}

it('k8ts etcd serves its directory; k8ts snapshot saves it while it runs, checks, and restores', {
  timeout: 60_000,
}, async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'k8ts-etcd-'));
  const file = join(directory, 'snapshot');
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const etcd = await start(join(directory, 'a'));
  t.after(() => etcd.process.kill('SIGKILL'));
  const store = await openEtcdStore({ endpoints: [etcd.endpoint] }, deps);
  for (let i = 0; i < 20; i++)
    await store.transact({ compare: [], then: [{ type: 'put', key: `/registry/${i}`, value: Buffer.from(`${i}`) }] });
  const before = await store.range(prefixRange(''));
  const command = async (...args: string[]) => (await run(process.execPath, [k8ts, 'snapshot', ...args])).stdout;
  const saved = JSON.parse(await command('save', file, '--endpoints', etcd.endpoint, '-o', 'json')) as object;
  assert.deepEqual(JSON.parse(await command('status', file, '-o', 'json')), saved);
  assert.deepEqual([Reflect.get(saved, 'keys'), Reflect.get(saved, 'revision')], [20, before.revision]);
  await assert.rejects(command('save', `${file}2`, '--store-dir', join(directory, 'a')), /is in use by process/);
  await assert.rejects(command('restore', file, '--store-dir', join(directory, 'a')), /is in use by process/);
  await command('restore', file, '--store-dir', join(directory, 'b'));
  await assert.rejects(command('restore', file, '--store-dir', join(directory, 'b')), /holds a store already/);
  await store.close();
  await etcd.stop();
  const again = await start(join(directory, 'b'));
  t.after(() => again.process.kill('SIGKILL'));
  const restored = await openEtcdStore({ endpoints: [again.endpoint] }, deps);
  assert.deepEqual(await restored.range(prefixRange('')), before);
  await restored.close();
  await again.stop();
});
