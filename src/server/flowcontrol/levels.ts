// Owns the seats of the priority levels: who may start now, who waits in which queue, who is turned away. No requests, no timers.
import { handOf } from './classify.ts';

export interface LevelConfig {
  readonly name: string;
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
  readonly flow: string;
  /** Called when the seats are its own. */
  readonly start: () => void;
  state: 'waiting' | 'running' | 'gone';
}

interface Queue {
  readonly waiting: Ticket[];
  /** Work handed out so far, on the level's scale: the smallest is served next. */
  served: number;
}

export class Level {
  readonly config: LevelConfig;
  nominal = 0;
  inUse = 0;
  waiting = 0;
  dispatched = 0;
  rejected = 0;
  readonly queues: Queue[];
  #now = 0;

  constructor(config: LevelConfig) {
    this.config = config;
    this.queues = Array.from({ length: config.queuing?.queues ?? 0 }, () => ({ waiting: [], served: 0 }));
  }

  get lendable(): number {
    return Math.round((this.nominal * this.config.lendablePercent) / 100);
  }

  /** How many seats it may hold at most. */
  get limit(): number {
    const { borrowingLimitPercent } = this.config;
    return borrowingLimitPercent === undefined
      ? Number.POSITIVE_INFINITY
      : this.nominal + Math.round((this.nominal * borrowingLimitPercent) / 100);
  }

  /** False: every queue of its hand is full. */
  enqueue(ticket: Ticket, hash: number): boolean {
    const { queuing } = this.config;
    if (queuing === undefined) return false;
    let best: Queue | undefined;
    for (const at of handOf(hash, queuing.queues, queuing.handSize)) {
      const queue = this.queues[at]!;
      if (best === undefined || queue.waiting.length < best.waiting.length) best = queue;
    }
    if (best === undefined || best.waiting.length >= queuing.lengthLimit) return false;
    // A queue that was empty has no claim on the past.
    if (best.waiting.length === 0) best.served = Math.max(best.served, this.#now);
    best.waiting.push(ticket);
    this.waiting++;
    return true;
  }

  /** The next in fair order, left in its queue. */
  next(): { readonly ticket: Ticket; take(): void } | undefined {
    let best: Queue | undefined;
    for (const queue of this.queues) {
      while (queue.waiting[0]?.state === 'gone') queue.waiting.shift();
      if (queue.waiting.length > 0 && (best === undefined || queue.served < best.served)) best = queue;
    }
    const queue = best;
    if (queue === undefined) return undefined;
    const ticket = queue.waiting[0]!;
    return {
      ticket,
      take: () => {
        queue.waiting.shift();
        this.#now = queue.served;
        queue.served += ticket.seats;
        this.waiting--;
      },
    };
  }
}

export class Seats {
  readonly #total: number;
  #levels = new Map<string, Level>();

  constructor(total: number) {
    this.#total = total;
  }

  get levels(): ReadonlyMap<string, Level> {
    return this.#levels;
  }

  /** New configurations; a level that stays keeps its requests. Those who wait in a level that goes are let in. */
  configure(configs: readonly LevelConfig[]): void {
    const sum = configs.reduce((total, { shares, exempt }) => total + (exempt ? 0 : shares), 0) || 1;
    const next = new Map<string, Level>();
    for (const config of configs) {
      const old = this.#levels.get(config.name);
      const isSame = old !== undefined && JSON.stringify(old.config) === JSON.stringify(config);
      const level = isSame ? old : new Level(config);
      if (!isSame && old !== undefined) {
        level.inUse = old.inUse;
        this.#release(old, level);
      }
      level.nominal = config.exempt ? 0 : Math.ceil((this.#total * config.shares) / sum);
      next.set(config.name, level);
    }
    for (const [name, level] of this.#levels) if (!next.has(name)) this.#release(level, level);
    this.#levels = next;
  }

  #release(level: Level, onto: Level): void {
    for (let found = level.next(); found !== undefined; found = level.next()) {
      found.take();
      this.#start(onto, found.ticket);
    }
  }

  #start(level: Level, ticket: Ticket): void {
    ticket.state = 'running';
    level.inUse += ticket.seats;
    level.dispatched++;
    ticket.start();
  }

  /** Whether `level` may take so many seats now: its own, or what others lend and do not use. */
  hasRoom(level: Level, seats: number): boolean {
    if (level.config.exempt || level.inUse === 0) return true;
    const wanted = level.inUse + seats;
    if (wanted > level.limit) return false;
    let used = 0;
    let lent = 0;
    for (const other of this.#levels.values()) {
      if (other.config.exempt) continue;
      used += other.inUse;
      // What a level does not lend is kept free for it, whoever asks.
      if (other !== level) lent += Math.max(0, other.nominal - other.lendable - other.inUse);
    }
    if (wanted <= level.nominal) return used + seats <= Math.max(this.#total, level.nominal);
    return used + seats + lent <= this.#total;
  }

  leave(name: string, seats: number): void {
    const level = this.#levels.get(name);
    if (level !== undefined) level.inUse = Math.max(0, level.inUse - seats);
    for (const candidate of this.#levels.values()) this.#dispatch(candidate);
  }

  giveUp(level: Level, ticket: Ticket): void {
    if (ticket.state !== 'waiting') return;
    ticket.state = 'gone';
    level.waiting--;
    level.rejected++;
  }

  #dispatch(level: Level): void {
    for (let found = level.waiting === 0 ? undefined : level.next(); found !== undefined; found = level.next()) {
      if (!this.hasRoom(level, found.ticket.seats)) return;
      found.take();
      this.#start(level, found.ticket);
    }
  }
}
