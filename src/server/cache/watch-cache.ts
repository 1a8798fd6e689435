// Owns what the server holds of one collection: its objects in key order, indexes, recent changes, and who watches. A state
// machine without I/O or clock: the feed calls `load`, `apply` and `advance`, and everything else reads.
import { Change } from './change.ts';
import type { Entry } from './entry.ts';
import { LabelIndex } from './label-index.ts';
import { SortedEntries } from './sorted-entries.ts';

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

/** A label that all which is selected has. */
export interface Label {
  readonly key: string;
  readonly value: string;
}

/** Smaller collections are scanned sooner than an index of a label is made. */
const labelIndexFrom = 100;
/** Unfiltered lists remembered until the next change: those who ask again get the same array, whose bytes may be known. */
const partsRemembered = 16;

export interface Part {
  readonly entries: readonly Entry[];
  /** How many more there are. */
  readonly rest: number;
}

export interface Watching {
  readonly scope: Scope;
  /** Called in order of revision. Must not throw and must not block. */
  deliver(change: Change): void;
  /** The cache moved on to a later state than watchers can follow (reloaded), or it closes. */
  close(reason: 'reloaded' | 'stopped'): void;
}

/** What has happened to a cache so far. */
export interface CacheCounts {
  readonly loads: number;
  readonly changes: number;
}

export class WatchCache {
  readonly #counts = { loads: 0, changes: 0 };
  readonly #options: WatchCacheOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #sorted = new SortedEntries();
  readonly #labels = new LabelIndex();
  readonly #parts = new Map<string, Part>();
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

  /** Replaces everything by the state at `revision`. Ends all watches, for what happened between is not known. */
  load(entries: Iterable<Entry>, revision: number): void {
    this.#counts.loads++;
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
    this.#sorted.load(this.#entries.values());
    this.#labels.clear();
    this.#parts.clear();
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
      this.#sorted.delete(key);
    } else {
      this.#entries.set(key, entry);
      this.#sorted.put(entry);
    }
    previous?.superseded();
    if (this.#parts.size > 0) this.#parts.clear();
    this.#index(entry, previous);
    this.#labels.changed(entry, previous);
    this.#changed = revision;
    this.#revision = revision;
    this.#counts.changes++;
    const change = new Change(key, revision, entry, previous);
    this.#remember(change);
    if (this.#watcherCount > 0) this.#dispatch(change);
  }

  get counts(): CacheCounts {
    return this.#counts;
  }

  get capacity(): number {
    return this.#options.historyLimit;
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
    const [from, end] = bounds(scope, after);
    yield* this.#sorted.from(from, end);
  }

  /** Of a whole collection or namespace, in key order: at most `limit` (0: all) after the key `after`. */
  part(scope: Scope & { readonly type: 'all' | 'namespace' }, after: string, limit: number): Part {
    const name = JSON.stringify([scope.type === 'all' ? '' : scope.namespace, after, limit]);
    let part = this.#parts.get(name);
    if (part === undefined) {
      const [from, end] = bounds(scope, after);
      part = this.#sorted.slice(from, end, limit === 0 ? Number.POSITIVE_INFINITY : limit);
      if (this.#parts.size >= partsRemembered) this.#parts.clear();
      this.#parts.set(name, part);
    }
    return part;
  }

  /** All of a scope that match, in key order. `label`: what all that match have. `seen` is told how many were looked at. */
  select(
    scope: Scope,
    matches: ((entry: Entry) => boolean) | undefined,
    label?: Label,
    seen: { looked: number } = { looked: 0 },
  ): readonly Entry[] {
    if (scope.type === 'key' || scope.type === 'index') {
      const all = [...this.list(scope)];
      seen.looked = all.length;
      return matches === undefined ? all : all.filter(matches);
    }
    if (matches === undefined) return this.part(scope, '', 0).entries;
    if (label !== undefined && this.#entries.size >= labelIndexFrom) return this.#labelled(scope, matches, label, seen);
    const { entries } = this.part(scope, '', 0);
    seen.looked = entries.length;
    return entries.filter(matches);
  }

  #labelled(scope: Scope, matches: (entry: Entry) => boolean, label: Label, seen: { looked: number }): Entry[] {
    const prefix = scope.type === 'namespace' ? `${scope.namespace}/` : '';
    const found: Entry[] = [];
    for (const key of this.#labels.keys(label.key, label.value, () => this.#entries.values())) {
      const entry = key.startsWith(prefix) ? this.#entries.get(key) : undefined;
      if (entry !== undefined) seen.looked++;
      if (entry !== undefined && matches(entry)) found.push(entry);
    }
    return found.sort((a, b) => (a.key < b.key ? -1 : 1));
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

  /** Those who are told of changes to this object, but for those who select by fields. */
  watchersOf(namespace: string, key: string): number {
    const of = (bucket: string): number => this.#watchers.get(bucket)?.size ?? 0;
    return of('') + (namespace === '' ? 0 : of(`n/${namespace}`)) + of(`k/${key}`);
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

/** From where to where the keys of a scope are, beginning behind `after`. */
function bounds(scope: Scope, after: string): readonly [from: string, end: string | undefined] {
  const prefix = scope.type === 'namespace' ? `${scope.namespace}/` : '';
  const end = scope.type === 'namespace' ? `${scope.namespace}0` : undefined;
  return [after >= prefix && after !== '' ? `${after}\0` : prefix, end];
}
