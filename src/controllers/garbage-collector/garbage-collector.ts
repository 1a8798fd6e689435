// Owns deleting what nobody owns any more, and letting go of dependents that shall stay: for every collection the server has.
import { sleep } from '../../base/clock.ts';
import { apiVersionOf, type Frozen, type KubeObject, type ResourceRef } from '../../api/meta.ts';
import type { OwnerReference } from '../../api/generated/meta.v1.ts';
import { customResourceDefinitions } from '../../api/generated/resources.ts';
import { isConflict, isNotFound } from '../../api/status-error.ts';
import { discover } from '../../client/discovery.ts';
import { type Again, type Controller, type ControllerContext, reading, type Wake } from '../framework/controller.ts';
import {
  foregroundFinalizer,
  type GraphNode,
  isForeground,
  isOrphaning,
  isOwner,
  orphanFinalizer,
  OwnerGraph,
} from './graph.ts';
import { type OwnerFact, planItem } from './plan.ts';

/** Upstream looks for new kinds so often; a changed CRD makes us look sooner. */
const discoveryPeriodMs = 30_000;

/** Kinds that live too short to be worth watching, as upstream. */
const ignored: ReadonlySet<string> = new Set(['/events', 'events.k8s.io/events']);

export function garbageCollector(context: ControllerContext): Controller {
  const collector = new GarbageCollector(context);
  return {
    name: 'garbage-collector-controller',
    watches: [reading(context.informers.informer(customResourceDefinitions))],
    workers: 20,
    run: (signal, wake) => collector.run(signal, wake),
    reconcile: (key, signal) => collector.reconcile(key.namespace, key.name, signal),
  };
}

/** Its API may be switched off or its server down for now: whoever names it stays. */
class UnknownOwnerKind extends Error {
  override readonly name = 'UnknownOwnerKind';
}

interface Monitor {
  readonly ref: ResourceRef;
  readonly stop: () => void;
}

class GarbageCollector {
  readonly #context: ControllerContext;
  readonly #graph = new OwnerGraph();
  readonly #monitors = new Map<string, Monitor>();
  /** By apiVersion and kind, as owner references name them. */
  #kinds = new Map<string, ResourceRef>();
  readonly #recorder;
  #wake: Wake = () => undefined;
  #isReady = false;

  constructor(context: ControllerContext) {
    this.#context = context;
    this.#recorder = context.events.recorder('garbage-collector-controller');
  }

  async run(signal: AbortSignal, wake: Wake): Promise<void> {
    this.#wake = wake;
    const { clock, logger, informers } = this.#context;
    let changed = new AbortController();
    const crds = informers.informer(customResourceDefinitions);
    const onChange = () => changed.abort();
    const stop = crds.on({ added: onChange, updated: onChange, deleted: onChange });
    try {
      while (!signal.aborted) {
        try {
          await this.#followServer(signal);
        } catch (error) {
          if (!signal.aborted) logger.warn('garbage collector could not discover resources', { error });
        }
        // A little later, so that a new kind is served by then and a burst of CRDs costs one look.
        await sleep(
          clock,
          changed.signal.aborted ? 500 : discoveryPeriodMs,
          AbortSignal.any([signal, changed.signal]),
        ).catch(() => undefined);
        if (changed.signal.aborted) await sleep(clock, 500, signal).catch(() => undefined);
        changed = new AbortController();
      }
    } finally {
      stop();
      for (const monitor of this.#monitors.values()) monitor.stop();
    }
  }

  /** Watches what the server has now, and no longer what it has no more. */
  async #followServer(signal: AbortSignal): Promise<void> {
    const { client, informers } = this.#context;
    const found = await discover(client, signal);
    const kinds = new Map(found.all.map((ref) => [`${apiVersionOf(ref)}/${ref.kind}`, ref]));
    const failed = found.failures.length > 0;
    this.#kinds = failed ? new Map([...this.#kinds, ...kinds]) : kinds;
    const wanted = new Map(
      found.preferred
        .filter(({ verbs, group, plural }) => isCollectable(verbs) && !ignored.has(`${group}/${plural}`))
        .map((ref) => [`${ref.group}/${ref.version}/${ref.plural}`, ref]),
    );
    const fresh: Promise<void>[] = [];
    for (const [id, { verbs: _verbs, ...ref }] of wanted)
      if (!this.#monitors.has(id)) {
        const informer = informers.informer(ref as ResourceRef);
        const observe = (obj: Frozen<KubeObject>) => this.#attend(this.#graph.observe(ref, obj));
        const stop = informer.on({
          added: observe,
          updated: observe,
          deleted: (obj) => this.#attend(this.#graph.forget(obj.metadata.uid)),
        });
        this.#monitors.set(id, { ref, stop });
        fresh.push(informer.whenSynced(signal));
      }
    if (!failed)
      for (const [id, monitor] of this.#monitors)
        if (!wanted.has(id)) {
          monitor.stop();
          this.#monitors.delete(id);
          this.#forgetCollection(monitor.ref);
        }
    // One collection that cannot be listed must not stop the others for ever.
    const patience = sleep(this.#context.clock, discoveryPeriodMs, signal).catch(() => undefined);
    await Promise.race([Promise.all(fresh), patience]);
    this.#isReady = true;
  }

  #forgetCollection(ref: ResourceRef): void {
    const { informers } = this.#context;
    for (const obj of informers.informer(ref).list()) this.#attend(this.#graph.forget(obj.metadata.uid));
    informers.drop(ref);
  }

  #attend({ check, orphan }: { check: Set<string>; orphan: Set<string> }): void {
    for (const uid of check) this.#wake({ namespace: '', name: uid });
    for (const uid of orphan) this.#wake({ namespace: 'orphan', name: uid });
  }

