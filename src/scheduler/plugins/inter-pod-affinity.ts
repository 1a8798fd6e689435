// Owns InterPodAffinity: near these pods, far from those; and what pods that are there already demand of newcomers.
import type { AffinityTerm, NamespaceLabels } from '../affinity-term.ts';
import { termMatches } from '../affinity-term.ts';
import type { Happening } from '../framework/cluster-event.ts';
import { refusal, type SchedulerPlugin, unresolvable } from '../framework/plugin.ts';
import { type Demand, type MatchIndex, type NodeCounts, questionOfTerms } from '../match-index.ts';
import type { NodeInfo } from '../node-info.ts';
import type { PodInfo } from '../pod-info.ts';

export interface InterPodAffinityArgs {
  /** What a required affinity of an existing pod counts when it draws the newcomer; default 1. */
  readonly hardPodAffinityWeight?: number;
  readonly ignorePreferredTermsOfExistingPods?: boolean;
}

export interface InterPodAffinityDeps {
  readonly index: MatchIndex;
  readonly namespaceLabels: NamespaceLabels;
  readonly whenSynced: (signal: AbortSignal) => Promise<void>;
}

const refusedAffinity = unresolvable("node(s) didn't match pod affinity rules");
const refusedAnti = refusal("node(s) didn't match pod anti-affinity rules");
const refusedByExisting = refusal("node(s) didn't satisfy existing pods anti-affinity rules");

/** Counts by topology key and value. */
class Topology {
  readonly #counts: Map<string, Map<string, number>>;

  constructor(counts = new Map<string, Map<string, number>>()) {
    this.#counts = counts;
  }

