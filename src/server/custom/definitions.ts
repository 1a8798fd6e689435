// Owns the life of definitions: names accepted, kinds served and taken away, instances deleted with them. Loads the machinery when the first one comes.
import type { CustomResourceDefinition } from '../../api/generated/apiextensions.v1.ts';
import { isConflict, isNotFound } from '../../api/status-error.ts';
import type { Frozen, KubeObject } from '../../api/meta.ts';
import { thaw } from '../../api/meta.ts';
import { timeOf } from '../../api/time.ts';
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import { deferred, isAbort } from '../../base/task-group.ts';
import type { Transport } from '../../client/transport.ts';
import type { LocalServices } from '../aggregation/local-services.ts';
import type { Feed } from '../cache/feed.ts';
import { followCache } from '../cache/follow.ts';
import { cleanupFinalizer, conditionOf } from '../resources/apiextensions/custom-resource-definition.ts';
import type { Catalog, Collection, Served } from '../served/served.ts';
import type { Objects } from '../storage/objects.ts';
import { same } from '../verbs/equal.ts';
import type { ConversionDeps } from './conversion-webhook.ts';
import type { RuleTimes } from './rules.ts';
import { approvalCondition, established, nameDefinition, withCondition } from './naming.ts';

type Definition = Frozen<CustomResourceDefinition>;

export interface CustomKindsOptions {
  readonly catalog: Catalog;
  readonly feed: Feed;
  readonly objects: Objects;
  readonly services: LocalServices;
  /** As the server itself. */
  readonly transport: Transport;
  readonly clock: Clock;
  readonly log: Logger;
  readonly historyLimit: number;
  /** How conversion webhooks are called. */
  readonly conversion: ConversionDeps;
  /** Is told how long rules take. */
  readonly timed?: RuleTimes;
}

export interface CustomKinds {
  /** Serves all kinds that are established already: before the first request is answered. */
  restore(): Promise<void>;
  run(signal: AbortSignal): Promise<void>;
}

interface Installed {
  readonly definition: Definition;
  readonly collection: Collection;
  readonly served: readonly Served[];
}

const retryMs = 500;
const group = 'apiextensions.k8s.io';
const plural = 'customresourcedefinitions';
const lastVerbs: ReadonlySet<string> = new Set(['get', 'list', 'watch', 'delete', 'deletecollection']);

