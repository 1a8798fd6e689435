// Composes simulated nodes: all in one component, which speaks for each of them.
import { nodes } from '../../api/generated/resources.ts';
import { deferred, taskGroup } from '../../base/task-group.ts';
import { informerFactory } from '../../client/informer-factory.ts';
import { simulatedNodes, type SimulatedNodes } from '../../kubelet/simulated/simulated-nodes.ts';
import type { ComponentOf, ControlPlaneDeps } from './control-plane.ts';

export interface SimulatedOptions {
  /** "node-0", "node-1", … */
  readonly count: number;
  /** Default "node". */
  readonly prefix?: string;
}

/** Resolves when all nodes are registered. */
export async function startSimulatedNodes(
  { count, prefix = 'node' }: SimulatedOptions,
  component: ComponentOf,
  { group }: ControlPlaneDeps,
): Promise<SimulatedNodes> {
  const names = Array.from({ length: count }, (_, index) => `${prefix}-${index}`);
  const deps = component('kubelet', { name: 'system:k8ts:simulated-nodes', groups: ['system:masters'] });
  const informers = informerFactory(deps.client, deps);
  const self = simulatedNodes({ names }, { ...deps, informers });
  const missing = new Set(names);
  const registered = deferred();
  if (count === 0) registered.resolve();
  const unlisten = informers.informer(nodes).on({
    added({ metadata }) {
      missing.delete(metadata.name);
      if (missing.size === 0) registered.resolve();
    },
  });
  group.run('simulated nodes', async (signal) => {
    const inner = taskGroup(signal);
    inner.run('informers', (stop) => informers.run(stop));
    inner.run('nodes', (stop) => self.run(stop));
    await inner.done;
  });
  await Promise.race([registered.promise, group.done]);
  unlisten();
  return self;
}
