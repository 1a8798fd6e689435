// Owns the writing of a volume's files so that readers see all of the old or all of the new: a dated folder behind the link `..data`.
import {
  lchown,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  rename,
  rm,
  symlink,
  unlink,
  writeFile,
  chmod,
} from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Payload } from './payload.ts';

const dataLink = '..data';

export interface Ownership {
  readonly uid?: number;
  readonly gid?: number;
}

/** Writes when something differs. Returns whether it wrote. */
export async function writeAtomically(folder: string, payload: Payload, owner: Ownership = {}): Promise<boolean> {
  await mkdir(folder, { recursive: true, mode: 0o755 });
  const current = await currentFolder(folder);
  if (current !== undefined && (await isSame(join(folder, current), payload))) return false;
  const next = await mkdtemp(`${folder}/..data-`);
  await chmod(next, 0o755);
  for (const [path, { content, mode }] of payload) {
    const file = join(next, path);
    await mkdir(dirname(file), { recursive: true, mode: 0o755 });
    await writeFile(file, content);
    if (owner.uid !== undefined || owner.gid !== undefined) await lchown(file, owner.uid ?? 0, owner.gid ?? 0);
    // After the change of owner, which clears bits; and the umask must not count.
    await chmod(file, mode);
  }
  const fresh = join(folder, '..data_tmp');
  await rm(fresh, { force: true });
  await symlink(next.slice(folder.length + 1), fresh);
  await rename(fresh, join(folder, dataLink));
  await linkTops(folder, payload);
  if (current !== undefined) await rm(join(folder, current), { recursive: true, force: true });
  return true;
}

/** Each first path element is a link through `..data`; those of files that are gone are removed. */
async function linkTops(folder: string, payload: Payload): Promise<void> {
  const tops = new Set([...payload.keys()].map((path) => path.split('/')[0]!));
  const present = new Set(await readdir(folder));
  for (const name of tops) if (!present.has(name)) await symlink(join(dataLink, name), join(folder, name));
  for (const name of present) if (!name.startsWith('..') && !tops.has(name)) await unlink(join(folder, name));
}

async function currentFolder(folder: string): Promise<string | undefined> {
  try {
    return await readlink(join(folder, dataLink));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

async function isSame(folder: string, payload: Payload): Promise<boolean> {
  try {
    const names = await readdir(folder, { recursive: true, withFileTypes: true });
    if (names.filter((entry) => entry.isFile()).length !== payload.size) return false;
    for (const [path, { content }] of payload)
      if (Buffer.compare(await readFile(join(folder, path)), content) !== 0) return false;
    return true;
  } catch (error) {
    // Half-written by a process that died: written anew.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}
