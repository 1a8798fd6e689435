// Runs python/test_calls.py, the official Python client's ordinary calls, against a cluster with simulated nodes.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { RunningCluster, runProgram } from '../interop/running-cluster.ts';

const folder = join(process.cwd(), 'test/interop-toolchains/python');
const release = readFileSync(join(folder, 'requirements.txt'), 'utf8').trim();
/** Kept from one run to the next. */
const place = join(process.cwd(), 'node_modules/.cache/k8ts-interop', `python-${release.replace('==', '-')}`);

const has = spawnSync('python3', ['-m', 'venv', '--help']).status === 0;
const skip = has ? false : 'Python 3 with venv is not installed';

function install(): string {
  const python = join(place, 'bin/python');
  if (existsSync(join(place, 'installed'))) return python;
  mkdirSync(place, { recursive: true });
  for (const [file, ...args] of [
    ['python3', '-m', 'venv', place],
    [python, '-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', release],
    ['touch', join(place, 'installed')],
  ] as const) {
    const { status, stderr } = spawnSync(file, args, { encoding: 'utf8' });
    if (status !== 0) throw new Error(`${file} ${args.join(' ')}: ${stderr}`);
  }
  return python;
}

test('the Python client', { skip, timeout: 900_000 }, async (t) => {
  const python = install();
  const cluster = new RunningCluster(['--node', 'simulated', '--nodes', '2', '--port', '0']);
  t.after(() => cluster.remove());
  await cluster.start();
  const { stderr } = await runProgram(python, ['-m', 'unittest', '-v', '-b', 'test_calls'], {
    timeoutMs: 300_000,
    env: { KUBECONFIG: cluster.kubeconfig, PYTHONPATH: folder, PYTHONDONTWRITEBYTECODE: '1' },
  });
  const outcomes = [...stderr.matchAll(/^(test_\w+) \(.*\) \.\.\. (.*)$/gm)];
  assert.ok(outcomes.length > 0, stderr);
  for (const [, name, outcome] of outcomes) await t.test(name!, () => assert.equal(outcome, 'ok', stderr));
});
