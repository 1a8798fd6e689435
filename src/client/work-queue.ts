// Owns the queue between handlers and workers: each key once, never two workers on one key, failed keys later and later.
import type { Clock, Timer } from '../base/clock.ts';
import { Heap } from '../base/heap.ts';
import type { Counter, Gauge, Histogram, MetricsRegistry } from '../base/metrics.ts';

export interface WorkQueueOptions {
  readonly name: string;
  readonly clock: Clock;
  readonly metrics: MetricsRegistry;
  /** First and longest wait after failures. Default 5 ms and 1000 s, as client-go. */
  readonly firstBackoffMs?: number;
  readonly maxBackoffMs?: number;
}

export interface WorkQueue<K extends string = string> {
  readonly size: number;
  /** A key that waits already is not added again; one being worked on is, once it is done. */
  add(key: K): void;
  addAfter(key: K, delayMs: number): void;
  /** Adds after a wait that doubles with each call until `forget`. Returns the wait in milliseconds. */
  retry(key: K): number;
  /** How often `retry` was called since `forget`. */
  failures(key: K): number;
  forget(key: K): void;
  /** The next key; undefined once the queue is closed and empty of what `drain` leaves. */
  take(): Promise<K | undefined>;
  /** Must follow each `take`. */
  done(key: K): void;
  /** Waiting takers get undefined; nothing is accepted any more. */
  close(): void;
}

interface Waiting<K> {
  readonly key: K;
  readonly dueMs: number;
}

/** Multiplied one by one as upstream does, whose digits these are; what ** gives differs between versions of Node. */
const durationBuckets = [1e-8];
while (durationBuckets.length < 10) durationBuckets.push(durationBuckets.at(-1)! * 10);

interface QueueMetrics {
  readonly depth: Gauge;
  readonly adds: Counter;
  readonly retries: Counter;
  readonly queued: Histogram;
  readonly worked: Histogram;
}

function queueMetrics(registry: MetricsRegistry, name: string): QueueMetrics {
  const label = ['name'];
  const counter = (metric: string, help: string) => registry.counters(`workqueue_${metric}`, help, label).of(name);
  const histogram = (metric: string, help: string) =>
    registry.histograms(`workqueue_${metric}`, help, label, durationBuckets).of(name);
  return {
    depth: registry.gauges('workqueue_depth', 'Keys that wait in the queue', label).of(name),
    adds: counter('adds_total', 'Keys added to the queue'),
    retries: counter('retries_total', 'Keys added again after a failure'),
    queued: histogram('queue_duration_seconds', 'How long keys waited before they were taken'),
    worked: histogram('work_duration_seconds', 'How long keys were worked on'),
  };
}

export function workQueue<K extends string = string>(options: WorkQueueOptions): WorkQueue<K> {
  return new Queue<K>(options);
}

class Queue<K extends string> implements WorkQueue<K> {
  readonly #clock: Clock;
  readonly #metrics: QueueMetrics;
  readonly #firstMs: number;
  readonly #maxMs: number;
  /** In order of arrival, with the time of it. */
  readonly #ready = new Map<K, number>();
  readonly #working = new Map<K, number>();
  readonly #again = new Set<K>();
  readonly #failures = new Map<K, number>();
  readonly #later = new Heap<Waiting<K>>((a, b) => a.dueMs - b.dueMs);
  /** The earliest time that each delayed key is wanted; entries of the heap that say otherwise are void. */
  readonly #dueMs = new Map<K, number>();
  readonly #takers: ((key: K | undefined) => void)[] = [];
  #timer: { readonly dueMs: number; readonly timer: Timer } | undefined;
  #closed = false;
  /** Ends what is told of this queue. */
  readonly #unread: readonly (() => void)[];

  constructor(options: WorkQueueOptions) {
    this.#clock = options.clock;
    this.#metrics = queueMetrics(options.metrics, options.name);
    const { metrics, name } = options;
    this.#unread = [
      metrics.reading(
        'workqueue_unfinished_work_seconds',
        'How long keys being worked on have been, in sum',
        { name },
        () => this.#underWay().reduce((sum, seconds) => sum + seconds, 0),
      ),
      metrics.reading(
        'workqueue_longest_running_processor_seconds',
        'How long the longest of them has been',
        { name },
        () => Math.max(0, ...this.#underWay()),
      ),
    ];
    this.#firstMs = options.firstBackoffMs ?? 5;
    this.#maxMs = options.maxBackoffMs ?? 1_000_000;
  }

