// Owns what is counted of flows and levels, under upstream's names. Children are looked up once by flow and level.
import type { Counter, Family, Gauge, Histogram, MetricsRegistry } from '../../base/metrics.ts';
import type { Level, Seats, Ticket } from './levels.ts';

const prefix = 'apiserver_flowcontrol_';
const waitSeconds = [0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30];
const lengths = [0, 10, 25, 50, 100, 250, 500, 1000];
const counts = [1, 2, 4, 10];
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

export interface FlowMetrics {
  of(schema: string, level: string): FlowCounts;
  shared<T extends Ticket>(seats: Seats<T>): void;
}

export function flowMetrics(metrics: MetricsRegistry): FlowMetrics {
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
    shared(seats) {
      fraction.set(seats.fraction);
      for (const one of seats.levels.values()) tell(one as unknown as Level, seats.total);
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
