// Owns the catalog of built-in kinds: recorded discovery joined with the kinds' own rules. Kinds without rules are served by their shape.
import type { APIGroupDiscovery, APIResourceDiscovery } from '../../api/generated/apidiscovery.v2.ts';
import { pathSegmentName } from '../../api/names.ts';
import { WatchCache } from '../cache/watch-cache.ts';
import type { Entry } from '../cache/entry.ts';
import type { Resource } from '../resource.ts';
import { StoreCorrupt } from '../../store/store.ts';
import { readFact } from '../facts.ts';
import { collectionPrefix, storageGroup } from '../storage/keys.ts';
import type { StorageCodec } from '../storage/envelope.ts';
import { Catalog } from './served.ts';
import type { Collection, Served, ServedSubresource } from './served.ts';

/** Kinds served in several versions: the one that is stored. */
const storageVersions: Readonly<Record<string, string>> = { 'autoscaling/horizontalpodautoscalers': 'v2' };

export interface BuiltinOptions {
  readonly resources: readonly Resource[];
  readonly codecFor: (resource: Resource) => StorageCodec;
  readonly historyLimit: number;
  /** In place of what kinds whose objects vanish by themselves say (--event-ttl); 0: they stay. */
  readonly ttlSeconds?: number;
}

export interface Builtin {
  readonly catalog: Catalog;
  readonly collections: readonly Collection[];
}

export function builtinCatalog(options: BuiltinOptions): Builtin {
  const catalog = new Catalog();
  const collections = new Map<string, Collection>();
  const rules = new Map(
    options.resources.map((resource) => [`${resource.group}/${resource.version}/${resource.plural}`, resource]),
  );
  const found: { readonly resource: Resource; readonly discovered: APIResourceDiscovery }[] = [];
  for (const file of ['discovery/aggregated-api.json', 'discovery/aggregated-apis.json'])
    for (const group of (readFact(file) as { items: APIGroupDiscovery[] }).items)
      for (const version of group.versions ?? [])
        for (const discovered of version.resources ?? []) {
          const generic = genericResource(group.metadata?.name ?? '', version.version, discovered);
          const own = rules.get(`${generic.group}/${generic.version}/${generic.plural}`);
          found.push({ resource: own === undefined ? generic : { ...namesOf(generic), ...own }, discovered });
        }
  for (const { resource, discovered } of found) {
    if (!discovered.verbs.includes('list') || resource.plural === 'componentstatuses') continue;
    const wanted = storageVersions[`${resource.group}/${resource.plural}`] ?? resource.version;
    if (storageGroup(resource.group, resource.plural) !== resource.group || resource.version !== wanted) continue;
    const prefix = collectionPrefix(resource.group, resource.plural, false);
    collections.set(prefix, newCollection(prefix, resource, options));
  }
  for (const { resource, discovered } of found) {
    const group = storageGroup(resource.group, resource.plural);
    const collection = collections.get(collectionPrefix(group, resource.plural, false));
    const shown = collection && group !== resource.group ? { ...collection, called: resource } : collection;
    catalog.add(servedOf(resource, discovered, shown));
  }
  return { catalog, collections: [...collections.values()] };
}

export function newCollection(
  prefix: string,
  storage: Resource,
  options: Omit<BuiltinOptions, 'resources'>,
): Collection {
  const indexes: Record<string, (entry: Entry) => string> = {};
  const ttlSeconds = options.ttlSeconds ?? storage.ttlSeconds ?? 0;
  for (const field of storage.indexed ?? []) {
    const read = storage.selectable?.[field];
    if (read !== undefined) indexes[field] = (entry) => readable(entry, read);
  }
  return {
    prefix,
    storage,
    codec: options.codecFor(storage),
    cache: new WatchCache({ historyLimit: options.historyLimit, indexes }),
    ...(storage.ttlSeconds !== undefined && ttlSeconds > 0 && { ttlSeconds }),
  };
}

/** Damaged objects are in no index, and do no harm to the others. */
function readable(entry: Entry, read: (object: Entry['object']) => string): string {
  try {
    return read(entry.object);
  } catch (error) {
    if (error instanceof StoreCorrupt) return '';
    throw error;
  }
}

/** Groups with kinds whose names have colons or end in a dot. */
const freeNames: ReadonlySet<string> = new Set(['rbac.authorization.k8s.io', 'apiregistration.k8s.io']);

function genericResource(group: string, version: string, found: APIResourceDiscovery): Resource {
  return {
    group,
    version,
    kind: found.responseKind?.kind ?? '',
    plural: found.resource,
    singular: found.singularResource,
    ...(found.shortNames && { shortNames: found.shortNames }),
    ...(found.categories && { categories: found.categories }),
    namespaced: found.scope === 'Namespaced',
    validate: () => [],
    ...(freeNames.has(group) && { validateName: pathSegmentName }),
  };
}

/** What discovery says of a kind's names holds unless its own rules say otherwise. */
function namesOf({ shortNames, categories }: Resource): Pick<Resource, 'shortNames' | 'categories'> {
  return { ...(shortNames && { shortNames }), ...(categories && { categories }) };
}

function servedOf(resource: Resource, found: APIResourceDiscovery, collection: Collection | undefined): Served {
  const subresources = new Map<string, ServedSubresource>();
  for (const { subresource, verbs, responseKind } of found.subresources ?? []) {
    const kind = {
      group: responseKind?.group === undefined || responseKind.group === '' ? resource.group : responseKind.group,
      version:
        responseKind?.version === undefined || responseKind.version === '' ? resource.version : responseKind.version,
      kind: responseKind?.kind ?? resource.kind,
    };
    const isObject = kind.kind === resource.kind && verbs.includes('update');
    subresources.set(subresource, {
      name: subresource,
      verbs: new Set(verbs),
      kind,
      type: kind.kind === 'Scale' ? 'scale' : isObject ? 'object' : 'action',
      hasTable: kind.kind === 'Scale' || (isObject && resource.subresources?.[subresource]?.hasTable !== false),
    });
  }
  return { resource, collection, verbs: new Set(found.verbs), subresources, custom: false };
}
