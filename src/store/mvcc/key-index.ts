// Owns the ordered index of keys: blocks of a sorted list, so that insertion moves little and whole blocks count at once.
import type { Bounds, ByteKey } from './keys.ts';

export interface IndexEntry {
  readonly key: ByteKey;
}

interface Block<E> {
  readonly entries: E[];
  /** Entries whose newest version is not a deletion. */
  alive: number;
}

const maxBlock = 256;

export class KeyIndex<E extends IndexEntry> {
  readonly #blocks: Block<E>[] = [];
  readonly #isAlive: (entry: E) => boolean;
  #size = 0;
  #alive = 0;

  constructor(isAlive: (entry: E) => boolean) {
    this.#isAlive = isAlive;
  }

  get size(): number {
    return this.#size;
  }

  get alive(): number {
    return this.#alive;
  }

  get(key: ByteKey): E | undefined {
    const block = this.#blocks[this.#blockFor(key)];
    if (block === undefined) return undefined;
    const entry = block.entries[lowerBound(block.entries, key)];
    return entry?.key === key ? entry : undefined;
  }

  /** Adds an entry whose key is not there yet; it is counted as not alive until `setAlive`. */
  insert(entry: E): void {
    this.#size++;
    const at = this.#blockFor(entry.key);
    const block = this.#blocks[at];
    if (block === undefined) {
      this.#blocks.push({ entries: [entry], alive: 0 });
      return;
    }
    const { entries } = block;
    entries.splice(lowerBound(entries, entry.key), 0, entry);
    if (entries.length <= maxBlock) return;
    // Keys that arrive in order fill blocks completely; others split in the middle.
    const ordered = entries.at(-1) === entry && at === this.#blocks.length - 1;
    const upper = entries.splice(ordered ? maxBlock : maxBlock >> 1);
    const alive = upper.filter((one) => one !== entry && this.#isAlive(one)).length;
    block.alive -= alive;
    this.#blocks.splice(at + 1, 0, { entries: upper, alive });
  }

  /** Removes an entry that is not alive. */
  remove(key: ByteKey): void {
    const at = this.#blockFor(key);
    const entries = this.#blocks[at]?.entries;
    if (entries === undefined) return;
    const place = lowerBound(entries, key);
    if (entries[place]?.key !== key) return;
    entries.splice(place, 1);
    this.#size--;
    if (entries.length === 0) this.#blocks.splice(at, 1);
  }

  /** Tells that the entry at `key` came to life or died. */
  setAlive(key: ByteKey, alive: boolean): void {
    const block = this.#blocks[this.#blockFor(key)];
    if (block === undefined) return;
    block.alive += alive ? 1 : -1;
    this.#alive += alive ? 1 : -1;
  }

  /** Visits entries in order until `visit` returns false. The index must not change meanwhile. */
  scan(bounds: Bounds, visit: (entry: E) => boolean | undefined): void {
    const { start, end } = bounds;
    for (let at = this.#blockFor(start); at < this.#blocks.length; at++) {
      const { entries } = this.#blocks[at]!;
      for (let place = entries[0]!.key >= start ? 0 : lowerBound(entries, start); place < entries.length; place++) {
        const entry = entries[place]!;
        if (end !== undefined && entry.key >= end) return;
        if (visit(entry) === false) return;
      }
    }
  }

  /** How many entries within the bounds are alive; whole blocks without a look inside. */
  countAlive(bounds: Bounds): number {
    const { start, end } = bounds;
    let count = 0;
    for (let at = this.#blockFor(start); at < this.#blocks.length; at++) {
      const { entries, alive } = this.#blocks[at]!;
      if (end !== undefined && entries[0]!.key >= end) break;
      if (entries[0]!.key >= start && (end === undefined || entries.at(-1)!.key < end)) {
        count += alive;
        continue;
      }
      for (const entry of entries)
        if (entry.key >= start && (end === undefined || entry.key < end) && this.#isAlive(entry)) count++;
    }
    return count;
  }

  /** The last block that begins at or before `key`, or the first. */
  #blockFor(key: ByteKey): number {
    const blocks = this.#blocks;
    let low = 0;
    let high = blocks.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (blocks[middle]!.entries[0]!.key <= key) low = middle + 1;
      else high = middle;
    }
    return Math.max(0, low - 1);
  }
}

function lowerBound<E extends IndexEntry>(entries: readonly E[], key: ByteKey): number {
  let low = 0;
  let high = entries.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (entries[middle]!.key < key) low = middle + 1;
    else high = middle;
  }
  return low;
}
