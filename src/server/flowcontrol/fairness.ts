// Owns API priority and fairness as a stage: each request gets its flow's seats, waits for them, or is told to come back.
import type { PriorityLevelConfiguration } from '../../api/generated/flowcontrol.v1.ts';
import { statusError } from '../../api/status-error.ts';
import type { Frozen, KubeObject } from '../../api/meta.ts';
import type { Clock } from '../../base/clock.ts';
import { sleep } from '../../base/clock.ts';
import type { MetricsRegistry } from '../../base/metrics.ts';
import { afterReadyWork, TurnBudget } from '../../base/turn.ts';
import { followCache } from '../cache/follow.ts';
import type { ApiRequest, UserInfo } from '../request.ts';
import type { Catalog } from '../served/served.ts';
import { isTunnel } from '../stages/limit.ts';
import type { Limit } from '../stages/limit.ts';
import { hashOf } from '../../base/hash.ts';
import { distinguisher, handOf, ordered, schemaFor } from './classify.ts';
import type { Schema } from './classify.ts';
import { dump } from './debug.ts';
import type { WaitingRequest } from './debug.ts';
import { estimateWork } from './estimate.ts';
import type { WorkEstimate } from './estimate.ts';
import { flowMetrics } from './flow-metrics.ts';
import type { FlowCounts, RequestKind } from './flow-metrics.ts';
import { Seats } from './levels.ts';
import type { Level, LevelConfig } from './levels.ts';
import { RetryAfter } from './retry-after.ts';

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
const rebalanceEveryMs = 10_000;
const rememberLimit = 1000;
/**
 * One thread serves all: while somebody's requests fill a turn of the event loop nobody else is heard, however many seats are free.
 * After so much work in one turn further requests wait in their queues for the next, and are taken in fair order.
 */
const turnBudgetMs = 0.25;
/** A flow that has the server to itself for so long needs no turns, which cost a little. */
const contendedMs = 500;

interface Flow {
  readonly schema: string;
  readonly schemaUid: string;
  readonly level: Level<WaitingRequest>;
  readonly distinguisher: string;
  /** What is fair is fair between these. */
  readonly id: string;
  readonly hand: readonly number[];
  readonly counts: FlowCounts | undefined;
}

interface Held {
  readonly flow: Flow;
  readonly work: WorkEstimate;
  readonly seats: number;
  readonly startedAt: number;
}

const reading: ReadonlySet<string> = new Set(['get', 'list', 'watch', 'head', 'options']);

function kindOf({ info }: ApiRequest): RequestKind {
  return reading.has(info.verb) ? 'readOnly' : 'mutating';
}

