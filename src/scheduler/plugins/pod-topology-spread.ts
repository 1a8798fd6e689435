// Owns PodTopologySpread: keeps matching pods even over zones, hosts and whatever else nodes are labelled with (KEP-895 and its followers).
import type { Frozen } from '../../api/meta.ts';
import type { TopologySpreadConstraint } from '../../api/generated/core.v1.ts';
import { type LabelPredicate, labelPredicate } from '../../api/selector.ts';
import type { Happening } from '../framework/cluster-event.ts';
import { refusal, type SchedulerPlugin, unresolvable } from '../framework/plugin.ts';
import type { MatchIndex, NodeCounts } from '../match-index.ts';
import type { NodeInfo } from '../node-info.ts';
import { type NodeMatcher, requiredNodeMatcher } from '../node-selector.ts';
import type { PodInfo } from '../pod-info.ts';
import { selectorText } from '../selector.ts';
import { keepsOut, untolerated } from '../../api/judge/taints.ts';

export interface PodTopologySpreadArgs {
  readonly defaultConstraints?: readonly Frozen<TopologySpreadConstraint>[];
  readonly defaultingType?: 'System' | 'List';
}

export interface PodTopologySpreadDeps {
  readonly index: MatchIndex;
  /** The selector of the services and controllers that the pod belongs to, as text and predicate; undefined: none. */
  readonly defaultSelector: (pod: PodInfo) => { readonly key: string; readonly matches: LabelPredicate } | undefined;
}

const hostname = 'kubernetes.io/hostname';
const refused = refusal("node(s) didn't match pod topology spread constraints");
const refusedLabel = unresolvable("node(s) didn't match pod topology spread constraints (missing required label)");

const systemDefaults: readonly Frozen<TopologySpreadConstraint>[] = [
  { maxSkew: 3, topologyKey: hostname, whenUnsatisfiable: 'ScheduleAnyway' },
  { maxSkew: 5, topologyKey: 'topology.kubernetes.io/zone', whenUnsatisfiable: 'ScheduleAnyway' },
];

interface Constraint {
  readonly topologyKey: string;
  readonly maxSkew: number;
  readonly minDomains: number;
  readonly honorsAffinity: boolean;
  readonly honorsTaints: boolean;
  readonly key: string;
  readonly matches: LabelPredicate;
}

interface Domains extends Constraint {
  readonly counts: Map<string, number>;
  /** undefined: to be worked out from counts. */
  lowest: number | undefined;
  readonly self: number;
}

interface FilterState {
  readonly constraints: readonly Domains[];
  readonly isEligible: (constraint: Constraint, node: NodeInfo) => boolean;
}

interface ScoreState {
  readonly constraints: readonly (Constraint & {
    readonly weight: number;
    readonly byValue: Map<string, number>;
    readonly byNode: NodeCounts;
  })[];
  readonly ignored: ReadonlySet<NodeInfo>;
}

