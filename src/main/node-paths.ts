// Owns where a real node keeps its things below the cluster's directory.
import { join } from 'node:path';
import { containerdPaths } from '../kubelet/host/containerd-config.ts';

export function nodePaths(dataDir: string) {
  const folder = join(dataDir, 'node');
  return {
    folder,
    containerd: containerdPaths(join(folder, 'containerd')),
    kubelet: join(folder, 'kubelet'),
    kernelSettings: join(folder, 'kernel-settings.json'),
    network: join(folder, 'network.json'),
  };
}
