// Owns the status of ResourceQuotas: what their namespaces really use. Admission charges what is created; this gives back what has gone.
import { sleep } from '../../base/clock.ts';
import { addUsage, countedBy, quotaMatches, quotaUsage } from '../../api/judge/quota-usage.ts';
import { type Frozen, keyOf, type KubeObject, type ObjectKey, type ResourceRef } from '../../api/meta.ts';
import type { Pod, ResourceQuota } from '../../api/generated/core.v1.ts';
import { persistentVolumeClaims, pods, resourceQuotas, services } from '../../api/generated/resources.ts';
import { isPodFinished } from '../../api/pod-readiness.ts';
import { formatQuantity, type Quantity, zero } from '../../api/quantity.ts';
import { isNotFound } from '../../api/status-error.ts';
import { discover } from '../../client/discovery.ts';
import type { Informer } from '../../client/informer.ts';
import { type Controller, type ControllerContext, type Watch, watching } from '../framework/controller.ts';
import { isEqual } from '../framework/equality.ts';

const resyncMs = 5 * 60_000;

export function resourceQuotaController(context: ControllerContext): Controller {
  const { client, informers, clock } = context;
  const quotas = informers.informer(resourceQuotas);
  const writer = informers.writer(resourceQuotas);
  const counted = new Map<string, Informer<KubeObject>>();
  /** Set while the controller runs: further collections are followed as quotas name them. */
  let wake: ((key: ObjectKey) => void) | undefined;

  const quotasOf = (namespace: string | undefined): ObjectKey[] => quotas.list(namespace).map((quota) => keyOf(quota));

  /** The informer of a collection that a quota counts, whose deletions then wake the namespace's quotas. */
  async function countedInformer(
    group: string,
    plural: string,
    signal: AbortSignal,
  ): Promise<Informer<KubeObject> | undefined> {
    const known = counted.get(`${group}/${plural}`);
    if (known) return known;
    const { preferred } = await discover(client, signal);
    const ref: ResourceRef | undefined = preferred.find((one) => one.group === group && one.plural === plural);
    if (!ref?.namespaced) return undefined;
    const informer = informers.informer({ group, version: ref.version, kind: ref.kind, plural, namespaced: true });
    counted.set(`${group}/${plural}`, informer);
    await informer.whenSynced(signal);
    informer.on({ deleted: ({ metadata }) => quotasOf(metadata.namespace).forEach((key) => wake?.(key)) });
    return informer;
  }

  async function usedBy(quota: Frozen<ResourceQuota>, signal: AbortSignal): Promise<Record<string, string>> {
    const names = Object.keys(quota.spec.hard ?? {});
    const total = new Map<string, Quantity>();
    const seen = new Set<string>();
    for (const name of names) {
      const resource = countedBy(name);
      if (!resource || seen.has(`${resource.group}/${resource.plural}`)) continue;
      seen.add(`${resource.group}/${resource.plural}`);
      const informer = await countedInformer(resource.group, resource.plural, signal);
      for (const obj of informer?.list(quota.metadata.namespace) ?? [])
        if (quotaMatches(quota, resource, obj)) addUsage(total, quotaUsage(resource, obj));
    }
    return Object.fromEntries(names.map((name) => [name, formatQuantity(total.get(name) ?? zero)]));
  }

  return {
    name: 'resourcequota-controller',
    watches: [
      // A forged status is left until the next full look, as upstream.
      watching(quotas, (quota, previous) => (previous && isEqual(quota.spec, previous.spec) ? [] : [keyOf(quota)])),
      watching(informers.informer(pods), (pod, previous) =>
        hasEnded(pod, previous) ? quotasOf(pod.metadata.namespace) : [],
      ),
      onDeletion(informers.informer(services), quotasOf),
      onDeletion(informers.informer(persistentVolumeClaims), quotasOf),
    ],
    async run(signal, wakeKey) {
      wake = wakeKey;
      while (!signal.aborted) {
        await sleep(clock, resyncMs, signal);
        for (const quota of quotas.list()) wakeKey(keyOf(quota));
      }
    },
    async reconcile(key, signal) {
      const quota = quotas.get(key);
      if (!quota) return undefined;
      const hard = quota.spec.hard ?? {};
      const status = { hard: { ...hard }, used: await usedBy(quota, signal) };
      if (isEqual(status, { hard: quota.status?.hard ?? {}, used: quota.status?.used ?? {} })) return undefined;
      await writer.updateStatus({ ...quota, status } as Frozen<ResourceQuota>, { signal }).catch((error: unknown) => {
        if (!isNotFound(error)) throw error;
      });
      return undefined;
    },
  };
}

/** Ended just now, or is gone (updates have a previous version, deletions are told with the last one and no previous). */
function hasEnded(pod: Frozen<Pod>, previous: Frozen<Pod> | undefined): boolean {
  return previous ? isPodFinished(pod) && !isPodFinished(previous) : pod.metadata.deletionTimestamp !== undefined;
}

function onDeletion<T extends KubeObject>(
  informer: Informer<T>,
  keys: (namespace: string | undefined) => ObjectKey[],
): Watch {
  return {
    informer,
    start: (wake) =>
      informer.on({
        deleted: (obj) => keys((obj as unknown as Frozen<KubeObject>).metadata.namespace).forEach((key) => wake(key)),
      }),
  };
}
