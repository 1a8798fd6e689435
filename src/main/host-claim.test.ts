import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { claimHost, otherHolder, releaseHost } from './host-claim.ts';
import { UserError } from './user-error.ts';

function claimFile(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'k8ts-claim-'));
  t.after(() => rmSync(folder, { recursive: true }));
  return join(folder, 'run', 'node.json');
}

const [a, b] = [
  { name: 'a', dataDir: '/nowhere/a' },
  { name: 'b', dataDir: '/nowhere/b' },
];

test('a host is one node: the second cluster hears whose it is, until the first gives it up', (t) => {
  const file = claimFile(t);
  claimHost(a, file);
  claimHost(a, file);
  assert.throws(
    () => claimHost(b, file),
    (error) => error instanceof UserError && /"a"/.test(error.message) && error.advice.includes(a.dataDir),
  );
  assert.equal(otherHolder(b.dataDir, file)?.name, 'a');
  assert.equal(otherHolder(a.dataDir, file), undefined);
  releaseHost(b.dataDir, file);
  assert.equal(otherHolder(b.dataDir, file)?.name, 'a');
  releaseHost(a.dataDir, file);
  claimHost(b, file);
  assert.equal(otherHolder(a.dataDir, file)?.name, 'b');
});

for (const [what, text] of [
  ['of a process that is gone', JSON.stringify({ ...a, pid: 2 ** 22 + 1, startTicks: '' })],
  ['of a process whose number another has', JSON.stringify({ ...a, pid: process.pid, startTicks: 'other' })],
  ['cut off', '{"pid": 1, "na'],
] as const) {
  test(`a claim ${what} holds nothing`, (t) => {
    const file = claimFile(t);
    claimHost(a, file);
    writeFileSync(file, text);
    assert.equal(otherHolder(b.dataDir, file), undefined);
    claimHost(b, file);
    assert.equal(otherHolder(a.dataDir, file)?.name, 'b');
  });
}
