// Proves what the command says to those who ask for what it cannot do, run as a user runs it.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { systemClock } from '../base/clock.ts';
import { silentLogger } from '../base/log.ts';
import { systemRandom } from '../base/random.ts';
import { openEmbeddedStore } from '../store/embedded/embedded.ts';
import { saveSnapshot } from '../store/snapshot.ts';
import { commandFor, type Environment } from './places.ts';

function home(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'k8ts-home-'));
  t.after(() => rmSync(path, { recursive: true }));
  return path;
}

function k8ts(directory: string, ...args: string[]) {
  const env = { ...process.env, HOME: directory, KUBECONFIG: join(directory, 'kubeconfig') };
  const { status, stdout, stderr } = spawnSync(process.execPath, ['dist/src/main/k8ts.js', ...args], {
    env,
    encoding: 'utf8',
    timeout: 60_000,
  });
  return { status, stdout, stderr };
}

test('a command that is called wrongly points to its own help', (t) => {
  const directory = home(t);
  for (const [args, name] of [
    [['up', '--bogus'], 'k8ts up'],
    [['snapshot', 'restore', 'file', '--bogus'], 'k8ts snapshot restore'],
    [['snapshot', 'fork'], 'k8ts snapshot fork'],
    [['--bogus'], 'k8ts'],
  ] as const) {
    const { status, stderr } = k8ts(directory, ...args);
    assert.equal(status, 1);
    assert.ok(stderr.includes(`(see ${name} --help)`), stderr);
  }
});

test('a count of nodes that would have no effect is refused, and leaves no directory', (t) => {
  const directory = home(t);
  const dataDir = join(directory, 'data');
  for (const [kind, nodes] of [
    ['none', '4'],
    ['real', '2'],
  ] as const) {
    const { status, stderr } = k8ts(directory, 'up', '--node', kind, '--nodes', nodes, '--data-dir', dataDir);
    assert.equal(status, 1);
    assert.ok(stderr.includes(nodes), stderr);
    assert.ok(stderr.includes('--node simulated'), stderr);
    assert.equal(existsSync(dataDir), false);
  }
});

test('a count of nodes is refused, too, where the cluster was made without nodes', (t) => {
  const directory = home(t);
  const dataDir = join(directory, 'data');
  mkdirSync(dataDir);
  const record = { format: 1, name: 'k8ts', createdAt: '2026-01-01T00:00:00Z', node: 'none', nodes: 1, port: 1 };
  const file = join(dataDir, 'cluster.json');
  writeFileSync(file, JSON.stringify(record));
  const { status, stderr } = k8ts(directory, 'up', '--nodes', '4', '--data-dir', dataDir);
  assert.equal(status, 1);
  assert.match(stderr, /--nodes 4/);
  assert.equal(JSON.parse(readFileSync(file, 'utf8')).node, 'none');
});

test('what was restored under a name and never started is removed by reset; something else is not', async (t) => {
  const directory = home(t);
  const dataDir = join(directory, 'data');
  const store = await openEmbeddedStore(join(directory, 'from'), {
    clock: systemClock,
    log: silentLogger,
    random: systemRandom,
  });
  const file = join(directory, 'snapshot');
  await saveSnapshot(store, file, 0);
  await store.close();
  const restored = k8ts(directory, 'snapshot', 'restore', file, '--data-dir', dataDir);
  assert.equal(restored.status, 0, restored.stderr);
  const removed = k8ts(directory, 'reset', '--data-dir', dataDir);
  assert.equal(removed.status, 0, removed.stderr);
  assert.equal(existsSync(dataDir), false);

  const other = join(directory, 'other');
  mkdirSync(join(other, 'store'), { recursive: true });
  writeFileSync(join(other, 'store', 'photo.png'), '');
  const refused = k8ts(directory, 'reset', '--data-dir', other);
  assert.equal(refused.status, 1);
  assert.match(refused.stderr, /holds no cluster/);
  assert.ok(existsSync(join(other, 'store', 'photo.png')));
});

test('what to call next names the same cluster', () => {
  const environment: Environment = { platform: 'linux', uid: 0, home: '/root', variables: {} };
  assert.equal(commandFor('up', {}, environment), 'k8ts up');
  assert.equal(commandFor('up', { name: 'two' }, environment), 'k8ts up --name two');
  assert.equal(commandFor('down', { name: 'two', dataDir: 'here' }, environment), 'k8ts down --data-dir here');
  const underNpm = { ...environment, variables: { npm_command: 'exec' } };
  assert.equal(commandFor('reset', {}, underNpm), 'npx k8ts reset');
});
