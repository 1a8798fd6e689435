// Owns where values are: in memory until durable and while recently written, then at their place in a segment.
import type { SharedValue } from '../mvcc/engine.ts';
import type { ValueForm } from '../mvcc/mvcc.ts';
import type { FileLayer } from './file-layer.ts';
import type { Segment } from './segment.ts';

export class StoredValue {
  bytes: Uint8Array | undefined;
  segment: Segment | undefined;
  offset = 0;
  /** Of the whole record. */
  length = 0;
  /** No version points here any more. */
  released = false;

  constructor(bytes: Uint8Array | undefined) {
    this.bytes = bytes;
  }
}

/** Values stay in memory after their write for watchers and previous pairs, up to so many bytes. */
const defaultCacheBytes = 2 * 1024 * 1024;

export class Values implements ValueForm<StoredValue> {
  readonly #files: FileLayer;
  readonly #cacheBytes: number;
  #recent: StoredValue[] = [];
  #oldest = 0;
  #held = 0;

  constructor(files: FileLayer, cacheBytes = defaultCacheBytes) {
    this.#files = files;
    this.#cacheBytes = cacheBytes;
  }

  store(value: Uint8Array): StoredValue {
    return new StoredValue(value);
  }

  load(stored: StoredValue): Uint8Array {
    return stored.bytes ?? stored.segment!.readValue(this.#files, stored.offset, stored.length);
  }

  size(stored: StoredValue): number {
    return stored.bytes?.length ?? stored.length;
  }

  release(stored: StoredValue | undefined): void {
    if (stored === undefined || stored.released) return;
    stored.released = true;
    if (stored.segment !== undefined) stored.segment.liveBytes -= stored.length;
  }

  /** Keeps the segment's file open until released, also when this store rewrites or closes it. */
  share({ bytes, segment, offset, length }: StoredValue): SharedValue {
    if (segment === undefined) return { value: bytes!, release: () => undefined };
    segment.share();
    const load = (): Uint8Array => segment.readValue(this.#files, offset, length);
    return { value: { length, load }, release: () => segment.retire() };
  }

  /** The value is durable at this place (or, after reclaiming, at another one). */
  place(stored: StoredValue, segment: Segment, offset: number, length: number): void {
    if (stored.released) return;
    const first = stored.segment === undefined;
    if (stored.segment !== undefined) stored.segment.liveBytes -= stored.length;
    stored.segment = segment;
    stored.offset = offset;
    stored.length = length;
    segment.liveBytes += length;
    if (first && stored.bytes !== undefined) this.#remember(stored, stored.bytes.length);
  }

  #remember(stored: StoredValue, bytes: number): void {
    this.#recent.push(stored);
    this.#held += bytes;
    while (this.#held > this.#cacheBytes) {
      const out = this.#recent[this.#oldest++]!;
      this.#held -= out.bytes?.length ?? 0;
      out.bytes = undefined;
    }
    if (this.#oldest > 1024 && this.#oldest * 2 > this.#recent.length) {
      this.#recent = this.#recent.slice(this.#oldest);
      this.#oldest = 0;
    }
  }
}
