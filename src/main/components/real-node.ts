// Composes a real node of this host: our own containerd, the kubelet over it, and what its pods need of the network.
import { createHash } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import type { HostTools } from '../../kubelet/host/tools.ts';
import { connectCri } from '../../kubelet/cri.ts';
import { ensureContainerd, watchContainerd } from '../../kubelet/host/containerd.ts';
import { applyKernelSettings, readCapSysResource } from '../../kubelet/host/kernel.ts';
import { loadImages } from '../../kubelet/host/load-images.ts';
import {
  architectureOf,
  helloImage,
  helloImageName,
  pauseImage,
  pauseImageName,
} from '../../kubelet/images/built-in.ts';
import { kubelet } from '../../kubelet/kubelet.ts';
import type { KubeletServerOptions } from '../../kubelet/options.ts';
import { taskGroup } from '../../base/task-group.ts';
import { informerFactory } from '../../client/informer-factory.ts';
import type { Progress } from '../../cli/progress.ts';
import { replaceFile } from '../data-directory.ts';
import type { ComponentSettings } from '../component-args.ts';
import { nodePaths } from '../node-paths.ts';
import { UserError } from '../user-error.ts';
import type { ComponentOf, ControlPlaneDeps } from './control-plane.ts';
import { hostResolvers, runDns } from './dns.ts';
import { runKubeProxy } from './kube-proxy.ts';

export interface RealNodeOptions {
  readonly clusterName: string;
  readonly nodeName: string;
  /** The host's address on its network: the node's. */
  readonly address: string;
  readonly dataDir: string;
  readonly podSubnet: string;
  /** Of kube-dns: the tenth address of the service range. */
  readonly dnsAddress: string;
  readonly tools: HostTools;
  readonly searchPath: string;
  readonly server: KubeletServerOptions;
  /** What flags of componentArgs change. */
  readonly settings: Pick<ComponentSettings, 'kubelet' | 'kubeProxy' | 'dns'>;
}

/** Starts everything in the group; resolves when the node's kubelet has registered it and knows its pods. */
export async function startRealNode(
  options: RealNodeOptions,
  component: ComponentOf,
  deps: ControlPlaneDeps,
  show: Progress,
): Promise<void> {
  const paths = nodePaths(options.dataDir);
  mkdirSync(paths.folder, { recursive: true, mode: 0o711 });
  const bridge = bridgeName(options.clusterName);
  replaceFile(
    paths.network,
    JSON.stringify({ bridge, network: networkName(options.clusterName), clusterCidr: options.podSubnet }),
  );
  for (const warning of applyKernelSettings(paths.kernelSettings).warnings) show.note(warning);
  const endpoint = await show.stage('containerd', (detail) => startContainerd(options, paths.containerd, deps, detail));
  startNetwork(options, component, deps);
  await show.stage(`Node ${options.nodeName}`, async () => {
    const parts = component('kubelet', {
      name: `system:node:${options.nodeName}`,
      groups: ['system:nodes'],
    });
    const informers = informerFactory(parts.client, parts);
    const self = kubelet(
      {
        nodeName: options.nodeName,
        nodeIp: options.address,
        rootFolder: paths.kubelet,
        logFolder: `${paths.kubelet}/logs`,
        runtimeEndpoint: endpoint,
        clusterDns: [options.dnsAddress],
        cni: {
          confFolder: paths.containerd.cniConfFolder,
          dataFolder: paths.containerd.cniDataFolder,
          networkName: networkName(options.clusterName),
          bridge,
        },
        server: options.server,
        keepImages: [pauseImageName, helloImageName],
        ...options.settings.kubelet,
      },
      { ...parts, informers },
    );
    deps.group.run('kubelet', async (signal) => {
      const group = taskGroup(signal);
      group.run('informers', (stop) => informers.run(stop));
      group.run('node', (stop) => self.run(stop));
      await group.done;
    });
    await self.ready.catch((error: unknown) => {
      throw portTaken(error, options.server.port) ?? error;
    });
  });
}

function portTaken(error: unknown, port: number): UserError | undefined {
  const { code } = ((error as Error).cause ?? {}) as NodeJS.ErrnoException;
  if (code !== 'EADDRINUSE') return undefined;
  return new UserError(
    `port ${port}, the kubelet's, is taken by another program`,
    `end it (\`ss -ltnp sport = :${port}\` names it), or use --node simulated`,
  );
}

function networkName(clusterName: string): string {
  return `k8ts-${clusterName}`;
}

/** An interface's name has at most 15 characters, so a cluster's is shortened to a hash. */
function bridgeName(clusterName: string): string {
  return clusterName === 'k8ts'
    ? 'k8ts0'
    : `k8ts-${createHash('sha256').update(clusterName).digest('hex').slice(0, 8)}`;
}

async function startContainerd(
  { tools, searchPath }: RealNodeOptions,
  paths: ReturnType<typeof nodePaths>['containerd'],
  { clock, group, logs }: ControlPlaneDeps,
  detail: (text: string) => void,
): Promise<string> {
  const architecture = architectureOf(process.arch);
  if (architecture === undefined)
    throw new UserError(`real nodes run on amd64 and arm64, not ${process.arch}`, 'use --node simulated');
  const settings = {
    paths,
    binary: tools.paths.get('containerd')!,
    path: searchPath,
    clock,
    sandboxImage: pauseImageName,
    cniBinFolder: tools.cniBinFolder!,
    restrictOomScoreAdj: !readCapSysResource(),
  };
  const { endpoint, started } = await ensureContainerd(settings);
  const log = logs('containerd');
  group.run('containerd', (signal) =>
    watchContainerd(
      settings,
      {
        restarted: () => log.warn('containerd had died and was started again'),
        failed: (error) => log.error('containerd died and cannot be started', { error }),
      },
      signal,
    ),
  );
  const cri = await connectCri(endpoint);
  try {
    await loadImages(cri, tools.paths.get('ctr')!, paths, [pauseImage(architecture), helloImage(architecture)]);
  } finally {
    cri.close();
  }
  detail(started ? 'started' : 'taken over with its containers');
  return endpoint;
}

function startNetwork(options: RealNodeOptions, component: ComponentOf, { group }: ControlPlaneDeps): void {
  const proxyDeps = component('kube-proxy', { name: 'system:kube-proxy' });
  group.run('kube-proxy', (signal) =>
    runKubeProxy(
      {
        nodeName: options.nodeName,
        clusterCIDR: options.podSubnet,
        localhostNodePorts: true,
        ...options.settings.kubeProxy,
      },
      proxyDeps,
      signal,
    ),
  );
  const dnsDeps = component('dns', { name: 'system:serviceaccount:kube-system:kube-dns', groups: ['system:masters'] });
  group.run('dns', (signal) =>
    runDns(
      {
        host: options.address,
        upstreams: hostResolvers(),
        ...options.settings.dns,
        publish: { clusterIP: options.dnsAddress, address: options.address, nodeName: options.nodeName },
      },
      dnsDeps,
      signal,
    ),
  );
}
