// Runs rust/, kube-rs' ordinary calls, against a cluster with simulated nodes.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { RunningCluster, runProgram } from '../interop/running-cluster.ts';

const version = spawnSync('cargo', ['--version'], { encoding: 'utf8' }).stdout ?? '';
const minor = Number(/cargo 1\.(\d+)/.exec(version)?.[1] ?? 0);
const skip = minor >= 89 ? false : 'Rust 1.89 or newer is not installed';

/** Compiling takes minutes the first time; the build is kept. */
test('kube-rs', { skip, timeout: 1_800_000 }, async (t) => {
  const target = join(process.cwd(), 'node_modules/.cache/k8ts-interop/rust');
  const built = spawnSync('cargo', ['build', '--locked', '--quiet'], {
    cwd: join(process.cwd(), 'test/interop-toolchains/rust'),
    env: { ...process.env, CARGO_TARGET_DIR: target },
    encoding: 'utf8',
  });
  assert.equal(built.status, 0, built.stderr);
  const cluster = new RunningCluster(['--node', 'simulated', '--nodes', '2', '--port', '0']);
  t.after(() => cluster.remove());
  await cluster.start();
  const { stdout, stderr } = await runProgram(join(target, 'debug/k8ts-interop'), [], {
    timeoutMs: 300_000,
    env: { KUBECONFIG: cluster.kubeconfig },
  });
  const outcomes = [...stdout.matchAll(/^(ok|not ok) ([^:\n]+)(.*)$/gm)];
  assert.ok(outcomes.length > 0, stderr);
  for (const [, outcome, name, why] of outcomes) await t.test(name!, () => assert.equal(outcome, 'ok', why));
});
