// Owns what is counted of requests and watches, under upstream's names and labels (apiserver/pkg/endpoints/metrics).
import type { Counter, Gauge, Histogram, MetricsRegistry } from '../../base/metrics.ts';
import type { Clock } from '../../base/clock.ts';
import type { Watcher } from '../pipeline.ts';
import type { ApiAnswer, ApiRequest } from '../request.ts';
import type { Catalog, Served } from '../served/served.ts';
import { isTunnel } from '../stages/limit.ts';

export const secondsBuckets: readonly number[] = [
  0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60,
];
const sliBuckets = secondsBuckets.slice(2);
const sizeBuckets = [1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9];
const bodyBuckets = Array.from({ length: 31 }, (_, at) => 50_000 + at * 100_000);
const eventBuckets = Array.from({ length: 8 }, (_, at) => 1024 * 2 ** at);

/** Names of resources that are not served would let strangers make labels without end. */
const maxRemembered = 20_000;

const verbs: Readonly<Record<string, string>> = {
  create: 'POST',
  update: 'PUT',
  patch: 'PATCH',
  get: 'GET',
  list: 'LIST',
  watch: 'WATCH',
  delete: 'DELETE',
  deletecollection: 'DELETECOLLECTION',
  post: 'POST',
  put: 'PUT',
  head: 'HEAD',
  options: 'OPTIONS',
};
const writing: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH', 'DELETE', 'APPLY', 'DELETECOLLECTION']);
const validating: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH', 'APPLY']);

interface Meaning {
  readonly verb: string;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subresource: string;
  readonly scope: string;
  readonly dryRun: string;
  readonly isLong: boolean;
}

/** What is told of one kind of request, found once. */
interface Children {
  readonly byCode: Map<number, Counter>;
  readonly duration: Histogram;
  readonly sli: Histogram | undefined;
  /** Made when first told of. */
  size: Histogram | undefined;
  body: Histogram | undefined;
  long: Gauge | undefined;
  consistent: Counter | undefined;
  own: Counter | undefined;
}

interface ListCounters {
  readonly lists: Counter;
  readonly fetched: Counter;
  readonly evaluated: Counter;
  readonly returned: Counter;
}

export interface RequestMetricsOptions {
  readonly registry: MetricsRegistry;
  readonly catalog: Catalog;
  readonly clock: Clock;
}

