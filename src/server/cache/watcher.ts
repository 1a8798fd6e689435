// Owns one open watch: initial events, then changes in order, bookmarks and the end; never holds more than its bound.
import { StatusError, statusError } from '../../api/status-error.ts';
import type { Status } from '../../api/generated/meta.v1.ts';
import type { Clock, Timer } from '../../base/clock.ts';
import type { Change } from './change.ts';
import { SharedEvent } from './change.ts';
import type { Entry } from './entry.ts';
import type { Scope, WatchCache, Watching } from './watch-cache.ts';

/** Where events go. `send` answers false when full: nothing more comes until `WatchRun.drained` is called. */
export interface WatchSink {
  send(event: SharedEvent): boolean;
  /** The last that is sent. */
  error(status: Status): void;
  end(): void;
}

export interface WatchRunOptions {
  readonly cache: WatchCache;
  readonly clock: Clock;
  readonly scope: Scope;
  readonly matches: (entry: Entry) => boolean;
  /** Objects sent first, as ADDED. */
  readonly initial: readonly Entry[];
  /** Changes after the requested revision, before those to come. */
  readonly replay: readonly Change[];
  /** The revision of which `initial` is the state. */
  readonly revision: number;
  /** Sends a bookmark with the initial-events-end annotation after `initial`. */
  readonly markInitialEnd: boolean;
  readonly bookmarks: boolean;
  readonly timeoutMs: number;
  /** The watch is refused in its first event (the version is too old). */
  readonly failure?: Status;
  /** Must have been waited for before entries are sent; undefined: they can be. Where it rejects, the watch ends with the error. */
  readonly prepare?: (entries: readonly Entry[]) => Promise<void> | undefined;
  /** Makes the object of a bookmark. */
  readonly bookmark: (revision: number, initialEnd: boolean) => Entry;
  /** Called when the initial state has been sent and marked. */
  readonly onInitialEnd?: () => void;
}

/** Changes that may wait for a slow reader before the watch ends (it then watches anew from where it was). */
const queueLimit = 1000;
/** Entries that are made ready together. */
const preparedAtOnce = 100;
const bookmarkEveryMs = 60_000;
/** The last bookmark comes so long before the timeout, so that the next watch starts from a fresh version. */
const bookmarkBeforeEndMs = 2_000;

export class WatchRun implements Watching {
  readonly scope: Scope;
  readonly #options: WatchRunOptions;
  #sink: WatchSink | undefined;
  #full = false;
  #pumping = false;
  #initialAt = 0;
  #initialDone = false;
  #queue: SharedEvent[] = [];
  #queueAt = 0;
  #timers: Timer[] = [];
  #ended = false;
  /** All changes up to here are sent or queued. */
  #seen: number;
  #onEnd: (() => void) | undefined;

  constructor(options: WatchRunOptions) {
    this.#options = options;
    this.scope = options.scope;
    this.#seen = options.revision;
    for (const change of options.replay) this.#enqueue(change);
    if (options.failure === undefined) options.cache.add(this);
    else this.#ended = true;
  }

  /** Objects that are sent first. */
  get initialCount(): number {
    return this.#options.initial.length;
  }

