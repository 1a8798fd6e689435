// Owns what CNI keeps outside of our folder for pods whose runtime was killed: results and network namespaces of our own network.
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Where the CNI library remembers what it did (its documented default). */
const defaultResults = '/var/lib/cni/results';

interface CachedResult {
  readonly containerId?: string;
  readonly networkName?: string;
  readonly result?: { readonly interfaces?: readonly { readonly sandbox?: string }[] };
}

/**
 * Removes the namespaces and results of the network's pods; call it when none of them runs any more. Addresses that
 * host-local still holds for them in `dataFolder` are freed. Answers how many pods there were.
 */
export async function removeCniLeftovers(
  networkName: string,
  dataFolder: string,
  results = defaultResults,
  deleteNamespace = (name: string): Promise<unknown> => run('ip', ['netns', 'delete', name]),
): Promise<number> {
  const all = namesIn(results).map((name) => ({ file: join(results, name), entry: readResult(join(results, name)) }));
  const ids = new Set<string>();
  for (const { entry } of all) {
    if (entry.networkName !== networkName || entry.containerId === undefined) continue;
    ids.add(entry.containerId);
    const paths = new Set((entry.result?.interfaces ?? []).map(({ sandbox }) => sandbox ?? ''));
    for (const path of paths)
      if (/^\/(var\/)?run\/netns\/cni-[\w-]+$/.test(path)) await deleteNamespace(basename(path)).catch(() => undefined);
  }
  for (const { file, entry } of all) if (ids.has(entry.containerId ?? '')) rmSync(file, { force: true });
  const held = join(dataFolder, networkName);
  for (const name of namesIn(held).filter((each) => /^[\d.]+$|:/.test(each)))
    if (ids.has(readFileSync(join(held, name), 'utf8').split(/\r?\n/)[0]!.trim()))
      rmSync(join(held, name), { force: true });
  return ids.size;
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

function readResult(file: string): CachedResult {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as CachedResult;
  } catch {
    // Half-written, or gone meanwhile: not known to be ours, so it stays.
    return {};
  }
}
