// Owns mounting and unmounting on the host, by the system's tools. Knows no volume.
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);

export interface Mounter {
  tmpfs(folder: string, sizeBytes: number | undefined): Promise<void>;
  /** Unmounts all that is mounted at or below the folder, deepest first. */
  unmountBelow(folder: string): Promise<void>;
}

export const systemMounter: Mounter = {
  async tmpfs(folder, sizeBytes) {
    if ((await mountPoints()).includes(folder)) return;
    const options = sizeBytes === undefined ? [] : ['-o', `size=${sizeBytes}`];
    await run('mount', ['-t', 'tmpfs', ...options, 'tmpfs', folder], { timeout: 10_000 });
  },
  async unmountBelow(folder) {
    const below = (await mountPoints()).filter((point) => point === folder || point.startsWith(`${folder}/`));
    for (const point of below.toSorted((a, b) => b.length - a.length))
      await run('umount', [point], { timeout: 10_000 });
  },
};

/** Octal escapes stand for spaces and the like (proc(5)). */
async function mountPoints(): Promise<string[]> {
  const text = await readFile('/proc/self/mountinfo', 'utf8');
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) =>
      line.split(' ')[4]!.replaceAll(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(parseInt(digits, 8))),
    );
}
