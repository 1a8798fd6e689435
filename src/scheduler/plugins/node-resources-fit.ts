// Owns NodeResourcesFit: is there room for the pod's requests, and which node is left with the most (or least) of it.
import type { NodeInfo } from '../node-info.ts';
import type { PodInfo } from '../pod-info.ts';
import { Resources, whole } from '../resources.ts';
import { type RefusedBy, type SchedulerPlugin, refusal, unresolvable } from '../framework/plugin.ts';

export interface ResourceWeight {
  readonly name: string;
  readonly weight?: number;
}

export interface ShapePoint {
  /** Percent, rising from point to point. */
  readonly utilization: number;
  /** 0 to 10. */
  readonly score: number;
}

/** NodeResourcesFitArgs of kubescheduler.config.k8s.io/v1. */
export interface NodeResourcesFitArgs {
  readonly ignoredResources?: readonly string[];
  readonly ignoredResourceGroups?: readonly string[];
  readonly scoringStrategy?: {
    readonly type?: 'LeastAllocated' | 'MostAllocated' | 'RequestedToCapacityRatio';
    readonly resources?: readonly ResourceWeight[];
    readonly requestedToCapacityRatio?: { readonly shape?: readonly ShapePoint[] };
  };
}

export const defaultResources: readonly ResourceWeight[] = [
  { name: 'cpu', weight: 1 },
  { name: 'memory', weight: 1 },
];

/** 0..100 for one resource. */
type ResourceScore = (requested: number, capacity: number) => number;

const leastAllocated: ResourceScore = (requested, capacity) =>
  requested > capacity ? 0 : Math.trunc(((capacity - requested) * 100) / capacity);

const mostAllocated: ResourceScore = (requested, capacity) =>
  Math.trunc((Math.min(requested, capacity) * 100) / capacity);

/** Linear between the points; shape scores are 0..10. */
function byShape(shape: readonly ShapePoint[]): ResourceScore {
  return (requested, capacity) => {
    const used = requested > capacity ? 100 : Math.trunc((requested * 100) / capacity);
    const next = shape.findIndex((point) => used <= point.utilization);
    if (next < 0) return (shape.at(-1)?.score ?? 0) * 10;
    const high = shape[next]!;
    const low = shape[next - 1];
    if (low === undefined) return high.score * 10;
    const slope = ((high.score - low.score) * 10) / (high.utilization - low.utilization);
    return Math.trunc(low.score * 10 + slope * (used - low.utilization));
  };
}

function strategy(args: NodeResourcesFitArgs): ResourceScore {
  const { type = 'LeastAllocated', requestedToCapacityRatio } = args.scoringStrategy ?? {};
  if (type === 'MostAllocated') return mostAllocated;
  if (type === 'LeastAllocated') return leastAllocated;
  if (type !== 'RequestedToCapacityRatio') throw new Error(`unknown scoring strategy ${String(type)}`);
  const shape = requestedToCapacityRatio?.shape ?? [];
  if (shape.length === 0) throw new Error('scoring strategy RequestedToCapacityRatio needs a shape');
  return byShape(shape);
}

export function isNativeResource(name: string): boolean {
  return name === 'cpu' || name === 'memory' || name === 'ephemeral-storage';
}

const tooMany = 'Too many pods';
const shared = new Map<string, RefusedBy>();

/** Refusals are few and seen often: one object each, so that a cycle over many nodes allocates nothing. */
function refusedFor(reasons: readonly string[], hopeless: boolean): RefusedBy {
  const key = `${hopeless}|${reasons.join('|')}`;
  let refused = shared.get(key);
  if (refused === undefined) {
    if (shared.size > 10_000) shared.clear();
    shared.set(key, (refused = hopeless ? unresolvable(...reasons) : refusal(...reasons)));
  }
  return refused;
}

interface FitState {
  readonly requests: Resources;
  readonly scalars: readonly (readonly [string, number])[];
  readonly nothing: boolean;
}

