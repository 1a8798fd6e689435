// Owns recording events: what components say about objects, written in the background, bounded and never in the way.
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import { type Random, randomUuid } from '../base/random.ts';
import { deferred } from '../base/task-group.ts';
import type { Frozen, KubeObject } from '../api/meta.ts';
import type { Event, ObjectReference } from '../api/generated/core.v1.ts';
import type { Event as EventV1 } from '../api/generated/events.v1.ts';
import { events, eventsV1Events } from '../api/generated/resources.ts';
import { isNotFound, isStatusError } from '../api/status-error.ts';
import { microTimeOf, timeOf } from '../api/time.ts';
import type { Client } from './client.ts';
import { type Correlated, EventCorrelator } from './event-correlation.ts';

export type EventType = 'Normal' | 'Warning';

/** An object or a reference to one. */
export type EventSubject = Frozen<KubeObject> | Frozen<ObjectReference>;

export interface EventRecorder {
  /** A core/v1 event, as the older components make. Never throws; dropped when the queue is full. */
  event(
    about: EventSubject,
    type: EventType,
    reason: string,
    message: string,
    annotations?: Record<string, string>,
  ): void;
}

export interface SeriesEventRecorder {
  /** An events.k8s.io/v1 event, as the scheduler and kube-proxy make; repetitions become its series. */
  event(
    regarding: EventSubject,
    related: EventSubject | undefined,
    type: EventType,
    reason: string,
    action: string,
    note: string,
  ): void;
}

export interface EventBroadcaster {
  recorder(component: string, host?: string): EventRecorder;
  seriesRecorder(controller: string, instance: string): SeriesEventRecorder;
  /** Writes until the signal aborts; what still waits then is dropped. */
  run(signal: AbortSignal): Promise<void>;
}

export interface EventBroadcasterOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

const maxQueued = 1000;
/** Texts are cut to what the server accepts. */
const maxMessage = 1024;
/** A repetition later than this starts a new event (KEP-383). */
const seriesEndsAfterMs = 6 * 60_000;
const maxSeries = 4096;

interface Series {
  readonly event: EventV1;
  count: number;
  lastMs: number;
}

type Pending = { readonly core: Event } | { readonly series: EventV1 };

export function eventBroadcaster(options: EventBroadcasterOptions): EventBroadcaster {
  return new Broadcaster(options);
}

class Broadcaster implements EventBroadcaster {
  readonly #options: EventBroadcasterOptions;
  readonly #correlator = new EventCorrelator();
  readonly #series = new Map<string, Series>();
  readonly #queue: Pending[] = [];
  #wake = deferred();
  #nameCounter = 0;

  constructor(options: EventBroadcasterOptions) {
    this.#options = options;
  }

