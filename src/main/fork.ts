// Owns where a fork begins: a snapshot's file, a directory that nobody runs, or a store of this process. The origin is never changed.
import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openEmbeddedStore } from '../store/embedded/embedded.ts';
import { restoreSnapshot } from '../store/embedded/restore.ts';
import { forkStore } from '../store/fork.ts';
import type { MemoryStoreDeps } from '../store/memory.ts';
import { Compacted, FutureRevision, StoreLocked } from '../store/store.ts';
import type { Store } from '../store/store.ts';
import { UserError } from './user-error.ts';

/** In memory. Throws UserError when the origin cannot be used or the revision is not kept. */
export async function forkOf(from: string | Store, atRevision: number, deps: MemoryStoreDeps): Promise<Store> {
  try {
    if (typeof from !== 'string') return await forkStore(from, atRevision, deps);
    if (!existsSync(from)) throw new UserError(`there is no ${from}`, 'give a snapshot or a directory');
    if (!statSync(from).isDirectory()) return await forkOfSnapshot(from, atRevision, deps);
    const inside = join(from, 'store');
    return await forkOfDirectory(existsSync(inside) ? inside : from, atRevision, deps);
  } catch (error) {
    if (error instanceof StoreLocked)
      throw new UserError(error.message, 'stop it, or save a snapshot with `k8ts snapshot save` and begin from that');
    if (error instanceof Compacted || error instanceof FutureRevision)
      throw new UserError(error.message, 'give a revision that is kept, or none');
    throw error;
  }
}

async function forkOfDirectory(directory: string, atRevision: number, deps: MemoryStoreDeps): Promise<Store> {
  const origin = await openEmbeddedStore(directory, deps);
  try {
    return await forkStore(origin, atRevision, deps);
  } finally {
    await origin.close();
  }
}

async function forkOfSnapshot(file: string, atRevision: number, deps: MemoryStoreDeps): Promise<Store> {
  const directory = mkdtempSync(join(tmpdir(), 'k8ts-fork-'));
  try {
    await restoreSnapshot(file, directory, deps);
    // Values stay in files that are open, although they have no name any more.
    return await forkOfDirectory(directory, atRevision, deps);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
