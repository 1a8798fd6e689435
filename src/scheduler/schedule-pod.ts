// Owns the decision for one pod: which nodes can take it and which is best. Synchronous, no I/O, no clock.
import { Cycle, type RefusedFilter } from './framework/cycle.ts';
import { type Diagnosis, type Snapshot, unresolvable } from './framework/plugin.ts';
import type { Profile } from './framework/profile.ts';
import type { NodeInfo } from './node-info.ts';
import type { PodInfo } from './pod-info.ts';

/** Pods that were promised a node by preemption but are not there yet. */
export interface Nominations {
  readonly size: number;
  on(nodeName: string): readonly PodInfo[];
  nodeOf(uid: string): string | undefined;
}

export type Decision =
  | { readonly node: NodeInfo; readonly cycle: Cycle; readonly evaluated: number; readonly feasible: number }
  | { readonly diagnosis: Diagnosis; readonly cycle: Cycle };

const minFeasibleNodes = 100;
const minPercentage = 5;

/** How many nodes to find before scoring: all of a small cluster, a falling share of a large one. */
function nodesToFind(total: number, percentageOfNodesToScore: number): number {
  if (total < minFeasibleNodes) return total;
  const percentage =
    percentageOfNodesToScore > 0 ? percentageOfNodesToScore : Math.max(minPercentage, 50 - Math.trunc(total / 125));
  if (percentage >= 100) return total;
  return Math.max(minFeasibleNodes, Math.trunc((total * percentage) / 100));
}

export class PodScheduler {
  readonly #all: Snapshot;
  readonly #nominations: Nominations;
  /** Where the next cycle starts to look, so that all nodes get their turn. */
  #start = 0;

  constructor(all: Snapshot, nominations: Nominations) {
    this.#all = all;
    this.#nominations = nominations;
  }

  schedule(profile: Profile, pod: PodInfo): Decision {
    const cycle = new Cycle(profile, pod);
    const pre = cycle.preFilter(this.#all);
    if (pre.refused !== undefined)
      return {
        cycle,
        diagnosis: { byNode: new Map(), all: pre.refused.refused, plugins: new Set([pre.refused.plugin]) },
      };
    if (pre.only?.size === 0) {
      const why = unresolvable(`node(s) didn't satisfy plugin(s) [${pre.onlyBy.join(' ')}] simultaneously`);
      return { cycle, diagnosis: { byNode: new Map(), all: why, plugins: new Set(pre.onlyBy) } };
    }
    const refused = new Map<NodeInfo, RefusedFilter>();
    const feasible = this.#nominee(cycle) ?? this.#feasible(cycle, pre.only, refused);
    if (feasible.length === 0) return { cycle, diagnosis: diagnose(refused, pre) };
    const node = feasible.length === 1 ? feasible[0]! : this.#best(cycle, feasible);
    return { node, cycle, evaluated: feasible.length + refused.size, feasible: feasible.length };
  }

  /** The node that was made free for this pod, if it still fits there. */
  #nominee(cycle: Cycle): readonly NodeInfo[] | undefined {
    const name = this.#nominations.nodeOf(cycle.pod.uid) ?? cycle.pod.pod.status?.nominatedNodeName;
    const node = name === undefined || name === '' ? undefined : this.#all.node(name);
    return node !== undefined && filterNode(cycle, node, this.#nominations) === undefined ? [node] : undefined;
  }

  #feasible(cycle: Cycle, only: ReadonlySet<string> | undefined, refused: Map<NodeInfo, RefusedFilter>): NodeInfo[] {
    const all = this.#all.nodes;
    const nodes = only === undefined ? all : [...only].flatMap((name) => this.#all.node(name) ?? []);
    const wanted = nodesToFind(nodes.length, cycle.profile.percentageOfNodesToScore);
    const feasible: NodeInfo[] = [];
    const total = nodes.length;
    let at = only === undefined && total > 0 ? this.#start % total : 0;
    let looked = 0;
    for (; looked < total && feasible.length < wanted; looked++) {
      const node = nodes[at]!;
      if (++at === total) at = 0;
      const why = this.#nominations.size === 0 ? cycle.filter(node) : filterNode(cycle, node, this.#nominations);
      if (why === undefined) feasible.push(node);
      else refused.set(node, why);
    }
    if (only === undefined && total > 0) this.#start = (this.#start + looked) % total;
    return feasible;
  }

  /** The highest total; the first of equals in the order of looking. */
  #best(cycle: Cycle, nodes: readonly NodeInfo[]): NodeInfo {
    const totals = new Float64Array(nodes.length);
    const scores = new Float64Array(nodes.length);
    for (const { plugin, weight, at } of cycle.profile.score) {
      let state = cycle.states[at];
      if (plugin.preScore !== undefined) {
        const pre = plugin.preScore(cycle.pod, nodes, this.#all);
        if ('skip' in pre) continue;
        state = pre.state;
      }
      for (let i = 0; i < nodes.length; i++) scores[i] = plugin.score(cycle.pod, nodes[i]!, state as never);
      plugin.normalize?.(scores, nodes, state as never);
      for (let i = 0; i < nodes.length; i++) totals[i]! += scores[i]! * weight;
    }
    let best = 0;
    for (let i = 1; i < nodes.length; i++) if (totals[i]! > totals[best]!) best = i;
    return nodes[best]!;
  }
}

/**
 * Filters with the pods that are promised this node counted in, if they matter more or as much, and again without them:
 * they may not come after all, and the pod's affinity must not rest on them.
 */
export function filterNode(cycle: Cycle, node: NodeInfo, nominations: Nominations): RefusedFilter | undefined {
  const promised = nominations
    .on(node.name)
    .filter(
      (other) => other.uid !== cycle.pod.uid && other.priority >= cycle.pod.priority && !node.pods.has(other.uid),
    );
  if (promised.length > 0) {
    const crowded = cycle.clone();
    const copy = node.clone();
    for (const other of promised) crowded.addPod(other, copy);
    const why = crowded.filter(copy);
    if (why !== undefined) return why;
  }
  return cycle.filter(node);
}

function diagnose(
  refused: ReadonlyMap<NodeInfo, RefusedFilter>,
  pre: { readonly only?: ReadonlySet<string>; readonly onlyBy: readonly string[] },
): Diagnosis {
  const plugins = new Set(pre.onlyBy);
  for (const { plugin } of refused.values()) plugins.add(plugin);
  if (pre.only === undefined) return { byNode: refused, plugins };
  const absent = unresolvable(`node(s) didn't satisfy plugin(s) [${pre.onlyBy.join(' ')}]`);
  return { byNode: refused, absent, plugins };
}
