// Owns removing pods that nobody will end any more: of nodes that are gone, never scheduled, or long finished and too many.
import { sleep } from '../../base/clock.ts';
import { nodes, pods } from '../../api/generated/resources.ts';
import { isPodFinished } from '../../api/pod-readiness.ts';
import { isNotFound } from '../../api/status-error.ts';
import { type Controller, type ControllerContext, reading } from '../framework/controller.ts';
import { disruptionPatch, endPod } from '../framework/disruption-target.ts';
import { planGarbage } from './plan.ts';

/** As upstream: a look every 20 s, and 40 s for a node to come back before its pods go. */
const periodMs = 20_000;
const quarantineMs = 40_000;

export function podGarbageCollector(context: ControllerContext, threshold: number): Controller {
  const { clock, logger } = context;
  const podCache = context.informers.informer(pods);
  const nodeCache = context.informers.informer(nodes);
  const client = context.informers.writer(pods);
  const missingSinceMs = new Map<string, number>();

  async function collect(signal: AbortSignal): Promise<void> {
    const all = podCache.list();
    const known = new Map(nodeCache.list().map((node) => [node.metadata.name, node]));
    const absent = new Set(all.map((pod) => pod.spec.nodeName ?? '').filter((name) => name !== '' && !known.has(name)));
    const missing = await longMissing(absent, signal);
    const garbage = planGarbage({ pods: all, nodes: known, missing, threshold });
    for (const { pod, why } of garbage) {
      const phase = isPodFinished(pod) ? undefined : 'Failed';
      const status = disruptionPatch(pod, why, phase, clock.now());
      await endPod(client, pod, status, 0, signal).catch((error: unknown) => {
        signal.throwIfAborted();
        logger.warn('garbage pod was not deleted', { pod: pod.metadata.name, error });
      });
    }
  }

  /** Those missing for longer than the quarantine, also by the server's own word. */
  async function longMissing(absent: ReadonlySet<string>, signal: AbortSignal): Promise<Set<string>> {
    const result = new Set<string>();
    for (const name of missingSinceMs.keys()) if (!absent.has(name)) missingSinceMs.delete(name);
    for (const name of absent) {
      const since = missingSinceMs.get(name);
      if (since === undefined) missingSinceMs.set(name, clock.monotonic());
      else if (clock.monotonic() - since >= quarantineMs && (await isGone(name, signal))) result.add(name);
    }
    return result;
  }

  async function isGone(name: string, signal: AbortSignal): Promise<boolean> {
    try {
      await context.client.resource(nodes).get({ namespace: '', name }, { signal });
      return false;
    } catch (error) {
      if (isNotFound(error)) return true;
      throw error;
    }
  }

  return {
    name: 'pod-garbage-collector-controller',
    watches: [reading(podCache), reading(nodeCache)],
    async run(signal) {
      while (!signal.aborted) {
        await sleep(clock, periodMs, signal);
        await collect(signal).catch((error: unknown) => {
          if (!signal.aborted) logger.warn('pod garbage was not collected', { error });
        });
      }
    },
  };
}