function configOf({ metadata, spec }: Frozen<KubeObject & PriorityLevelConfiguration>): LevelConfig {
  const { limited, exempt, type } = spec ?? {};
  const isExempt = type === 'Exempt';
  const queuing = limited?.limitResponse?.type === 'Queue' ? limited.limitResponse.queuing : undefined;
  return {
    name: metadata.name,
    uid: metadata.uid ?? '',
    exempt: isExempt,
    shares: isExempt ? (exempt?.nominalConcurrencyShares ?? 0) : (limited?.nominalConcurrencyShares ?? 30),
    lendablePercent: (isExempt ? exempt?.lendablePercent : limited?.lendablePercent) ?? 0,
    borrowingLimitPercent: limited?.borrowingLimitPercent ?? undefined,
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

export function fairness({ catalog, clock, concurrency, metrics }: FairnessDeps): Limit {
  const schemas = new Map<string, Schema>();
  const levels = new Map<string, LevelConfig>();
  const seats = new Seats<WaitingRequest>(concurrency);
  const counted = metrics && flowMetrics(metrics, concurrency, clock.monotonic());
  const retryAfter = new Map<string, RetryAfter>();
  const now = (): number => clock.monotonic();
  const turn = new TurnBudget(turnBudgetMs, now, pump);
  let sorted: readonly Schema[] | undefined;
  let known = new WeakMap<UserInfo, Map<string, Flow | 'none'>>();
  const held = new WeakMap<ApiRequest, Held>();

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
    seats.configure([...levels.values()], now());
    counted?.shared(seats, now());
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
    const of = distinguisher(schema, request);
    const { queuing, name } = level.config;
    return {
      schema: schema.metadata.name,
      schemaUid: schema.metadata.uid ?? '',
      level,
      distinguisher: of,
      id: `${schema.metadata.name}/${of}`,
      hand:
        queuing === undefined ? [] : handOf(hashOf(`${schema.metadata.name}/${of}`), queuing.queues, queuing.handSize),
      counts: counted?.of(schema.metadata.name, name),
    };
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

  function tooMany({ level, counts }: Flow, reason: string): Error {
    const { name } = level.config;
    counts?.rejected(reason).inc();
    let told = retryAfter.get(name);
    if (told === undefined) retryAfter.set(name, (told = new RetryAfter(now())));
    return statusError('TooManyRequests', 'too many requests, please try again later', {
      retryAfterSeconds: told.drop(now()),
    });
  }

  function wait(request: ApiRequest, flow: Flow, work: WorkEstimate, count: number): Promise<void> {
    const arrived = now();
    const { level, counts } = flow;
    return new Promise((resolve, reject) => {
      const end = (executes: boolean): void => {
        timer.cancel();
        request.signal.removeEventListener('abort', cancelled);
        counts?.queued.add(-1);
        counts?.queuedSeats.add(-count);
        counted?.moved(kindOf(request), 'waiting', -1, now());
        (executes ? counts?.waited : counts?.waitedInVain)?.observe((now() - arrived) / 1000);
      };
      const refuse = (reason: 'time-out' | 'cancelled'): void => {
        if (ticket.state !== 'waiting') return;
        end(false);
        seats.giveUp(level, ticket, now());
        if (reason === 'time-out') level.timedOut++;
        else level.cancelled++;
        reject(tooMany(flow, reason));
      };
      const cancelled = (): void => refuse('cancelled');
      const ticket: WaitingRequest = {
        seats: count,
        state: 'waiting',
        flow: flow.id,
        schema: flow.schema,
        distinguisher: flow.distinguisher,
        arrivedMs: request.arrivedMs,
        work,
        request,
        start: () => {
          end(true);
          accept(request, flow, work, count);
          resolve();
        },
      };
      seats.wake(level);
      const length = level.enqueue(ticket, flow.hand);
      if (length === undefined) {
        level.rejected++;
        reject(tooMany(flow, level.config.queuing === undefined ? 'concurrency-limit' : 'queue-full'));
        return;
      }
      const timer = clock.after(maxWaitMs, () => refuse('time-out'));
      request.signal.addEventListener('abort', cancelled, { once: true });
      counts?.queued.add(1);
      counts?.queuedSeats.add(count);
      counted?.moved(kindOf(request), 'waiting', 1, arrived);
      counts?.queueLength.observe(length);
      seats.note(level, arrived);
    });
  }

  function accept(request: ApiRequest, flow: Flow, work: WorkEstimate, count: number): void {
    const { counts } = flow;
    counts?.dispatched.inc();
    counts?.executing.add(1);
    counts?.executingSeats.add(count);
    const startedAt = now();
    counted?.moved(kindOf(request), 'executing', 1, startedAt);
    held.set(request, { flow, work, seats: count, startedAt });
  }

  let lastFlow = '';
  let contendedUntil = Number.NEGATIVE_INFINITY;

  /** Whether the turn is used up and somebody else may want the next. */
  function mustWait({ id }: Flow): boolean {
    const at = now();
    if (id !== lastFlow) {
      lastFlow = id;
      contendedUntil = at + contendedMs;
    }
    return at < contendedUntil && (seats.waiting > 0 || turn.isSpent());
  }

  let isPumping = false;

  /** Starts those who wait, one after the other, as long as there are seats and the turn is not used up. */
  function pump(): void {
    if (isPumping || seats.waiting === 0) return;
    const found = seats.next();
    // Nobody has room: whoever leaves pumps again.
    if (found === undefined || turn.isSpent()) return;
    const { level, ticket } = found;
    const charge = found.take();
    const began = now();
    isPumping = true;
    seats.start(level, ticket, began);
    afterReadyWork(() => {
      isPumping = false;
      const spentMs = now() - began;
      charge(spentMs);
      seats.charge(level, spentMs);
      pump();
    });
  }

  function leave({ flow, seats: count }: Held): void {
    flow.counts?.executingSeats.add(-count);
    seats.leave(flow.level, count, now());
    if (seats.waiting > 0) pump();
  }

  return {
    stage: {
      name: 'fairness',
      run(request) {
        const { peer } = request;
        if (peer.user !== undefined || isTunnel(request)) return undefined;
        const flow = flowOf(request);
        if (flow === 'none') return undefined;
        const { level, counts } = flow;
        request.flow = { schema: flow.schemaUid, level: level.config.uid };
        const work = estimateWork(catalog, request, level.nominal);
        const count = Math.max(work.initialSeats, work.finalSeats);
        counts?.estimated.observe(count);
        const { exempt, queuing } = level.config;
        const isFree = level.waiting === 0 && level.hasRoom(count);
        if (exempt || (isFree && (queuing === undefined || !mustWait(flow)))) {
          seats.enter(level, count, now());
          accept(request, flow, work, count);
          return undefined;
        }
        if (!isFree) counts?.noRoom.inc();
        return wait(request, flow, work, count);
      },
    },
    watcher: {
      finished(request, answer) {
        const mine = held.get(request);
        if (mine === undefined) return;
        held.delete(request);
        const { flow, work, startedAt } = mine;
        const { counts } = flow;
        const endedAt = now();
        (answer.type === 'watch' ? counts?.watching : counts?.regular)?.observe((endedAt - startedAt) / 1000);
        counted?.moved(kindOf(request), 'executing', -1, endedAt);
        counts?.executing.add(-1);
        if (work.finalSeats === 0) return leave(mine);
        // Watchers are told after the answer: that work is the request's, too, with the seats that it has.
        clock.after(work.additionalLatencyMs, () => leave(mine));
      },
    },
    debug: (request) => dump(seats, request),
    beforeScrape: () => counted?.settle(now()),
    async run(signal) {
      while (!signal.aborted) {
        await sleep(clock, rebalanceEveryMs, signal);
        seats.rebalance(now());
        counted?.shared(seats, now());
        pump();
      }
    },
  };
}
