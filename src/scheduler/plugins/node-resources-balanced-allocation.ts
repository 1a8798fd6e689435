// Owns NodeResourcesBalancedAllocation: prefers the node whose resources get more evenly used by taking the pod.
import type { SchedulerPlugin } from '../framework/plugin.ts';
import type { NodeInfo } from '../node-info.ts';
import type { Resources } from '../resources.ts';
import { type ResourceWeight, defaultResources, isNativeResource } from './node-resources-fit.ts';

export interface NodeResourcesBalancedAllocationArgs {
  readonly resources?: readonly ResourceWeight[];
}

const empty: Pick<Resources, 'get'> = { get: () => 0 };

/** Standard deviation of the used fractions, 0 (even) to 0.5. */
function unevenness(node: NodeInfo, names: readonly string[], extra: Pick<Resources, 'get'>): number {
  const fractions: number[] = [];
  for (const name of names) {
    const capacity = node.allocatable.get(name);
    if (capacity > 0) fractions.push(Math.min(1, (node.requested.get(name) + extra.get(name)) / capacity));
  }
  if (fractions.length < 2) return 0;
  if (fractions.length === 2) return Math.abs(fractions[0]! - fractions[1]!) / 2;
  const mean = fractions.reduce((sum, fraction) => sum + fraction, 0) / fractions.length;
  return Math.sqrt(fractions.reduce((sum, fraction) => sum + (fraction - mean) ** 2, 0) / fractions.length);
}

export function nodeResourcesBalancedAllocation(
  args: NodeResourcesBalancedAllocationArgs = {},
): SchedulerPlugin<undefined> {
  const names = (args.resources ?? defaultResources).map(({ name }) => name);
  return {
    name: 'NodeResourcesBalancedAllocation',
    // A pod without requests changes nothing: scoring it would pile such pods onto one node.
    preScore: (pod) =>
      names.every((name) => pod.requests.get(name) === 0)
        ? { skip: true }
        : { state: names.filter((name) => isNativeResource(name) || pod.requests.get(name) > 0) },
    // 75 for no change, 50 for the worst, 100 for the best.
    score: (pod, node, relevant: readonly string[]) =>
      Math.trunc((0.75 + (unevenness(node, relevant, empty) - unevenness(node, relevant, pod.requests)) / 2) * 100),
  };
}