export function customKinds({
  catalog,
  feed,
  objects,
  services,
  transport,
  clock,
  log,
  historyLimit,
  conversion,
  timed,
}: CustomKindsOptions): CustomKinds {
  const definitions = catalog.stored(group, plural)!.collection!;
  const installed = new Map<string, Installed>();
  const dirty = new Set<string>();
  let wake = deferred();

  const definitionOf = (name: string): Definition | undefined =>
    definitions.cache.get(name)?.object as Definition | undefined;
  const mark = (name: string): void => {
    dirty.add(name);
    wake.resolve();
  };

  function* inGroup(of: Definition): Iterable<Definition> {
    for (const { object } of definitions.cache.list({ type: 'all' })) {
      const other = object as unknown as Definition;
      if (other.spec.group === of.spec.group && other.metadata.name !== of.metadata.name) yield other;
    }
  }

  async function install(definition: Definition): Promise<void> {
    const { name, deletionTimestamp } = definition.metadata;
    const before = installed.get(name);
    if (before !== undefined && servesAlike(before.definition, definition)) {
      if (deletionTimestamp === before.definition.metadata.deletionTimestamp) return;
      const served = before.served.map((one) => ({ ...one, verbs: lastVerbs, terminating: true }));
      for (const one of served) catalog.add(one);
      installed.set(name, { ...before, definition, served });
      return;
    }
    const { compileRules, conversionWebhook, servedKind } = await import('./machinery.ts');
    const convertAll =
      definition.spec.conversion?.strategy === 'Webhook' ? conversionWebhook(definition, conversion) : undefined;
    const { collection, served } = servedKind(
      definition,
      (root) => compileRules(root, timed),
      historyLimit,
      convertAll,
    );
    await feed.add({ prefix: collection.prefix, cache: collection.cache, decode: collection.codec.decode });
    for (const { resource } of before?.served ?? []) catalog.remove(resource.group, resource.version, resource.plural);
    for (const one of served) catalog.add(deletionTimestamp === undefined ? one : { ...one, terminating: true });
    installed.set(name, { definition, collection, served });
    before?.collection.cache.closeWatchers('stopped');
    if (before !== undefined) await register(before.served);
  }

  async function uninstall(name: string): Promise<void> {
    const before = installed.get(name);
    if (before === undefined) return;
    installed.delete(name);
    for (const { resource } of before.served) catalog.remove(resource.group, resource.version, resource.plural);
    feed.remove(before.collection.prefix);
    await register(before.served);
  }

  /** Group versions that are served have an APIService; those that no longer are have none of ours. */
  async function register(served: readonly Served[]): Promise<void> {
    for (const { resource } of served) {
      const { group: of, version } = resource;
      if (catalog.all().some((one) => one.resource.group === of && one.resource.version === version))
        await services.ensure(of, version);
      else await services.remove(of, version);
    }
  }

  async function reconcile(name: string): Promise<void> {
    const definition = definitionOf(name);
    if (definition === undefined) {
      await uninstall(name);
      return;
    }
    const status = nextStatus(definition, [...inGroup(definition)], timeOf(clock.now()));
    const next = { ...definition, status } as Definition;
    if (conditionOf(next, 'Established')?.status === 'True') await install(next);
    if (!same(status, definition.status)) await writeStatus(next);
    else if (definition.metadata.deletionTimestamp !== undefined) await finalize(definition);
    await register(installed.get(name)?.served ?? []);
  }

  async function writeStatus(next: Definition): Promise<Definition> {
    const path = `/apis/${group}/v1/${plural}/${next.metadata.name}/status`;
    return (await transport.call({ method: 'PUT', path, body: next })) as Definition;
  }

  /** Instances go first; then the definition may. The last finalizer goes with the status, and the definition with it. */
  async function finalize(definition: Definition): Promise<void> {
    const { name, finalizers = [] } = definition.metadata;
    if (!finalizers.includes(cleanupFinalizer)) return;
    const message = 'CustomResource deletion is in progress';
    const begun = terminating(definition, 'True', 'InstanceDeletionInProgress', message, clock.now());
    const told = same(begun.status, definition.status) ? definition : await writeStatus(begun);
    if (!(await removeInstances(name))) throw new StillThere(name);
    const done = terminating(told, 'False', 'InstanceDeletionCompleted', 'removed all instances', clock.now());
    const others = finalizers.filter((one) => one !== cleanupFinalizer);
    await writeStatus({ ...done, metadata: { ...told.metadata, finalizers: others } } as Definition);
    if (others.length === 0) await uninstall(name);
  }

  /** True when there are none left. Those with finalizers are marked, and go when these are done. */
  async function removeInstances(name: string): Promise<boolean> {
    const found = installed.get(name);
    if (found === undefined) return true;
    const { collection } = found;
    for (const { key, object } of [...collection.cache.list({ type: 'all' })]) {
      try {
        if ((object.metadata.finalizers ?? []).length === 0) await objects.delete(collection, key, () => undefined);
        else if (object.metadata.deletionTimestamp === undefined)
          await objects.update(collection, key, (entry) => {
            const copy = thaw(entry.object) as KubeObject;
            copy.metadata.deletionTimestamp ??= timeOf(clock.now());
            copy.metadata.deletionGracePeriodSeconds ??= 0;
            if (copy.metadata.generation) copy.metadata.generation++;
            return copy;
          });
      } catch (error) {
        if (!isNotFound(error)) throw error;
      }
    }
    return [...collection.cache.list({ type: 'all' })].length === 0;
  }

  async function work(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const names = [...dirty];
      dirty.clear();
      for (const name of names) {
        try {
          await reconcile(name);
        } catch (error) {
          if (isAbort(error) || signal.aborted) return;
          if (!isConflict(error) && !isNotFound(error) && !(error instanceof StillThere))
            log.warn('a custom kind cannot be brought up to date', { name, error });
          clock.after(retryMs, () => mark(name));
        }
      }
      if (dirty.size > 0) continue;
      await wake.promise;
      wake = deferred();
    }
  }

  return {
    async restore() {
      for (const { object } of [...definitions.cache.list({ type: 'all' })]) {
        const definition = object as unknown as Definition;
        if (conditionOf(definition, 'Established')?.status === 'True') await install(definition);
      }
    },
    async run(signal) {
      const neighbours = (definition: Definition): void => {
        for (const other of inGroup(definition))
          if (conditionOf(other, 'NamesAccepted')?.status !== 'True') mark(other.metadata.name);
      };
      const stop = followCache(definitions.cache, {
        put: ({ name, object }) => {
          mark(name);
          neighbours(object as unknown as Definition);
        },
        removed: ({ name, object }) => {
          mark(name);
          neighbours(object as unknown as Definition);
        },
        reset: () => {
          for (const name of installed.keys()) mark(name);
        },
      });
      const end = (): void => wake.resolve();
      signal.addEventListener('abort', end, { once: true });
      try {
        await work(signal);
      } finally {
        stop();
        signal.removeEventListener('abort', end);
      }
    },
  };
}

/** Instances wait for their finalizers: looked at again later. */
class StillThere extends Error {
  constructor(name: string) {
    super(`instances of ${name} are still there`);
  }
}

function terminating(
  definition: Definition,
  status: string,
  reason: string,
  message: string,
  nowMs: number,
): Definition {
  const condition = { type: 'Terminating', status, reason, message };
  const conditions = withCondition(definition.status.conditions ?? [], condition, timeOf(nowMs));
  return { ...definition, status: { ...definition.status, conditions } } as Definition;
}

function servesAlike(before: Definition, next: Definition): boolean {
  return same(before.spec, next.spec) && same(before.status.acceptedNames, next.status.acceptedNames);
}

function nextStatus(definition: Definition, others: readonly Definition[], now: string): Definition['status'] {
  const { acceptedNames, namesAccepted } = nameDefinition(definition, others);
  // Names that are accepted already are not looked at again, also where somebody took the conditions away.
  const isNamed = same(definition.spec.names, definition.status?.acceptedNames);
  if (isNamed && conditionOf(definition, 'NamesAccepted') === undefined) return definition.status;
  let conditions = withCondition(definition.status?.conditions ?? [], namesAccepted, now);
  conditions = withCondition(conditions, established(namesAccepted, conditionOf(definition, 'Established')), now);
  const approval = approvalCondition(definition);
  if (approval !== undefined) conditions = withCondition(conditions, approval, now);
  return { ...definition.status, acceptedNames, conditions } as Definition['status'];
}
