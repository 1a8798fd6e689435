// Owns the seats of the priority levels: who may start now, who waits in which queue, who is turned away. No requests, no timers.
import { share, smoothed } from './borrowing.ts';
import { Demand } from './demand.ts';

export interface LevelConfig {
  readonly name: string;
  readonly uid: string;
  /** Its requests are counted, but never held up. */
  readonly exempt: boolean;
  readonly shares: number;
  readonly lendablePercent: number;
  /** Undefined: as much as others lend. */
  readonly borrowingLimitPercent: number | undefined;
  /** Undefined: nobody waits. */
  readonly queuing: { readonly queues: number; readonly handSize: number; readonly lengthLimit: number } | undefined;
}

export interface Ticket {
  readonly seats: number;
  /** Turns are fair between these, however many queues one of them fills. */
  readonly flow: string;
  /** Called when the seats are its own. */
  readonly start: () => void;
  state: 'waiting' | 'running' | 'gone';
}

interface Queue<T extends Ticket> {
  readonly waiting: T[];
}

/** Is told how much of a level is in use, whenever that changes. */
export interface LevelShares {
  note(level: Level, nowMs: number): void;
  limits(level: Level, nowMs: number): void;
  settle(nowMs: number): void;
}

const flowsRemembered = 1000;

export class Level<T extends Ticket = Ticket> {
  readonly config: LevelConfig;
  nominal = 0;
  /** What it may use now: between what it does not lend and what it may borrow. */
  current = 0;
  inUse = 0;
  executing = 0;
  waiting = 0;
  waitingSeats = 0;
  dispatched = 0;
  rejected = 0;
  timedOut = 0;
  cancelled = 0;
  smoothed = 0;
  target = 0;
  last = { average: 0, deviation: 0, high: 0 };
  usage: LevelShares | undefined;
  /** Work done for it, by seat that it may use: between levels the smallest is served next. */
  served = 0;
  readonly demand: Demand;
  readonly queues: Queue<T>[];
  /** Work handed out to flows so far, on the level's scale: the smallest is served next. */
  readonly #flows = new Map<string, number>();
  #now = 0;

  constructor(config: LevelConfig, nowMs: number) {
    this.config = config;
    this.demand = new Demand(nowMs);
    this.queues = Array.from({ length: config.queuing?.queues ?? 0 }, () => ({ waiting: [] }));
  }

  get minimum(): number {
    return this.nominal - Math.round((this.nominal * this.config.lendablePercent) / 100);
  }

  maximum(total: number): number {
    const { borrowingLimitPercent } = this.config;
    return borrowingLimitPercent === undefined
      ? Math.max(total, this.nominal)
      : this.nominal + Math.round((this.nominal * borrowingLimitPercent) / 100);
  }

  /** Whether it may take so many seats now. One request may always run, however wide it is. */
  hasRoom(seats: number): boolean {
    return this.config.exempt || this.inUse === 0 || this.inUse + seats <= this.current;
  }

  /** How many wait in its queue with it; undefined: every queue of the hand is full. */
  enqueue(ticket: T, hand: readonly number[]): number | undefined {
    const { queuing } = this.config;
    if (queuing === undefined) return undefined;
    let best: Queue<T> | undefined;
    for (const at of hand) {
      const queue = this.queues[at]!;
      if (best === undefined || queue.waiting.length < best.waiting.length) best = queue;
    }
    if (best === undefined || best.waiting.length >= queuing.lengthLimit) return undefined;
    best.waiting.push(ticket);
    this.waiting++;
    this.waitingSeats += ticket.seats;
    return best.waiting.length;
  }

  /** The next in fair order, left in its queue. */
  next(): { readonly ticket: T; take(): (work: number) => void } | undefined {
    let best: Queue<T> | undefined;
    let least = Number.POSITIVE_INFINITY;
    for (const queue of this.queues) {
      while (queue.waiting[0]?.state === 'gone') queue.waiting.shift();
      const [head] = queue.waiting;
      if (head === undefined) continue;
      const served = this.servedTo(head.flow);
      if (served < least) {
        least = served;
        best = queue;
      }
    }
    const queue = best;
    if (queue === undefined) return undefined;
    const ticket = queue.waiting[0]!;
    return {
      ticket,
      /** Out of its queue, which is told afterwards how much work it was. */
      take: () => {
        queue.waiting.shift();
        this.#now = Math.max(this.#now, least);
        this.waiting--;
        this.waitingSeats -= ticket.seats;
        this.#charge(ticket.flow, ticket.seats);
        return (work) => this.#charge(ticket.flow, work);
      },
    };
  }

