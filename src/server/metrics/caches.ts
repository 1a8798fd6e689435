// Owns what is told of the watch caches and of what is stored, read from them when somebody asks.
import type { MetricsRegistry } from '../../base/metrics.ts';
import type { WatchCache } from '../cache/watch-cache.ts';
import type { Catalog, Collection } from '../served/served.ts';

export function cacheMetrics(registry: MetricsRegistry, catalog: Catalog): void {
  const each = (name: string, kind: 'counter' | 'gauge', help: string, value: (cache: WatchCache) => number): void =>
    registry.collected(name, kind, help, ['group', 'resource'], function* () {
      const seen = new Set<Collection>();
      for (const { collection } of catalog.all()) {
        if (collection === undefined || seen.has(collection)) continue;
        seen.add(collection);
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
