import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { openDataDirectory, readRecord, readRunning } from './data-directory.ts';
import { UserError } from './user-error.ts';

const fresh = {
  name: 'k8ts',
  createdAt: '2026-01-01T00:00:00Z',
  serviceSubnet: '10.96.0.0/16',
  podSubnet: '10.244.0.0/16',
  node: 'none',
  nodes: 1,
  port: 0,
} as const;

function directory(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'k8ts-data-'));
  t.after(() => rmSync(path, { recursive: true }));
  return path;
}

test('a directory keeps its record from one start to the next', (t) => {
  const path = directory(t);
  const first = openDataDirectory(path, fresh);
  first.writeRecord({ ...first.record, port: 6443 });
  first.release();
  assert.equal(openDataDirectory(path, { ...fresh, name: 'other' }).record.port, 6443);
  assert.equal(readRecord(path)?.name, 'k8ts');
});

test('a live process keeps others out, a dead one does not', (t) => {
  const path = directory(t);
  const running = { startTicks: '', server: '', context: 'k8ts', kubeconfig: '' };
  writeFileSync(join(path, 'running.json'), JSON.stringify({ ...running, pid: process.ppid }));
  assert.throws(() => openDataDirectory(path, fresh), UserError);
  writeFileSync(join(path, 'running.json'), JSON.stringify({ ...running, pid: 2 ** 22 + 1 }));
  assert.equal(readRunning(path), undefined);
  openDataDirectory(path, fresh).release();
});

for (const [what, text] of [
  ['cut off', '{"format": 1, "na'],
  ['not an object', '7'],
  ['without its fields', '{}'],
  ['from the future', '{"format": 99, "name": "k8ts"}'],
] as const) {
  test(`a record that is ${what} is named in one line with what to do`, (t) => {
    const path = directory(t);
    writeFileSync(join(path, 'cluster.json'), text);
    assert.throws(
      () => openDataDirectory(path, fresh),
      (error) =>
        error instanceof UserError &&
        error.message.includes(path) &&
        !error.message.includes('\n') &&
        error.advice !== '',
    );
  });
}
