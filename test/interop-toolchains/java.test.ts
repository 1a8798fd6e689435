// Runs java/Calls.java, the official Java client's ordinary calls, against a cluster with simulated nodes.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { RunningCluster, runProgram } from '../interop/running-cluster.ts';

const folder = join(process.cwd(), 'test/interop-toolchains/java');
/** Kept from one run to the next. */
const libraries = join(process.cwd(), 'node_modules/.cache/k8ts-interop/java-27.0.0');

const major = Number(
  /version "(\d+)/.exec(spawnSync('java', ['-version'], { encoding: 'utf8' }).stderr ?? '')?.[1] ?? 0,
);
const has = major >= 17 && spawnSync('mvn', ['--version']).status === 0;
const skip = has ? false : 'Java 17 or newer with Maven is not installed';

function install(): void {
  if (existsSync(join(libraries, 'installed'))) return;
  const args = [
    '-q',
    '-B',
    '-f',
    join(folder, 'pom.xml'),
    'dependency:copy-dependencies',
    `-DoutputDirectory=${libraries}`,
  ];
  const { status, stdout } = spawnSync('mvn', args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`mvn ${args.join(' ')}: ${stdout}`);
  writeFileSync(join(libraries, 'installed'), '');
}

test('the Java client', { skip, timeout: 900_000 }, async (t) => {
  install();
  const cluster = new RunningCluster(['--node', 'simulated', '--nodes', '2', '--port', '0']);
  t.after(() => cluster.remove());
  await cluster.start();
  const { stdout, stderr } = await runProgram('java', ['-cp', join(libraries, '*'), join(folder, 'Calls.java')], {
    timeoutMs: 300_000,
    env: { KUBECONFIG: cluster.kubeconfig },
  });
  const outcomes = [...stdout.matchAll(/^(ok|not ok) ([^:\n]+)(.*)$/gm)];
  assert.ok(outcomes.length > 0, stderr);
  for (const [, outcome, name, why] of outcomes) await t.test(name!, () => assert.equal(outcome, 'ok', why));
});
