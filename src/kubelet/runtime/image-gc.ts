// Owns removing images that no container uses when the disk fills up. Pulls none.
import { statfs } from 'node:fs/promises';
import { type Clock, sleep } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import type { Image } from '../../wire/generated/cri-runtime-v1.ts';
import type { Cri } from '../cri.ts';

export interface ImageGcOptions {
  readonly cri: Cri;
  readonly clock: Clock;
  readonly logger: Logger;
  /** On the file system where images are. */
  readonly folder: string;
  /** Never removed, by name. */
  readonly keep: ReadonlySet<string>;
  /** Percent of the disk at which removal begins, and down to which it goes. */
  readonly highPercent?: number;
  readonly lowPercent?: number;
}

const roundMs = 300_000;
/** An image is not removed before this age, as nobody may have come to use it. */
const minAgeMs = 120_000;

export interface ImageUse {
  readonly id: string;
  readonly names: readonly string[];
  readonly bytes: number;
  readonly lastUsedMs: number;
  readonly inUse: boolean;
}

/** Which to remove, least recently used first, until `bytes` are freed. Pure. */
export function planImageRemoval(images: readonly ImageUse[], bytes: number, keep: ReadonlySet<string>): string[] {
  const free = images
    .filter(({ inUse, names }) => !inUse && !names.some((name) => keep.has(name)))
    .toSorted((a, b) => a.lastUsedMs - b.lastUsedMs);
  const result: string[] = [];
  let left = bytes;
  for (const image of free) {
    if (left <= 0) break;
    result.push(image.id);
    left -= image.bytes;
  }
  return result;
}

export async function runImageGc(options: ImageGcOptions, signal: AbortSignal): Promise<void> {
  const firstSeen = new Map<string, number>();
  const lastUsed = new Map<string, number>();
  while (!signal.aborted) {
    try {
      await round(options, firstSeen, lastUsed);
    } catch (error) {
      if (signal.aborted) return;
      options.logger.warn('cannot remove unused images', { error });
    }
    try {
      await sleep(options.clock, roundMs, signal);
    } catch (error) {
      if (signal.aborted) return;
      throw error;
    }
  }
}

async function round(
  options: ImageGcOptions,
  firstSeen: Map<string, number>,
  lastUsed: Map<string, number>,
): Promise<void> {
  const { cri, clock, keep, logger } = options;
  const now = clock.now();
  const [{ images }, { containers }, disk] = await Promise.all([
    cri.images.listImages({}),
    cri.runtime.listContainers({}),
    statfs(options.folder),
  ]);
  const used = new Set(containers.flatMap(({ image, imageRef }) => [image?.image ?? '', imageRef]));
  const present = new Set(images.map(({ id }) => id));
  for (const map of [firstSeen, lastUsed]) for (const id of map.keys()) if (!present.has(id)) map.delete(id);
  const uses = images.map((image) => useOf(image, used, now, firstSeen, lastUsed));
  const total = disk.blocks * disk.bsize;
  const taken = total - disk.bavail * disk.bsize;
  const percent = (taken / total) * 100;
  if (percent < (options.highPercent ?? 85)) return;
  const excess = taken - (total * (options.lowPercent ?? 80)) / 100;
  const old = uses.filter(({ id }) => now - (firstSeen.get(id) ?? now) >= minAgeMs);
  for (const id of planImageRemoval(old, excess, keep)) {
    logger.info('removing an unused image: the disk is filling up', { image: id, percent: Math.round(percent) });
    await cri.images.removeImage({ image: { image: id } });
  }
}

function useOf(
  image: Image,
  used: ReadonlySet<string>,
  now: number,
  firstSeen: Map<string, number>,
  lastUsed: Map<string, number>,
): ImageUse {
  const names = [...image.repoTags, ...image.repoDigests];
  const inUse = used.has(image.id) || names.some((name) => used.has(name)) || image.pinned;
  if (!firstSeen.has(image.id)) firstSeen.set(image.id, now);
  if (inUse) lastUsed.set(image.id, now);
  return {
    id: image.id,
    names,
    bytes: Number(image.size),
    lastUsedMs: lastUsed.get(image.id) ?? firstSeen.get(image.id)!,
    inUse,
  };
}
