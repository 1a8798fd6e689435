// Owns the way from a label to the objects that have it, for the labels that are asked for: made on first use, dropped when nobody asks.
import type { Entry } from './entry.ts';

/** Labels indexed at a time. */
const labelLimit = 8;
/** An index which nobody has asked for during so many changes goes. */
const idleChanges = 10_000;

interface ByValue {
  /** Most values of labels that tell objects apart have one object. */
  readonly keys: Map<string, string | Set<string>>;
  usedAt: number;
}

export class LabelIndex {
  readonly #labels = new Map<string, ByValue>();
  #changes = 0;

  /** Keys of the entries with that label, in no order. `all` are the collection's entries. */
  keys(label: string, value: string, all: () => Iterable<Entry>): Iterable<string> {
    let index = this.#labels.get(label);
    if (index === undefined) {
      if (this.#labels.size >= labelLimit) this.#labels.delete(this.#leastUsed());
      this.#labels.set(label, (index = { keys: new Map(), usedAt: this.#changes }));
      for (const entry of all()) add(index, entry, label);
    }
    index.usedAt = this.#changes;
    const found = index.keys.get(value);
    return found === undefined ? [] : typeof found === 'string' ? [found] : found;
  }

  changed(now: Entry | undefined, before: Entry | undefined): void {
    if (this.#labels.size === 0) return;
    this.#changes++;
    for (const [label, index] of this.#labels) {
      if (this.#changes - index.usedAt > idleChanges) {
        this.#labels.delete(label);
        continue;
      }
      if (now?.object.metadata.labels?.[label] === before?.object.metadata.labels?.[label]) continue;
      if (before !== undefined) remove(index, before, label);
      if (now !== undefined) add(index, now, label);
    }
  }

  clear(): void {
    this.#labels.clear();
  }

  #leastUsed(): string {
    let least = '';
    let usedAt = Number.POSITIVE_INFINITY;
    for (const [label, index] of this.#labels)
      if (index.usedAt < usedAt) {
        least = label;
        usedAt = index.usedAt;
      }
    return least;
  }
}

function labelOf(entry: Entry, label: string): string | undefined {
  const { labels } = entry.object.metadata;
  return labels !== undefined && Object.hasOwn(labels, label) ? labels[label] : undefined;
}

function add({ keys }: ByValue, entry: Entry, label: string): void {
  const value = labelOf(entry, label);
  if (value === undefined) return;
  const held = keys.get(value);
  if (held === undefined) keys.set(value, entry.key);
  else if (typeof held === 'string') {
    if (held !== entry.key) keys.set(value, new Set([held, entry.key]));
  } else held.add(entry.key);
}

function remove({ keys }: ByValue, entry: Entry, label: string): void {
  const value = labelOf(entry, label);
  if (value === undefined) return;
  const held = keys.get(value);
  if (held === entry.key) keys.delete(value);
  else if (typeof held === 'object') {
    held.delete(entry.key);
    if (held.size === 0) keys.delete(value);
  }
}
