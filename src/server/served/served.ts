// Owns what is served: collections (stored once) and the versions in which they are seen, found by group, version and plural.
import type { GroupVersionKind } from '../../api/meta.ts';
import type { WatchCache } from '../cache/watch-cache.ts';
import type { Resource } from '../resource.ts';
import type { StorageCodec } from '../storage/envelope.ts';

/** A stored collection. Several groups and versions may show it. */
export interface Collection {
  /** Ends in "/". */
  readonly prefix: string;
  /** The kind as stored. */
  readonly storage: Resource;
  /** How errors name the kind where it is shown under another group than it is stored under (events). */
  readonly called?: Resource;
  readonly codec: StorageCodec;
  readonly cache: WatchCache;
  /** Objects vanish by themselves after so long (events). */
  readonly ttlSeconds?: number;
}

export interface ServedSubresource {
  readonly name: string;
  readonly verbs: ReadonlySet<string>;
  readonly kind: GroupVersionKind;
  /** "object": another view of writing the same object; "scale"; "action": served by a handler of `actions`. */
  readonly type: 'object' | 'scale' | 'action';
  /** Whether answers can be had as Tables. */
  readonly hasTable: boolean;
}

export interface Served {
  readonly resource: Resource;
  /** Absent for kinds that are only asked (TokenReview, SubjectAccessReview, Binding). */
  readonly collection: Collection | undefined;
  readonly verbs: ReadonlySet<string>;
  readonly subresources: ReadonlyMap<string, ServedSubresource>;
  /** A kind of a CustomResourceDefinition. */
  readonly custom: boolean;
  /** Its definition is being deleted: objects can go, none can come. */
  readonly terminating?: boolean;
  /** From discovery: how the kind is stored. */
  readonly storageVersionHash?: string;
}

export interface ServedGroup {
  readonly name: string;
  /** Preferred first. */
  readonly versions: readonly string[];
}

/** What the server serves now. Custom kinds come and go; `generation` rises with each change. */
export class Catalog {
  readonly #served = new Map<string, Served>();
  readonly #groups: ServedGroup[] = [];
  readonly #caches = new Map<string, WatchCache>();
  #generation = 0;

  get generation(): number {
    return this.#generation;
  }

  find(group: string, version: string, plural: string): Served | undefined {
    return this.#served.get(`${group}/${version}/${plural}`);
  }

  /** The version that is stored, or any that shows the collection. */
  stored(group: string, plural: string): Served | undefined {
    for (const { resource, collection } of this.all())
      if (resource.group === group && resource.plural === plural && collection?.storage === resource)
        return this.find(group, resource.version, plural);
    return this.all().find(({ resource }) => resource.group === group && resource.plural === plural);
  }

  /** The cache of a collection that is always there (a built-in kind). */
  cache(group: string, plural: string): WatchCache {
    const id = `${group}/${plural}`;
    let cache = this.#caches.get(id);
    if (cache === undefined) {
      cache = this.stored(group, plural)?.collection?.cache;
      if (cache === undefined) throw new Error(`${id} is not stored`);
      this.#caches.set(id, cache);
    }
    return cache;
  }

  kind(group: string, version: string, kind: string): Served | undefined {
    return this.all().find(
      ({ resource }) => resource.group === group && resource.version === version && resource.kind === kind,
    );
  }

  all(): Served[] {
    return [...this.#served.values()];
  }

  /** In order of preference. */
  groups(): readonly ServedGroup[] {
    return this.#groups;
  }

  add(served: Served): void {
    const { group, version, plural } = served.resource;
    this.#served.set(`${group}/${version}/${plural}`, served);
    const at = this.#groups.findIndex(({ name }) => name === group);
    if (at < 0) this.#groups.push({ name: group, versions: [version] });
    else if (!this.#groups[at]!.versions.includes(version))
      this.#groups[at] = { name: group, versions: [...this.#groups[at]!.versions, version] };
    this.#generation++;
  }

  remove(group: string, version: string, plural: string): void {
    if (!this.#served.delete(`${group}/${version}/${plural}`)) return;
    const left = this.all().filter(({ resource }) => resource.group === group);
    const at = this.#groups.findIndex(({ name }) => name === group);
    const versions = this.#groups[at]!.versions.filter((known) =>
      left.some(({ resource }) => resource.version === known),
    );
    if (versions.length === 0) this.#groups.splice(at, 1);
    else this.#groups[at] = { name: group, versions };
    this.#caches.delete(`${group}/${plural}`);
    this.#generation++;
  }
}

/** Discovery no longer tells of writes to a kind whose definition is going, but what is there may be changed until it is gone. */
export function mayDo({ verbs: told, terminating }: Served, verb: string): boolean {
  return told.has(verb) || (terminating === true && (verb === 'create' || verb === 'update' || verb === 'patch'));
}
