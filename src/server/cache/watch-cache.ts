// Owns what the server holds of one collection: its objects in key order, indexes, recent changes, and who watches. A state
// machine without I/O or clock: the feed calls `load`, `apply` and `advance`, and everything else reads.
import { Change } from './change.ts';
import type { Entry } from './entry.ts';

export type IndexFunction = (entry: Entry) => string;

export interface WatchCacheOptions {
  /** Changes kept for watches that start in the past. */
  readonly historyLimit: number;
  /** Field selectors that are answered without a scan ("spec.nodeName"). */
  readonly indexes?: Readonly<Record<string, IndexFunction>>;
}

/** Which part of a collection a list or watch is about: the narrowest that selectors name. */
export type Scope =
  | { readonly type: 'all' }
  | { readonly type: 'namespace'; readonly namespace: string }
  | { readonly type: 'key'; readonly key: string }
  | { readonly type: 'index'; readonly index: string; readonly value: string };

export interface Watching {
  readonly scope: Scope;
  /** Called in order of revision. Must not throw and must not block. */
  deliver(change: Change): void;
  /** The cache moved on to a later state than watchers can follow (reloaded), or it closes. */
  close(reason: 'reloaded' | 'stopped'): void;
}

export class WatchCache {
  readonly #options: WatchCacheOptions;
  readonly #entries = new Map<string, Entry>();
  /** Both in key order: the same place is the same object. */
  #keys: string[] = [];
  #sorted: Entry[] = [];
  readonly #indexes = new Map<string, Map<string, Set<string>>>();
  /** A ring: `#history[#first]` is the oldest kept. */
  #history: Change[] = [];
  #first = 0;
  /** Watches may start at this revision or later. */
  #oldest = 0;
  #revision = 0;
  /** The last revision that changed something here. */
  #changed = 0;
  readonly #watchers = new Map<string, Set<Watching>>();
  #watcherCount = 0;

  constructor(options: WatchCacheOptions) {
    this.#options = options;
    for (const name of Object.keys(options.indexes ?? {})) this.#indexes.set(name, new Map());
  }

  /** Everything up to this revision is in. */
  get revision(): number {
    return this.#revision;
  }

  /** The newest revision that changed an object here; the collection looked the same ever since. */
  get changedRevision(): number {
    return this.#changed;
  }

  get oldestRevision(): number {
    return this.#oldest;
  }

  get size(): number {
    return this.#entries.size;
  }

  get watcherCount(): number {
    return this.#watcherCount;
  }

