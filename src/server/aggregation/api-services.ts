// Owns the view of all API services that requests are judged by: which group versions are elsewhere, and in what order groups are shown.
import type { APIService } from '../../api/generated/apiregistration.v1.ts';
import type { Frozen } from '../../api/meta.ts';
import { followCache } from '../cache/follow.ts';
import type { WatchCache } from '../cache/watch-cache.ts';
import { readFact } from '../facts.ts';
import type { Catalog } from '../served/served.ts';
import { orderGroups } from './order.ts';
import type { Ranked, RankedGroup } from './order.ts';

export type Service = Frozen<APIService>;

/** What the server says of its own groups, as recorded. */
export interface BuiltinService {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly spec: {
    readonly group?: string;
    readonly version: string;
    readonly groupPriorityMinimum: number;
    readonly versionPriority: number;
  };
}

export const builtinServices = (): readonly BuiltinService[] =>
  readFact('bootstrap/apiservices.json') as BuiltinService[];

/** Upstream's priorities of custom groups: behind all built-in ones, alike among themselves. */
export const customPriority = { groupPriorityMinimum: 1000, versionPriority: 100 } as const;

export function serviceName(group: string, version: string): string {
  return `${version}.${group}`;
}

export interface ApiServices {
  /** The API service that hands this group version to another server. */
  remote(group: string, version: string): Service | undefined;
  remotes(): readonly Service[];
  /** Of the older discovery: all that is served or said to be, by the priorities of the API services. */
  listed(): readonly RankedGroup[];
  /** Of aggregated discovery: local groups by their own priorities, whatever became of their API services. */
  aggregated(): readonly RankedGroup[];
  /** Rises with each change of what is said here. */
  readonly generation: number;
  /** Follows the cache: call once. Returns the way to stop. */
  follow(changed?: (service: Service, isGone: boolean) => void): () => void;
}

export function apiServices(catalog: Catalog, cache: WatchCache): ApiServices {
  const known = new Map<string, Service>();
  let remotes: readonly Service[] | undefined;
  let changes = 0;
  const touch = (): void => {
    remotes = undefined;
    changes++;
  };
  const builtin = new Map(builtinServices().map(({ name, spec }) => [name, spec]));
  const local = (group: string, version: string): Ranked => {
    const { groupPriorityMinimum, versionPriority } = builtin.get(serviceName(group, version)) ?? customPriority;
    return { group, version, groupPriority: groupPriorityMinimum, versionPriority };
  };
  const ranked = ({ spec }: Service): Ranked => ({
    group: spec.group ?? '',
    version: spec.version ?? '',
    groupPriority: spec.groupPriorityMinimum,
    versionPriority: spec.versionPriority,
  });
  const locals = (): Ranked[] =>
    catalog.groups().flatMap(({ name, versions }) => versions.map((version) => local(name, version)));
  const remoteOnes = (): readonly Service[] =>
    (remotes ??= [...known.values()].filter(({ spec }) => spec.service !== undefined && spec.group));
  const generation = (): number => changes + catalog.generation;

  return {
    remote(group, version) {
      const found = known.get(serviceName(group, version));
      return found?.spec.service === undefined || group === '' ? undefined : found;
    },
    remotes: remoteOnes,
    // What an object says comes first: of two of the same name the first is taken.
    listed: keptFor(generation, () => orderGroups([...[...known.values()].map(ranked), ...locals()])),
    aggregated: keptFor(generation, () => orderGroups([...remoteOnes().map(ranked), ...locals()])),
    get generation() {
      return generation();
    },
    follow: (changed) =>
      followCache(cache, {
        put({ object }) {
          const service = object as unknown as Service;
          known.set(service.metadata.name, service);
          touch();
          changed?.(service, false);
        },
        removed({ object }) {
          const service = object as unknown as Service;
          known.delete(service.metadata.name);
          touch();
          changed?.(service, true);
        },
        reset() {
          known.clear();
          touch();
        },
      }),
  };
}

function keptFor<T>(generation: () => number, make: () => T): () => T {
  let kept: { readonly of: number; readonly value: T } | undefined;
  return () => {
    const now = generation();
    if (kept?.of !== now) kept = { of: now, value: make() };
    return kept.value;
  };
}
