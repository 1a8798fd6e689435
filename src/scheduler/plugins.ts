// Owns the list of built-in plugins: their order, default weights and how each is made. The one file that names every plugin.
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import { pods } from '../api/generated/resources.ts';
import type { InformerFactory } from '../client/informer-factory.ts';
import type { SchedulerCache } from './cache.ts';
import type { Happening } from './framework/cluster-event.ts';
import type { SchedulerPlugin } from './framework/plugin.ts';
import type { Nominator } from './nominator.ts';
import { defaultBinder } from './plugins/default-binder.ts';
import { imageLocality } from './plugins/image-locality.ts';
import { nodeAffinity, type NodeAffinityArgs } from './plugins/node-affinity.ts';
import { nodeName } from './plugins/node-name.ts';
import { nodePorts } from './plugins/node-ports.ts';
import {
  nodeResourcesBalancedAllocation,
  type NodeResourcesBalancedAllocationArgs,
} from './plugins/node-resources-balanced-allocation.ts';
import { nodeResourcesFit, type NodeResourcesFitArgs } from './plugins/node-resources-fit.ts';
import { nodeUnschedulable } from './plugins/node-unschedulable.ts';
import { prioritySort } from './plugins/priority-sort.ts';
import { schedulingGates } from './plugins/scheduling-gates.ts';
import { taintToleration } from './plugins/taint-toleration.ts';
import type { WaitingPods } from './waiting-pods.ts';

export interface PluginDeps {
  readonly informers: InformerFactory;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly cache: SchedulerCache;
  readonly nominator: Nominator;
  readonly waiting: WaitingPods;
  /** Background work that ends with the scheduler. */
  readonly run: (name: string, task: (signal: AbortSignal) => Promise<void>) => void;
  readonly preempted: (victims: number) => void;
  readonly happened: (what: Happening) => void;
}

export interface BuiltIn {
  readonly name: string;
  /** For score; as upstream's default. */
  readonly weight?: number;
  readonly make: (args: unknown, deps: PluginDeps) => SchedulerPlugin;
}

/** The cheap and most selective filters first. */
export const builtIns: readonly BuiltIn[] = [
  { name: 'SchedulingGates', make: () => schedulingGates() },
  { name: 'PrioritySort', make: () => prioritySort() },
  { name: 'NodeUnschedulable', make: () => nodeUnschedulable() },
  { name: 'NodeName', make: () => nodeName() },
  { name: 'TaintToleration', weight: 3, make: () => taintToleration() },
  { name: 'NodeAffinity', weight: 2, make: (args) => nodeAffinity((args ?? {}) as NodeAffinityArgs) },
  { name: 'NodePorts', make: () => nodePorts() },
  { name: 'NodeResourcesFit', weight: 1, make: (args) => nodeResourcesFit((args ?? {}) as NodeResourcesFitArgs) },
  {
    name: 'NodeResourcesBalancedAllocation',
    weight: 1,
    make: (args) => nodeResourcesBalancedAllocation((args ?? {}) as NodeResourcesBalancedAllocationArgs),
  },
  { name: 'ImageLocality', weight: 1, make: (_args, { cache }) => imageLocality({ imageNodes: cache.imageNodes }) },
  { name: 'DefaultBinder', make: (_args, { informers }) => defaultBinder({ pods: informers.client.resource(pods) }) },
];
