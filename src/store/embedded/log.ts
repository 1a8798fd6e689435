// Owns the append-only log: one write and one sync for all entries that wait (group commit), segments, and failure.
// An entry is acknowledged when it is durable; a failed batch is taken back as if it had never been.
import type { Logger } from '../../base/log.ts';
import type { Random } from '../../base/random.ts';
import { deferred } from '../../base/task-group.ts';
import type { Journal, JournalEntry } from '../mvcc/engine.ts';
import { StoreFull, StoreUnavailable } from '../store.ts';
import { encodeBatch, recordsOf } from './batch.ts';
import type { Place } from './batch.ts';
import type { FileLayer } from './file-layer.ts';
import { encodeHeader, formatVersion, headerBytes, nonceBytes, recordType } from './format.ts';
import type { SegmentHeader } from './format.ts';
import { Segment } from './segment.ts';
import type { StoredValue, Values } from './values.ts';

export interface LogDeps {
  readonly files: FileLayer;
  readonly values: Values;
  readonly random: Random;
  readonly log: Logger;
  /** A segment larger than this is followed by a new one. */
  readonly segmentBytes: number;
}

/** One sync carries at most about so many bytes, so that its writers do not wait for all others. */
const maxBatchBytes = 4 * 1024 * 1024;

const largestScratch = 256 * 1024;

/** What opening found; see `recover`. */
export interface Recovered {
  readonly segments: Segment[];
  readonly revision: number;
  readonly leases: Map<number, number>;
}

type Deferred = ReturnType<typeof deferred<void>>;

/** What one write and sync make durable together. */
interface Group {
  readonly places: Place[];
  readonly done: Deferred;
  bytes: number;
  revision: number;
}

export class Log implements Journal<StoredValue> {
  /** In order; the last one is written to. */
  segments: Segment[];
  onDurable: (revision: number) => void = () => undefined;
  onLost: () => void = () => undefined;
  /** Called when there may be space to reclaim. */
  onGarbage: () => void = () => undefined;
  /** Awaited before the files are closed. */
  onClose: () => Promise<void> = async () => undefined;
  /** Seconds granted by lease id, as far as durable. */
  readonly leases: Map<number, number>;
  readonly #deps: LogDeps;
  #wrote = false;
  #scratch = Buffer.alloc(0);
  #groups: Group[] = [];
  #rolls: Deferred[] = [];
  #running: Promise<void> | undefined;
  #revision: number;
  #broken: StoreUnavailable | undefined;

  constructor(recovered: Recovered, deps: LogDeps) {
    this.segments = recovered.segments;
    this.leases = recovered.leases;
    this.#revision = recovered.revision;
    this.#deps = deps;
  }

