// Owns SchedulingGates: a pod with gates is not looked at.
import { type SchedulerPlugin, unresolvable } from '../framework/plugin.ts';

export function schedulingGates(): SchedulerPlugin<undefined> {
  return {
    name: 'SchedulingGates',
    wakesOn: [{ on: 'PodChanged' }],
    preEnqueue: ({ pod }) => {
      const gates = pod.spec.schedulingGates ?? [];
      return gates.length === 0
        ? undefined
        : unresolvable(`waiting for scheduling gates: [${gates.map(({ name }) => name).join(' ')}]`);
    },
  };
}