  recorder(component: string, host = ''): EventRecorder {
    return {
      event: (about, type, reason, message, annotations) => {
        const involvedObject = referenceTo(about);
        const now = timeOf(this.#options.clock.now());
        this.#enqueue({
          core: {
            apiVersion: 'v1',
            kind: 'Event',
            metadata: {
              ...this.#metadata(involvedObject),
              ...(annotations && { annotations }),
            },
            involvedObject,
            reason,
            message: message.slice(0, maxMessage),
            source: { component, ...(host !== '' && { host }) },
            firstTimestamp: now,
            lastTimestamp: now,
            count: 1,
            type,
            reportingComponent: component,
            reportingInstance: host,
          },
        });
      },
    };
  }

  seriesRecorder(controller: string, instance: string): SeriesEventRecorder {
    return {
      event: (about, related, type, reason, action, note) => {
        const regarding = referenceTo(about);
        this.#enqueue({
          series: {
            apiVersion: 'events.k8s.io/v1',
            kind: 'Event',
            metadata: this.#metadata(regarding),
            eventTime: microTimeOf(this.#options.clock.now()),
            reportingController: controller,
            reportingInstance: instance,
            action,
            reason,
            regarding,
            ...(related && { related: referenceTo(related) }),
            note: note.slice(0, maxMessage),
            type,
          },
        });
      },
    };
  }

  async run(signal: AbortSignal): Promise<void> {
    signal.addEventListener('abort', () => this.#wake.resolve(), { once: true });
    while (!signal.aborted) {
      const next = this.#queue.shift();
      if (next) await this.#write(next, signal);
      else {
        await this.#wake.promise;
        this.#wake = deferred();
      }
    }
  }

  /** Named as upstream: the object's name and a number that never repeats, in hexadecimal. */
  #metadata(about: ObjectReference): Event['metadata'] {
    const nanos = BigInt(this.#options.clock.now()) * 1_000_000n + BigInt(this.#nameCounter++ % 1_000_000);
    const name = `${about.name || randomUuid(this.#options.random)}.${nanos.toString(16)}`;
    return { name, namespace: about.namespace || 'default' } as Event['metadata'];
  }

  #enqueue(pending: Pending): void {
    if (this.#queue.length >= maxQueued) {
      this.#options.logger.debug('event dropped: too many wait');
      return;
    }
    this.#queue.push(pending);
    this.#wake.resolve();
  }

  async #write(pending: Pending, signal: AbortSignal): Promise<void> {
    try {
      if ('core' in pending)
        await this.#writeCore(this.#correlator.correlate(pending.core, this.#options.clock.now()), signal);
      else await this.#writeSeries(pending.series, signal);
    } catch (error) {
      // Events are best effort: a refusal (a terminating namespace, most often) or an outage costs only the event.
      if (!signal.aborted) this.#options.logger.debug('event was not written', { error });
    }
  }

  async #writeCore(correlated: Correlated, signal: AbortSignal): Promise<void> {
    if (correlated.do === 'drop') return;
    const client = this.#options.client.resource(events);
    const { event, key } = correlated;
    if (correlated.do === 'count') {
      const { name, namespace = '' } = event.metadata;
      const body = { count: event.count, lastTimestamp: event.lastTimestamp, message: event.message };
      try {
        await client.patch({ namespace, name }, { type: 'strategic', body }, { signal });
        return;
      } catch (error) {
        if (!isNotFound(error)) throw error;
      }
    }
    try {
      await client.create(event, { signal });
    } catch (error) {
      if (!isStatusError(error, 'AlreadyExists')) this.#correlator.forget(key);
      throw error;
    }
  }

  async #writeSeries(event: EventV1, signal: AbortSignal): Promise<void> {
    const client = this.#options.client.resource(eventsV1Events);
    const { regarding, related } = event;
    const key = JSON.stringify([
      event.type,
      event.action,
      event.reason,
      event.reportingController,
      event.reportingInstance,
      regarding,
      related,
    ]);
    const nowMs = this.#options.clock.now();
    const known = this.#series.get(key);
    if (known && nowMs - known.lastMs < seriesEndsAfterMs) {
      known.count++;
      known.lastMs = nowMs;
      // The second time starts the series; later ones are counted and written when the count doubles.
      if ((known.count & (known.count - 1)) !== 0) return;
      const series = { count: known.count, lastObservedTime: microTimeOf(nowMs) };
      const { name, namespace = '' } = known.event.metadata;
      await client.patch({ namespace, name }, { type: 'strategic', body: { series } }, { signal });
      return;
    }
    this.#series.delete(key);
    this.#series.set(key, { event, count: 1, lastMs: nowMs });
    for (const oldest of this.#series.keys()) {
      if (this.#series.size <= maxSeries) break;
      this.#series.delete(oldest);
    }
    await client.create(event, { signal });
  }
}

export function referenceTo(about: EventSubject): ObjectReference {
  if (!('metadata' in about)) return { ...about };
  const { apiVersion, kind, metadata } = about as Frozen<KubeObject>;
  return {
    kind,
    ...(metadata.namespace && { namespace: metadata.namespace }),
    name: metadata.name,
    uid: metadata.uid,
    apiVersion,
    resourceVersion: metadata.resourceVersion,
  };
}
