// Owns NodePorts: two pods cannot hold one host port.
import { type SchedulerPlugin, refusal } from '../framework/plugin.ts';
import type { HostPort, PodInfo } from '../pod-info.ts';

const refused = refusal("node(s) didn't have free ports for the requested pod ports");

const clash = (a: HostPort, b: HostPort): boolean =>
  a.port === b.port && a.protocol === b.protocol && (a.ip === b.ip || a.ip === '0.0.0.0' || b.ip === '0.0.0.0');

const freesPort = (waiting: PodInfo, gone: PodInfo | undefined): boolean =>
  gone !== undefined && gone.hostPorts.some((held) => waiting.hostPorts.some((wanted) => clash(held, wanted)));

export function nodePorts(): SchedulerPlugin<undefined> {
  return {
    name: 'NodePorts',
    wakesOn: [{ on: 'AssignedPodDelete', helps: (waiting, { pod }) => freesPort(waiting, pod) }, { on: 'NodeAdd' }],
    preFilter: (pod) => (pod.hostPorts.length === 0 ? { skip: true } : { state: undefined }),
    filter: (pod, node) => {
      for (const port of pod.hostPorts) if (node.portTaken(port)) return refused;
      return undefined;
    },
  };
}