export function requestMetrics({ registry, catalog, clock }: RequestMetricsOptions): Watcher {
  const shape = ['component', 'group', 'resource', 'scope', 'subresource', 'verb', 'version'];
  const shapeWithDryRun = ['component', 'dry_run', ...shape.slice(1)];
  const total = registry.counters('apiserver_request_total', 'Requests by verb, dry run, resource, scope and code.', [
    'code',
    ...shapeWithDryRun,
  ]);
  const duration = registry.histograms(
    'apiserver_request_duration_seconds',
    'How long requests took; watches until they ended.',
    shapeWithDryRun,
    secondsBuckets,
  );
  const sli = registry.histograms(
    'apiserver_request_sli_duration_seconds',
    'How long requests took that a client waits for.',
    shape,
    sliBuckets,
  );
  const sizes = registry.histograms('apiserver_response_sizes', 'Bytes of the answers to reads.', shape, sizeBuckets);
  const bodies = registry.histograms(
    'apiserver_request_body_size_bytes',
    'Bytes of the bodies of writes.',
    ['group', 'resource', 'verb'],
    bodyBuckets,
  );
  const long = registry.gauges('apiserver_longrunning_requests', 'Watches and tunnels under way.', shape);
  const inflight = registry.gauges(
    'apiserver_current_inflight_requests',
    'Requests under way that end by themselves.',
    ['request_kind'],
  );
  const underWay = { reads: inflight.of('readOnly'), writes: inflight.of('mutating') };
  const validations = registry.histograms(
    'field_validation_request_duration_seconds',
    'How long writes took, by what was asked of unknown fields.',
    ['field_validation'],
    sliBuckets,
  );
  const consistent = registry.counters(
    'apiserver_watch_cache_consistent_read_total',
    'Lists of the newest state that the cache answered.',
    ['fallback', 'group', 'resource', 'success'],
  );
  const lists = registry.counters('apiserver_storage_list_total', 'Lists, by what answered them.', [
    'group',
    'index',
    'resource',
    'storage',
  ]);
  const fetched = registry.counters('apiserver_storage_list_fetched_objects_total', 'Objects looked at for lists.', [
    'group',
    'index',
    'resource',
    'storage',
  ]);
  const evaluated = registry.counters(
    'apiserver_storage_list_evaluated_objects_total',
    'Objects tested by selectors for lists.',
    ['group', 'resource', 'storage'],
  );
  const returned = registry.counters('apiserver_storage_list_returned_objects_total', 'Objects of lists.', [
    'group',
    'resource',
    'storage',
  ]);
  const own = registry.counters('apiserver_selfrequest_total', 'Requests of the server to itself.', [
    'group',
    'resource',
    'subresource',
    'verb',
  ]);
  const deprecated = registry.gauges(
    'apiserver_requested_deprecated_apis',
    'Deprecated APIs that somebody has asked for.',
    ['group', 'removed_release', 'resource', 'subresource', 'version'],
  );
  const terminations = registry.counters(
    'apiserver_request_terminations_total',
    'Requests that the server ended itself: too many, or too slow.',
    ['code', ...shape],
  );
  const late = registry.counters(
    'apiserver_request_post_timeout_total',
    'Requests that went on after their client was told that they took too long, by how they ended.',
    ['source', 'status'],
  );
  const aborts = registry.counters(
    'apiserver_request_aborts_total',
    'Answers that were broken off.',
    shape.filter((label) => label !== 'component'),
  );
  const initial = registry.counters('apiserver_init_events_total', 'Objects that watches began with.', [
    'group',
    'resource',
  ]);
  const events = registry.counters('apiserver_watch_events_total', 'Events sent to watchers.', [
    'group',
    'resource',
    'version',
  ]);
  const eventSizes = registry.histograms(
    'apiserver_watch_events_sizes',
    'Bytes of events sent to watchers.',
    ['group', 'resource', 'version'],
    eventBuckets,
  );
  const known = new Map<string, Children>();
  const knownLists = new WeakMap<Served['resource'], ListCounters>();
  /** What finished requests meant, for those whose answer is measured once it is sent. */
  const told = new WeakMap<ApiRequest, Meaning>();
  const counted = new WeakMap<ApiRequest, Gauge>();
  const overdue = new Set<ApiRequest>();

  function meaningOf({ info, query, headers }: ApiRequest): Meaning {
    const served = info.isResource ? catalog.find(info.group, info.version, info.resource) : undefined;
    const isKnown = served !== undefined && (info.subresource === '' || served.subresources.has(info.subresource));
    const subresource = isKnown ? info.subresource : '';
    const isConnect = isKnown && isTunnel({ info });
    const verb =
      info.verb === 'patch' && String(headers['content-type'] ?? '').startsWith('application/apply-patch')
        ? 'APPLY'
        : isConnect && subresource !== 'log'
          ? 'CONNECT'
          : (verbs[info.verb] ?? 'OTHER');
    return {
      verb,
      group: isKnown ? info.group : '',
      version: isKnown ? info.version : '',
      resource: isKnown ? info.resource : '',
      subresource: isKnown ? subresource : info.isResource ? '' : otherPath(info.path),
      scope:
        info.name !== '' || info.verb === 'create'
          ? 'resource'
          : info.namespace !== ''
            ? 'namespace'
            : info.isResource
              ? 'cluster'
              : '',
      dryRun: query.has('dryRun') ? (query.getAll('dryRun').every((value) => value === 'All') ? 'All' : 'invalid') : '',
      isLong: verb === 'WATCH' || verb === 'CONNECT' || (subresource === 'log' && query.get('follow') === 'true'),
    };
  }

  function childrenOf(meaning: Meaning): Children {
    const { verb, group, version, resource, subresource, scope, dryRun, isLong } = meaning;
    const key = `${verb} ${group}/${version}/${resource}/${subresource} ${scope} ${dryRun}`;
    let children = known.get(key);
    if (children === undefined) {
      const values = shapeOf(meaning);
      children = {
        byCode: new Map(),
        duration: duration.of('apiserver', dryRun, ...values.slice(1)),
        sli: isLong ? undefined : sli.of(...values),
        size: undefined,
        body: undefined,
        long: undefined,
        consistent: undefined,
        own: undefined,
      };
      if (known.size < maxRemembered) known.set(key, children);
    }
    return children;
  }

  function listsOf(resource: Served['resource']): ListCounters {
    let mine = knownLists.get(resource);
    if (mine === undefined) {
      const { group, plural } = resource;
      mine = {
        lists: lists.of(group, '', plural, 'watchcache'),
        fetched: fetched.of(group, '', plural, 'watchcache'),
        evaluated: evaluated.of(group, plural, 'watchcache'),
        returned: returned.of(group, plural, 'watchcache'),
      };
      knownLists.set(resource, mine);
    }
    return mine;
  }

  function count(meaning: Meaning, children: Children, code: number): void {
    let counter = children.byCode.get(code);
    if (counter === undefined) {
      const { verb, group, version, resource, subresource, scope, dryRun } = meaning;
      counter = total.of(String(code), 'apiserver', dryRun, group, resource, scope, subresource, verb, version);
      children.byCode.set(code, counter);
    }
    counter.inc();
  }

  return {
    began(request) {
      const { verb } = request.info;
      if (verb === 'watch' || isTunnel(request)) return;
      const gauge = writing.has(verbs[verb] ?? '') ? underWay.writes : underWay.reads;
      gauge.add(1);
      counted.set(request, gauge);
    },
    finished(request, answer) {
      counted.get(request)?.add(-1);
      const meaning = meaningOf(request);
      if (meaning.verb === 'GET' || meaning.verb === 'LIST') told.set(request, meaning);
      const children = childrenOf(meaning);
      const code = codeOf(answer);
      if (code === 429) terminations.of('429', ...shapeOf(meaning)).inc();
      if (overdue.size > 0 && overdue.delete(request))
        late.of('timeout-handler', code < 500 || request.signal.aborted ? 'ok' : 'error').inc();
      const tell = (): void => {
        count(meaning, children, code);
        const seconds = (clock.now() - request.arrivedMs) / 1000;
        children.duration.observe(seconds);
        children.sli?.observe(seconds);
        if (validating.has(meaning.verb) && meaning.resource !== '')
          validations.of(fieldValidationOf(request)).observe(seconds);
      };
      if (meaning.verb === 'LIST' && code === 200 && (request.query.get('resourceVersion') ?? '') === '') {
        children.consistent ??= consistent.of('false', meaning.group, meaning.resource, 'true');
        children.consistent.inc();
      }
      if (request.user.name === 'system:apiserver') {
        children.own ??= own.of(meaning.group, meaning.resource, meaning.subresource, meaning.verb);
        children.own.inc();
      }
      if ('served' in answer && answer.served?.resource.deprecated !== undefined)
        deprecated.of(meaning.group, '', meaning.resource, meaning.subresource, meaning.version).set(1);
      if (answer.type === 'list' && answer.served.collection !== undefined) {
        const mine = listsOf(answer.served.resource);
        const { entries, looked = entries.length, tested = false } = answer.list;
        mine.lists.inc();
        mine.fetched.inc(looked);
        mine.evaluated.inc(tested ? looked : 0);
        mine.returned.inc(entries.length);
      }
      const length = Number(request.headers['content-length'] ?? Number.NaN);
      if (length > 0 && writing.has(meaning.verb) && meaning.resource !== '') {
        children.body ??= bodies.of(meaning.group, meaning.resource, meaning.verb.toLowerCase());
        children.body.observe(length);
      }
      if (answer.type !== 'watch') return tell();
      if (answer.run.initialCount > 0) {
        const { group, plural } = answer.served.resource;
        initial.of(group, plural).inc(answer.run.initialCount);
      }
      const underWayToo = (children.long ??= long.of(...shapeOf(meaning)));
      underWayToo.add(1);
      answer.run.onEnd(() => {
        underWayToo.add(-1);
        tell();
      });
    },
    timedOut(request) {
      terminations.of('504', ...shapeOf(meaningOf(request))).inc();
      overdue.add(request);
    },
    aborted: (request) => aborts.of(...shapeOf(meaningOf(request)).slice(1)).inc(),
    sent(request, bytes) {
      const { verb } = request.info;
      if (verb !== 'get' && verb !== 'list') return;
      // Those that were refused early have not been told of.
      const meaning = told.get(request) ?? meaningOf(request);
      if (meaning.verb !== 'GET' && meaning.verb !== 'LIST') return;
      const children = childrenOf(meaning);
      children.size ??= sizes.of(...shapeOf(meaning));
      children.size.observe(bytes);
    },
    watching({ served: { resource } }) {
      const labels = [resource.group, resource.plural, resource.version];
      const [counter, histogram] = [events.of(...labels), eventSizes.of(...labels)];
      return (bytes) => {
        counter.inc();
        histogram.observe(bytes);
      };
    },
  };
}

function shapeOf({ verb, group, version, resource, subresource, scope }: Meaning): string[] {
  return ['apiserver', group, resource, scope, subresource, verb, version];
}

/** Paths that are no resources are told by their beginnings, of which there are few. */
const ownPaths: ReadonlySet<string> = new Set(['/healthz', '/livez', '/readyz', '/metrics', '/version', '/openapi/v2']);

function otherPath(path: string): string {
  return ownPaths.has(path) ? path : path.startsWith('/openapi/v3') ? '/openapi/v3' : '';
}

function fieldValidationOf({ query }: ApiRequest): string {
  const asked = query.get('fieldValidation') ?? '';
  return asked === 'Strict' || asked === 'Ignore' ? asked : 'Warn';
}

function codeOf(answer: ApiAnswer): number {
  return 'code' in answer ? answer.code : answer.type === 'taken' ? 101 : 200;
}
