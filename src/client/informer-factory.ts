// Owns the set of informers that the components of one process share: one cache a collection, started when first asked for.
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import type { Random } from '../base/random.ts';
import { type TaskGroup, taskGroup } from '../base/task-group.ts';
import { type Frozen, groupResource, type KubeObject, type ResourceRef } from '../api/meta.ts';
import type { Client, ResourceClient, WriteOptions } from './client.ts';
import { type Informer, SharedInformer } from './informer.ts';

export interface InformerSelection {
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  readonly namespace?: string;
}

export interface InformerFactory {
  readonly client: Client;
  /** The shared informer; a selection makes another one, shared by all who ask for the same selection. */
  informer<T extends KubeObject>(ref: ResourceRef<T>, selection?: InformerSelection): Informer<T>;
  /** A client whose answers go into the shared cache of this collection, so that its user reads its own writes. */
  writer<T extends KubeObject>(ref: ResourceRef<T>): ResourceClient<T>;
  /** The same caches for somebody else: what is written goes through `client`, as its user. */
  as(client: Client): InformerFactory;
  /** Stops and forgets the informer of a collection that is no longer served. */
  drop(ref: ResourceRef): void;
  /** Runs all informers, also those asked for later, until the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
}

export interface InformerFactoryOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

interface Entry {
  readonly informer: SharedInformer<KubeObject>;
  readonly stop: AbortController;
}

export function informerFactory(client: Client, options: InformerFactoryOptions): InformerFactory {
  const entries = new Map<string, Entry>();
  let group: TaskGroup | undefined;

  function start(name: string, { informer, stop }: Entry): void {
    group?.run(`informer ${name}`, (signal) => informer.run(AbortSignal.any([signal, stop.signal])));
  }

  function informer<T extends KubeObject>(ref: ResourceRef<T>, selection: InformerSelection = {}): Informer<T> {
    const name = idOf(ref, selection);
    let entry = entries.get(name);
    if (!entry) {
      const made = new SharedInformer(client.resource(ref), { ...options, ...selection });
      entry = { informer: made as unknown as SharedInformer<KubeObject>, stop: new AbortController() };
      entries.set(name, entry);
      start(name, entry);
    }
    return entry.informer as unknown as Informer<T>;
  }

  const factory: InformerFactory = {
    client,
    informer,
    writer: (ref) => writingThrough(client.resource(ref), informer(ref)),
    as: (other) => ({
      ...factory,
      client: other,
      writer: (ref) => writingThrough(other.resource(ref), informer(ref)),
    }),
    drop(ref) {
      const name = idOf(ref, {});
      entries.get(name)?.stop.abort();
      entries.delete(name);
    },
    async run(signal) {
      const running = taskGroup(signal);
      group = running;
      for (const [name, entry] of entries) start(name, entry);
      try {
        await running.done;
      } finally {
        if (group === running) group = undefined;
      }
    },
  };
  return factory;
}

function idOf(ref: ResourceRef, { labelSelector = '', fieldSelector = '', namespace = '' }: InformerSelection): string {
  const name = `${groupResource(ref)}/${ref.version}`;
  const selection = [namespace, labelSelector, fieldSelector].join(' ').trim();
  return selection === '' ? name : `${name} ${selection}`;
}

function writingThrough<T extends KubeObject>(client: ResourceClient<T>, informer: Informer<T>): ResourceClient<T> {
  const keep = async (answer: Promise<Frozen<T>>, options?: WriteOptions): Promise<Frozen<T>> => {
    const obj = await answer;
    if (!options?.dryRun && (options?.subresource === undefined || options.subresource === 'status'))
      informer.wrote(obj);
    return obj;
  };
  return {
    ...client,
    create: (obj, options) => keep(client.create(obj, options), options),
    update: (obj, options) => keep(client.update(obj, options), options),
    updateStatus: (obj, options) => keep(client.updateStatus(obj, options), options),
    patch: (key, patch, options) => keep(client.patch(key, patch, options), options),
    async delete(key, options) {
      const obj = await client.delete(key, options);
      if (obj && !options?.dryRun) informer.wrote(obj);
      return obj;
    },
  };
}
