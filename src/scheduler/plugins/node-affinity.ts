// Owns NodeAffinity: node selectors and node affinity, required and preferred.
import type { Frozen } from '../../api/meta.ts';
import type { NodeAffinity, Node } from '../../api/generated/core.v1.ts';
import type { Happening } from '../framework/cluster-event.ts';
import { type SchedulerPlugin, unresolvable } from '../framework/plugin.ts';
import {
  type NodeMatcher,
  namedNodes,
  nodeSelectorMatcher,
  requiredNodeMatcher,
  termMatcher,
} from '../node-selector.ts';
import type { PodInfo } from '../pod-info.ts';
import { normalizeByHighest } from './normalize.ts';

export interface NodeAffinityArgs {
  /** Applied to every pod of the profile beside its own. */
  readonly addedAffinity?: Frozen<NodeAffinity>;
}

const refused = unresolvable("node(s) didn't match Pod's node affinity/selector");
const refusedAdded = unresolvable("node(s) didn't match scheduler-enforced node affinity");

interface Preference {
  readonly weight: number;
  readonly matches: NodeMatcher;
}

function preferences(affinity: Frozen<NodeAffinity> | undefined): Preference[] {
  return (affinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [])
    .filter(({ weight }) => weight !== 0)
    .map(({ weight, preference }) => ({ weight, matches: termMatcher(preference) }));
}

const selectable = (node: Frozen<Node>) => ({ name: node.metadata.name, labels: node.metadata.labels ?? {} });

export function nodeAffinity(args: NodeAffinityArgs = {}): SchedulerPlugin<NodeMatcher> {
  const addedRequired = args.addedAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  const added = addedRequired && nodeSelectorMatcher(addedRequired);
  const addedPreferences = preferences(args.addedAffinity);
  const nowMatches = (pod: PodInfo, { node, nodeBefore }: Happening): boolean => {
    if (node === undefined) return false;
    const matches = requiredNodeMatcher(pod.pod) ?? (() => true);
    const fits = (candidate: Frozen<Node>) =>
      matches(selectable(candidate)) && (added === undefined || added(selectable(candidate)));
    return fits(node) && (nodeBefore === undefined || !fits(nodeBefore));
  };
  return {
    name: 'NodeAffinity',
    wakesOn: [{ on: 'NodeAdd', helps: nowMatches }, { on: 'NodeLabel', helps: nowMatches }, { on: 'PodChanged' }],
    preFilter: (pod) => {
      const state = requiredNodeMatcher(pod.pod);
      if (state === undefined) return added === undefined ? { skip: true } : { state: () => true };
      const only = namedNodes(pod.pod);
      return { state, ...(only !== undefined && { only }) };
    },
    filter: (_pod, node, matches) => {
      if (added !== undefined && !added(node)) return refusedAdded;
      return matches(node) ? undefined : refused;
    },
    preScore: (pod) => {
      const state = [...addedPreferences, ...preferences(pod.pod.spec.affinity?.nodeAffinity)];
      return state.length === 0 ? { skip: true } : { state };
    },
    score: (_pod, node, wanted: readonly Preference[]) => {
      let total = 0;
      for (const { weight, matches } of wanted) if (matches(node)) total += weight;
      return total;
    },
    normalize: (scores, nodes) => normalizeByHighest(scores, nodes.length, false),
  };
}
