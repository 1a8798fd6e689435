// Composes kube-proxy: informers and the proxy over one client.
import { taskGroup } from '../../base/task-group.ts';
import { informerFactory } from '../../client/informer-factory.ts';
import { kubeProxy, type KubeProxyOptions } from '../../proxy/kube-proxy.ts';
import type { ComponentDeps } from './component.ts';

export async function runKubeProxy(options: KubeProxyOptions, deps: ComponentDeps, signal: AbortSignal): Promise<void> {
  const group = taskGroup(signal);
  const informers = informerFactory(deps.client, deps);
  const proxy = kubeProxy(options, { ...deps, informers });
  group.run('proxy', (stop) => proxy.run(stop));
  group.run('informers', (stop) => informers.run(stop));
  await group.done;
}
