import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { LockHeld, takeLockFile } from './lock-file.ts';

function lockPath(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'k8ts-lock-'));
  t.after(() => rmSync(folder, { recursive: true }));
  return join(folder, 'LOCK');
}

test('a held file keeps others out and says who has it; released it is free', (t) => {
  const path = lockPath(t);
  const release = takeLockFile(path, 'first', () => true);
  assert.throws(
    () => takeLockFile(path, 'second', () => true),
    (error) => error instanceof LockHeld && error.holder === 'first',
  );
  release();
  assert.equal(existsSync(path), false);
  takeLockFile(path, 'second', () => true);
  assert.deepEqual(readdirSync(join(path, '..')), ['LOCK'], 'no draft is left');
});

test("a dead holder's file is taken over, and its release leaves the new holder's alone", (t) => {
  const path = lockPath(t);
  const release = takeLockFile(path, 'dead', () => true);
  takeLockFile(path, 'next', (text) => text !== 'dead');
  release();
  assert.equal(readFileSync(path, 'utf8'), 'next');
});

test('a file that another took while it was judged is not taken from it', (t) => {
  const path = lockPath(t);
  writeFileSync(path, 'dead');
  const judge = (text: string): boolean => {
    if (text !== 'dead') return true;
    writeFileSync(path, 'quicker');
    return false;
  };
  assert.throws(
    () => takeLockFile(path, 'slower', judge),
    (error) => error instanceof LockHeld && error.holder === 'quicker',
  );
});
