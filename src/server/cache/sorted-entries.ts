// Owns the entries of a collection in the order of their keys, in blocks: a put costs the same in large collections as in small ones.
import type { Entry } from './entry.ts';

/** A block is cut in two when it is larger. */
const blockLimit = 512;

export class SortedEntries {
  /** None is empty; keys ascend within blocks and from block to block. */
  #blocks: Entry[][] = [];
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Takes entries in any order, each key once. */
  load(entries: Iterable<Entry>): void {
    const all = [...entries].sort((a, b) => (a.key < b.key ? -1 : 1));
    this.#blocks = [];
    this.#size = all.length;
    for (let at = 0; at < all.length; at += blockLimit / 2) this.#blocks.push(all.slice(at, at + blockLimit / 2));
  }

  /** In the place of the one with the same key, if there is one. */
  put(entry: Entry): void {
    const blockAt = Math.max(0, this.#blockOf(entry.key));
    const block = this.#blocks[blockAt];
    if (block === undefined) {
      this.#blocks.push([entry]);
      this.#size++;
      return;
    }
    const at = lowerBound(block, entry.key);
    if (block[at]?.key === entry.key) {
      block[at] = entry;
      return;
    }
    block.splice(at, 0, entry);
    this.#size++;
    if (block.length > blockLimit) this.#blocks.splice(blockAt + 1, 0, block.splice(blockLimit / 2));
  }

  delete(key: string): void {
    const blockAt = this.#blockOf(key);
    const block = this.#blocks[blockAt];
    if (block === undefined) return;
    const at = lowerBound(block, key);
    if (block[at]?.key !== key) return;
    block.splice(at, 1);
    this.#size--;
    if (block.length === 0) this.#blocks.splice(blockAt, 1);
  }

  /** Those from `from` on, up to but without `end` (undefined: to the last). The collection must not change meanwhile. */
  *from(from: string, end: string | undefined): Generator<Entry, void, undefined> {
    for (let blockAt = Math.max(0, this.#blockOf(from)), at = -1; blockAt < this.#blocks.length; blockAt++) {
      const block = this.#blocks[blockAt]!;
      for (at = at < 0 ? lowerBound(block, from) : 0; at < block.length; at++) {
        const entry = block[at]!;
        if (end !== undefined && entry.key >= end) return;
        yield entry;
      }
      at = 0;
    }
  }

  /** As `from`: at most `limit` of them, and how many more there are. */
  slice(from: string, end: string | undefined, limit: number): { readonly entries: Entry[]; readonly rest: number } {
    const parts: Entry[][] = [];
    let taken = 0;
    let rest = 0;
    for (let blockAt = Math.max(0, this.#blockOf(from)); blockAt < this.#blocks.length; blockAt++) {
      const block = this.#blocks[blockAt]!;
      const start = lowerBound(block, from);
      const stop = end === undefined ? block.length : lowerBound(block, end);
      if (stop > start) {
        const take = Math.min(stop - start, limit - taken);
        if (take > 0) parts.push(block.slice(start, start + take));
        taken += take;
        rest += stop - start - take;
      }
      if (stop < block.length) break;
    }
    return { entries: parts.length === 1 ? parts[0]! : parts.flat(), rest };
  }

  /** The block in which `key` is or would be; -1 when it is before all. */
  #blockOf(key: string): number {
    let low = 0;
    let high = this.#blocks.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#blocks[middle]![0]!.key <= key) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }
}

/** The first place whose key is not less than `key`. */
function lowerBound(block: readonly Entry[], key: string): number {
  let low = 0;
  let high = block.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (block[middle]!.key < key) low = middle + 1;
    else high = middle;
  }
  return low;
}
