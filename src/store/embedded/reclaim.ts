// Owns giving space back: all segments but the written one are rewritten as one that holds what is still wanted.
// Whole prefixes only, never single segments: a deletion may be dropped only with every older put of its key.
import { setImmediate as turn } from 'node:timers/promises';
import type { Clock } from '../../base/clock.ts';
import type { ByteKey } from '../mvcc/keys.ts';
import type { Mvcc } from '../mvcc/mvcc.ts';
import { encodeBatch, place, placeOf } from './batch.ts';
import type { Place } from './batch.ts';
import { encodeHeader, recordOf, recordType } from './format.ts';
import { newHeader, segmentName } from './log.ts';
import type { Log, LogDeps } from './log.ts';
import { Segment } from './segment.ts';
import type { StoredValue } from './values.ts';

export interface ReclaimDeps extends LogDeps {
  readonly mvcc: Mvcc<StoredValue>;
  readonly clock: Clock;
  /** Garbage below this is left alone. */
  readonly reclaimBytes: number;
}

/** Between chunks others have their turn: a chunk takes a few milliseconds. */
const chunkBytes = 256 * 1024;
const syncEveryBytes = 16 * 1024 * 1024;
const retryMs = 10_000;

/** Rewrites in the background when more than half of the log, and more than `reclaimBytes`, is garbage. */
export class Reclaimer {
  readonly #log: Log;
  readonly #deps: ReclaimDeps;
  #running: Promise<void> | undefined;
  #notBeforeMs = 0;
  #closed = false;

  constructor(log: Log, deps: ReclaimDeps) {
    this.#log = log;
    this.#deps = deps;
    log.onGarbage = () => this.#look();
    log.onClose = () => this.close();
  }

  /** Resolves when no rewriting is under way. */
  async idle(): Promise<void> {
    while (this.#running !== undefined) await this.#running;
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.idle();
  }

  #look(): void {
    if (this.#running !== undefined || this.#closed || this.#deps.clock.monotonic() < this.#notBeforeMs) return;
    const { bytes, inUse } = this.#log.size();
    if (bytes - inUse < this.#deps.reclaimBytes || bytes < inUse * 2) return;
    this.#running = this.#rewrite()
      .catch((error: unknown) => {
        this.#deps.log.warn('space was not reclaimed, trying again later', { error });
        this.#notBeforeMs = this.#deps.clock.monotonic() + retryMs;
      })
      .finally(() => {
        this.#running = undefined;
        // What became garbage meanwhile may be worth another round.
        this.#look();
      });
  }

  async #rewrite(): Promise<void> {
    const upTo = await this.#log.roll();
    const old = this.#log.segments.slice(0, -1);
    if (old.length === 0) return;
    const numbers = { first: old[0]!.header.first, last: old.at(-1)!.header.last, previousBytes: 0 };
    const header = newHeader(this.#deps.random, numbers, true);
    const name = segmentName(header);
    const draft = `${name}.tmp`;
    const { files } = this.#deps;
    files.remove(draft);
    const segment = new Segment(name, files.create(draft), header);
    try {
      const moved = await this.#copy(segment, upTo);
      if (moved === undefined) throw new Error('the store is closing');
      await segment.file.sync();
      files.rename(draft, name);
      await files.syncDirectory();
      for (const { stored, offset, bytes } of moved)
        if (stored !== undefined) this.#deps.values.place(stored, segment, offset, bytes);
      this.#log.segments = [segment, ...this.#log.segments.slice(old.length)];
    } catch (error) {
      segment.file.close();
      files.remove(draft);
      throw error;
    }
    for (const one of old) {
      one.retire();
      if (one.name !== name) files.remove(one.name);
    }
  }

  /** Undefined when the store closed meanwhile. */
  async #copy(segment: Segment, upTo: number): Promise<Moved[] | undefined> {
    const { mvcc, values } = this.#deps;
    segment.file.write(encodeHeader(segment.header), 0);
    const moved: Moved[] = [];
    let chunk: Place[] = [place(recordOf(recordType.compacted, { modRevision: mvcc.compactRevision }))];
    for (const [id, ttlSeconds] of this.#log.leases)
      chunk.push(place(recordOf(recordType.leaseGranted, { lease: id, version: ttlSeconds })));
    let after = '' as ByteKey;
    let unsynced = 0;
    for (let done = false; !done; ) {
      let bytes = chunk.reduce((sum, one) => sum + one.bytes, 0);
      done = true;
      mvcc.forEachAfter(after, (entry) => {
        if (bytes > chunkBytes) {
          done = false;
          return false;
        }
        after = entry.key;
        for (const version of entry.versions) {
          if (version.modRevision > upTo) break;
          const one = placeOf(version, version.stored && values.load(version.stored));
          chunk.push(one);
          bytes += one.bytes;
        }
        return true;
      });
      if (done) {
        const end = place(recordOf(recordType.end, {}));
        chunk.push(end);
        bytes += end.bytes;
      }
      const batch = encodeBatch(chunk, bytes, upTo, segment.header.nonce, segment.bytes);
      segment.file.write(batch, segment.bytes);
      for (const { stored, offset, bytes: length } of chunk)
        if (stored !== undefined) moved.push({ stored, offset: segment.bytes + offset, bytes: length });
      segment.bytes += batch.length;
      unsynced += batch.length;
      chunk = [];
      if (unsynced > syncEveryBytes) {
        await segment.file.sync();
        unsynced = 0;
      } else await turn();
      if (this.#closed) return undefined;
    }
    return moved;
  }
}

interface Moved {
  readonly stored: StoredValue;
  readonly offset: number;
  readonly bytes: number;
}
