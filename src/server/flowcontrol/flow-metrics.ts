// Owns what is counted of flows and levels, under upstream's names. Children are looked up once by flow and level.
import type { Counter, Family, Gauge, Histogram, MetricsRegistry } from '../../base/metrics.ts';
import type { Level, LevelShares, Seats, Ticket } from './levels.ts';
import { OverTime } from './over-time.ts';

const prefix = 'apiserver_flowcontrol_';
const waitSeconds = [0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30];
const lengths = [0, 10, 25, 50, 100, 250, 500, 1000];
const counts = [1, 2, 4, 8, 16, 32, 64, 100];
const watchers = [0, 1, 10, 100, 1000, 10_000];

/** Of one FlowSchema in one level. */
export interface FlowCounts {
  readonly dispatched: Counter;
  readonly executing: Gauge;
  readonly executingSeats: Gauge;
  readonly queued: Gauge;
  readonly queuedSeats: Gauge;
  readonly noRoom: Counter;
  readonly queueLength: Histogram;
  readonly estimated: Histogram;
  readonly waited: Histogram;
  readonly waitedInVain: Histogram;
  readonly watched: Histogram;
  readonly regular: Histogram;
  readonly watching: Histogram;
  rejected(reason: string): Counter;
}

export type RequestKind = 'readOnly' | 'mutating';
export type Phase = 'executing' | 'waiting';

export interface FlowMetrics {
  of(schema: string, level: string): FlowCounts;
  shared<T extends Ticket>(seats: Seats<T>, nowMs: number): void;
  /** One request more, or less, in this phase. */
  moved(kind: RequestKind, phase: Phase, by: 1 | -1, nowMs: number): void;
  /** Figures that hold for a while are told up to now. */
  settle(nowMs: number): void;
}

const demandBuckets = [0.2, 0.4, 0.6, 0.8, 1, 1.2, 1.4, 1.7, 2, 2.8, 4, 6];
const requestShares = [0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.25, 0.5, 0.75, 1];
const seatShares = [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1];
const kindShares = [0, 0.001, 0.01, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1];

