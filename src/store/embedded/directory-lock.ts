// Owns that one process at a time uses a directory: a file that names the holder, given up by whoever finds it dead.
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { StoreLocked } from '../store.ts';

interface Holder {
  readonly pid: number;
  /** When the process started, in ticks since boot: a reused process id is not the holder. Empty without /proc. */
  readonly started: string;
}

/** Throws `StoreLocked` with one line that says who holds it. Returns the release. */
export function lockDirectory(directory: string): () => void {
  const lock = join(directory, 'LOCK');
  const own: Holder = { pid: process.pid, started: startOf(process.pid) };
  const draft = `${lock}.${own.pid}`;
  writeFileSync(draft, JSON.stringify(own), { mode: 0o600 });
  try {
    for (;;) {
      if (link(draft, lock)) return () => rmSync(lock, { force: true });
      const text = read(lock);
      if (text === undefined) continue;
      const holder = parse(text);
      if (holder !== undefined && isAlive(holder))
        throw new StoreLocked(`the store in ${directory} is in use by process ${holder.pid}`);
      // Take the dead holder's file away under a name of our own, and look that it was the dead one's.
      const aside = `${draft}.dead`;
      if (!move(lock, aside)) continue;
      if (read(aside) !== text) link(aside, lock);
      rmSync(aside, { force: true });
    }
  } finally {
    rmSync(draft, { force: true });
  }
}

function parse(text: string): Holder | undefined {
  try {
    const holder = JSON.parse(text) as Partial<Holder> | null;
    if (typeof holder?.pid === 'number' && typeof holder.started === 'string') return holder as Holder;
    return undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function isAlive({ pid, started }: Holder): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return codeOf(error) === 'EPERM';
  }
  return started === '' || startOf(pid) === started;
}

function startOf(pid: number): string {
  const stat = read(`/proc/${pid}/stat`);
  // The command in parentheses may hold spaces; the start time is the 20th field after it.
  return stat?.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
}

function read(path: string): string | undefined {
  return unless(['ENOENT', 'ESRCH'], () => readFileSync(path, 'utf8'));
}

function link(from: string, to: string): boolean {
  return unless(['EEXIST'], () => (linkSync(from, to), true)) ?? false;
}

function move(from: string, to: string): boolean {
  return unless(['ENOENT'], () => (renameSync(from, to), true)) ?? false;
}

function unless<T>(codes: readonly string[], work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    if (codes.includes(codeOf(error))) return undefined;
    throw error;
  }
}

function codeOf(error: unknown): string {
  return String((error as { code?: unknown } | undefined)?.code);
}
