// Owns that one process at a time uses a store's directory: the name and the form of its lock file.
import { join } from 'node:path';
import { LockHeld, takeLockFile } from '../../base/lock-file.ts';
import { isAlive, thisProcess } from '../../base/process-identity.ts';
import { StoreLocked } from '../store.ts';

interface Holder {
  readonly pid: number;
  /** Ticks since boot; empty without /proc. */
  readonly started: string;
}

/** Throws `StoreLocked` with one line that says who holds it. Returns the release. */
export function lockDirectory(directory: string): () => void {
  const { pid, startTicks } = thisProcess();
  const own: Holder = { pid, started: startTicks };
  try {
    return takeLockFile(join(directory, 'LOCK'), JSON.stringify(own), (text) => {
      const holder = parse(text);
      return holder !== undefined && isAlive({ pid: holder.pid, startTicks: holder.started });
    });
  } catch (error) {
    if (!(error instanceof LockHeld)) throw error;
    throw new StoreLocked(`the store in ${directory} is in use by process ${parse(error.holder)?.pid}`);
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