export function podTopologySpread(
  deps: PodTopologySpreadDeps,
  args: PodTopologySpreadArgs = {},
): SchedulerPlugin<FilterState> {
  const defaults = args.defaultingType === 'List' ? (args.defaultConstraints ?? []) : systemDefaults;
  const constraintsOf = (pod: PodInfo, when: string): readonly Constraint[] => {
    const own = pod.pod.spec.topologySpreadConstraints ?? [];
    if (own.length > 0)
      return own.filter(({ whenUnsatisfiable }) => whenUnsatisfiable === when).map((each) => compile(each, pod));
    const wanted = defaults.filter(({ whenUnsatisfiable }) => whenUnsatisfiable === when);
    const selector = wanted.length === 0 ? undefined : deps.defaultSelector(pod);
    return selector === undefined ? [] : wanted.map((each) => ({ ...compile(each, pod), ...selector }));
  };
  const countsOf = (pod: PodInfo, { key, matches }: Constraint): NodeCounts =>
    deps.index.counts({
      key: `spread ${pod.namespace} ${key}`,
      namespace: pod.namespace,
      matches: (other) => !other.terminating && matches(other.labels),
    });
  return {
    name: 'PodTopologySpread',
    wakesOn: [
      { on: 'AssignedPodAdd', helps: (pod, what) => concerns(constraintsOf(pod, 'DoNotSchedule'), pod, what) },
      { on: 'AssignedPodDelete', helps: (pod, what) => concerns(constraintsOf(pod, 'DoNotSchedule'), pod, what) },
      { on: 'AssignedPodLabel' },
      { on: 'NodeAdd' },
      { on: 'NodeLabel' },
      { on: 'NodeTaint' },
      { on: 'PodChanged' },
    ],
    preFilter(pod, all) {
      const constraints = constraintsOf(pod, 'DoNotSchedule');
      if (constraints.length === 0) return { skip: true };
      const isEligible = eligibility(pod);
      const keys = constraints.map(({ topologyKey }) => topologyKey);
      const nodes = all.nodes.filter(({ labels }) => keys.every((key) => labels[key] !== undefined));
      const domains = constraints.map((constraint): Domains => {
        const found = countsOf(pod, constraint);
        const counts = new Map<string, number>();
        for (const node of nodes) {
          if (!isEligible(constraint, node)) continue;
          const value = node.labels[constraint.topologyKey]!;
          counts.set(value, (counts.get(value) ?? 0) + (found.get(node) ?? 0));
        }
        return { ...constraint, counts, lowest: undefined, self: constraint.matches(pod.labels) ? 1 : 0 };
      });
      return { state: { constraints: domains, isEligible } };
    },
    filter(_pod, node, { constraints }) {
      for (const constraint of constraints) {
        const value = node.labels[constraint.topologyKey];
        if (value === undefined) return refusedLabel;
        const skew = (constraint.counts.get(value) ?? 0) + constraint.self - lowest(constraint);
        if (skew > constraint.maxSkew) return refused;
      }
      return undefined;
    },
    cloneState: ({ constraints, isEligible }) => ({
      isEligible,
      constraints: constraints.map((constraint) => ({ ...constraint, counts: new Map(constraint.counts) })),
    }),
    addPod: (state, pod, other, node) => shift(state, pod, other, node, 1),
    removePod: (state, pod, other, node) => shift(state, pod, other, node, -1),
    preScore(pod, nodes) {
      const constraints = constraintsOf(pod, 'ScheduleAnyway');
      if (constraints.length === 0) return { skip: true };
      const needsAll = (pod.pod.spec.topologySpreadConstraints?.length ?? 0) > 0;
      const ignored = new Set(
        needsAll
          ? nodes.filter(({ labels }) => constraints.some(({ topologyKey }) => labels[topologyKey] === undefined))
          : [],
      );
      const isEligible = eligibility(pod);
      return {
        state: {
          ignored,
          constraints: constraints.map((constraint) => {
            const byNode = countsOf(pod, constraint);
            const byValue = valueCounts(constraint, nodes, ignored, byNode, isEligible);
            const size = constraint.topologyKey === hostname ? nodes.length - ignored.size : byValue.size;
            return { ...constraint, byNode, byValue, weight: Math.log(size + 2) };
          }),
        } satisfies ScoreState,
      };
    },
    score(_pod, node, { constraints, ignored }: ScoreState) {
      if (ignored.has(node)) return 0;
      let score = 0;
      for (const { topologyKey, maxSkew, weight, byValue, byNode } of constraints) {
        const value = node.labels[topologyKey];
        if (value === undefined) continue;
        const count = topologyKey === hostname ? (byNode.get(node) ?? 0) : (byValue.get(value) ?? 0);
        score += count * weight + (maxSkew - 1);
      }
      return Math.round(score);
    },
    normalize(scores, nodes, { ignored }: ScoreState) {
      let low = Infinity;
      let high = 0;
      nodes.forEach((node, at) => {
        if (ignored.has(node)) return;
        low = Math.min(low, scores[at]!);
        high = Math.max(high, scores[at]!);
      });
      nodes.forEach((node, at) => {
        if (ignored.has(node)) scores[at] = 0;
        else scores[at] = high === 0 ? 100 : Math.trunc((100 * (high + low - scores[at]!)) / high);
      });
    },
  };
}

