// Owns the list of built-in plugins: their order, default weights and how each is made. The one file that names every plugin.
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import { dynamicResources } from './plugins/dynamic-resources.ts';
import {
  deviceClasses,
  deviceTaintRules,
  resourceClaims,
  resourceSlices,
  namespaces,
  persistentVolumeClaims,
  persistentVolumes,
  podDisruptionBudgets,
  pods,
} from '../api/generated/resources.ts';
import type { InformerFactory } from '../client/informer-factory.ts';
import type { SchedulerCache } from './cache.ts';
import type { Happening } from './framework/cluster-event.ts';
import type { SchedulerPlugin } from './framework/plugin.ts';
import { defaultSelectors } from './default-selector.ts';
import type { MatchIndex } from './match-index.ts';
import type { PodInfo } from './pod-info.ts';
import type { Nominator } from './nominator.ts';
import { defaultBinder } from './plugins/default-binder.ts';
import { defaultPreemption, type DefaultPreemptionArgs } from './plugins/default-preemption.ts';
import { imageLocality } from './plugins/image-locality.ts';
import { interPodAffinity, type InterPodAffinityArgs } from './plugins/inter-pod-affinity.ts';
import { nodeAffinity, type NodeAffinityArgs } from './plugins/node-affinity.ts';
import { nodeName } from './plugins/node-name.ts';
import { nodePorts } from './plugins/node-ports.ts';
import {
  nodeResourcesBalancedAllocation,
  type NodeResourcesBalancedAllocationArgs,
} from './plugins/node-resources-balanced-allocation.ts';
import { nodeResourcesFit, type NodeResourcesFitArgs } from './plugins/node-resources-fit.ts';
import { nodeUnschedulable } from './plugins/node-unschedulable.ts';
import { podTopologySpread, type PodTopologySpreadArgs } from './plugins/pod-topology-spread.ts';
import { prioritySort } from './plugins/priority-sort.ts';
import { schedulingGates } from './plugins/scheduling-gates.ts';
import { taintToleration } from './plugins/taint-toleration.ts';
import { nodeVolumeLimits } from './plugins/node-volume-limits.ts';
import { volumeBinding, type VolumeBindingArgs } from './plugins/volume-binding.ts';
import { volumeRestrictions } from './plugins/volume-restrictions.ts';
import { volumeZone } from './plugins/volume-zone.ts';
import type { Volumes } from './volumes.ts';
import { type ClassForResource, implicitPrefix } from './devices/extended-resources.ts';
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
  readonly preempted: (preemptor: PodInfo, nodeName: string, victims: readonly PodInfo[]) => void;
  readonly index: MatchIndex;
  readonly volumes: Volumes;
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
  { name: 'NodeResourcesFit', weight: 1, make: (args, deps) => fit((args ?? {}) as NodeResourcesFitArgs, deps) },
  {
    name: 'NodeResourcesBalancedAllocation',
    weight: 1,
    make: (args) => nodeResourcesBalancedAllocation((args ?? {}) as NodeResourcesBalancedAllocationArgs),
  },
  { name: 'VolumeRestrictions', make: (_args, { volumes }) => volumeRestrictions(volumes) as SchedulerPlugin },
  { name: 'NodeVolumeLimits', make: (_args, { volumes }) => nodeVolumeLimits(volumes) as SchedulerPlugin },
  { name: 'VolumeBinding', make: (args, deps) => binding((args ?? {}) as VolumeBindingArgs, deps) },
  { name: 'VolumeZone', make: (_args, { volumes }) => volumeZone(volumes) as SchedulerPlugin },
  { name: 'DynamicResources', weight: 2, make: (_args, deps) => devices(deps) },
  { name: 'PodTopologySpread', weight: 2, make: (args, deps) => spread((args ?? {}) as PodTopologySpreadArgs, deps) },
  { name: 'InterPodAffinity', weight: 2, make: (args, deps) => affinity((args ?? {}) as InterPodAffinityArgs, deps) },
  { name: 'DefaultPreemption', make: (args, deps) => preemption((args ?? {}) as DefaultPreemptionArgs, deps) },
  { name: 'ImageLocality', weight: 1, make: (_args, { cache }) => imageLocality({ imageNodes: cache.imageNodes }) },
  { name: 'DefaultBinder', make: (_args, { informers }) => defaultBinder({ pods: informers.client.resource(pods) }) },
];

