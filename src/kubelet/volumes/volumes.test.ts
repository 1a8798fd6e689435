// Tests volumes' content: keys and modes, and that readers never see half of a change.
import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { writeAtomically } from './atomic-writer.ts';
import { type Payload, safePath, selectKeys } from './payload.ts';

let folder: string;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'vol-'))));
afterEach(() => rmSync(folder, { recursive: true }));

const payload = (files: Record<string, string>, mode = 0o644): Payload =>
  new Map(Object.entries(files).map(([path, text]) => [path, { content: Buffer.from(text), mode }]));

test('files stand behind one link, nested paths too', async () => {
  const target = join(folder, 'v');
  assert.equal(await writeAtomically(target, payload({ a: '1', 'deep/b': '2' }, 0o400)), true);
  assert.deepEqual(
    readdirSync(target)
      .filter((name) => !name.startsWith('..'))
      .toSorted(),
    ['a', 'deep'],
  );
  assert.equal(readlinkSync(join(target, 'a')), '..data/a');
  assert.equal(readFileSync(join(target, 'deep/b'), 'utf8'), '2');
  assert.equal(statSync(join(target, 'a')).mode & 0o777, 0o400);
});

test('a change replaces all at once, and equal content writes nothing', async () => {
  const target = join(folder, 'v');
  await writeAtomically(target, payload({ a: '1', gone: 'x' }));
  const before = readlinkSync(join(target, '..data'));
  assert.equal(await writeAtomically(target, payload({ a: '1', gone: 'x' })), false);
  assert.equal(readlinkSync(join(target, '..data')), before);
  assert.equal(await writeAtomically(target, payload({ a: '2', b: '3' })), true);
  assert.equal(readFileSync(join(target, 'a'), 'utf8'), '2');
  assert.deepEqual(
    readdirSync(target)
      .filter((name) => !name.startsWith('..'))
      .toSorted(),
    ['a', 'b'],
  );
  assert.equal(existsSync(join(target, before)), false, 'the old content is removed');
  assert.deepEqual(readdirSync(folder), ['v'], 'nothing is written beside the volume');
});

test('a write that was cut off is made good', async () => {
  const target = join(folder, 'v');
  await writeAtomically(target, payload({ a: '1', b: '2' }));
  const data = join(target, readlinkSync(join(target, '..data')));
  chmodSync(data, 0o755);
  rmSync(join(data, 'b'));
  assert.equal(await writeAtomically(target, payload({ a: '1', b: '2' })), true);
  assert.equal(readFileSync(join(target, 'b'), 'utf8'), '2');
});

test('keys: all, or the chosen ones under their paths', () => {
  const keys = new Map([
    ['a', Buffer.from('1')],
    ['b', Buffer.from('2')],
  ]);
  assert.deepEqual([...selectKeys('cm', keys, {}).keys()], ['a', 'b']);
  const chosen = selectKeys('cm', keys, { items: [{ key: 'a', path: 'x/y', mode: 0o600 }], defaultMode: 0o444 });
  assert.deepEqual(
    [...chosen].map(([path, { mode }]) => [path, mode]),
    [['x/y', 0o600]],
  );
  const absent = { items: [{ key: 'z', path: 'z' }] };
  assert.throws(() => selectKeys('cm', keys, absent), /cm references non-existent config key: z/);
  assert.equal(selectKeys('cm', keys, { ...absent, optional: true }).size, 0);
  for (const bad of ['../x', '/x', 'a/../../x']) assert.throws(() => safePath(bad), /leaves its volume/, bad);
});