function compile(constraint: Frozen<TopologySpreadConstraint>, pod: PodInfo): Constraint {
  // The server adds these to the selector itself; objects from before it did so have only the keys.
  const own = (constraint.matchLabelKeys ?? []).filter((key) => pod.labels[key] !== undefined);
  const base = labelPredicate(constraint.labelSelector);
  const matches: LabelPredicate =
    own.length === 0 ? base : (labels) => own.every((key) => labels?.[key] === pod.labels[key]) && base(labels);
  return {
    topologyKey: constraint.topologyKey,
    maxSkew: constraint.maxSkew,
    minDomains: constraint.minDomains ?? 1,
    honorsAffinity: constraint.nodeAffinityPolicy !== 'Ignore',
    honorsTaints: constraint.nodeTaintsPolicy === 'Honor',
    key: `${selectorText(constraint.labelSelector)} ${JSON.stringify(own.map((key) => [key, pod.labels[key]]))}`,
    matches,
  };
}

function eligibility(pod: PodInfo): FilterState['isEligible'] {
  const matcher: NodeMatcher | undefined = requiredNodeMatcher(pod.pod);
  const { tolerations } = pod.pod.spec;
  return ({ honorsAffinity, honorsTaints }, node) =>
    (!honorsAffinity || matcher === undefined || matcher(node)) &&
    (!honorsTaints || untolerated(node.taints, tolerations, keepsOut) === undefined);
}

/** The emptiest domain's count; as if there were an empty one while there are fewer than minDomains. */
function lowest(constraint: Domains): number {
  if (constraint.lowest === undefined) {
    let low = constraint.counts.size === 0 ? 0 : Infinity;
    if (constraint.counts.size < constraint.minDomains) low = 0;
    else for (const count of constraint.counts.values()) if (count < low) low = count;
    constraint.lowest = low;
  }
  return constraint.lowest;
}

function shift(
  { constraints, isEligible }: FilterState,
  pod: PodInfo,
  other: PodInfo,
  node: NodeInfo,
  by: 1 | -1,
): void {
  if (other.namespace !== pod.namespace || other.terminating) return;
  if (constraints.some(({ topologyKey }) => node.labels[topologyKey] === undefined)) return;
  for (const constraint of constraints) {
    if (!constraint.matches(other.labels) || !isEligible(constraint, node)) continue;
    const value = node.labels[constraint.topologyKey]!;
    constraint.counts.set(value, (constraint.counts.get(value) ?? 0) + by);
    constraint.lowest = undefined;
  }
}

/** Only values that a candidate has count; hosts are counted by node instead. */
function valueCounts(
  constraint: Constraint,
  candidates: readonly NodeInfo[],
  ignored: ReadonlySet<NodeInfo>,
  byNode: NodeCounts,
  isEligible: FilterState['isEligible'],
): Map<string, number> {
  const counts = new Map<string, number>();
  if (constraint.topologyKey === hostname) return counts;
  for (const node of candidates) {
    const value = node.labels[constraint.topologyKey];
    if (value !== undefined && !ignored.has(node)) counts.set(value, 0);
  }
  for (const [node, count] of byNode) {
    const value = node.labels[constraint.topologyKey];
    const known = value === undefined ? undefined : counts.get(value);
    if (known !== undefined && node.node !== undefined && isEligible(constraint, node))
      counts.set(value!, known + count);
  }
  return counts;
}

function concerns(constraints: readonly Constraint[], pod: PodInfo, { pod: other }: Happening): boolean {
  return (
    other !== undefined && other.namespace === pod.namespace && constraints.some(({ matches }) => matches(other.labels))
  );
}