  get isEmpty(): boolean {
    for (const values of this.#counts.values()) if (values.size > 0) return false;
    return true;
  }

  get entries(): Iterable<readonly [key: string, values: ReadonlyMap<string, number>]> {
    return this.#counts;
  }

  add(node: NodeInfo, key: string, by: number): void {
    const value = node.labels[key];
    if (value === undefined) return;
    let values = this.#counts.get(key);
    if (values === undefined) this.#counts.set(key, (values = new Map()));
    const left = (values.get(value) ?? 0) + by;
    if (left === 0) values.delete(value);
    else values.set(value, left);
  }

  addAll(nodes: NodeCounts, key: string, sign = 1): void {
    for (const [node, count] of nodes) if (node.node !== undefined) this.add(node, key, sign * count);
  }

  at(node: NodeInfo, key: string): number {
    const value = node.labels[key];
    return value === undefined ? 0 : (this.#counts.get(key)?.get(value) ?? 0);
  }

  clone(): Topology {
    return new Topology(new Map([...this.#counts].map(([key, values]) => [key, new Map(values)])));
  }
}

interface State {
  readonly affinity: Topology;
  readonly anti: Topology;
  readonly existing: Topology;
  readonly matchesItself: boolean;
}

export function interPodAffinity(deps: InterPodAffinityDeps, args: InterPodAffinityArgs = {}): SchedulerPlugin<State> {
  const { index, namespaceLabels } = deps;
  const matches = (term: AffinityTerm, pod: PodInfo) => termMatches(term, pod, namespaceLabels);
  const matchesAll = (terms: readonly AffinityTerm[], pod: PodInfo) =>
    terms.length > 0 && terms.every((term) => matches(term, pod));
  const mayHelp = (waiting: PodInfo, { pod: other }: Happening): boolean =>
    other !== undefined &&
    (waiting.requiredAffinity.some((term) => matches(term, other)) ||
      waiting.requiredAntiAffinity.some((term) => matches(term, other)) ||
      other.requiredAntiAffinity.some((term) => matches(term, waiting)));
  const shift = (state: State, pod: PodInfo, other: PodInfo, node: NodeInfo, by: 1 | -1) => {
    if (matchesAll(pod.requiredAffinity, other))
      for (const { topologyKey } of pod.requiredAffinity) state.affinity.add(node, topologyKey, by);
    for (const term of pod.requiredAntiAffinity) if (matches(term, other)) state.anti.add(node, term.topologyKey, by);
    for (const term of other.requiredAntiAffinity)
      if (matches(term, pod)) state.existing.add(node, term.topologyKey, by);
  };
  return {
    name: 'InterPodAffinity',
    start: (signal) => deps.whenSynced(signal),
    wakesOn: [
      { on: 'AssignedPodAdd', helps: mayHelp },
      { on: 'AssignedPodDelete', helps: mayHelp },
      { on: 'AssignedPodLabel' },
      { on: 'NodeAdd' },
      { on: 'NodeLabel' },
      { on: 'NamespaceLabel' },
      { on: 'PodChanged' },
    ],
    preFilter(pod) {
      const existing = new Topology();
      for (const { kind, term, weights } of index.demands())
        if (kind === 'requiredAntiAffinity' && matches(term, pod)) existing.addAll(weights, term.topologyKey);
      const own = pod.requiredAffinity.length + pod.requiredAntiAffinity.length;
      if (own === 0 && existing.isEmpty) return { skip: true };
      const affinity = new Topology();
      if (pod.requiredAffinity.length > 0) {
        // One and the same pod must match all terms.
        const found = index.counts(questionOfTerms(pod.requiredAffinity, namespaceLabels));
        for (const { topologyKey } of pod.requiredAffinity) affinity.addAll(found, topologyKey);
      }
      const anti = new Topology();
      for (const term of pod.requiredAntiAffinity)
        anti.addAll(index.counts(questionOfTerms([term], namespaceLabels)), term.topologyKey);
      return { state: { affinity, anti, existing, matchesItself: matchesAll(pod.requiredAffinity, pod) } };
    },
    filter(pod, node, state) {
      if (!isNear(pod, node, state)) return refusedAffinity;
      for (const { topologyKey } of pod.requiredAntiAffinity)
        if (state.anti.at(node, topologyKey) > 0) return refusedAnti;
      for (const [key, values] of state.existing.entries)
        if (values.size > 0 && state.existing.at(node, key) > 0) return refusedByExisting;
      return undefined;
    },
    cloneState: ({ affinity, anti, existing, matchesItself }) => ({
      affinity: affinity.clone(),
      anti: anti.clone(),
      existing: existing.clone(),
      matchesItself,
    }),
    addPod: (state, pod, other, node) => shift(state, pod, other, node, 1),
    removePod: (state, pod, other, node) => shift(state, pod, other, node, -1),
    preScore(pod) {
      const scores = new Topology();
      for (const { term, weight } of pod.preferredAffinity)
        scores.addAll(index.counts(questionOfTerms([term], namespaceLabels)), term.topologyKey, weight);
      for (const { term, weight } of pod.preferredAntiAffinity)
        scores.addAll(index.counts(questionOfTerms([term], namespaceLabels)), term.topologyKey, -weight);
      for (const demand of index.demands()) {
        const sign = pull(demand, args);
        if (sign !== 0 && matches(demand.term, pod)) scores.addAll(demand.weights, demand.term.topologyKey, sign);
      }
      return scores.isEmpty ? { skip: true } : { state: scores };
    },
    score(_pod, node, scores: Topology) {
      let total = 0;
      for (const [key] of scores.entries) total += scores.at(node, key);
      return total;
    },
    normalize(scores, nodes) {
      let low = Infinity;
      let high = -Infinity;
      for (let at = 0; at < nodes.length; at++) {
        low = Math.min(low, scores[at]!);
        high = Math.max(high, scores[at]!);
      }
      for (let at = 0; at < nodes.length; at++)
        scores[at] = high > low ? Math.trunc((100 * (scores[at]! - low)) / (high - low)) : 0;
    },
  };
}

/** The first of a group that wants to be together may go anywhere, if it would match itself. */
function isNear(pod: PodInfo, node: NodeInfo, { affinity, matchesItself }: State): boolean {
  let near = true;
  for (const { topologyKey } of pod.requiredAffinity) {
    if (node.labels[topologyKey] === undefined) return false;
    if (affinity.at(node, topologyKey) <= 0) near = false;
  }
  return near || (matchesItself && affinity.isEmpty);
}

/** How an existing pod's wish draws (or repels) the newcomer. */
function pull({ kind }: Demand, args: InterPodAffinityArgs): number {
  if (kind === 'requiredAffinity') return args.hardPodAffinityWeight ?? 1;
  if (kind === 'requiredAntiAffinity' || args.ignorePreferredTermsOfExistingPods === true) return 0;
  return kind === 'preferredAffinity' ? 1 : -1;
}
