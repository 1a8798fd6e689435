// Owns that one holder at a time has a file: taken at once or not at all, given up by whoever finds its holder dead.
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';

/** Somebody else has the file. `holder`: what stands in it. */
export class LockHeld extends Error {
  override readonly name = 'LockHeld';
  readonly holder: string;
  constructor(path: string, holder: string) {
    super(`${path} is held`);
    this.holder = holder;
  }
}

/**
 * Makes the file with this text, which names the holder; `isHeld` says of the text of another whether that one still
 * has it. Throws `LockHeld`, and the system's errors. Returns the release, which leaves a file of somebody else alone.
 */
export function takeLockFile(path: string, text: string, isHeld: (text: string) => boolean): () => void {
  const draft = `${path}.${process.pid}`;
  writeFileSync(draft, text, { mode: 0o600 });
  try {
    for (;;) {
      if (link(draft, path)) {
        return () => {
          if (read(path) === text) rmSync(path, { force: true });
        };
      }
      const found = read(path);
      if (found === undefined) continue;
      if (isHeld(found)) throw new LockHeld(path, found);
      // Take the dead holder's file away under a name of our own, and look that it was the dead one's.
      const aside = `${draft}.dead`;
      if (!move(path, aside)) continue;
      if (read(aside) !== found) link(aside, path);
      rmSync(aside, { force: true });
    }
  } finally {
    rmSync(draft, { force: true });
  }
}

function read(path: string): string | undefined {
  return unless('ENOENT', () => readFileSync(path, 'utf8'));
}

function link(from: string, to: string): boolean {
  return unless('EEXIST', () => (linkSync(from, to), true)) ?? false;
}

function move(from: string, to: string): boolean {
  return unless('ENOENT', () => (renameSync(from, to), true)) ?? false;
}

function unless<T>(code: string, work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === code) return undefined;
    throw error;
  }
}