  /** Replaces everything by the state at `revision`. Ends all watches, for what happened between is not known. */
  load(entries: Iterable<Entry>, revision: number): void {
    this.#entries.clear();
    for (const index of this.#indexes.values()) index.clear();
    this.#history = [];
    this.#first = 0;
    this.#changed = 0;
    for (const entry of entries) {
      this.#entries.set(entry.key, entry);
      this.#index(entry, undefined);
      if (entry.revision > this.#changed) this.#changed = entry.revision;
    }
    this.#keys = [...this.#entries.keys()].sort();
    this.#sorted = this.#keys.map((key) => this.#entries.get(key)!);
    this.#oldest = revision;
    this.#revision = revision;
    this.closeWatchers('reloaded');
  }

  /** A put, or a deletion when `entry` is undefined. Revisions must not go back. */
  apply(key: string, revision: number, entry: Entry | undefined): void {
    const previous = this.#entries.get(key);
    if (entry === undefined) {
      if (previous === undefined) return;
      this.#entries.delete(key);
      const at = lowerBound(this.#keys, key);
      this.#keys.splice(at, 1);
      this.#sorted.splice(at, 1);
    } else {
      this.#entries.set(key, entry);
      const at = lowerBound(this.#keys, key);
      if (previous === undefined) {
        this.#keys.splice(at, 0, key);
        this.#sorted.splice(at, 0, entry);
      } else this.#sorted[at] = entry;
    }
    this.#index(entry, previous);
    this.#changed = revision;
    this.#revision = revision;
    const change = new Change(key, revision, entry, previous);
    this.#remember(change);
    if (this.#watcherCount > 0) this.#dispatch(change);
  }

  /** Nothing up to `revision` is missing. */
  advance(revision: number): void {
    if (revision > this.#revision) this.#revision = revision;
  }

  get(key: string): Entry | undefined {
    return this.#entries.get(key);
  }

  /** In key order. */
  *list(scope: Scope, after = ''): Generator<Entry, void, undefined> {
    if (scope.type === 'key') {
      const entry = this.#entries.get(scope.key);
      if (entry !== undefined && scope.key > after) yield entry;
      return;
    }
    if (scope.type === 'index') {
      const keys = [...(this.#indexes.get(scope.index)?.get(scope.value) ?? [])].sort();
      for (const key of keys) if (key > after) yield this.#entries.get(key)!;
      return;
    }
    const prefix = scope.type === 'namespace' ? `${scope.namespace}/` : '';
    let at = lowerBound(this.#keys, after > prefix ? after : prefix);
    for (; at < this.#keys.length; at++) {
      const key = this.#keys[at]!;
      if (!key.startsWith(prefix)) return;
      if (key !== after) yield this.#sorted[at]!;
    }
  }

  /** All of a scope that match, without the cost of a generator: most lists are this. */
  select(scope: Scope, matches: ((entry: Entry) => boolean) | undefined): Entry[] {
    if (scope.type === 'key' || scope.type === 'index') {
      const all = [...this.list(scope)];
      return matches === undefined ? all : all.filter(matches);
    }
    const [from, to] = scope.type === 'all' ? [0, this.#keys.length] : this.#range(`${scope.namespace}/`);
    if (matches === undefined) return this.#sorted.slice(from, to);
    const found: Entry[] = [];
    for (let at = from; at < to; at++) {
      const entry = this.#sorted[at]!;
      if (matches(entry)) found.push(entry);
    }
    return found;
  }

  /** The places of the keys that begin with `prefix`, which ends in "/". */
  #range(prefix: string): readonly [from: number, to: number] {
    return [lowerBound(this.#keys, prefix), lowerBound(this.#keys, `${prefix.slice(0, -1)}0`)];
  }

  /** Changes after `revision`, oldest first; undefined when some are no longer kept. */
  since(revision: number): Change[] | undefined {
    if (revision < this.#oldest) return undefined;
    const changes: Change[] = [];
    const length = this.#history.length;
    for (let back = 1; back <= length; back++) {
      const change = this.#history[(this.#first + length - back) % length]!;
      if (change.revision <= revision) break;
      changes.push(change);
    }
    return changes.reverse();
  }

  hasIndex(name: string): boolean {
    return this.#indexes.has(name);
  }

  add(watching: Watching): void {
    const bucket = bucketName(watching.scope);
    let set = this.#watchers.get(bucket);
    if (set === undefined) this.#watchers.set(bucket, (set = new Set()));
    set.add(watching);
    this.#watcherCount++;
  }

  remove(watching: Watching): void {
    const bucket = bucketName(watching.scope);
    const set = this.#watchers.get(bucket);
    if (set?.delete(watching) !== true) return;
    this.#watcherCount--;
    if (set.size === 0) this.#watchers.delete(bucket);
  }

  *watchers(): Generator<Watching, void, undefined> {
    for (const set of this.#watchers.values()) yield* set;
  }

  closeWatchers(reason: 'reloaded' | 'stopped'): void {
    for (const watching of [...this.watchers()]) watching.close(reason);
  }

  #index(now: Entry | undefined, before: Entry | undefined): void {
    for (const [name, index] of this.#indexes) {
      const of = this.#options.indexes![name]!;
      const value = now && of(now);
      const old = before && of(before);
      if (value === old) continue;
      if (old !== undefined) {
        const keys = index.get(old);
        keys?.delete(before!.key);
        if (keys?.size === 0) index.delete(old);
      }
      if (value === undefined) continue;
      const keys = index.get(value);
      if (keys === undefined) index.set(value, new Set([now!.key]));
      else keys.add(now!.key);
    }
  }

  #remember(change: Change): void {
    if (this.#history.length < this.#options.historyLimit) {
      this.#history.push(change);
      return;
    }
    this.#oldest = this.#history[this.#first]!.revision;
    this.#history[this.#first] = change;
    this.#first = (this.#first + 1) % this.#history.length;
  }

  #dispatch(change: Change): void {
    this.#deliver('', change);
    this.#deliver(`k/${change.key}`, change);
    const slash = change.key.indexOf('/');
    if (slash >= 0) this.#deliver(`n/${change.key.slice(0, slash)}`, change);
    for (const name of this.#indexes.keys()) {
      const of = this.#options.indexes![name]!;
      const now = change.current && of(change.current);
      const before = change.previous && of(change.previous);
      if (now !== undefined) this.#deliver(`i/${name}=${now}`, change);
      if (before !== undefined && before !== now) this.#deliver(`i/${name}=${before}`, change);
    }
    change.dropFrames();
  }

  #deliver(bucket: string, change: Change): void {
    const set = this.#watchers.get(bucket);
    if (set !== undefined) for (const watching of set) watching.deliver(change);
  }
}

function bucketName(scope: Scope): string {
  switch (scope.type) {
    case 'all':
      return '';
    case 'namespace':
      return `n/${scope.namespace}`;
    case 'key':
      return `k/${scope.key}`;
    default:
      return `i/${scope.index}=${scope.value}`;
  }
}

/** The first place whose key is not less than `key`. */
function lowerBound(keys: readonly string[], key: string): number {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (keys[middle]! < key) low = middle + 1;
    else high = middle;
  }
  return low;
}
