// Owns the frame of an operator for users of the package: informers, events, queues and leader election run together. Knows no kind.
import { hostname } from 'node:os';
import { type Clock, systemClock } from '../base/clock.ts';
import { type Logger, logger } from '../base/log.ts';
import { type MetricsRegistry, metricsRegistry } from '../base/metrics.ts';
import { type Random, randomSuffix, systemRandom } from '../base/random.ts';
import { taskGroup } from '../base/task-group.ts';
import { apiVersionOf, type Frozen, keyOf, type KubeObject, type ObjectKey, type ResourceRef } from '../api/meta.ts';
import { isNotFound } from '../api/status-error.ts';
import type { Client, ResourceClient } from '../client/client.ts';
import { eventBroadcaster, type EventRecorder } from '../client/events.ts';
import { type InformerFactory, informerFactory } from '../client/informer-factory.ts';
import { lead } from '../client/leader-election.ts';
import { type Controller, runController } from '../controllers/framework/controller.ts';

export interface OperatorOptions {
  /** Names the source of events and the owner of applied fields. */
  readonly name: string;
  readonly client: Client;
  /** Of several that share this Lease one is active. Absent: this one is, whoever else runs. */
  readonly lease?: ObjectKey;
  /** Among the candidates; default the host's name and a random part. */
  readonly identity?: string;
  /** What the caches hold is of this namespace only; default all. */
  readonly namespace?: string;
  readonly clock?: Clock;
  readonly random?: Random;
  readonly logger?: Logger;
  readonly metrics?: MetricsRegistry;
  readonly onLeader?: (identity: string) => void;
}

/** What the controllers of an operator are made with. */
export interface OperatorContext {
  readonly name: string;
  readonly client: Client;
  readonly informers: InformerFactory;
  readonly recorder: EventRecorder;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: MetricsRegistry;
}

/**
 * Runs the controllers until the signal aborts, once this candidate leads. Throws when leadership is lost or something breaks that
 * trying again does not mend: end the process then, as upstream's managers do.
 */
export async function runOperator(
  options: OperatorOptions,
  controllers: (context: OperatorContext) => readonly Controller[],
  signal: AbortSignal,
): Promise<void> {
  const { name, client } = options;
  const deps = {
    clock: options.clock ?? systemClock,
    random: options.random ?? systemRandom,
    logger: options.logger ?? logger('info', 2).child(name),
    metrics: options.metrics ?? metricsRegistry(),
  };
  const run = async (inner: AbortSignal): Promise<void> => {
    const group = taskGroup(inner);
    const informers = informerFactory(client, deps);
    const events = eventBroadcaster({ client, ...deps });
    const context = { name, client, informers, recorder: events.recorder(name), ...deps };
    for (const controller of controllers(context))
      group.run(controller.name, (stop) => runController(controller, deps, stop));
    group.run('events', (stop) => events.run(stop));
    group.run('informers', (stop) => informers.run(stop));
    await group.done;
  };
  const { lease, onLeader, identity = `${hostname()}_${randomSuffix(deps.random)}` } = options;
  if (lease === undefined) return run(signal);
  await lead({ client, ...deps, lease, identity, ...(onLeader && { onLeader }) }, run, signal);
}

/** Names a custom kind, so that clients and informers are typed by its interface. */
export function customKind<T extends KubeObject>(kind: ResourceRef<T>): ResourceRef<T> {
  return kind;
}

/** Server-side apply: exactly what is said here is this owner's, created where it is missing. Throws Conflict for fields of others. */
export function apply<T extends KubeObject>(
  client: ResourceClient<T>,
  object: { readonly metadata: { readonly namespace?: string; readonly name: string } },
  fieldManager: string,
  options: { readonly force?: boolean; readonly subresource?: string; readonly signal?: AbortSignal } = {},
): Promise<Frozen<T>> {
  const { ref } = client;
  const body = { apiVersion: apiVersionOf(ref), kind: ref.kind, ...object };
  return client.patch(keyOf(object), { type: 'apply', body }, { fieldManager, ...options });
}

export function hasFinalizer({ metadata }: Frozen<KubeObject>, finalizer: string): boolean {
  return metadata.finalizers?.includes(finalizer) ?? false;
}

/** Puts the finalizer on, or takes it off; a Conflict when somebody changed the object meanwhile. What has gone is left alone. */
export async function setFinalizer<T extends KubeObject>(
  client: ResourceClient<T>,
  object: Frozen<KubeObject>,
  finalizer: string,
  isWanted: boolean,
): Promise<void> {
  if (hasFinalizer(object, finalizer) === isWanted) return;
  const { finalizers = [], resourceVersion = '' } = object.metadata;
  const next = isWanted ? [...finalizers, finalizer] : finalizers.filter((one) => one !== finalizer);
  try {
    await client.patch(keyOf(object), {
      type: 'merge',
      // The version makes it refuse to undo what others did to the list.
      body: { metadata: { finalizers: next, resourceVersion } },
    });
  } catch (error) {
    if (!isNotFound(error) || isWanted) throw error;
  }
}