  async reconcile(what: string, uid: string, signal: AbortSignal): Promise<Again | undefined> {
    if (!this.#isReady) return { afterMs: 200 };
    const node = this.#graph.get(uid);
    if (!node) return undefined;
    try {
      if (what === 'orphan') await this.#letDependentsGo(node, signal);
      else await this.#check(node, signal);
    } catch (error) {
      if (isNotFound(error)) return undefined;
      if (isConflict(error)) return { afterMs: 20 };
      if (error instanceof UnknownOwnerKind) {
        this.#context.logger.debug('object is kept: its owner cannot be looked up', { error });
        return { afterMs: discoveryPeriodMs };
      }
      throw error;
    }
    return undefined;
  }

  async #check(node: GraphNode, signal: AbortSignal): Promise<void> {
    if (node.isDeleting && !isForeground(node)) return;
    if (isForeground(node)) return this.#goOnForeground(node, signal);
    if (node.owners.length === 0) return;
    // Most of what is looked at is well owned: the graph knows, no request is made.
    if (node.owners.every((owner) => this.#isSolid(node, owner))) return;
    const resource = this.#context.client.resource(node.ref);
    const latest = await resource.get(node, { signal });
    if (latest.metadata.uid !== node.uid) return;
    const owners = latest.metadata.ownerReferences ?? [];
    const facts: OwnerFact[] = [];
    for (const owner of owners) {
      this.#warnOfForeign(node, latest, owner);
      facts.push({ owner, state: await this.#stateOf(node, owner, signal) });
    }
    const dependents = this.#graph.dependentsOf(node.uid);
    const plan = planItem(facts, latest.metadata.finalizers ?? [], {
      any: dependents.length > 0,
      anyForeground: dependents.some(isForeground),
    });
    if (plan.do === 'keep') return;
    if (plan.do === 'dropOwners') return this.#dropOwners(node, owners, plan.uids, signal);
    if (plan.unblock) await this.#unblock(node, owners, signal);
    await resource.delete(node, {
      propagationPolicy: plan.propagationPolicy,
      preconditions: {
        uid: node.uid,
        ...(!plan.unblock && { resourceVersion: latest.metadata.resourceVersion }),
      },
      signal,
    });
  }

  #isSolid(node: GraphNode, owner: Frozen<OwnerReference>): boolean {
    const known = this.#graph.get(owner.uid);
    return isOwner(known, node, owner) && !isForeground(known);
  }

  /** Owners are looked for in the dependent's own namespace only; who meant another one shall learn why it went. */
  #warnOfForeign(node: GraphNode, obj: Frozen<KubeObject>, owner: Frozen<OwnerReference>): void {
    const known = this.#graph.get(owner.uid);
    if (!known || known.namespace === '' || known.namespace === node.namespace) return;
    const { apiVersion, kind, name, uid } = owner;
    const text = `[${apiVersion}/${kind}, namespace: ${node.namespace}, name: ${name}, uid: ${uid}]`;
    const message = `ownerRef ${text} does not exist in namespace "${node.namespace}"`;
    this.#recorder.event(obj, 'Warning', 'OwnerRefInvalidNamespace', message);
  }

  async #stateOf(node: GraphNode, owner: Frozen<OwnerReference>, signal: AbortSignal): Promise<OwnerFact['state']> {
    if (this.#isSolid(node, owner)) return 'solid';
    const ref = this.#kinds.get(`${owner.apiVersion}/${owner.kind}`);
    if (!ref)
      throw new UnknownOwnerKind(`${owner.apiVersion}/${owner.kind} ${owner.name}: the server has no such kind`);
    // A cluster-scoped object cannot be owned by a namespaced one: there is no namespace to look in.
    if (ref.namespaced && node.namespace === '') return 'solid';
    const namespace = ref.namespaced ? node.namespace : '';
    try {
      const { metadata } = await this.#context.client.resource(ref).get({ namespace, name: owner.name }, { signal });
      if (metadata.uid !== owner.uid) return 'dangling';
      const waits = metadata.deletionTimestamp !== undefined && metadata.finalizers?.includes(foregroundFinalizer);
      return waits ? 'waiting' : 'solid';
    } catch (error) {
      if (isNotFound(error)) return 'dangling';
      throw error;
    }
  }

  /** Dependents go first; when none blocks any more the finalizer goes, and the object with it. */
  async #goOnForeground(node: GraphNode, signal: AbortSignal): Promise<void> {
    const blockers = this.#graph.blockersOf(node.uid);
    if (blockers.length === 0) return this.#removeFinalizer(node, foregroundFinalizer, signal);
    for (const blocker of blockers) if (!isForeground(blocker)) this.#wake({ namespace: '', name: blocker.uid });
  }

  async #letDependentsGo(node: GraphNode, signal: AbortSignal): Promise<void> {
    if (!isOrphaning(node)) return;
    const dependents = this.#graph.dependentsOf(node.uid);
    await Promise.all(
      dependents.map((dependent) =>
        this.#dropOwners(dependent, dependent.owners, [node.uid], signal).catch((error: unknown) => {
          if (!isNotFound(error)) throw error;
        }),
      ),
    );
    await this.#removeFinalizer(node, orphanFinalizer, signal);
  }

  async #dropOwners(
    node: GraphNode,
    owners: readonly Frozen<OwnerReference>[],
    uids: readonly string[],
    signal: AbortSignal,
  ): Promise<void> {
    const kept = owners.filter((owner) => !uids.includes(owner.uid));
    await this.#patchMetadata(node, { ownerReferences: kept.length > 0 ? kept : null }, signal);
  }

  async #unblock(node: GraphNode, owners: readonly Frozen<OwnerReference>[], signal: AbortSignal): Promise<void> {
    const ownerReferences = owners.map((owner) => ({ ...owner, blockOwnerDeletion: false }));
    await this.#patchMetadata(node, { ownerReferences }, signal);
  }

  async #removeFinalizer(node: GraphNode, finalizer: string, signal: AbortSignal): Promise<void> {
    const { metadata } = await this.#context.client.resource(node.ref).get(node, { signal });
    if (metadata.uid !== node.uid || !metadata.finalizers?.includes(finalizer)) return;
    const finalizers = metadata.finalizers.filter((one) => one !== finalizer);
    await this.#patchMetadata(node, { finalizers, resourceVersion: metadata.resourceVersion }, signal);
  }

  /** A merge patch: custom resources know no other, and it works for all kinds. */
  async #patchMetadata(node: GraphNode, metadata: object, signal: AbortSignal): Promise<void> {
    const body = { metadata: { uid: node.uid, ...metadata } };
    await this.#context.client.resource(node.ref).patch(node, { type: 'merge', body }, { signal });
  }
}

function isCollectable(verbs: readonly string[]): boolean {
  return ['delete', 'list', 'watch'].every((verb) => verbs.includes(verb));
}
