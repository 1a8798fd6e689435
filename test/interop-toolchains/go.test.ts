// Runs the suites of go/ against what `k8ts envtest` lays down: controller-runtime's envtest, and client-go.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';

const version = spawnSync('go', ['version'], { encoding: 'utf8' }).stdout ?? '';
const minor = Number(/go1\.(\d+)/.exec(version)?.[1] ?? 0);
const skip = minor >= 26 ? false : 'Go 1.26 or newer is not installed';

/** Compiling takes minutes the first time; every suite ends itself long before. */
const timeoutMs = 1_200_000;

interface Event {
  readonly Action: string;
  readonly Package?: string;
  readonly Test?: string;
  readonly Output?: string;
}

/** Runs a package's tests; each of Go's becomes one of ours. */
for (const suite of ['envtest', 'clientgo']) {
  test(`go test ./${suite}`, { skip, timeout: timeoutMs }, async (t) => {
    const assets = mkdtempSync(join(tmpdir(), 'k8ts-assets-'));
    t.after(() => rmSync(assets, { recursive: true, force: true }));
    const laid = spawnSync(process.execPath, ['bin/k8ts.js', 'envtest', assets], { encoding: 'utf8' });
    assert.equal(laid.status, 0, laid.stderr);
    const child = spawn('go', ['test', '-count=1', '-timeout=5m', '-json', `./${suite}`], {
      cwd: join(process.cwd(), 'test/interop-toolchains/go'),
      env: { ...process.env, KUBEBUILDER_ASSETS: assets, GOFLAGS: '-mod=mod' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    t.after(() => child.kill());
    let text = '';
    let stderr = '';
    child.stdout.on('data', (data: Buffer) => (text += data.toString()));
    child.stderr.on('data', (data: Buffer) => (stderr += data.toString()));
    const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
    const events = text.split('\n').flatMap((line) => (line.startsWith('{') ? [JSON.parse(line) as Event] : []));
    const said = (name: string | undefined) =>
      events.flatMap(({ Test, Output }) => (Test === name && Output !== undefined ? [Output] : [])).join('');
    const ended = events.filter(({ Action, Test }) => Test !== undefined && /^(pass|fail|skip)$/.test(Action));
    for (const { Action, Test } of ended)
      await t.test(Test!, { skip: Action === 'skip' ? said(Test) : false }, () =>
        assert.equal(Action, 'pass', said(Test)),
      );
    assert.equal(code, 0, `${said(undefined)}\n${stderr}`);
    assert.ok(ended.length > 0, 'no test was run');
  });
}
