// Owns reading container log files as `kubectl logs` asks: tail, since, timestamps, limits, following over rotations. Knows no pod.
import { type FileHandle, open, stat } from 'node:fs/promises';
import { type Clock, sleep } from '../../base/clock.ts';
import { parseCriLine } from '../runtime/log-format.ts';

export interface LogOptions {
  readonly follow: boolean;
  readonly timestamps: boolean;
  readonly tailLines?: number;
  /** RFC 3339 in whole or with parts of a second: lines before it are left out. */
  readonly sinceMs?: number;
  readonly limitBytes?: number;
  readonly stream?: 'stdout' | 'stderr';
}

export interface LogSource {
  readonly file: string;
  readonly clock: Clock;
  /** Following ends when the file is read to its end and this says false. */
  readonly isRunning: () => boolean;
}

const chunkBytes = 64 * 1024;
/** A line longer than this is passed on in parts. */
const maxLineBytes = 1024 * 1024;
const pollMs = 100;

/** Calls `write` with what is to be sent, in order; ends when all is sent or the signal aborts. */
export async function readLogs(
  source: LogSource,
  options: LogOptions,
  write: (bytes: Buffer) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  let handle = await open(source.file, 'r');
  try {
    let at = options.tailLines === undefined ? 0 : await tailOffset(handle, options.tailLines);
    const lines = new LineFilter(options);
    while (!signal.aborted) {
      const wasRunning = source.isRunning();
      at = await pump(handle, at, lines, write, signal);
      if (lines.isFull || signal.aborted) return;
      if (!options.follow) return;
      const rotated = await rotatedFile(handle, source.file);
      if (rotated) {
        await handle.close();
        handle = rotated;
        at = 0;
        continue;
      }
      if (!wasRunning) return;
      try {
        await sleep(source.clock, pollMs, signal);
      } catch (error) {
        if (signal.aborted) return;
        throw error;
      }
    }
  } finally {
    await handle.close();
  }
}

/** Reads from `at` to the present end; answers where the next read begins. */
async function pump(
  handle: FileHandle,
  at: number,
  lines: LineFilter,
  write: (bytes: Buffer) => Promise<void>,
  signal: AbortSignal,
): Promise<number> {
  const buffer = Buffer.alloc(chunkBytes);
  let place = at;
  while (!signal.aborted && !lines.isFull) {
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, place);
    if (bytesRead === 0) break;
    place += bytesRead;
    const text = lines.take(buffer.subarray(0, bytesRead));
    if (text.length > 0) await write(text);
  }
  return place;
}

async function rotatedFile(handle: FileHandle, file: string): Promise<FileHandle | undefined> {
  try {
    const [mine, theirs] = await Promise.all([handle.stat(), stat(file)]);
    return mine.ino === theirs.ino ? undefined : await open(file, 'r');
  } catch (error) {
    // Between being moved away and made anew, or removed with its pod.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Where the last `count` lines begin. */
async function tailOffset(handle: FileHandle, count: number): Promise<number> {
  const { size } = await handle.stat();
  if (count <= 0) return size;
  const buffer = Buffer.alloc(chunkBytes);
  let seen = 0;
  for (let end = size; end > 0; ) {
    const start = Math.max(0, end - chunkBytes);
    await handle.read(buffer, 0, end - start, start);
    for (let at = end - start - 1; at >= 0; at--) {
      if (buffer[at] !== 10 || start + at === size - 1) continue;
      if (++seen === count) return start + at + 1;
    }
    end = start;
  }
  return 0;
}

class LineFilter {
  readonly #options: LogOptions;
  #rest = Buffer.alloc(0);
  #left: number;
  #isContinued = false;

  constructor(options: LogOptions) {
    this.#options = options;
    this.#left = options.limitBytes ?? Number.POSITIVE_INFINITY;
  }

  get isFull(): boolean {
    return this.#left <= 0;
  }

  take(chunk: Buffer): Buffer {
    const all = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    const parts: Buffer[] = [];
    let start = 0;
    for (let end = all.indexOf(10, start); end >= 0; end = all.indexOf(10, start)) {
      this.#line(all.subarray(start, end).toString('utf8'), parts);
      start = end + 1;
    }
    this.#rest = Buffer.from(all.subarray(start));
    if (this.#rest.length > maxLineBytes) {
      parts.push(this.#rest);
      this.#rest = Buffer.alloc(0);
    }
    const text = Buffer.concat(parts);
    const cut = text.length > this.#left ? text.subarray(0, this.#left) : text;
    this.#left -= cut.length;
    return cut;
  }

  #line(text: string, parts: Buffer[]): void {
    const line = parseCriLine(text);
    if (line === undefined) return;
    const { sinceMs, stream, timestamps } = this.#options;
    if (sinceMs !== undefined && Date.parse(line.time) < sinceMs) return;
    if (stream !== undefined && line.stream !== stream) return;
    // The parts of one long line have one timestamp.
    const prefix = timestamps && !this.#isContinued ? `${line.time} ` : '';
    this.#isContinued = !line.content.endsWith('\n');
    parts.push(Buffer.from(prefix + line.content));
  }
}