function spread(args: PodTopologySpreadArgs, { informers, index }: PluginDeps): SchedulerPlugin {
  const selectors = defaultSelectors(informers);
  const plugin = podTopologySpread({ index, defaultSelector: (pod) => selectors.of(pod) }, args);
  return { ...plugin, start: (signal) => selectors.whenSynced(signal) } as SchedulerPlugin;
}

function affinity(args: InterPodAffinityArgs, { informers, index, happened }: PluginDeps): SchedulerPlugin {
  const informer = informers.informer(namespaces);
  const namespaceLabels = (name: string) => informer.get({ namespace: '', name })?.metadata.labels ?? {};
  const whenSynced = (signal: AbortSignal) => {
    const stop = informer.on({
      added: () => index.forgetWide(),
      updated(namespace, before) {
        if (JSON.stringify(namespace.metadata.labels) === JSON.stringify(before.metadata.labels)) return;
        index.forgetWide();
        happened({ name: 'NamespaceLabel', object: namespace });
      },
      deleted: () => index.forgetWide(),
    });
    signal.addEventListener('abort', stop, { once: true });
    return informer.whenSynced(signal);
  };
  return interPodAffinity({ index, namespaceLabels, whenSynced }, args) as SchedulerPlugin;
}

function preemption(args: DefaultPreemptionArgs, deps: PluginDeps): SchedulerPlugin {
  const { informers } = deps;
  const budgets = informers.informer(podDisruptionBudgets);
  return defaultPreemption(
    {
      ...deps,
      pods: informers.client.resource(pods),
      budgets: (namespace) => budgets.list(namespace),
      whenSynced: (signal) => budgets.whenSynced(signal),
    },
    args,
  );
}

function binding(args: VolumeBindingArgs, { informers, volumes, clock }: PluginDeps): SchedulerPlugin {
  const claimClient = informers.writer(persistentVolumeClaims);
  const volumeClient = informers.writer(persistentVolumes);
  return volumeBinding({ volumes, clock, claimClient, volumeClient }, args) as SchedulerPlugin;
}

const byResource = 'extendedResource';

/** The newest class that claims the resource's name, as upstream decides between several. */
function classForResource(informers: InformerFactory): ClassForResource {
  const classes = informers.informer(deviceClasses);
  classes.addIndex(byResource, ({ spec }) =>
    spec.extendedResourceName === undefined ? [] : [spec.extendedResourceName],
  );
  return (resource) => {
    if (!resource.includes('/')) return undefined;
    if (resource.startsWith(implicitPrefix)) {
      const name = resource.slice(implicitPrefix.length);
      return classes.get({ namespace: '', name }) && name;
    }
    const found = classes.indexed(byResource, resource).toSorted((a, b) => {
      const [madeA, madeB] = [`${a.metadata.creationTimestamp}`, `${b.metadata.creationTimestamp}`];
      if (madeA !== madeB) return madeA > madeB ? -1 : 1;
      return a.metadata.name < b.metadata.name ? -1 : 1;
    });
    return found[0]?.metadata.name;
  };
}

function fit(args: NodeResourcesFitArgs, { informers }: PluginDeps): SchedulerPlugin {
  const classFor = classForResource(informers);
  return nodeResourcesFit(args, (resource) => classFor(resource) !== undefined) as SchedulerPlugin;
}

/** Nothing is waited for: a server without the resource group serves pods without claims all the same. */
function devices({ informers, clock, happened }: PluginDeps): SchedulerPlugin {
  const claims = informers.informer(resourceClaims);
  const slices = informers.informer(resourceSlices);
  const rules = informers.informer(deviceTaintRules);
  const classes = informers.informer(deviceClasses);
  return dynamicResources({
    clock,
    claimClient: informers.writer(resourceClaims),
    claim: (namespace, name) => claims.get({ namespace, name }),
    claims: () => claims.list(),
    slices: () => slices.list(),
    taintRules: () => rules.list(),
    class: (name) => classes.get({ namespace: '', name }),
    classForResource: classForResource(informers),
    podClient: informers.client.resource(pods),
    start(signal) {
      const tell = (name: Happening['name']) => {
        const changed = (object: unknown) => happened({ name, object });
        return { added: changed, updated: changed, deleted: changed };
      };
      const stops = [
        claims.on(tell('ResourceClaim')),
        slices.on(tell('ResourceSlice')),
        rules.on(tell('ResourceSlice')),
        classes.on(tell('DeviceClass')),
      ];
      signal.addEventListener('abort', () => stops.forEach((stop) => stop()), { once: true });
    },
  }) as SchedulerPlugin;
}
