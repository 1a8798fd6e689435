// What can go wrong on a user's machine: each gives one clear line that says what, another that says what to do, and loses nothing.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { eventually, type Output, RunningCluster, runProgram } from './running-cluster.ts';
import { kubectlPath } from './tools.ts';

const noKubectl = kubectlPath() === undefined ? 'kubectl is shipped for linux/amd64 only' : false;
const notRoot = process.getuid?.() === 0 ? false : 'needs root: makes mount namespaces';

function directory(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'k8ts-bad-'));
  t.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

const command = join(process.cwd(), 'bin/k8ts.js');

function up(path: string, ...flags: string[]): Promise<Output> {
  const args = [
    command,
    'up',
    '--node',
    'none',
    '--data-dir',
    path,
    '--kubeconfig',
    join(path, '..', 'kubeconfig'),
    ...flags,
  ];
  return runProgram(process.execPath, args, { timeoutMs: 30_000 });
}

/** Two lines on standard error, no stack, and the exit code of a failure. */
function assertClear({ code, stderr }: Output, says: RegExp): void {
  assert.equal(code, 1, stderr);
  const lines = stderr.trimEnd().split('\n');
  assert.equal(lines.length, 2, stderr);
  assert.match(lines[0]!, says);
  assert.doesNotMatch(stderr, /\n\s+at /);
}

async function takenPort(t: TestContext): Promise<number> {
  const blocker = createServer().listen(0);
  t.after(() => blocker.close());
  await once(blocker, 'listening');
  return (blocker.address() as AddressInfo).port;
}

test('a taken port', async (t) => {
  const port = await takenPort(t);
  assertClear(await up(join(directory(t), 'data'), '--port', String(port)), new RegExp(`port ${port} is taken`));
});

test('a directory that is a file', async (t) => {
  const path = join(directory(t), 'data');
  writeFileSync(path, '');
  assertClear(await up(path), /is not a directory/);
});

test('a directory that may not be written', { skip: notRoot }, async (t) => {
  const path = directory(t);
  chmodSync(path, 0o755);
  const args = [command, 'up', '--node', 'none', '--data-dir', join(path, 'data')];
  const found = await runProgram('runuser', ['-u', 'nobody', '--', process.execPath, ...args], { env: { HOME: path } });
  assertClear(found, /permission denied/);
});

test('a damaged record', async (t) => {
  const path = join(directory(t), 'data');
  mkdirSync(path);
  writeFileSync(join(path, 'cluster.json'), '{"format":');
  assertClear(await up(path), /cluster\.json is damaged/);
});

test('a directory of a newer version', async (t) => {
  const path = join(directory(t), 'data');
  mkdirSync(path);
  writeFileSync(join(path, 'cluster.json'), '{"format": 99, "name": "k8ts"}');
  assertClear(await up(path), /newer k8ts/);
});

test('a configuration with mistakes names each of them', async (t) => {
  const path = directory(t);
  const file = join(path, 'config.yaml');
  writeFileSync(file, 'apiVersion: k8ts.dev/v1alpha1\nkind: Cluster\nnodes: many\nprot: 1\n');
  assertClear(await up(join(path, 'data'), '--config', file), /nodes must be a whole number.*prot is not known/);
  assertClear(await up(join(path, 'data'), '--config', join(path, 'none.yaml')), /does not exist/);
});

test('a missing tool is named with what it is for', { skip: notRoot }, async (t) => {
  const path = directory(t);
  const script =
    'for f in /usr/bin/containerd /usr/local/bin/containerd; do [ ! -e $f ] || mount --bind /dev/null $f; done; exec "$@"';
  const args = [
    '-m',
    'sh',
    '-c',
    script,
    'sh',
    process.execPath,
    command,
    'up',
    '--node',
    'real',
    '--no-install',
    '--data-dir',
    join(path, 'data'),
  ];
  const found = await runProgram('unshare', args);
  assertClear(found, /lacks .*containerd/);
  assert.match(found.stderr, /install containerd/);
  // The advice can be followed: what has never come up may have another kind of node.
  const port = await takenPort(t);
  assertClear(await up(join(path, 'data'), '--port', String(port)), /is taken/);
});

test('a second start in the same directory', async (t) => {
  const cluster = new RunningCluster(['--node', 'none', '--port', '0']);
  t.after(() => cluster.remove());
  await cluster.start();
  assertClear(await up(cluster.dataDir), /already runs/);
});

test('a flipped byte in the store is named, and never served', async (t) => {
  const cluster = new RunningCluster(['--node', 'none', '--port', '0']);
  t.after(() => cluster.remove());
  await cluster.start();
  await cluster.end('SIGTERM');
  const store = join(cluster.dataDir, 'store');
  const segment = join(
    store,
    readdirSync(store)
      .filter((name) => /\d/.test(name))
      .toSorted()[0]!,
  );
  const bytes = readFileSync(segment);
  bytes[Math.floor(bytes.length / 4)]! ^= 0xff;
  writeFileSync(segment, bytes);
  assertClear(await up(cluster.dataDir), /the store is damaged/);
});

test('a full disk: writes are refused, reads go on, and it recovers', { skip: noKubectl || notRoot }, async (t) => {
  const cluster = new RunningCluster(['--node', 'none', '--port', '0']);
  mkdirSync(cluster.dataDir);
  await runProgram('mount', ['-t', 'tmpfs', '-o', 'size=12m', 'tmpfs', cluster.dataDir]);
  t.after(async () => {
    await cluster.end('SIGTERM');
    await runProgram('umount', ['-l', cluster.dataDir]);
    rmSync(cluster.directory, { recursive: true, force: true });
  });
  await cluster.start();
  await cluster.kubectl('create configmap before --from-literal=a=b');
  const ballast = join(cluster.dataDir, 'ballast');
  await runProgram('dd', ['if=/dev/zero', `of=${ballast}`, 'bs=64k']);
  const big = join(cluster.directory, 'big');
  writeFileSync(big, 'x'.repeat(500_000));
  const refused = await eventually('a refusal', async () => {
    const tried = await cluster.tryKubectl([
      'create',
      'configmap',
      `big-${Math.trunc(performance.now())}`,
      `--from-file=${big}`,
    ]);
    return tried.code === 0 ? undefined : tried.stderr;
  });
  assert.match(refused, /space|full/i);
  assert.equal(await cluster.kubectl('get configmap before -o jsonpath={.data.a}'), 'b');
  rmSync(ballast);
  await eventually('recovery', () => cluster.kubectl('create configmap after --from-literal=a=b'));
  await cluster.end('SIGKILL');
  await cluster.start();
  assert.equal(await cluster.kubectl('get configmap after -o jsonpath={.data.a}'), 'b');
});