  append(entry: JournalEntry<StoredValue>): Promise<void> {
    let group = this.#groups.at(-1);
    if (group === undefined || group.bytes > maxBatchBytes) {
      group = { places: [], done: deferred(), bytes: 0, revision: group?.revision ?? this.#revision };
      this.#groups.push(group);
    }
    for (const place of recordsOf(entry)) {
      group.places.push(place);
      group.bytes += place.bytes;
    }
    group.revision = entry.changes?.[0]?.modRevision ?? group.revision;
    this.#kick();
    return group.done.promise;
  }

  compacted(): void {
    this.onGarbage();
  }

  size(): { readonly bytes: number; readonly inUse: number } {
    let bytes = 0;
    let inUse = 0;
    for (const segment of this.segments) {
      bytes += segment.bytes;
      inUse += segment.liveBytes;
    }
    return { bytes, inUse };
  }

  /** Begins a new segment, so that all before it change no more. Returns the last revision before it. */
  async roll(): Promise<number> {
    const roll = deferred();
    this.#rolls.push(roll);
    this.#kick();
    await roll.promise;
    return this.#revision;
  }

  async close(): Promise<void> {
    await this.onClose();
    while (this.#running !== undefined) await this.#running;
    await this.#markClosed();
    for (const segment of this.segments) segment.retire();
  }

  /** An empty batch shows that the one before was complete: damage to it is not taken for an unfinished write. */
  async #markClosed(): Promise<void> {
    if (!this.#wrote || this.#broken !== undefined) return;
    const segment = this.segments.at(-1)!;
    try {
      segment.file.write(encodeBatch([], 0, this.#revision, segment.header.nonce, segment.bytes), segment.bytes);
      await segment.file.sync();
    } catch (error) {
      this.#deps.log.warn('the log was closed without its mark', { error });
    }
  }

  #kick(): void {
    // A microtask later, so that calls of one turn share the sync.
    this.#running ??= Promise.resolve().then(() => this.#run());
  }

  async #run(): Promise<void> {
    while (this.#groups.length > 0 || this.#rolls.length > 0) {
      const rolls = this.#rolls.splice(0);
      if (rolls.length > 0 || this.segments.at(-1)!.bytes > this.#deps.segmentBytes) await this.#newSegment(rolls);
      if (this.#groups.length > 0) await this.#write();
    }
    this.#running = undefined;
  }

  async #newSegment(rolls: readonly Deferred[]): Promise<void> {
    const last = this.segments.at(-1)!;
    try {
      if (last.bytes > headerBytes) {
        const number = last.header.last + 1;
        const next = await createSegment(this.#deps, { first: number, last: number, previousBytes: last.bytes });
        // Only now: reclaiming may have exchanged the list meanwhile.
        this.segments.push(next);
      }
      for (const roll of rolls) roll.resolve();
    } catch (error) {
      // Writing goes on in the old segment; a full disk shows itself there.
      this.#deps.log.warn('no new segment could be begun', { error });
      for (const roll of rolls) roll.reject(error);
    }
  }

  async #write(): Promise<void> {
    const group = this.#groups[0]!;
    // From here on, later entries go to the next group.
    const sealed = group.bytes;
    group.bytes = Infinity;
    const segment = this.segments.at(-1)!;
    const offset = segment.bytes;
    try {
      if (this.#broken !== undefined) throw this.#broken;
      const memory = (size: number): Buffer => this.#lend(size);
      const batch = encodeBatch(group.places, sealed, group.revision, segment.header.nonce, offset, memory);
      segment.file.write(batch, offset);
      await segment.file.sync();
      segment.bytes += batch.length;
    } catch (error) {
      await this.#undo(segment, error);
      return;
    }
    this.#groups.shift();
    this.#revision = group.revision;
    this.#wrote = true;
    for (const { stored, record, offset: at, bytes } of group.places) {
      if (stored !== undefined) this.#deps.values.place(stored, segment, offset + at, bytes);
      else if (record.type === recordType.leaseGranted) this.leases.set(record.lease, record.version);
      else if (record.type === recordType.leaseEnded) this.leases.delete(record.lease);
    }
    this.onDurable(group.revision);
    group.done.resolve();
    this.onGarbage();
  }

  /** Batches are handed to the file one after another, and not kept: one piece of memory does for most. */
  #lend(size: number): Buffer {
    if (size > this.#scratch.length) {
      const larger = Buffer.allocUnsafeSlow(size);
      if (size > largestScratch) return larger;
      this.#scratch = larger;
    }
    return this.#scratch.subarray(0, size);
  }

  /** Takes the failed batch off the disk, then fails everything that waits: all of it was applied on top. */
  async #undo(segment: Segment, error: unknown): Promise<void> {
    const full = isFull(error);
    let failure: StoreFull | StoreUnavailable =
      error instanceof StoreUnavailable
        ? error
        : full
          ? new StoreFull(`the disk of ${this.#deps.files.directory} is full`, { cause: error })
          : new StoreUnavailable(`writing to ${this.#deps.files.directory} failed: ${messageOf(error)}`, {
              cause: error,
            });
    if (error !== this.#broken)
      try {
        segment.file.truncate(segment.bytes);
        await segment.file.sync();
      } catch (second) {
        this.#deps.log.error('a failed write could not be taken back', { error: second });
        failure = new StoreUnavailable(`writing to ${this.#deps.files.directory} failed: ${messageOf(second)}`);
      }
    // After a failed sync nobody knows what the disk holds: only opening again, which reads it all, tells.
    if (!(failure instanceof StoreFull)) this.#broken ??= failure;
    const lost = this.#groups.splice(0);
    this.onLost();
    for (const { done } of lost) done.reject(failure);
  }
}

export async function createSegment(
  deps: Pick<LogDeps, 'files' | 'random'>,
  numbers: Pick<SegmentHeader, 'first' | 'last' | 'previousBytes'>,
): Promise<Segment> {
  const header = newHeader(deps.random, numbers, false);
  const name = segmentName(header);
  // What an earlier attempt left behind holds nothing.
  deps.files.remove(name);
  const file = deps.files.create(name);
  try {
    file.write(encodeHeader(header), 0);
    await file.sync();
    await deps.files.syncDirectory();
    return new Segment(name, file, header);
  } catch (error) {
    file.close();
    deps.files.remove(name);
    throw error;
  }
}

export function newHeader(
  random: Random,
  numbers: Pick<SegmentHeader, 'first' | 'last' | 'previousBytes'>,
  rewritten: boolean,
): SegmentHeader {
  return { version: formatVersion, ...numbers, rewritten, nonce: Buffer.from(random.bytes(nonceBytes)) };
}

export function segmentName({ first, last }: Pick<SegmentHeader, 'first' | 'last'>): string {
  return `${String(first).padStart(10, '0')}-${String(last).padStart(10, '0')}.log`;
}

function isFull(error: unknown): boolean {
  return ['ENOSPC', 'EDQUOT', 'EFBIG'].includes(String((error as { code?: unknown } | undefined)?.code));
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
