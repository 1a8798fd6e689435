// Owns NodeName: a pod that names its node goes nowhere else.
import { type SchedulerPlugin, unresolvable } from '../framework/plugin.ts';

const refused = unresolvable("node(s) didn't match the requested node name");

export function nodeName(): SchedulerPlugin<undefined> {
  return {
    name: 'NodeName',
    wakesOn: [{ on: 'NodeAdd', helps: (pod, { node }) => pod.pod.spec.nodeName === node?.metadata.name }],
    filter: ({ pod: { spec } }, node) =>
      spec.nodeName === undefined || spec.nodeName === '' || spec.nodeName === node.name ? undefined : refused,
  };
}
