// Owns NodeUnschedulable: cordoned nodes take only pods that tolerate it.
import { type SchedulerPlugin, unresolvable } from '../framework/plugin.ts';
import { anyTolerates } from '../../api/judge/taints.ts';

const refused = unresolvable('node(s) were unschedulable');
const cordoned = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' };

export function nodeUnschedulable(): SchedulerPlugin<undefined> {
  return {
    name: 'NodeUnschedulable',
    wakesOn: (['NodeAdd', 'NodeTaint'] as const).map((on) => ({
      on,
      helps: (pod, { node }) => node?.spec.unschedulable !== true || anyTolerates(pod.pod.spec.tolerations, cordoned),
    })),
    filter: (pod, node) =>
      node.unschedulable && !anyTolerates(pod.pod.spec.tolerations, cordoned) ? refused : undefined,
  };
}
