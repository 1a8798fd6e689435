// Owns the proof by real kills: a process is killed with SIGKILL while it writes, and all that it acknowledged must be there.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { systemClock } from '../../base/clock.ts';
import { silentLogger } from '../../base/log.ts';
import { randomInteger, seededRandom, systemRandom } from '../../base/random.ts';
import { prefixRange } from '../store.ts';
import { openEmbeddedStore } from './embedded.ts';

const child = fileURLToPath(new URL('./kill-child.suite.js', import.meta.url));

export interface KillReport {
  readonly kills: number;
  readonly acknowledged: number;
}

/** Kills `kills` times, after a random number of acknowledgements, and checks each time. Throws at the first loss. */
export async function killRounds(kills: number, seed: number): Promise<KillReport> {
  const directory = mkdtempSync(join(tmpdir(), 'k8ts-kill-'));
  const random = seededRandom(seed);
  const newest = new Map<string, number>();
  let acknowledged = 0;
  let revision = 0;
  try {
    for (let round = 0; round < kills; round++) {
      const first = Math.max(0, ...newest.values()) + 1;
      const lines = await runAndKill(directory, first, 1 + randomInteger(random, 600));
      for (const line of lines) {
        const [key, count, at] = line.split(' ') as [string, string, string];
        newest.set(key, Math.max(newest.get(key) ?? 0, Number(count)));
        revision = Math.max(revision, Number(at));
      }
      acknowledged += lines.length;
      await check(directory, newest, revision, `seed ${seed}, kill ${round + 1}`);
    }
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
  return { kills, acknowledged };
}

async function runAndKill(directory: string, first: number, afterLines: number): Promise<string[]> {
  const running = spawn(process.execPath, [child, directory, String(first)], { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = new Promise<NodeJS.Signals | null>((resolve) => running.once('exit', (_, signal) => resolve(signal)));
  const lines: string[] = [];
  for await (const line of createInterface({ input: running.stdout })) {
    if (line !== 'open') lines.push(line);
    if (lines.length === afterLines) running.kill('SIGKILL');
  }
  assert.equal(await ended, 'SIGKILL', 'the child died of something else');
  // What was cut off in the middle of a line was not said.
  if (lines.at(-1)?.split(' ').length !== 3) lines.pop();
  return lines;
}

async function check(
  directory: string,
  newest: ReadonlyMap<string, number>,
  revision: number,
  what: string,
): Promise<void> {
  const deps = { clock: systemClock, log: silentLogger, random: systemRandom };
  const store = await openEmbeddedStore(directory, deps);
  try {
    const { items, revision: found } = await store.range(prefixRange(''));
    const counts = new Map(items.map(({ key, value }) => [key, Number(Buffer.from(value).toString().split(':')[0])]));
    for (const [key, count] of newest) assert.ok((counts.get(key) ?? 0) >= count, `${what}: ${key} was ${count}`);
    assert.ok(found >= revision, `${what}: revision ${revision} was acknowledged, the store is at ${found}`);
  } finally {
    await store.close();
  }
}
