// Owns API priority and fairness as a stage: each request gets its flow's seats, waits for them, or is told to come back.
import type { PriorityLevelConfiguration } from '../../api/generated/flowcontrol.v1.ts';
import { statusError } from '../../api/status-error.ts';
import type { Frozen, KubeObject } from '../../api/meta.ts';
import type { Clock } from '../../base/clock.ts';
import type { MetricsRegistry } from '../../base/metrics.ts';
import { followCache } from '../cache/follow.ts';
import type { PathHandler } from '../paths.ts';
import { plainText } from '../paths.ts';
import type { Stage, Watcher } from '../pipeline.ts';
import type { ApiRequest, UserInfo } from '../request.ts';
import type { Catalog } from '../served/served.ts';
import { distinguisher, hashOf, ordered, schemaFor } from './classify.ts';
import type { Schema } from './classify.ts';
import { Seats } from './levels.ts';
import type { Level, LevelConfig, Ticket } from './levels.ts';

export interface Fairness {
  readonly stage: Stage;
  readonly watcher: Watcher;
  readonly debug: PathHandler;
}

export interface FairnessDeps {
  readonly catalog: Catalog;
  readonly clock: Clock;
  /** Seats of the whole server. */
  readonly concurrency: number;
  readonly metrics?: MetricsRegistry;
}

const group = 'flowcontrol.apiserver.k8s.io';
/** A request waits a quarter of the time that it has at most (upstream: a minute). */
const maxWaitMs = 15_000;
const maxSeats = 10;
const objectsPerSeat = 100;
const rememberLimit = 1000;

/** Streams and tunnels hold no worker of the server. */
const longSubresources: ReadonlySet<string> = new Set(['exec', 'attach', 'portforward', 'log', 'proxy']);

interface Flow {
  readonly schema: string;
  readonly level: Level;
  readonly id: string;
  readonly hash: number;
}

function configOf({ metadata, spec }: Frozen<KubeObject & PriorityLevelConfiguration>): LevelConfig {
  const { limited, type } = spec ?? {};
  const queuing = limited?.limitResponse?.type === 'Queue' ? limited.limitResponse.queuing : undefined;
  return {
    name: metadata.name,
    exempt: type === 'Exempt',
    shares: limited?.nominalConcurrencyShares ?? 30,
    lendablePercent: limited?.lendablePercent ?? 0,
    borrowingLimitPercent: limited?.borrowingLimitPercent,
    queuing:
      queuing === undefined
        ? undefined
        : {
            queues: Math.min(queuing.queues ?? 64, 10_000),
            handSize: queuing.handSize ?? 8,
            lengthLimit: queuing.queueLengthLimit ?? 50,
          },
  };
}

