import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const run = (script: string, ...args: readonly string[]): string =>
  execFileSync(process.execPath, [join(root, script), ...args], { cwd: root, encoding: 'utf8' });

test('the bundle is the command: the same version and the same flags of components that are loaded when asked for', (t) => {
  t.after(() => rmSync(join(root, 'dist/bundle/tested'), { recursive: true, force: true }));
  run('tools/bundle.mjs', 'tested');
  for (const args of [['--version'], ['kube-apiserver', '--help'], ['kubelet', '--help']])
    assert.equal(run('dist/bundle/tested/k8ts.js', ...args), run('dist/src/main/k8ts.js', ...args));
});
