// Owns what is counted of the store: operations by kind, how long they take, its size. The store is whichever engine; the names are upstream's.
import type { Clock } from '../../base/clock.ts';
import type { Counter, Histogram, MetricsRegistry } from '../../base/metrics.ts';
import { handedOn } from '../../store/hand-on.ts';
import type { Store, Transaction } from '../../store/store.ts';
import { secondsBuckets } from './requests.ts';

export interface StoreMetricsOptions {
  readonly registry: MetricsRegistry;
  readonly clock: Clock;
  /** Collections by their prefix ("/registry/pods/"). */
  readonly collections: () => Iterable<{
    readonly prefix: string;
    readonly storage: { readonly group: string; readonly plural: string };
  }>;
}

const leaseBuckets = [10, 50, 100, 500, 1000, 2500, 5000];

type Operation = 'get' | 'list' | 'create' | 'update' | 'delete' | 'watch' | 'compact' | 'grantLease';

interface Children {
  readonly duration: Histogram;
  readonly total: Counter;
  readonly list: Histogram | undefined;
}

export interface MeasuredStore {
  readonly store: Store;
  /** Asks the store for what is only told when asked. */
  refresh(): Promise<void>;
  /** A lease of so many objects takes no more. */
  leaseFull(objects: number): void;
  kindOf(key: string): readonly [group: string, resource: string];
}

export function measuredStore(store: Store, { registry, clock, collections }: StoreMetricsOptions): MeasuredStore {
  const labels = ['group', 'operation', 'resource'];
  const durations = registry.histograms(
    'etcd_request_duration_seconds',
    'How long the store took, by operation and kind.',
    labels,
    secondsBuckets,
  );
  const totals = registry.counters('etcd_requests_total', 'Requests to the store, by operation and kind.', labels);
  const errors = registry.counters(
    'etcd_request_errors_total',
    'Requests that the store refused or did not answer.',
    labels,
  );
  const size = registry.gauges('apiserver_storage_size_bytes', 'Bytes that the store takes on disk.', [
    'storage_cluster_id',
  ]);
  const lists = registry.histograms(
    'apiserver_storage_list_duration_seconds',
    'How long the store took to list a kind.',
    ['group', 'resource', 'streamed'],
    secondsBuckets,
  );
  const leases = registry.histogram('etcd_lease_object_counts', 'Objects that share a lease.', leaseBuckets);
  const known = new Map<string, readonly [group: string, resource: string]>();
  const children = new Map<string, Children>();

  function kindOf(key: string): readonly [group: string, resource: string] {
    const three = key.split('/', 4);
    const short = `/${three[1]}/${three[2]}/`;
    const found = known.get(short) ?? known.get(`${short}${three[3]}/`);
    if (found !== undefined) return found;
    for (const { prefix, storage } of collections()) known.set(prefix, [storage.group, storage.plural]);
    // A custom kind's objects are read before it is served.
    const custom = three[2]?.includes('.') === true && three[3] ? ([three[2], three[3]] as const) : (['', ''] as const);
    return known.get(short) ?? known.get(`${short}${three[3]}/`) ?? custom;
  }

  async function measured<T>(operation: Operation, key: string, work: () => Promise<T>): Promise<T> {
    const [group, resource] = kindOf(key);
    const name = `${group}/${operation}/${resource}`;
    let mine = children.get(name);
    if (mine === undefined) {
      mine = {
        duration: durations.of(group, operation, resource),
        total: totals.of(group, operation, resource),
        list: operation === 'list' && resource !== '' ? lists.of(group, resource, 'false') : undefined,
      };
      children.set(name, mine);
    }
    const startMs = clock.monotonic();
    try {
      return await work();
    } catch (error) {
      errors.of(group, operation, resource).inc();
      throw error;
    } finally {
      const seconds = (clock.monotonic() - startMs) / 1000;
      mine.duration.observe(seconds);
      mine.list?.observe(seconds);
      mine.total.inc();
    }
  }

  const measuring: Store = {
    ...handedOn(store),
    range: (range, options) =>
      measured(range.end === undefined ? 'get' : 'list', range.start, () => store.range(range, options)),
    transact: (transaction) => {
      const [operation, key] = meaningOf(transaction);
      return measured(operation, key, () => store.transact(transaction));
    },
  };
  return {
    store: measuring,
    kindOf,
    leaseFull: (objects) => leases.observe(objects),
    async refresh() {
      // A store that is away has no size to tell; that it is away is told elsewhere.
      const status = await store.status().catch(() => undefined);
      if (status !== undefined) size.of('etcd-0').set(status.sizeBytes);
    },
  };
}

/** What a transaction of ours is about is its first operation; one that puts what must not be there creates it. */
function meaningOf({ compare, then }: Transaction): readonly [Operation, string] {
  const [first] = then;
  if (first === undefined) return ['get', compare[0]?.key ?? ''];
  if (first.type === 'range') return ['get', first.range.start];
  if (first.type === 'delete') return ['delete', first.range.start];
  const isNew = compare.some(
    ({ key, target, is, value }) => key === first.key && target === 'version' && is === '=' && value === 0,
  );
  return [isNew ? 'create' : 'update', first.key];
}
