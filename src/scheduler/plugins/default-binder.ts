// Owns DefaultBinder: tells the server where the pod runs.
import type { Pod } from '../../api/generated/core.v1.ts';
import type { ResourceClient } from '../../client/client.ts';
import type { SchedulerPlugin } from '../framework/plugin.ts';

export function defaultBinder(deps: { readonly pods: ResourceClient<Pod> }): SchedulerPlugin<undefined> {
  return {
    name: 'DefaultBinder',
    bind: async (pod, nodeName, signal) => {
      const { namespace, name, uid } = pod;
      await deps.pods.createSubresource(
        { namespace, name },
        'binding',
        {
          apiVersion: 'v1',
          kind: 'Binding',
          metadata: { namespace, name, uid },
          target: { kind: 'Node', name: nodeName },
        },
        { signal },
      );
      return true;
    },
  };
}
