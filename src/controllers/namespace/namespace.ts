// Owns emptying terminating namespaces: every discovered collection, pods first, then letting go of the namespace itself.
import { apiVersionOf, type Frozen, type KubeObject, type ResourceRef } from '../../api/meta.ts';
import type { Namespace, Pod } from '../../api/generated/core.v1.ts';
import { namespaces } from '../../api/generated/resources.ts';
import { isConflict, isNotFound, isStatusError } from '../../api/status-error.ts';
import { maybeMillisOf } from '../../api/time.ts';
import { discover, type DiscoveredResource } from '../../client/discovery.ts';
import type { Again, Controller, ControllerContext } from '../framework/controller.ts';
import { self } from '../framework/controller.ts';
import { isEqual } from '../framework/equality.ts';
import { graceSeconds, planConditions, type Remains } from './plan.ts';

const finalizer = 'kubernetes';

export function namespaceController(context: ControllerContext): Controller {
  const { client, clock } = context;
  const cache = context.informers.informer(namespaces);
  const writer = context.informers.writer(namespaces);

  /** Undefined while pods are within their grace: there is nothing to report yet. */
  async function empty(namespace: Frozen<Namespace>, signal: AbortSignal): Promise<Remains | undefined> {
    const { name } = namespace.metadata;
    const found = await discover(client, signal);
    const counts = new Map<string, number>();
    const finalizers = new Map<string, number>();
    const failures: string[] = [];
    let podsEnding = false;
    const deletable = found.preferred.filter(({ namespaced, verbs }) => namespaced && verbs.includes('delete'));
    const isPods = (ref: ResourceRef) => ref.group === '' && ref.plural === 'pods';

    const clear = async (ref: DiscoveredResource): Promise<void> => {
      try {
        const left = await deleteAll(ref, name, signal);
        if (left.length === 0) return;
        const held = left.flatMap((obj) => obj.metadata.finalizers ?? []);
        for (const one of held) finalizers.set(one, (finalizers.get(one) ?? 0) + 1);
        const sinceMs = clock.now() - (maybeMillisOf(namespace.metadata.deletionTimestamp) ?? 0);
        const isExpected = isPods(ref) && graceSeconds(left as unknown as Frozen<Pod>[], sinceMs / 1000) > 0;
        if (isExpected) podsEnding = true;
        else if (held.length > 0) counts.set(`${ref.plural}.${ref.group}`, left.length);
        else failures.push(`unexpected items still remain in namespace: ${name} for gvr: ${gvrText(ref)}`);
      } catch (error) {
        signal.throwIfAborted();
        failures.push((error as Error).message);
      }
    };

    // Other content may be what terminating pods still need (KEP-5080).
    await Promise.all(deletable.filter(isPods).map(clear));
    if (podsEnding) return undefined;
    if (counts.size === 0 && failures.length === 0)
      await Promise.all(deletable.filter((ref) => !isPods(ref)).map(clear));
    return { discoveryFailures: found.failures, failures, counts, finalizers };
  }

  /** Deletes a collection's objects in the namespace; returns those that are still there. */
  async function deleteAll(
    ref: DiscoveredResource,
    namespace: string,
    signal: AbortSignal,
  ): Promise<readonly Frozen<KubeObject>[]> {
    const resource = client.resource(ref);
    const listed = async () => (ref.verbs.includes('list') ? (await resource.list({ namespace, signal })).items : []);
    try {
      const before = await listed();
      if (before.length === 0 && ref.verbs.includes('list')) return [];
      const deletion = { propagationPolicy: 'Background', signal } as const;
      if (ref.verbs.includes('deletecollection')) await resource.deleteCollection({ namespace }, deletion);
      else
        for (const { metadata } of before)
          await resource.delete({ namespace, name: metadata.name }, deletion).catch(ignoreNotFound);
      return await listed();
    } catch (error) {
      // The collection itself is gone (its CRD was deleted) or cannot be deleted from.
      if (isNotFound(error) || isStatusError(error, 'MethodNotAllowed')) return [];
      throw error;
    }
  }

  async function letGo(namespace: Frozen<Namespace>, signal: AbortSignal): Promise<void> {
    const { apiVersion, kind, metadata } = namespace;
    const finalizers = (namespace.spec.finalizers ?? []).filter((one) => one !== finalizer);
    const body = { ...namespace, apiVersion, kind, metadata, spec: { ...namespace.spec, finalizers } };
    await client.resource(namespaces).update(body, { subresource: 'finalize', signal }).catch(ignoreNotFound);
  }

  async function reconcile(name: string, signal: AbortSignal): Promise<Again | undefined> {
    let namespace = cache.get({ namespace: '', name });
    if (!namespace?.metadata.deletionTimestamp || !namespace.spec.finalizers?.includes(finalizer)) return undefined;
    const remains = await empty(namespace, signal);
    if (!remains) return again(namespace);
    const conditions = planConditions(namespace.status?.conditions ?? [], remains, clock.now());
    const status = { ...namespace.status, phase: 'Terminating', conditions };
    if (!isEqual(status, namespace.status))
      try {
        namespace = await writer.updateStatus({ ...namespace, status }, { signal });
      } catch (error) {
        if (isNotFound(error)) return undefined;
        throw error;
      }
    const isEmpty = remains.counts.size + remains.failures.length + remains.discoveryFailures.length === 0;
    if (isEmpty) {
      await letGo(namespace, signal);
      return undefined;
    }
    return again(namespace);
  }

  /** Looked at again soon when the deletion is young (pods end quickly), rarely when something hangs. */
  function again(namespace: Frozen<Namespace>): Again {
    const sinceMs = clock.now() - (maybeMillisOf(namespace.metadata.deletionTimestamp) ?? 0);
    return { afterMs: Math.min(Math.max(sinceMs / 8, 100), 15_000) };
  }

  return {
    name: 'namespace-controller',
    watches: [self(cache)],
    workers: 10,
    reconcile: async (key, signal) => {
      try {
        return await reconcile(key.name, signal);
      } catch (error) {
        if (isConflict(error)) return { afterMs: 10 };
        throw error;
      }
    },
  };
}

function gvrText(ref: ResourceRef): string {
  return `${ref.group === '' ? '/v1' : apiVersionOf(ref)}, Resource=${ref.plural}`;
}

function ignoreNotFound(error: unknown): undefined {
  if (!isNotFound(error)) throw error;
  return undefined;
}
