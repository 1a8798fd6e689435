// Owns what a controller is and how one runs: watches wake keys, workers reconcile them, failures come back later.
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import type { MetricsRegistry } from '../../base/metrics.ts';
import type { Random } from '../../base/random.ts';
import { taskGroup } from '../../base/task-group.ts';
import { type Frozen, keyOf, keyText, type KubeObject, type ObjectKey, parseKey } from '../../api/meta.ts';
import { isConflict, isNotFound } from '../../api/status-error.ts';
import type { Client } from '../../client/client.ts';
import type { EventBroadcaster } from '../../client/events.ts';
import type { InformerFactory } from '../../client/informer-factory.ts';
import type { Informer } from '../../client/informer.ts';
import { type WorkQueue, workQueue } from '../../client/work-queue.ts';

/** What every controller is made with. */
export interface ControllerContext {
  readonly client: Client;
  readonly informers: InformerFactory;
  readonly events: EventBroadcaster;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: MetricsRegistry;
}

export interface Watch {
  /** Waited for before the first key is reconciled. */
  readonly informer: { readonly whenSynced: (signal?: AbortSignal) => Promise<void> };
  /** Starts calling `wake`; returns how to stop. */
  start(wake: Wake): () => void;
}

export interface Wake {
  (key: ObjectKey, afterMs?: number): void;
}

/** When a key wants to be looked at again though nothing changed. */
export interface Again {
  readonly afterMs: number;
}

export interface Controller {
  /** As in --controllers: "deployment-controller". */
  readonly name: string;
  readonly watches: readonly Watch[];
  /** How many keys at once. Default 5. */
  readonly workers?: number;
  /**
   * A key that changes again within so many milliseconds of its reconcile waits until they are over: a crowd of changes is answered
   * together, the first at once. Default 0.
   */
  readonly pauseMs?: number;
  /** Moves the world one step for one key. Throw = again with backoff; TerminalError = not again until something changes. */
  reconcile?(key: ObjectKey, signal: AbortSignal): Promise<Again | undefined>;
  /** For what is driven by time or discovery rather than by one object's changes; runs beside the workers, after the first sync. */
  run?(signal: AbortSignal, wake: Wake): Promise<void>;
}

/** A failure that trying again cannot mend. */
export class TerminalError extends Error {
  override readonly name = 'TerminalError';
}

/** Wakes the keys that `keys` names for each change; `previous` is given on updates only. */
export function watching<T extends KubeObject>(
  informer: Informer<T>,
  keys: (obj: Frozen<T>, previous?: Frozen<T>) => Iterable<ObjectKey>,
): Watch {
  return {
    informer,
    start(wake) {
      const wakeAll = (obj: Frozen<T>, previous?: Frozen<T>) => {
        for (const key of keys(obj, previous)) wake(key);
      };
      return informer.on({ added: wakeAll, updated: wakeAll, deleted: wakeAll });
    },
  };
}

/** Wakes each changed object's own key. */
export function self<T extends KubeObject>(informer: Informer<T>): Watch {
  return watching(informer, (obj) => [keyOf(obj as unknown as KubeObject)]);
}

/** Only waited for, wakes nobody. */
export function reading<T extends KubeObject>(informer: Informer<T>): Watch {
  return { informer, start: () => () => undefined };
}

export async function runController(
  controller: Controller,
  context: Pick<ControllerContext, 'clock' | 'logger' | 'metrics'>,
  signal: AbortSignal,
): Promise<void> {
  const queue = workQueue({ name: controller.name, clock: context.clock, metrics: context.metrics });
  const pauses = new Pauses(context.clock, controller.pauseMs ?? 0);
  const wake: Wake = (key, afterMs = 0) => {
    const text = keyText(key);
    queue.addAfter(text, Math.max(afterMs, pauses.leftMs(text)));
  };
  const stops = controller.watches.map((watch) => watch.start(wake));
  const onAbort = () => queue.close();
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    await Promise.all(controller.watches.map((watch) => watch.informer.whenSynced(signal)));
    const group = taskGroup(signal);
    if (controller.run) group.run(controller.name, (stop) => controller.run!(stop, wake));
    if (controller.reconcile)
      for (let i = 0; i < (controller.workers ?? 5); i++)
        group.run(controller.name, (stop) => work(controller, queue, pauses, context.logger, stop));
    await group.done;
  } finally {
    queue.close();
    for (const stop of stops) stop();
    signal.removeEventListener('abort', onAbort);
  }
}

/** When each key was last taken up, as far back as it matters. */
class Pauses {
  readonly #clock: Clock;
  readonly #pauseMs: number;
  /** In order of time. */
  readonly #begunMs = new Map<string, number>();

  constructor(clock: Clock, pauseMs: number) {
    this.#clock = clock;
    this.#pauseMs = pauseMs;
  }

  begin(key: string): void {
    if (this.#pauseMs === 0) return;
    const nowMs = this.#clock.monotonic();
    this.#begunMs.delete(key);
    this.#begunMs.set(key, nowMs);
    for (const [old, begunMs] of this.#begunMs) {
      if (nowMs - begunMs < this.#pauseMs) break;
      this.#begunMs.delete(old);
    }
  }

  /** How long the key is still to wait. */
  leftMs(key: string): number {
    const begunMs = this.#begunMs.get(key);
    return begunMs === undefined ? 0 : Math.max(0, begunMs + this.#pauseMs - this.#clock.monotonic());
  }
}

async function work(
  controller: Controller,
  queue: WorkQueue,
  pauses: Pauses,
  logger: Logger,
  signal: AbortSignal,
): Promise<void> {
  for (let key = await queue.take(); key !== undefined && !signal.aborted; key = await queue.take()) {
    try {
      pauses.begin(key);
      const again = await controller.reconcile!(parseKey(key), signal);
      queue.forget(key);
      if (again) queue.addAfter(key, again.afterMs);
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof TerminalError) {
        queue.forget(key);
        logger.error('reconcile gave up', { controller: controller.name, key, error });
      } else {
        const waitMs = queue.retry(key);
        // Someone else was faster: the cache will soon know, and the next try is likely to do.
        const level = isConflict(error) || isNotFound(error) ? 'debug' : 'warn';
        logger[level]('reconcile failed, trying again', { controller: controller.name, key, error, waitMs });
      }
    } finally {
      queue.done(key);
    }
  }
}
