// Owns keeping up with one collection: list (streamed where offered), watch from there, resume, and start over when history is gone.
import { type Clock, sleep } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import type { Random } from '../base/random.ts';
import { isAbort } from '../base/task-group.ts';
import { type Frozen, groupResource, type KubeObject } from '../api/meta.ts';
import { isExpired, isStatusError } from '../api/status-error.ts';
import type { ResourceClient, WatchEvent } from './client.ts';

export interface ReflectorSink<T extends KubeObject> {
  /** The whole collection as of `resourceVersion`. */
  replace(items: readonly Frozen<T>[], resourceVersion: string): void;
  event(event: WatchEvent<T>): void;
}

export interface ReflectorOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  readonly namespace?: string;
}

/** As client-go's reflector: 800 ms doubling to 30 s with full jitter, from the start again after two calm minutes. */
const backoff = { firstMs: 800, maxMs: 30_000, calmMs: 120_000 };
const pageSize = 500;
const initialEventsEnd = 'k8s.io/initial-events-end';

/** Runs until the signal aborts. Never gives up: what fails is logged and tried again. */
export async function reflect<T extends KubeObject>(
  client: ResourceClient<T>,
  sink: ReflectorSink<T>,
  options: ReflectorOptions,
  signal: AbortSignal,
): Promise<void> {
  const reflector = new Reflector(client, sink, options);
  while (!signal.aborted) {
    try {
      await reflector.step(signal);
    } catch (error) {
      if (signal.aborted || isAbort(error)) return;
      await reflector.failed(error, signal);
    }
  }
}

class Reflector<T extends KubeObject> {
  readonly #client: ResourceClient<T>;
  readonly #sink: ReflectorSink<T>;
  readonly #options: ReflectorOptions;
  /** Where the next watch starts; empty: list first. */
  #resourceVersion = '';
  #streamsLists = true;
  #delayMs = 0;
  #failedAtMs = -Infinity;

  constructor(client: ResourceClient<T>, sink: ReflectorSink<T>, options: ReflectorOptions) {
    this.#client = client;
    this.#sink = sink;
    this.#options = options;
  }

  async step(signal: AbortSignal): Promise<void> {
    if (this.#resourceVersion !== '') return this.#watch(signal);
    if (!this.#streamsLists) return this.#list(signal);
    try {
      await this.#watchList(signal);
    } catch (error) {
      // Servers without streamed lists refuse sendInitialEvents: 422 (known, switched off) or 400.
      if (!isStatusError(error, 'Invalid') && !isStatusError(error, 'BadRequest')) throw error;
      this.#streamsLists = false;
    }
  }

  async failed(error: unknown, signal: AbortSignal): Promise<void> {
    const { clock, random, logger } = this.#options;
    if (isExpired(error)) this.#resourceVersion = '';
    if (clock.monotonic() - this.#failedAtMs > backoff.calmMs) this.#delayMs = 0;
    this.#failedAtMs = clock.monotonic();
    this.#delayMs = Math.min(Math.max(this.#delayMs * 2, backoff.firstMs), backoff.maxMs);
    const waitMs = this.#delayMs * (1 + random.next());
    const fields = { resource: groupResource(this.#client.ref), error, waitMs };
    if (isExpired(error)) logger.debug('watch history is gone, listing again', fields);
    else logger.warn('list or watch failed, trying again', fields);
    await sleep(clock, waitMs, signal).catch(() => undefined);
  }

  get #selectors(): { labelSelector?: string; fieldSelector?: string; namespace?: string } {
    const { labelSelector, fieldSelector, namespace } = this.#options;
    return {
      ...(labelSelector && { labelSelector }),
      ...(fieldSelector && { fieldSelector }),
      ...(namespace && { namespace }),
    };
  }

  async #list(signal: AbortSignal): Promise<void> {
    const items: Frozen<T>[] = [];
    let resourceVersion = '';
    let next = '';
    do {
      const page = await this.#client.list({
        ...this.#selectors,
        limit: pageSize,
        ...(next !== '' && { continue: next }),
        signal,
      });
      for (const item of page.items) items.push(item);
      resourceVersion ||= page.resourceVersion;
      next = page.continue;
    } while (next !== '');
    this.#sink.replace(items, resourceVersion);
    this.#resourceVersion = resourceVersion;
  }

  /** One watch brings the collection, a bookmark which says that it is whole, and then the changes. */
  async #watchList(signal: AbortSignal): Promise<void> {
    let initial: Map<string, Frozen<T>> | undefined = new Map();
    await this.#follow(signal, { sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan' }, (event) => {
      if (!initial) return false;
      const { metadata } = event.object as unknown as KubeObject;
      const uid = metadata.uid;
      if (event.type === 'DELETED') initial.delete(uid);
      else if (event.type !== 'BOOKMARK') initial.set(uid, event.object);
      else if (metadata.annotations?.[initialEventsEnd] === 'true') {
        this.#sink.replace([...initial.values()], metadata.resourceVersion);
        this.#resourceVersion = metadata.resourceVersion;
        initial = undefined;
      }
      return true;
    });
    if (initial) throw new Error('streamed list ended before it was whole');
  }

  #watch(signal: AbortSignal): Promise<void> {
    return this.#follow(signal, { resourceVersion: this.#resourceVersion }, () => false);
  }

  async #follow(
    signal: AbortSignal,
    how: { resourceVersion?: string; sendInitialEvents?: boolean; resourceVersionMatch?: 'NotOlderThan' },
    takes: (event: WatchEvent<T>) => boolean,
  ): Promise<void> {
    const { clock, random } = this.#options;
    const timeoutSeconds = Math.floor(300 * (1 + random.next()));
    const abort = new AbortController();
    const onAbort = () => abort.abort(signal.reason);
    if (signal.aborted) return;
    signal.addEventListener('abort', onAbort, { once: true });
    // The server ends the watch; the timer is for the one which died without saying so.
    const timer = clock.after((timeoutSeconds + 30) * 1000, () => abort.abort(new Error('watch outlived its timeout')));
    const startedAtMs = clock.monotonic();
    let any = false;
    try {
      const events = this.#client.watch({
        ...this.#selectors,
        ...how,
        allowWatchBookmarks: true,
        timeoutSeconds,
        signal: abort.signal,
      });
      for await (const event of events) {
        any = true;
        if (takes(event)) continue;
        this.#sink.event(event);
        this.#resourceVersion = (event.object as unknown as KubeObject).metadata.resourceVersion;
      }
    } finally {
      timer.cancel();
      signal.removeEventListener('abort', onAbort);
    }
    if (!any && !signal.aborted && clock.monotonic() - startedAtMs < 1000)
      throw new Error('watch ended at once without an event');
  }
}
