// Owns taking a real node off the host: its containers, its containerd, and what it changed of the host's network.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { systemClock } from '../base/clock.ts';
import { runCommand } from '../base/run-command.ts';
import { connectCri } from '../kubelet/cri.ts';
import { removeCniLeftovers } from '../kubelet/host/cni-leftovers.ts';
import { cniCleanup } from '../kubelet/host/cni.ts';
import type { ContainerdPaths } from '../kubelet/host/containerd-config.ts';
import { containerdPid, shimPids, stopContainerd } from '../kubelet/host/containerd.ts';
import { restoreKernelSettings } from '../kubelet/host/kernel.ts';
import { cleanUpIptables } from '../proxy/iptables/proxier.ts';
import { otherHolder, releaseHost } from './host-claim.ts';
import { nodePaths } from './node-paths.ts';

/**
 * Ends all containers and gives the host its network and settings back. "remove" also forgets stopped containers and
 * their network namespaces. False when there was no node. Nothing of the host's own containerd is touched, nor what
 * another cluster's node on this host needs.
 */
export async function removeNode(dataDir: string, mode: 'stop' | 'remove'): Promise<boolean> {
  const paths = nodePaths(dataDir);
  if (!existsSync(paths.folder)) return false;
  const wasRunning = containerdPid(paths.containerd) !== undefined;
  if (wasRunning) await endSandboxes(paths.containerd, mode);
  await stopContainerd(paths.containerd, systemClock);
  endShims(paths.containerd);
  await unmountBelow(paths.folder);
  const isOthers = otherHolder(dataDir) !== undefined;
  await restoreNetwork(paths.network, paths.containerd.cniDataFolder, isOthers);
  if (!isOthers) restoreKernelSettings(paths.kernelSettings);
  releaseHost(dataDir);
  return wasRunning;
}

async function endSandboxes(paths: ContainerdPaths, mode: 'stop' | 'remove'): Promise<void> {
  const cri = await connectCri(`unix:${paths.socket}`);
  try {
    const { containers } = await cri.runtime.listContainers({ filter: { state: { state: 'CONTAINER_RUNNING' } } });
    await Promise.all(containers.map(({ id }) => cri.runtime.stopContainer({ containerId: id, timeout: 2n })));
    const { items } = await cri.runtime.listPodSandbox({});
    await Promise.all(
      items.map(async ({ id }) => {
        await cri.runtime.stopPodSandbox({ podSandboxId: id });
        if (mode === 'remove') await cri.runtime.removePodSandbox({ podSandboxId: id });
      }),
    );
  } finally {
    cri.close();
  }
}

/** Containers of a containerd that was killed go on under their shims: without it only the shims can be ended. */
function endShims(paths: ContainerdPaths): void {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  for (const pid of shimPids(paths, pids)) process.kill(pid, 'SIGKILL');
}

async function unmountBelow(folder: string): Promise<void> {
  const mounted = readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .map((line) => (line.split(' ')[1] ?? '').replaceAll('\\040', ' '))
    .filter((path) => path.startsWith(`${folder}/`))
    .toSorted((a, b) => b.length - a.length);
  for (const path of mounted) await runCommand('umount', ['-l', path]);
}

/** What a node has put into the host's network, remembered for whoever takes it out. */
export interface NetworkRecord {
  readonly bridge: string;
  /** The CNI network's name, by which its rules are known. */
  readonly network: string;
  readonly clusterCidr: string;
}

/** `isOthers`: the chains of kube-proxy, one set to a host, belong to the node of another cluster now. */
async function restoreNetwork(file: string, cniDataFolder: string, isOthers: boolean): Promise<void> {
  if (!existsSync(file)) return;
  const { bridge, network } = JSON.parse(readFileSync(file, 'utf8')) as NetworkRecord;
  if (!isOthers) await cleanUpIptables({ command: 'iptables' }, runCommand);
  await runCommand('ip', ['link', 'delete', bridge]);
  await removeCniLeftovers(network, cniDataFolder);
  await removeCniChains(network);
}

async function removeCniChains(network: string): Promise<void> {
  const { stdout } = await runCommand('iptables-save', ['-t', 'nat']);
  const input = cniCleanup(stdout, network);
  if (input !== '') await runCommand('iptables-restore', ['-w', '5', '--noflush'], { input });
}
