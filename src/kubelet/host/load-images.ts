// Owns the loading of archives into our containerd, by its own `ctr`. Knows no image.
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { buildImage, type ImageSpec } from '../images/image.ts';
import type { ContainerdPaths } from './containerd-config.ts';
import type { Cri } from '../cri.ts';

const run = promisify(execFile);

/** Imports an OCI or docker archive into the namespace that the CRI plugin uses. Throws with ctr's own words. */
async function importArchive(ctr: string, paths: ContainerdPaths, file: string): Promise<void> {
  try {
    await run(ctr, ['--address', paths.socket, '--namespace', 'k8s.io', 'images', 'import', file], {
      timeout: 120_000,
    });
  } catch (error) {
    const { stderr } = error as { stderr?: string };
    throw new Error(`cannot load ${file} into containerd: ${(stderr ?? String(error)).trim()}`, { cause: error });
  }
}

/** Loads those of the images that containerd does not have yet. Returns the names loaded. */
export async function loadImages(
  cri: Cri,
  ctr: string,
  paths: ContainerdPaths,
  images: readonly ImageSpec[],
): Promise<string[]> {
  const present = (await cri.images.listImages({})).images;
  const built = await Promise.all(images.map(async (image) => ({ name: image.name, ...(await buildImage(image)) })));
  const missing = built.filter(
    ({ id, name }) => !present.some((have) => have.id === id && have.repoTags.includes(name)),
  );
  if (missing.length === 0) return [];
  const folder = mkdtempSync(join(paths.folder, 'images-'));
  try {
    for (const { name, archive } of missing) {
      const file = join(folder, `${name.replaceAll(/[^\w.-]/g, '_')}.tar`);
      writeFileSync(file, archive);
      await importArchive(ctr, paths, file);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return missing.map((image) => image.name);
}
