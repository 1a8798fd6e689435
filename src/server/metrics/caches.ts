// Owns what is told of the watch caches and of what is stored, read from them when somebody asks.
import type { Histogram, MetricsRegistry } from '../../base/metrics.ts';
import type { Scope, WatchCache } from '../cache/watch-cache.ts';
import type { Catalog, Collection, Served } from '../served/served.ts';

const waitBuckets = [0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3];
const loadBuckets = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 180, 600];
const dispatchBuckets = [0.0001, 0.0005, 0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

export interface ReadMetrics {
  /** How long a read waited for the cache to be as fresh as it must be; 0: it was. */
  waited(collection: Collection, seconds: number): void;
  /** How long it took from a watch's request to the end of its initial state. */
  streamed(served: Served, scope: Scope, seconds: number): void;
}

const streamBuckets = [0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 2, 4, 6, 8, 10, 15, 20, 30, 45, 60];
const scopeNames: Readonly<Record<Scope['type'], string>> = {
  all: 'cluster',
  namespace: 'namespace',
  key: 'resource',
  index: 'cluster',
};

export function readMetrics(registry: MetricsRegistry): ReadMetrics {
  const waits = registry.histograms(
    'apiserver_watch_cache_read_wait_seconds',
    'How long reads waited for the cache to be fresh.',
    ['group', 'resource'],
    waitBuckets,
  );
  const streams = registry.histograms(
    'apiserver_watch_list_duration_seconds',
    'How long the initial states of watches took.',
    ['group', 'resource', 'scope', 'version'],
    streamBuckets,
  );
  const known = new WeakMap<Collection, Histogram>();
  return {
    streamed: ({ resource: { group, plural, version } }, scope, seconds) =>
      streams.of(group, plural, scopeNames[scope.type], version).observe(seconds),
    waited(collection, seconds) {
      let mine = known.get(collection);
      if (mine === undefined) {
        const { group, plural } = collection.storage;
        known.set(collection, (mine = waits.of(group, plural)));
      }
      mine.observe(seconds);
    },
  };
}

/** What the way from the store to the caches tells of itself, by the prefix of the collection. */
export interface FeedMetrics {
  loaded(prefix: string, seconds: number): void;
  /** From the store's telling to the cache, and from there to all who watch. */
  dispatched(prefix: string, toCache: number, toWatchers: number): void;
}

export function feedMetrics(
  registry: MetricsRegistry,
  kindOf: (prefix: string) => readonly [string, string],
): FeedMetrics {
  const loads = registry.histograms(
    'apiserver_watch_cache_initialization_duration_seconds',
    'How long reading all anew took.',
    ['group', 'resource'],
    loadBuckets,
  );
  const stages = registry.histograms(
    'apiserver_watch_events_dispatch_duration_seconds',
    'How long changes took from the store to those who watch.',
    ['group', 'resource', 'stage'],
    dispatchBuckets,
  );
  interface Stages {
    readonly toCache: Histogram;
    readonly toWatchers: Histogram;
    readonly total: Histogram;
  }
  const known = new Map<string, Stages>();
  return {
    loaded: (prefix, seconds) => loads.of(...kindOf(prefix)).observe(seconds),
    dispatched(prefix, toCache, toWatchers) {
      let mine = known.get(prefix);
      if (mine === undefined) {
        const of = (stage: string): Histogram => stages.of(...kindOf(prefix), stage);
        mine = { toCache: of('storage_to_cache'), toWatchers: of('cache_to_watcher'), total: of('total') };
        known.set(prefix, mine);
      }
      mine.toCache.observe(toCache);
      mine.toWatchers.observe(toWatchers);
      mine.total.observe(toCache + toWatchers);
    },
  };
}

export function cacheMetrics(registry: MetricsRegistry, catalog: Catalog): void {
  const each = (name: string, kind: 'counter' | 'gauge', help: string, value: (cache: WatchCache) => number): void =>
    registry.collected(name, kind, help, ['group', 'resource'], function* () {
      const seen = new Set<WatchCache>();
      for (const { collection } of catalog.all()) {
        if (collection === undefined || seen.has(collection.cache)) continue;
        seen.add(collection.cache);
        yield [[collection.storage.group, collection.storage.plural], value(collection.cache)];
      }
    });
  each('apiserver_resource_objects', 'gauge', 'Stored objects.', ({ size }) => size);
  each(
    'apiserver_storage_events_received_total',
    'counter',
    'Changes that the store told.',
    ({ counts }) => counts.changes,
  );
  each('apiserver_watch_cache_events_received_total', 'counter', 'Changes taken in.', ({ counts }) => counts.changes);
  each(
    'apiserver_watch_cache_events_dispatched_total',
    'counter',
    'Changes handed on to who watches.',
    ({ counts }) => counts.changes,
  );
  each(
    'apiserver_watch_cache_initializations_total',
    'counter',
    'How often all was read anew.',
    ({ counts }) => counts.loads,
  );
  each('watch_cache_capacity', 'gauge', 'Changes kept for watches that begin in the past.', ({ capacity }) => capacity);
  each(
    'apiserver_watch_cache_resource_version',
    'gauge',
    'The version up to which all is taken in: its 15 least significant digits.',
    ({ revision }) => revision % 1e15,
  );
}