  /** A flow that was quiet has no claim on the past. */
  servedTo(flow: string): number {
    return Math.max(this.#now, this.#flows.get(flow) ?? 0);
  }

  #charge(flow: string, work: number): void {
    const served = this.servedTo(flow) + work;
    if (this.#flows.size >= flowsRemembered && !this.#flows.has(flow))
      for (const [known, at] of this.#flows) if (at <= this.#now) this.#flows.delete(known);
    // So many at once, all ahead: those who come now begin like those who were quiet.
    if (this.#flows.size < flowsRemembered || this.#flows.has(flow)) this.#flows.set(flow, served);
  }
}

export class Seats<T extends Ticket = Ticket> {
  readonly total: number;
  /** Of the last time that seats were shared out. */
  fraction = 0;
  #levels = new Map<string, Level<T>>();
  /** Levels that went while requests of theirs were under way. */
  readonly #leaving = new Set<Level<T>>();
  /** What the level that was served last has had. */
  #served = 0;

  constructor(total: number) {
    this.total = total;
  }

  get levels(): ReadonlyMap<string, Level<T>> {
    return this.#levels;
  }

  get waiting(): number {
    let waiting = 0;
    for (const level of this.#levels.values()) waiting += level.waiting;
    return waiting;
  }

  isLeaving(level: Level<T>): boolean {
    return this.#leaving.has(level);
  }

  /** New configurations; a level that stays keeps its requests. Those who wait in a level that goes or changes its queues are let in. */
  configure(configs: readonly LevelConfig[], nowMs: number): void {
    const sum = configs.reduce((total, { shares }) => total + shares, 0) || 1;
    const next = new Map<string, Level<T>>();
    const replaced: Level<T>[] = [];
    for (const config of configs) {
      const old = this.#levels.get(config.name);
      const isSame = old !== undefined && JSON.stringify(old.config) === JSON.stringify(config);
      const level = isSame ? old : new Level<T>(config, nowMs);
      if (!isSame && old !== undefined) replaced.push(old);
      level.nominal = Math.ceil((this.total * config.shares) / sum);
      next.set(config.name, level);
    }
    for (const [name, level] of this.#levels) if (!next.has(name)) replaced.push(level);
    this.#levels = next;
    this.rebalance(nowMs, false);
    for (const level of replaced) {
      for (let found = level.next(); found !== undefined; found = level.next()) {
        found.take();
        this.start(level, found.ticket, nowMs);
      }
      if (level.executing > 0) this.#leaving.add(level);
    }
  }

  /** Shares the seats out anew by what was wanted since the last round. `isRound` is false between rounds, when only bounds changed. */
  rebalance(nowMs: number, isRound = true): void {
    const claims = [];
    for (const level of this.#levels.values()) {
      if (isRound) {
        level.last = level.demand.take(nowMs);
        level.smoothed = smoothed(level.smoothed, level.last.average + level.last.deviation);
      }
      const lower = Math.max(level.minimum, Math.min(level.nominal, level.last.high));
      level.target = Math.max(lower, level.smoothed, 1);
      claims.push({
        name: level.config.name,
        lower,
        upper: Math.max(lower, level.maximum(this.total)),
        // An exempt level takes what it takes: nothing is kept for it beyond its bounds.
        target: level.config.exempt ? 0 : level.target,
      });
    }
    const { fraction, limits } = share(this.total, claims);
    this.fraction = fraction;
    for (const level of this.#levels.values()) level.current = Math.max(1, limits.get(level.config.name) ?? 0);
  }

  start(level: Level<T>, ticket: T, nowMs: number): void {
    ticket.state = 'running';
    this.enter(level, ticket.seats, nowMs);
    ticket.start();
  }

  enter(level: Level<T>, seats: number, nowMs: number): void {
    level.inUse += seats;
    level.executing++;
    level.dispatched++;
    this.note(level, nowMs);
  }

  leave(level: Level<T>, seats: number, nowMs: number): void {
    level.inUse = Math.max(0, level.inUse - seats);
    level.executing = Math.max(0, level.executing - 1);
    if (level.executing === 0) this.#leaving.delete(level);
    this.note(level, nowMs);
  }

  giveUp(level: Level<T>, ticket: T, nowMs: number): void {
    if (ticket.state !== 'waiting') return;
    ticket.state = 'gone';
    level.waiting--;
    level.waitingSeats -= ticket.seats;
    level.rejected++;
    this.note(level, nowMs);
  }

  note(level: Level<T>, nowMs: number): void {
    level.demand.set(level.inUse + level.waitingSeats, nowMs);
    level.usage?.note(level as unknown as Level, nowMs);
  }

  charge(level: Level<T>, work: number): void {
    level.served += work / level.current;
    this.#served = level.served;
  }

  /** A level where nobody waited has no claim on the past. */
  wake(level: Level<T>): void {
    if (level.waiting === 0) level.served = Math.max(level.served, this.#served);
  }

  /** Of all levels with room for their next: the one that got the least for its size. Left in its queue. */
  next(): { readonly level: Level<T>; readonly ticket: T; take(): (work: number) => void } | undefined {
    let best: { readonly level: Level<T>; readonly ticket: T; take(): (work: number) => void } | undefined;
    for (const level of this.#levels.values()) {
      if (level.waiting === 0 || (best !== undefined && best.level.served <= level.served)) continue;
      const found = level.next();
      if (found !== undefined && level.hasRoom(found.ticket.seats)) best = { level, ...found };
    }
    return best;
  }
}