export function fairness({ catalog, clock, concurrency, metrics }: FairnessDeps): Fairness {
  const schemas = new Map<string, Schema>();
  const levels = new Map<string, LevelConfig>();
  const seats = new Seats(concurrency);
  let sorted: readonly Schema[] | undefined;
  let known = new WeakMap<UserInfo, Map<string, Flow | 'none'>>();
  const held = new WeakMap<ApiRequest, { readonly level: string; readonly seats: number }>();
  const labels = ['flow_schema', 'priority_level'];
  const dispatched = metrics?.counters(
    'apiserver_flowcontrol_dispatched_requests_total',
    'Requests that began to be served.',
    labels,
  );
  const rejected = metrics?.counters(
    'apiserver_flowcontrol_rejected_requests_total',
    'Requests that were told to come back.',
    [...labels, 'reason'],
  );
  const waits = metrics?.histograms(
    'apiserver_flowcontrol_request_wait_duration_seconds',
    'How long requests waited in a queue.',
    [...labels, 'execute'],
    [0, 0.005, 0.02, 0.1, 0.5, 1, 5, 15],
  );

  const changed = (): void => {
    sorted = undefined;
    known = new WeakMap();
  };
  followCache(catalog.cache(group, 'flowschemas'), {
    put: (entry) => {
      schemas.set(entry.name, entry.object as Schema);
      changed();
    },
    removed: (entry) => {
      schemas.delete(entry.name);
      changed();
    },
    reset: () => {
      schemas.clear();
      changed();
    },
  });
  const configure = (): void => {
    seats.configure([...levels.values()]);
    changed();
  };
  followCache(catalog.cache(group, 'prioritylevelconfigurations'), {
    put: (entry) => {
      levels.set(entry.name, configOf(entry.object as Frozen<KubeObject & PriorityLevelConfiguration>));
      configure();
    },
    removed: (entry) => {
      levels.delete(entry.name);
      configure();
    },
    reset: () => {
      levels.clear();
      changed();
    },
  });

  function classify(request: ApiRequest): Flow | 'none' {
    const schema = schemaFor((sorted ??= ordered(schemas.values())), request);
    const level =
      schema && (seats.levels.get(schema.spec?.priorityLevelConfiguration.name ?? '') ?? seats.levels.get('catch-all'));
    if (schema === undefined || level === undefined) return 'none';
    const id = `${schema.metadata.name}/${distinguisher(schema, request)}`;
    return { schema: schema.metadata.name, level, id, hash: hashOf(id) };
  }

  function flowOf(request: ApiRequest): Flow | 'none' {
    const { user, info } = request;
    let flows = known.get(user);
    if (flows === undefined) known.set(user, (flows = new Map()));
    const key = info.isResource
      ? `${info.verb} ${info.group}/${info.resource}/${info.subresource} ${info.namespace}`
      : `${info.verb} ${info.path}`;
    let flow = flows.get(key);
    if (flow === undefined) {
      if (flows.size >= rememberLimit) flows.clear();
      flows.set(key, (flow = classify(request)));
    }
    return flow;
  }

  /** A list takes as many seats as it has hundreds of objects to show. */
  function seatsOf({ info, query }: ApiRequest): number {
    if (info.verb !== 'list' && !(info.verb === 'watch' && query.get('sendInitialEvents') === 'true')) return 1;
    const cache = catalog.find(info.group, info.version, info.resource)?.collection?.cache;
    const limit = Number(query.get('limit') ?? 0);
    const count = cache === undefined ? 0 : limit > 0 ? Math.min(limit, cache.size) : cache.size;
    return Math.min(maxSeats, Math.max(1, Math.ceil(count / objectsPerSeat)));
  }

  function tooMany(flow: Flow, reason: string): Error {
    rejected?.of(flow.schema, flow.level.config.name, reason).inc();
    return statusError('TooManyRequests', 'too many requests, please try again later', { retryAfterSeconds: 1 });
  }

  function wait(request: ApiRequest, flow: Flow, count: number): Promise<void> {
    const arrived = clock.monotonic();
    const { level } = flow;
    const told = (execute: boolean) =>
      waits?.of(flow.schema, level.config.name, String(execute)).observe((clock.monotonic() - arrived) / 1000);
    return new Promise((resolve, reject) => {
      const end = (): void => {
        timer.cancel();
        request.signal.removeEventListener('abort', cancelled);
      };
      const refuse = (reason: string): void => {
        if (ticket.state !== 'waiting') return;
        end();
        seats.giveUp(level, ticket);
        told(false);
        reject(tooMany(flow, reason));
      };
      const cancelled = (): void => refuse('cancelled');
      const timer = clock.after(maxWaitMs, () => refuse('time-out'));
      request.signal.addEventListener('abort', cancelled, { once: true });
      const ticket: Ticket = {
        seats: count,
        flow: flow.id,
        state: 'waiting',
        start: () => {
          end();
          told(true);
          accept(request, flow, count);
          resolve();
        },
      };
      if (!level.enqueue(ticket, flow.hash)) {
        level.rejected++;
        ticket.state = 'gone';
        end();
        reject(tooMany(flow, level.config.queuing === undefined ? 'concurrency-limit' : 'queue-full'));
      }
    });
  }

  function accept(request: ApiRequest, flow: Flow, count: number): void {
    dispatched?.of(flow.schema, flow.level.config.name).inc();
    held.set(request, { level: flow.level.config.name, seats: count });
  }

  return {
    stage: {
      name: 'fairness',
      run(request) {
        const { info, peer } = request;
        if (peer.user !== undefined || longSubresources.has(info.subresource)) return undefined;
        const flow = flowOf(request);
        if (flow === 'none' || flow.level.config.exempt) return undefined;
        const count = seatsOf(request);
        const { level } = flow;
        if (level.waiting === 0 && seats.hasRoom(level, count)) {
          level.inUse += count;
          level.dispatched++;
          accept(request, flow, count);
          return undefined;
        }
        return wait(request, flow, count);
      },
    },
    watcher: {
      finished(request) {
        const mine = held.get(request);
        if (mine === undefined) return;
        held.delete(request);
        seats.leave(mine.level, mine.seats);
      },
    },
    debug: (request) => dump(seats, request.info.path),
  };
}

const debugPrefix = '/debug/api_priority_and_fairness/';

function table(header: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  return `${[header, ...rows].map((row) => row.join(', ')).join('\n')}\n`;
}

function dump(seats: Seats, path: string) {
  if (!path.startsWith(debugPrefix)) return undefined;
  const all = [...seats.levels.values()];
  switch (path.slice(debugPrefix.length)) {
    case 'dump_priority_levels':
      return plainText(
        table(
          [
            'PriorityLevelName',
            'ActiveQueues',
            'IsIdle',
            'IsQuiescing',
            'WaitingRequests',
            'ExecutingRequests',
            'DispatchedRequests',
            'RejectedRequests',
            'NominalSeats',
          ],
          all.map((level) => [
            level.config.name,
            level.queues.filter(({ waiting }) => waiting.length > 0).length,
            String(level.inUse === 0 && level.waiting === 0),
            'false',
            level.waiting,
            level.inUse,
            level.dispatched,
            level.rejected,
            level.nominal,
          ]),
        ),
      );
    case 'dump_queues':
      return plainText(
        table(
          ['PriorityLevelName', 'Index', 'PendingRequests', 'VirtualStart'],
          all.flatMap(({ config, queues }) =>
            queues.map(({ waiting, served }, at) => [config.name, at, waiting.length, served]),
          ),
        ),
      );
    case 'dump_requests':
      return plainText(
        table(
          ['PriorityLevelName', 'QueueIndex', 'RequestIndexInQueue', 'FlowDistinguisher', 'Seats'],
          all.flatMap(({ config, queues }) =>
            queues.flatMap(({ waiting }, at) =>
              waiting.map(({ flow, seats: count }, index) => [config.name, at, index, flow, count]),
            ),
          ),
        ),
      );
    default:
      return undefined;
  }
}
