// Owns giving each node its range of pod addresses (--allocate-node-cidrs), and the annotation that tells it how long to cache secrets.
import { type Frozen, keyOf } from '../../api/meta.ts';
import type { Node } from '../../api/generated/core.v1.ts';
import { nodes } from '../../api/generated/resources.ts';
import { isNotFound } from '../../api/status-error.ts';
import { type Controller, type ControllerContext, self } from '../framework/controller.ts';
import { CidrPool } from './cidr.ts';

export interface NodeIpamOptions {
  readonly clusterCidrs: readonly string[];
  readonly maskSizes: { readonly ipv4: number; readonly ipv6: number };
}

export function nodeIpamController(
  context: ControllerContext,
  { clusterCidrs, maskSizes }: NodeIpamOptions,
): Controller {
  const cache = context.informers.informer(nodes);
  const writer = context.informers.writer(nodes);
  const recorder = context.events.recorder('cidrAllocator');
  const pools = clusterCidrs.map((cidr) => new CidrPool(cidr, cidr.includes(':') ? maskSizes.ipv6 : maskSizes.ipv4));
  const rangesOf = (node: Frozen<Node>) => node.spec.podCIDRs ?? (node.spec.podCIDR ? [node.spec.podCIDR] : []);
  const forEachRange = (node: Frozen<Node>, act: (pool: CidrPool, cidr: string) => void) => {
    for (const cidr of rangesOf(node)) for (const pool of pools) act(pool, cidr);
  };
  const occupy = (node: Frozen<Node>) => forEachRange(node, (pool, cidr) => pool.occupy(cidr));
  // Before any is given out, those of all nodes must be known: this listener is called while the cache fills.
  cache.on({
    added: occupy,
    updated: occupy,
    deleted: (node) => forEachRange(node, (pool, cidr) => pool.release(cidr)),
  });
  return {
    name: 'node-ipam-controller',
    watches: [self(cache)],
    workers: 1,
    async reconcile(key, signal) {
      const node = cache.get(key);
      if (!node || rangesOf(node).length > 0) return undefined;
      const given: string[] = [];
      const giveBack = () => given.forEach((cidr, at) => pools[at]!.release(cidr));
      for (const pool of pools) {
        const cidr = pool.allocate();
        if (cidr === undefined) {
          giveBack();
          recorder.event(node, 'Normal', 'CIDRNotAvailable', `Node ${key.name} status is now: CIDRNotAvailable`);
          throw new Error('no range of pod addresses is left');
        }
        given.push(cidr);
      }
      const body = { metadata: { uid: node.metadata.uid }, spec: { podCIDR: given[0], podCIDRs: given } };
      try {
        await writer.patch(keyOf(node), { type: 'merge', body }, { signal });
      } catch (error) {
        giveBack();
        if (!isNotFound(error)) throw error;
      }
      return undefined;
    },
  };
}

const ttlAnnotation = 'node.alpha.kubernetes.io/ttl';
/** Up to so many nodes, so many seconds; with fewer than `down` nodes the step before is taken again. */
const ttlSteps = [
  { down: 0, up: 100, seconds: 0 },
  { down: 90, up: 500, seconds: 15 },
  { down: 450, up: 1000, seconds: 30 },
  { down: 900, up: 2000, seconds: 60 },
  { down: 1800, up: 10_000, seconds: 300 },
  { down: 9000, up: Number.POSITIVE_INFINITY, seconds: 600 },
];

export function ttlController(context: ControllerContext): Controller {
  const cache = context.informers.informer(nodes);
  const writer = context.informers.writer(nodes);
  let step = 0;
  return {
    name: 'ttl-controller',
    watches: [self(cache)],
    async reconcile(key, signal) {
      while (cache.size > ttlSteps[step]!.up) step++;
      while (cache.size < ttlSteps[step]!.down) step--;
      const node = cache.get(key);
      const ttl = String(ttlSteps[step]!.seconds);
      if (!node || node.metadata.annotations?.[ttlAnnotation] === ttl) return undefined;
      const body = { metadata: { annotations: { [ttlAnnotation]: ttl } } };
      await writer.patch(key, { type: 'merge', body }, { signal }).catch((error: unknown) => {
        if (!isNotFound(error)) throw error;
      });
      return undefined;
    },
  };
}