  get size(): number {
    return this.#ready.size;
  }

  add(key: K): void {
    if (this.#closed || this.#ready.has(key)) return;
    if (this.#working.has(key)) {
      if (!this.#again.has(key)) this.#metrics.adds.inc();
      this.#again.add(key);
      return;
    }
    this.#metrics.adds.inc();
    this.#enqueue(key);
  }

  addAfter(key: K, delayMs: number): void {
    if (this.#closed) return;
    if (delayMs <= 0) return this.add(key);
    const dueMs = this.#clock.monotonic() + delayMs;
    const earlier = this.#dueMs.get(key);
    if (earlier !== undefined && earlier <= dueMs) return;
    this.#dueMs.set(key, dueMs);
    this.#later.push({ key, dueMs });
    this.#arm();
  }

  retry(key: K): number {
    const failures = this.#failures.get(key) ?? 0;
    this.#failures.set(key, failures + 1);
    const delayMs = Math.min(this.#firstMs * 2 ** failures, this.#maxMs);
    this.#metrics.retries.inc();
    this.addAfter(key, delayMs);
    return delayMs;
  }

  failures(key: K): number {
    return this.#failures.get(key) ?? 0;
  }

  forget(key: K): void {
    this.#failures.delete(key);
  }

  take(): Promise<K | undefined> {
    if (this.#closed) return Promise.resolve(undefined);
    for (const key of this.#ready.keys()) return Promise.resolve(this.#start(key));
    return new Promise((resolve) => this.#takers.push(resolve));
  }

  done(key: K): void {
    const startedMs = this.#working.get(key);
    if (startedMs === undefined) return;
    this.#working.delete(key);
    this.#metrics.worked.observe((this.#clock.monotonic() - startedMs) / 1000);
    if (this.#again.delete(key) && !this.#closed) this.#enqueue(key);
  }

  close(): void {
    this.#closed = true;
    for (const end of this.#unread) end();
    this.#timer?.timer.cancel();
    this.#ready.clear();
    this.#again.clear();
    this.#dueMs.clear();
    for (const taker of this.#takers.splice(0)) taker(undefined);
  }

  /** In seconds. */
  #underWay(): number[] {
    const nowMs = this.#clock.monotonic();
    return [...this.#working.values()].map((startedMs) => (nowMs - startedMs) / 1000);
  }

  #enqueue(key: K): void {
    this.#ready.set(key, this.#clock.monotonic());
    const taker = this.#takers.shift();
    if (taker) taker(this.#start(key));
    else this.#metrics.depth.set(this.#ready.size);
  }

  #start(key: K): K {
    const nowMs = this.#clock.monotonic();
    this.#metrics.queued.observe((nowMs - (this.#ready.get(key) ?? nowMs)) / 1000);
    this.#ready.delete(key);
    this.#metrics.depth.set(this.#ready.size);
    this.#working.set(key, nowMs);
    return key;
  }

  #arm(): void {
    const next = this.#later.peek();
    if (!next || (this.#timer && this.#timer.dueMs <= next.dueMs)) return;
    this.#timer?.timer.cancel();
    const timer = this.#clock.after(Math.max(0, next.dueMs - this.#clock.monotonic()), () => this.#fire());
    this.#timer = { dueMs: next.dueMs, timer };
  }

  #fire(): void {
    this.#timer = undefined;
    // A real clock's timer may come a little early.
    const nowMs = this.#clock.monotonic() + 1;
    for (let next = this.#later.peek(); next && next.dueMs <= nowMs; next = this.#later.peek()) {
      this.#later.pop();
      if (this.#dueMs.get(next.key) !== next.dueMs) continue;
      this.#dueMs.delete(next.key);
      this.add(next.key);
    }
    this.#arm();
  }
}