/** `byDevices`: is this resource, where a node does not offer it, for DynamicResources to find? */
export function nodeResourcesFit(
  args: NodeResourcesFitArgs = {},
  byDevices: (resourceName: string) => boolean = () => false,
): SchedulerPlugin<FitState> {
  const scoreOf = strategy(args);
  const resources = args.scoringStrategy?.resources ?? defaultResources;
  const ignored = new Set(args.ignoredResources);
  const ignoredGroups = new Set(args.ignoredResourceGroups);
  const isIgnored = (name: string) => ignored.has(name) || ignoredGroups.has(name.split('/', 1)[0]!);
  const stateOf = (pod: PodInfo): FitState => {
    const requests = pod.requests;
    const scalars = [...(requests.scalars ?? [])].filter(([name, amount]) => amount > 0 && !isIgnored(name));
    const nothing =
      requests.cpuMilli === 0 && requests.memoryBytes === 0 && requests.ephemeralBytes === 0 && scalars.length === 0;
    return { requests, scalars, nothing };
  };
  const fitsEmpty = (pod: PodInfo, allocatable: Resources): boolean => {
    const { requests, scalars } = stateOf(pod);
    return (
      requests.cpuMilli <= allocatable.cpuMilli &&
      requests.memoryBytes <= allocatable.memoryBytes &&
      requests.ephemeralBytes <= allocatable.ephemeralBytes &&
      scalars.every(
        ([name, amount]) => amount <= allocatable.get(name) || (allocatable.get(name) === 0 && byDevices(name)),
      )
    );
  };
  return {
    name: 'NodeResourcesFit',
    wakesOn: [
      { on: 'AssignedPodDelete' },
      { on: 'AssignedPodScaleDown' },
      ...(['NodeAdd', 'NodeAllocatable'] as const).map((on) => ({
        on,
        helps: (pod: PodInfo, { node }: { node?: { status?: { allocatable?: Readonly<Record<string, string>> } } }) =>
          whole(node?.status?.allocatable?.['pods'] ?? '0') > 0 &&
          fitsEmpty(pod, Resources.of(node?.status?.allocatable)),
      })),
      { on: 'PodChanged' },
    ],
    preFilter: (pod) => ({ state: stateOf(pod) }),
    filter: (_pod, node, state) => {
      const { requests, nothing } = state;
      const full = node.pods.size + 1 > node.allowedPods;
      const { allocatable, requested } = node;
      if (
        !full &&
        (nothing ||
          (requests.cpuMilli <= allocatable.cpuMilli - requested.cpuMilli &&
            requests.memoryBytes <= allocatable.memoryBytes - requested.memoryBytes &&
            requests.ephemeralBytes <= allocatable.ephemeralBytes - requested.ephemeralBytes &&
            state.scalars.length === 0))
      )
        return undefined;
      return explain(node, state, full, byDevices);
    },
    score: (pod, node) => score(pod, node, resources, scoreOf),
  };
}

function explain(
  node: NodeInfo,
  { requests, scalars, nothing }: FitState,
  full: boolean,
  byDevices: (resourceName: string) => boolean,
): RefusedBy | undefined {
  const reasons: string[] = [];
  let hopeless = false;
  if (full) reasons.push(tooMany);
  const check = (name: string, wanted: number) => {
    if (wanted === 0 || wanted <= node.allocatable.get(name) - node.requested.get(name)) return;
    reasons.push(`Insufficient ${name}`);
    if (wanted > node.allocatable.get(name)) hopeless = true;
  };
  if (!nothing) {
    check('cpu', requests.cpuMilli);
    check('memory', requests.memoryBytes);
    check('ephemeral-storage', requests.ephemeralBytes);
    for (const [name, wanted] of scalars) if (node.allocatable.get(name) > 0 || !byDevices(name)) check(name, wanted);
  }
  return reasons.length === 0 ? undefined : refusedFor(reasons, hopeless);
}

function score(pod: PodInfo, node: NodeInfo, resources: readonly ResourceWeight[], scoreOf: ResourceScore): number {
  let total = 0;
  let weights = 0;
  for (let at = 0; at < resources.length; at++) {
    const { name, weight = 1 } = resources[at]!;
    const wanted = name === 'cpu' || name === 'memory' ? pod.nonZero.get(name) : pod.requests.get(name);
    if (wanted === 0 && !isNativeResource(name)) continue;
    const capacity = node.allocatable.get(name);
    if (capacity === 0) continue;
    const taken =
      name === 'cpu' ? node.nonZeroCpuMilli : name === 'memory' ? node.nonZeroMemoryBytes : node.requested.get(name);
    total += scoreOf(taken + wanted, capacity) * weight;
    weights += weight;
  }
  return weights === 0 ? 0 : Math.trunc(total / weights);
}