  /** Called once, by the transport. */
  start(sink: WatchSink): void {
    this.#sink = sink;
    if (this.#ended) {
      if (this.#options.failure !== undefined) sink.error(this.#options.failure);
      sink.end();
      return;
    }
    const { clock, timeoutMs, bookmarks } = this.#options;
    this.#timers.push(clock.after(timeoutMs, () => this.stop()));
    if (bookmarks) {
      this.#everyMinute();
      if (timeoutMs > bookmarkBeforeEndMs)
        this.#timers.push(clock.after(timeoutMs - bookmarkBeforeEndMs, () => this.#bookmark()));
    }
    this.#pump();
  }

  /** The sink takes more. */
  drained(): void {
    this.#full = false;
    this.#pump();
  }

  /** Called once when it has ended; only one can be told. */
  onEnd(call: () => void): void {
    if (this.#ended) {
      call();
      return;
    }
    this.#onEnd = call;
  }

  deliver(change: Change): void {
    if (this.#ended) return;
    const event = change.eventFor(this.#options.matches);
    this.#seen = change.revision;
    if (event === undefined) return;
    if (
      this.#sink !== undefined &&
      !this.#full &&
      this.#initialDone &&
      !this.#pumping &&
      this.#queue.length === 0 &&
      this.#options.prepare === undefined
    ) {
      if (!this.#sink.send(event)) this.#full = true;
      return;
    }
    this.#queue.push(event);
    if (this.#queue.length - this.#queueAt > queueLimit) this.stop();
    else if (this.#options.prepare !== undefined && this.#sink !== undefined) this.#pump();
  }

  close(_reason: 'reloaded' | 'stopped'): void {
    this.stop();
  }

  /** Ends it. Idempotent. */
  stop(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#options.cache.remove(this);
    for (const timer of this.#timers) timer.cancel();
    this.#timers = [];
    this.#queue = [];
    this.#sink?.end();
    this.#onEnd?.();
  }

  #enqueue(change: Change): void {
    const event = change.eventFor(this.#options.matches);
    if (event !== undefined) this.#queue.push(event);
  }

  #pump(): void {
    const { initial, markInitialEnd, revision, bookmark } = this.#options;
    if (this.#pumping) return;
    this.#pumping = true;
    while (!this.#full && !this.#ended) {
      if (this.#waits()) return;
      let event: SharedEvent;
      if (this.#initialAt < initial.length) event = new SharedEvent('ADDED', initial[this.#initialAt++]!);
      else if (!this.#initialDone) {
        this.#initialDone = true;
        if (!markInitialEnd) continue;
        event = new SharedEvent('BOOKMARK', bookmark(revision, true));
        this.#options.onInitialEnd?.();
      } else if (this.#queueAt < this.#queue.length) event = this.#queue[this.#queueAt++]!;
      else {
        this.#queue = [];
        this.#queueAt = 0;
        break;
      }
      if (!this.#sink!.send(event)) this.#full = true;
    }
    this.#pumping = false;
  }

  /** True when what comes next is not ready to be sent: it goes on by itself when it is. */
  #waits(): boolean {
    const { prepare, initial } = this.#options;
    if (prepare === undefined) return false;
    const next =
      this.#initialAt < initial.length
        ? initial.slice(this.#initialAt, this.#initialAt + preparedAtOnce)
        : this.#queue.slice(this.#queueAt, this.#queueAt + preparedAtOnce).map(({ entry }) => entry);
    const wait = prepare(next);
    if (wait === undefined) return false;
    wait.then(
      () => {
        this.#pumping = false;
        if (!this.#ended) this.#pump();
      },
      (error: unknown) => this.#fail(error),
    );
    return true;
  }

  #fail(error: unknown): void {
    if (this.#ended) return;
    this.#sink?.error(
      error instanceof StatusError ? error.status : statusError('InternalError', (error as Error).message).status,
    );
    this.stop();
  }

  #everyMinute(): void {
    const timer = this.#options.clock.after(bookmarkEveryMs, () => {
      this.#timers.splice(this.#timers.indexOf(timer), 1);
      this.#bookmark();
      if (!this.#ended) this.#everyMinute();
    });
    this.#timers.push(timer);
  }

  /** Only when nothing waits: a bookmark says that all before it has been sent. */
  #bookmark(): void {
    if (this.#ended || this.#full || !this.#initialDone || this.#queue.length > 0 || this.#sink === undefined) return;
    const revision = Math.max(this.#seen, this.#options.cache.revision);
    if (!this.#sink.send(new SharedEvent('BOOKMARK', this.#options.bookmark(revision, false)))) this.#full = true;
  }
}
