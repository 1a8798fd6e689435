// Tests the reading of logs: tails over chunk borders, limits, times, streams, and following over a rotation.
import assert from 'node:assert/strict';
import { appendFileSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { systemClock } from '../../base/clock.ts';
import { type LogOptions, readLogs } from './logs.ts';

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'logs-'));
  file = join(folder, '0.log');
});
afterEach(() => rmSync(folder, { recursive: true }));

const line = (text: string, second = 0, stream = 'stdout', tag = 'F'): string =>
  `2026-01-01T00:00:${String(second).padStart(2, '0')}.5Z ${stream} ${tag} ${text}\n`;

async function read(options: Partial<LogOptions> = {}): Promise<string> {
  const parts: Buffer[] = [];
  const write = async (bytes: Buffer): Promise<void> => void parts.push(bytes);
  const source = { file, clock: systemClock, isRunning: () => false };
  await readLogs(source, { follow: false, timestamps: false, ...options }, write, new AbortController().signal);
  return Buffer.concat(parts).toString();
}

test('whole, tail, limit, since, stream, timestamps', async () => {
  writeFileSync(file, line('one', 1) + line('two', 2, 'stderr') + line('thr', 3, 'stdout', 'P') + line('ee', 3));
  assert.equal(await read(), 'one\ntwo\nthree\n');
  assert.equal(await read({ tailLines: 1 }), 'ee\n');
  assert.equal(await read({ tailLines: 0 }), '');
  assert.equal(await read({ tailLines: 99 }), 'one\ntwo\nthree\n');
  assert.equal(await read({ limitBytes: 5 }), 'one\nt');
  assert.equal(await read({ sinceMs: Date.parse('2026-01-01T00:00:02.5Z') }), 'two\nthree\n');
  assert.equal(await read({ stream: 'stderr' }), 'two\n');
  assert.equal(await read({ timestamps: true, tailLines: 2 }), '2026-01-01T00:00:03.5Z three\n');
});

test('tails reach back over many chunks', async () => {
  const lines = Array.from({ length: 20_000 }, (_, at) => line(`line ${at}`));
  writeFileSync(file, lines.join(''));
  const tail = await read({ tailLines: 15_000 });
  assert.equal(tail.split('\n').length - 1, 15_000);
  assert.ok(tail.startsWith('line 5000\n'));
});

test('following sees what is added, goes over a rotation, and ends with the container', async () => {
  writeFileSync(file, line('first'));
  let running = true;
  let text = '';
  const seen = new Map<string, () => void>();
  const until = (what: string) => new Promise<void>((resolve) => seen.set(what, resolve));
  const write = async (bytes: Buffer): Promise<void> => {
    text += bytes.toString();
    for (const [what, resolve] of seen) if (text.includes(what)) resolve();
  };
  const alive = setInterval(() => undefined, 1000);
  const first = until('first');
  const reading = readLogs(
    { file, clock: systemClock, isRunning: () => running },
    { follow: true, timestamps: false },
    write,
    new AbortController().signal,
  );
  await first;
  const second = until('second');
  appendFileSync(file, line('second'));
  await second;
  const third = until('third');
  renameSync(file, `${file}.old`);
  writeFileSync(file, line('third'));
  await third;
  running = false;
  await reading;
  clearInterval(alive);
  assert.equal(text, 'first\nsecond\nthird\n');
});
