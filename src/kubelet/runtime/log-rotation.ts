// Owns keeping container logs bounded: a log that grew too large is moved aside, the runtime opens a new one, the oldest go.
import { readdir, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { type Clock, sleep } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import type { Cri } from '../cri.ts';
import type { RuntimeCache } from './runtime-cache.ts';

export interface LogRotationOptions {
  readonly cri: Cri;
  readonly runtime: RuntimeCache;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly maxBytes?: number;
  /** With the one being written. */
  readonly maxFiles?: number;
}

const defaultMaxBytes = 10 * 1024 * 1024;
const defaultMaxFiles = 5;
const roundMs = 10_000;

export async function rotateLogs(options: LogRotationOptions, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    for (const { containers } of options.runtime.list())
      for (const { id, state, logPath } of containers)
        if (state === 'running' && logPath !== '') {
          try {
            await rotate(options, id, logPath);
          } catch (error) {
            options.logger.warn('cannot rotate a log', { file: logPath, error });
          }
        }
    try {
      await sleep(options.clock, roundMs, signal);
    } catch (error) {
      if (signal.aborted) return;
      throw error;
    }
  }
}

async function rotate({ cri, clock, maxBytes, maxFiles }: LogRotationOptions, id: string, file: string): Promise<void> {
  const size = await sizeOf(file);
  if (size < (maxBytes ?? defaultMaxBytes)) return;
  const time = new Date(clock.now()).toISOString().replaceAll(/[-:]|\..*$/g, '');
  const aside = `${file}.${time}`;
  await rename(file, aside);
  try {
    await cri.runtime.reopenContainerLog({ containerId: id }, { timeoutMs: 10_000 });
  } catch (error) {
    // The runtime goes on writing into the file that it has open.
    await rename(aside, file);
    throw error;
  }
  const older = (await readdir(dirname(file))).filter((name) => name.startsWith(`${basename(file)}.`)).toSorted();
  const surplus = older.length - ((maxFiles ?? defaultMaxFiles) - 1);
  for (const name of older.slice(0, Math.max(0, surplus))) await rm(join(dirname(file), name));
}

async function sizeOf(file: string): Promise<number> {
  try {
    return (await stat(file)).size;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 0;
    throw error;
  }
}