/** `concurrency`: seats of the whole server. */
export function flowMetrics(metrics: MetricsRegistry, concurrency: number, startMs: number): FlowMetrics {
  const labels = ['flow_schema', 'priority_level'];
  const counter = (name: string, help: string, more: string[] = []): Family<Counter> =>
    metrics.counters(prefix + name, help, [...labels, ...more]);
  const gauge = (name: string, help: string): Family<Gauge> => metrics.gauges(prefix + name, help, labels);
  const histogram = (name: string, help: string, buckets: number[], more: string[] = []): Family<Histogram> =>
    metrics.histograms(prefix + name, help, [...labels, ...more], buckets);
  const dispatched = counter('dispatched_requests_total', 'Requests that began to be served.');
  const rejected = counter('rejected_requests_total', 'Requests that were told to come back.', ['reason']);
  const noRoom = counter('request_dispatch_no_accommodation_total', 'Times that the next request found no seats.');
  const executing = gauge('current_executing_requests', 'Requests being served.');
  const executingSeats = gauge('current_executing_seats', 'Seats in use.');
  const queued = gauge('current_inqueue_requests', 'Requests waiting.');
  const queuedSeats = gauge('current_inqueue_seats', 'Seats that waiting requests want.');
  const waits = histogram('request_wait_duration_seconds', 'How long requests waited.', waitSeconds, ['execute']);
  const execution = histogram('request_execution_seconds', 'How long requests were served.', waitSeconds, ['type']);
  const queueLength = histogram('request_queue_length_after_enqueue', 'How many waited with it.', lengths);
  const estimated = histogram('work_estimated_seats', 'Seats that requests take.', counts);
  const watched = histogram('watch_count_samples', 'Watchers that a write tells.', watchers);
  const level = (name: string, help: string): Family<Gauge> => metrics.gauges(prefix + name, help, ['priority_level']);
  const nominal = level('nominal_limit_seats', 'Seats that a level has by its configuration.');
  const lower = level('lower_limit_seats', 'Seats that a level keeps whoever wants more.');
  const upper = level('upper_limit_seats', 'Seats that a level may have at most.');
  const current = level('current_limit_seats', 'Seats that a level may use now.');
  const high = level('demand_seats_high_watermark', 'The most seats that were wanted at once in the last round.');
  const average = level('demand_seats_average', 'Seats that were wanted in the last round, on average.');
  const deviation = level('demand_seats_stdev', 'Deviation of the seats that were wanted in the last round.');
  const smooth = level('demand_seats_smoothed', 'Seats that seem to be wanted.');
  const target = level('target_seats', 'Seats that a level should have if there were enough.');
  const fraction = metrics.gauge(`${prefix}seat_fair_frac`, 'What levels get of their targets.');
  const known = new Map<string, FlowCounts>();
  const demand = metrics.histograms(
    `${prefix}demand_seats`,
    'Seats wanted, by what a level has.',
    ['priority_level'],
    demandBuckets,
  );
  const ofLevel = ['phase', 'priority_level'];
  const requestUse = metrics.histograms(
    `${prefix}priority_level_request_utilization`,
    'Requests, by how many there may be.',
    ofLevel,
    requestShares,
  );
  const seatUse = metrics.histograms(
    `${prefix}priority_level_seat_utilization`,
    'Seats in use, by how many there may be.',
    ofLevel,
    seatShares,
  );
  const kindUse = metrics.histograms(
    `${prefix}read_vs_write_current_requests`,
    'Requests, by all that there may be.',
    ['phase', 'request_kind'],
    kindShares,
  );
  const overTime = (phase: Phase, kind: RequestKind): OverTime =>
    new OverTime(kindUse.of(phase, kind), concurrency, startMs);
  const kinds: Readonly<Record<RequestKind, Readonly<Record<Phase, OverTime>>>> = {
    readOnly: { executing: overTime('executing', 'readOnly'), waiting: overTime('waiting', 'readOnly') },
    mutating: { executing: overTime('executing', 'mutating'), waiting: overTime('waiting', 'mutating') },
  };
  const inQueue = metrics.gauges('apiserver_current_inqueue_requests', 'Requests waiting.', ['request_kind']);
  const waitingNow = { readOnly: inQueue.of('readOnly'), mutating: inQueue.of('mutating') };
  let levels: readonly Level[] = [];

  function sharesOf(one: Level, nowMs: number): LevelShares {
    const { name, queuing } = one.config;
    const requests = new OverTime(requestUse.of('executing', name), one.current, nowMs);
    const seats = new OverTime(seatUse.of('executing', name), one.current, nowMs);
    const wanted = new OverTime(demand.of(name), one.nominal, nowMs);
    const waiting =
      queuing && new OverTime(requestUse.of('waiting', name), queuing.queues * queuing.lengthLimit, nowMs);
    return {
      note(level, at) {
        requests.set(level.executing, at);
        seats.set(level.inUse, at);
        wanted.set(level.inUse + level.waitingSeats, at);
        waiting?.set(level.waiting, at);
      },
      limits(level, at) {
        requests.limit(level.current, at);
        seats.limit(level.current, at);
        wanted.limit(level.nominal, at);
      },
      settle(at) {
        for (const one of [requests, seats, wanted, waiting]) one?.settle(at);
      },
    };
  }

  return {
    of(schema, of) {
      const key = `${schema} ${of}`;
      let found = known.get(key);
      if (found === undefined) {
        found = {
          dispatched: dispatched.of(schema, of),
          executing: executing.of(schema, of),
          executingSeats: executingSeats.of(schema, of),
          queued: queued.of(schema, of),
          queuedSeats: queuedSeats.of(schema, of),
          noRoom: noRoom.of(schema, of),
          queueLength: queueLength.of(schema, of),
          estimated: estimated.of(schema, of),
          waited: waits.of(schema, of, 'true'),
          waitedInVain: waits.of(schema, of, 'false'),
          watched: watched.of(schema, of),
          regular: execution.of(schema, of, 'regular'),
          watching: execution.of(schema, of, 'watch'),
          rejected: (reason) => rejected.of(schema, of, reason),
        };
        known.set(key, found);
      }
      return found;
    },
    shared(seats, nowMs) {
      fraction.set(seats.fraction);
      levels = [...seats.levels.values()] as unknown as Level[];
      for (const one of levels) {
        tell(one, seats.total);
        one.usage ??= sharesOf(one, nowMs);
        one.usage.limits(one, nowMs);
      }
    },
    moved(kind, phase, by, nowMs) {
      kinds[kind][phase].add(by, nowMs);
      if (phase === 'waiting') waitingNow[kind].add(by);
    },
    settle(nowMs) {
      for (const level of levels) level.usage?.settle(nowMs);
      for (const { executing: running, waiting } of Object.values(kinds)) {
        running.settle(nowMs);
        waiting.settle(nowMs);
      }
    },
  };

  function tell(one: Level, total: number): void {
    const { name } = one.config;
    nominal.of(name).set(one.nominal);
    lower.of(name).set(one.minimum);
    upper.of(name).set(one.maximum(total));
    current.of(name).set(one.current);
    high.of(name).set(one.last.high);
    average.of(name).set(one.last.average);
    deviation.of(name).set(one.last.deviation);
    smooth.of(name).set(one.smoothed);
    target.of(name).set(one.target);
  }
}
