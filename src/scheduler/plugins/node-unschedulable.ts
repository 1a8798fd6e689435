// Owns NodeUnschedulable: cordoned nodes take only pods that tolerate it.
import { type SchedulerPlugin, unresolvable } from '../framework/plugin.ts';
import { tolerates } from '../toleration.ts';

const refused = unresolvable('node(s) were unschedulable');
const cordoned = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' };

export function nodeUnschedulable(): SchedulerPlugin<undefined> {
  return {
    name: 'NodeUnschedulable',
    wakesOn: (['NodeAdd', 'NodeTaint'] as const).map((on) => ({
      on,
      helps: (pod, { node }) => node?.spec.unschedulable !== true || tolerates(pod.pod.spec.tolerations, cordoned),
    })),
    filter: (pod, node) => (node.unschedulable && !tolerates(pod.pod.spec.tolerations, cordoned) ? refused : undefined),
  };
}
