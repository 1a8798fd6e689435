import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const run = (script: string, ...args: readonly string[]): string =>
  execFileSync(process.execPath, [join(root, script), ...args], { cwd: root, encoding: 'utf8' });

test('the bundle is the command: the same version, the same flags of components loaded when asked for, gRPC', async (t) => {
  t.after(() => rmSync(join(root, 'dist/bundle/tested'), { recursive: true, force: true }));
  run('tools/bundle.mjs', 'tested');
  for (const args of [['--version'], ['kube-apiserver', '--help'], ['kubelet', '--help']])
    assert.equal(run('dist/bundle/tested/k8ts.js', ...args), run('dist/src/main/k8ts.js', ...args));
  const data = mkdtempSync(join(tmpdir(), 'k8ts-bundle-'));
  t.after(() => rmSync(data, { recursive: true, force: true }));
  const args = ['etcd', '--data-dir', data, '--listen-client-urls', 'http://127.0.0.1:0'];
  const etcd = spawn(process.execPath, [join(root, 'dist/bundle/tested/k8ts.js'), ...args], { timeout: 20_000 });
  const ended = once(etcd, 'exit');
  let said = '';
  for await (const text of etcd.stderr.setEncoding('utf8')) {
    said += text as string;
    if (said.includes('\n')) break;
  }
  etcd.kill('SIGTERM');
  await ended;
  assert.match(said, /serving .* at http:/);
});
