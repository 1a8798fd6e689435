// Owns TaintToleration: keeps pods off nodes whose taints they do not tolerate, and prefers nodes with fewer soft ones.
import type { Frozen } from '../../api/meta.ts';
import type { Toleration } from '../../api/generated/core.v1.ts';
import type { Happening } from '../framework/cluster-event.ts';
import { type SchedulerPlugin, unresolvable } from '../framework/plugin.ts';
import type { PodInfo } from '../pod-info.ts';
import { anyTolerates, keepsOut, untolerated } from '../../api/judge/taints.ts';
import { normalizeByHighest } from './normalize.ts';

const refused = unresolvable('node(s) had untolerated taint(s)');

const nowTolerated = (pod: PodInfo, { node }: Happening): boolean =>
  untolerated(node?.spec.taints ?? [], pod.pod.spec.tolerations, keepsOut) === undefined;

export function taintToleration(): SchedulerPlugin<undefined> {
  return {
    name: 'TaintToleration',
    wakesOn: [{ on: 'NodeAdd', helps: nowTolerated }, { on: 'NodeTaint', helps: nowTolerated }, { on: 'PodChanged' }],
    filter: (pod, node) =>
      node.taints.length > 0 && untolerated(node.taints, pod.pod.spec.tolerations, keepsOut) !== undefined
        ? refused
        : undefined,
    preScore: (pod, nodes) =>
      nodes.some((node) => node.taints.length > 0)
        ? { state: pod.pod.spec.tolerations?.filter(({ effect }) => !effect || effect === 'PreferNoSchedule') ?? [] }
        : { skip: true },
    score: (_pod, node, soft: readonly Frozen<Toleration>[]) => {
      let count = 0;
      for (const taint of node.taints) if (taint.effect === 'PreferNoSchedule' && !anyTolerates(soft, taint)) count++;
      return count;
    },
    normalize: (scores, nodes) => normalizeByHighest(scores, nodes.length, true),
  };
}
