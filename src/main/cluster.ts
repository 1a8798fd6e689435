// Owns a whole cluster in this process: `startCluster()` for tests and programs, and what `k8ts up` runs.
import { mkdirSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { type Clock, systemClock } from '../base/clock.ts';
import { type Logger, silentLogger } from '../base/log.ts';
import { type Random, systemRandom } from '../base/random.ts';
import { taskGroup } from '../base/task-group.ts';
import { VirtualClock } from '../base/virtual-clock.ts';
import type { Progress } from '../cli/progress.ts';
import type { Client } from '../client/client.ts';
import type { Transport } from '../client/transport.ts';
import type { KubeconfigEntry } from '../client/kubeconfig.ts';
import type { SimulatedNodes } from '../kubelet/simulated/simulated-nodes.ts';
import { simulatedKubelets } from '../kubelet/simulated/simulated-kubelet.ts';
import type { HttpExchange } from '../wire/http-exchange.ts';
import type { HostTools } from '../kubelet/host/tools.ts';
import type { Store } from '../store/store.ts';
import {
  componentDeps,
  type ComponentOf,
  type ControlPlaneDeps,
  startApiServer,
  startApiServerInWorkers,
  startControllers,
  startScheduler,
} from './components/control-plane.ts';
import { type ComponentArgs, type ComponentSettings, readComponentArgs } from './component-args.ts';
import { type ClusterServer, clusterServerOptions } from './components/cluster-server.ts';
import { kubeletActions } from './components/kubelet-streams.ts';
import { maxWorkers } from './api-workers.ts';
import { claimHost } from './host-claim.ts';
import { hostAddress } from './host-address.ts';
import { openPki, type Pki } from './pki.ts';
import { serveSnapshots, snapshotSocket } from './snapshot-socket.ts';
import { removeNode } from './teardown.ts';
import { startRealNode } from './components/real-node.ts';
import { startSimulatedNodes } from './components/simulated-nodes.ts';
import { guard } from './data-directory.ts';
import { UserError } from './user-error.ts';
import { version } from './version.ts';

export interface ClusterOptions {
  /** Default "k8ts". */
  readonly name?: string;
  /** Everything is kept here; absent: in memory, gone with `stop()`. */
  readonly dataDir?: string;
  /** Default "simulated". "real" needs Linux, root, `dataDir` and `hostTools`. */
  readonly node?: 'real' | 'simulated' | 'none';
  /** Default 1. */
  readonly nodes?: number;
  /** Of the API server; 0 or absent takes 6443 if free, else any. */
  readonly port?: number;
  /**
   * Processes that serve the port together, each with caches of its own; the store and the components stay in this process.
   * Default 1: all in this process. More need real time and an installed (built) package.
   */
  readonly apiWorkers?: number;
  readonly serviceSubnet?: string;
  readonly podSubnet?: string;
  readonly hostTools?: HostTools;
  /** PATH for the programs that a real node runs. */
  readonly searchPath?: string;
  /** Default: the host's name. Simulated nodes get a number behind it. */
  readonly nodeName?: string;
  /** Upstream flags a component: { 'kube-apiserver': { 'token-auth-file': '/x' } }. Unknown ones are refused. */
  readonly componentArgs?: ComponentArgs;
  /** Serves metrics.k8s.io (`kubectl top`, autoscalers). Default true. */
  readonly metricsServer?: boolean;
  /** --controllers of the controller manager. Default ["*"]. */
  readonly controllers?: readonly string[];
  /**
   * Begins as something was: a snapshot's file, the directory of a cluster (or store) that is not running, or a running cluster of this
   * process. What it came from is not touched, and shares what it holds; takes milliseconds. Needs no `dataDir`: it lives in memory.
   */
  readonly from?: string | Cluster;
  /** With `from`: as it was at this revision (a resourceVersion), if that is still kept. Default: the newest. */
  readonly atRevision?: number;
  readonly clock?: Clock;
  /** Puts something between a component ("kube-scheduler", …; "k8ts" is `client`) and the API server: faults, a record. */
  readonly transport?: (component: string, transport: Transport) => Transport;
  readonly random?: Random;
  readonly logs?: (component: string) => Logger;
  readonly progress?: Progress;
}

export interface Cluster {
  /** What the API server calls itself: "v1.37.2+k8ts.…". */
  readonly version: string;
  /** "https://127.0.0.1:6443" */
  readonly server: string;
  readonly port: number;
  /** As cluster administrator, without sockets. */
  readonly client: Client;
  /** Everything that kubectl needs, under this name. */
  kubeconfigEntry(name: string): KubeconfigEntry;
  /** Rejects when a component fails; never resolves. */
  readonly failed: Promise<never>;
  /** Ends "kube-scheduler" or "kube-controller-manager" as a crash would and begins it anew. */
  restart(component: string): void;
  /** Ends all components and, on a real node, all containers. Idempotent. */
  stop(): Promise<void>;
}

const defaultServiceSubnet = '10.96.0.0/16';
const defaultPodSubnet = '10.244.0.0/16';

/** For forks. */
const stores = new WeakMap<Cluster, Store>();

function storeOf(cluster: Cluster): Store {
  const store = stores.get(cluster);
  if (store === undefined) throw new UserError('`from` is no cluster of this process', 'give what startCluster() gave');
  return store;
}

const quiet: Progress = { stage: async (_title, work) => work(() => undefined), note: () => undefined };

/**
 * Starts a cluster; resolves when its API server is ready and its nodes are. On a `VirtualClock` time moves only while it
 * starts and stops, and whenever the caller advances the clock.
 */
export async function startCluster(options: ClusterOptions = {}): Promise<Cluster> {
  const { clock } = options;
  if (!(clock instanceof VirtualClock)) return start(options);
  const cluster = await driven(clock, start(options));
  return { ...cluster, stop: () => driven(clock, cluster.stop()) };
}

/** Lets virtual time pass until `work` is done. */
async function driven<T>(clock: VirtualClock, work: Promise<T>): Promise<T> {
  let isDone = false;
  const settled = work.finally(() => {
    isDone = true;
  });
  // Its failure is the caller's, below; here it only ends the loop.
  settled.catch(() => undefined);
  while (!isDone) await clock.advance(10);
  return settled;
}

async function start(options: ClusterOptions): Promise<Cluster> {
  const show = options.progress ?? quiet;
  const deps: ControlPlaneDeps = {
    clock: options.clock ?? systemClock,
    random: options.random ?? systemRandom,
    logs: options.logs ?? (() => silentLogger),
    group: taskGroup(),
  };
  const serviceSubnet = options.serviceSubnet ?? defaultServiceSubnet;
  const podSubnet = options.podSubnet ?? defaultPodSubnet;
  const address = hostAddress();
  if (options.dataDir !== undefined) makeFolders(options.dataDir, 'pki', 'store');
  let store: Store | undefined;
  const stop = async (): Promise<void> => {
    // Each in turn, whatever failed before it: the group's failure must leave no containers behind.
    try {
      await deps.group.stop();
    } finally {
      try {
        await store?.close();
      } finally {
        if (options.node === 'real' && options.dataDir !== undefined) await removeNode(options.dataDir, 'stop');
      }
    }
  };
  try {
    if (options.node === 'real' && options.dataDir !== undefined)
      claimHost({ name: options.name ?? 'k8ts', dataDir: options.dataDir });
    const settings = await readComponentArgs(options.componentArgs ?? {}, deps.random);
    const pki = await show.stage('Keys and certificates', () => openClusterPki(options, serviceSubnet, address, deps));
    store = await openStore(options, deps);
    const restarts = new Map<string, () => void>();
    // They run in this process, which ends when one of them does.
    const runs = (name: string) => (): string => {
      if (!restarts.has(name)) throw new Error('not started');
      return 'ok';
    };
    // On a virtual clock sockets would take no time at all, or too long.
    const within = deps.clock instanceof VirtualClock;
    let metrics: ((exchange: HttpExchange) => void) | undefined;
    let simulated: SimulatedNodes | undefined;
    const serving = await show.stage('API server', async (detail) => {
      const server: ClusterServer = {
        ...(options.node !== 'real' && { bindAddress: '127.0.0.1' }),
        securePort: options.port ?? 0,
        certificate: pki.apiServer.certificatePem,
        key: pki.apiServer.keyPem,
        clientCa: pki.ca.certificatePem,
        frontProxyCa: pki.frontProxyCa.certificatePem,
        frontProxyClient: { certificate: pki.frontProxyClient.certificatePem, key: pki.frontProxyClient.keyPem },
        signingKey: pki.serviceAccountKeyPem,
        serviceSubnet,
        // In time that is not real there are no other servers to be told from, and a record must not depend on the host.
        ...(deps.clock === systemClock && { hostname: hostname() }),
        ...(address !== undefined && options.node === 'real' && { advertise: { address, port: options.port ?? 0 } }),
        kubelet: {
          certificate: pki.kubeletClient.certificatePem,
          key: pki.kubeletClient.keyPem,
          certificateAuthority: pki.ca.certificatePem,
          ...(options.node === 'simulated' && { simulatedPods: podSubnet }),
        },
      };
      const extra = {
        extensions: (service: string) => (service === 'kube-system/metrics-server' ? metrics : undefined),
        actions: kubeletActions({
          clock: deps.clock,
          within: simulatedKubelets(() => simulated).dial,
          ...server.kubelet,
        }),
        components: { scheduler: runs('kube-scheduler'), 'controller-manager': runs('kube-controller-manager') },
      };
      const workers = workersOf(options);
      const started =
        workers > 1
          ? await startApiServerInWorkers(
              { server, args: options.componentArgs?.['kube-apiserver'] ?? {}, count: workers },
              settings.apiServer,
              pki,
              store!,
              deps,
              extra,
            )
          : await startApiServer(clusterServerOptions(server, settings.apiServer), pki, store!, deps, extra);
      detail(`https://127.0.0.1:${started.port}${workers > 1 ? `, ${workers} workers` : ''}`);
      return started;
    });
    const component = componentDeps(serving.server, deps, options.transport);
    await show.stage('Controllers and scheduler', () => {
      const controllers = startControllers(
        { podSubnet, ...(options.controllers && { controllers: options.controllers }), ...settings.controllerManager },
        pki,
        component,
        deps,
      );
      restarts.set('kube-controller-manager', controllers);
      restarts.set('kube-scheduler', startScheduler(settings.scheduler ?? {}, component, deps));
    });
    if (options.node === 'real') await addRealNode(options, settings, address, pki, component, deps, show);
    else if (options.node !== 'none') {
      const count = options.nodes ?? 1;
      simulated = await show.stage(`Simulated nodes: ${count}`, () => startSimulatedNodes({ count }, component, deps));
    }
    if (options.metricsServer !== false) {
      const loading = import('./components/metrics-server.ts');
      // Loading takes no virtual time: a run would not be like the one before.
      if (within) await loading;
      const usage = {
        simulated: (node: string) => simulated?.resourceMetrics(node),
        within,
        ...settings.metricsServer,
      };
      deps.group.run('metrics server', async (signal) =>
        (await loading).runMetricsServer({ pki, ...usage }, component, deps, (serve) => (metrics = serve), signal),
      );
    }
    if (options.dataDir !== undefined) {
      const path = snapshotSocket(options.dataDir);
      deps.group.run('snapshots', (signal) => serveSnapshots(path, store!, deps.logs('store'), signal));
    }
    const cluster = clusterOf(
      serving.port,
      component('k8ts', { name: 'kubernetes-admin', groups: ['system:masters'] }).client,
      pki,
      deps,
      stop,
      restarts,
    );
    stores.set(cluster, store);
    return cluster;
  } catch (error) {
    // Most often the same failure again, as the group's; the caller gets the first.
    await stop().catch((again: unknown) => deps.logs('k8ts').error('stopping after a failed start', { error: again }));
    throw error;
  }
}

function workersOf({ apiWorkers = 1, clock }: ClusterOptions): number {
  if (!Number.isInteger(apiWorkers) || apiWorkers < 1 || apiWorkers > maxWorkers)
    throw new UserError(`apiWorkers is ${apiWorkers}`, `give a whole number from 1 to ${maxWorkers}`);
  if (apiWorkers > 1 && clock !== undefined && clock !== systemClock)
    throw new UserError('API workers live in real time', 'leave out `clock`, or `apiWorkers`');
  return apiWorkers;
}

async function addRealNode(
  options: ClusterOptions,
  settings: ComponentSettings,
  address: string | undefined,
  pki: Pki,
  component: ComponentOf,
  deps: ControlPlaneDeps,
  show: Progress,
): Promise<void> {
  const { dataDir, hostTools } = options;
  if (dataDir === undefined || hostTools === undefined)
    throw new UserError("a real node needs a directory and the host's tools", 'give dataDir and hostTools');
  if (address === undefined)
    throw new UserError(
      'this host has no address but loopback',
      'bring up a network interface, or use --node simulated',
    );
  const nodeName = options.nodeName ?? hostname().toLowerCase();
  const serving = await pki.certificate(
    `kubelet-${nodeName}`,
    { commonName: `system:node:${nodeName}`, organizations: ['system:nodes'] },
    ['server auth'],
    { dnsNames: [nodeName], ipAddresses: [address, '127.0.0.1'] },
  );
  await startRealNode(
    {
      clusterName: options.name ?? 'k8ts',
      nodeName,
      address,
      dataDir,
      podSubnet: options.podSubnet ?? defaultPodSubnet,
      dnsAddress: addressIn(options.serviceSubnet ?? defaultServiceSubnet, 10),
      tools: hostTools,
      searchPath: options.searchPath ?? '',
      settings,
      server: {
        address: '0.0.0.0',
        port: 10250,
        certificate: serving.certificatePem,
        key: serving.keyPem,
        clientCa: pki.ca.certificatePem,
      },
    },
    component,
    deps,
    show,
  );
}

function clusterOf(
  port: number,
  client: Client,
  pki: Pki,
  { group }: ControlPlaneDeps,
  stop: () => Promise<void>,
  restarts: ReadonlyMap<string, () => void>,
): Cluster {
  const server = `https://127.0.0.1:${port}`;
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  const failed = new Promise<never>((_, reject) => {
    group.done.catch(reject);
  });
  failed.catch(() => undefined);
  let stopped: Promise<void> | undefined;
  return {
    version: version.gitVersion,
    server,
    port,
    client,
    failed,
    restart(component) {
      const restart = restarts.get(component);
      if (restart === undefined)
        throw new UserError(
          `${component} cannot be restarted by itself`,
          `those that can are ${[...restarts.keys()].join(', ')}`,
        );
      restart();
    },
    kubeconfigEntry: (name) => ({
      name,
      cluster: { server, 'certificate-authority-data': base64(pki.ca.certificatePem) },
      user: {
        'client-certificate-data': base64(pki.admin.certificatePem),
        'client-key-data': base64(pki.admin.keyPem),
      },
    }),
    stop: () => (stopped ??= stop()),
  };
}

function makeFolders(path: string, ...names: readonly string[]): void {
  guard(path, () => {
    for (const name of names) mkdirSync(join(path, name), { recursive: true, mode: 0o700 });
  });
}

function openClusterPki(
  { dataDir }: ClusterOptions,
  serviceSubnet: string,
  address: string | undefined,
  deps: ControlPlaneDeps,
): Promise<Pki> {
  const service = [
    'kubernetes',
    'kubernetes.default',
    'kubernetes.default.svc',
    'kubernetes.default.svc.cluster.local',
  ];
  return openPki(
    dataDir === undefined ? undefined : join(dataDir, 'pki'),
    {
      dnsNames: ['localhost', hostname().toLowerCase(), ...service],
      ipAddresses: ['127.0.0.1', '::1', addressIn(serviceSubnet, 1), ...(address === undefined ? [] : [address])],
    },
    // Whoever checks a certificate does so by the host's clock, whatever time the cluster lives in.
    { ...deps, clock: systemClock },
  );
}

/** The address at this offset in an IPv4 subnet: 1 is the `kubernetes` Service, 10 the DNS server. */
function addressIn(subnet: string, offset: number): string {
  const value = (subnet.split('/')[0] ?? '').split('.').reduce((sum, part) => sum * 256 + Number(part), 0) + offset;
  return [24, 16, 8, 0].map((shift) => Math.floor(value / 2 ** shift) % 256).join('.');
}

async function openStore(
  { dataDir, from, atRevision = 0 }: ClusterOptions,
  { clock, random, logs }: ControlPlaneDeps,
): Promise<Store> {
  const deps = { clock, random, log: logs('store') };
  if (from !== undefined) {
    if (dataDir !== undefined)
      throw new UserError(
        'a cluster that begins as another lives in memory',
        'leave out dataDir, or use `k8ts snapshot fork`',
      );
    const { forkOf } = await import('./fork.ts');
    return forkOf(typeof from === 'string' ? from : storeOf(from), atRevision, deps);
  }
  if (dataDir === undefined) {
    const { memoryStore } = await import('../store/memory.ts');
    return memoryStore(deps);
  }
  const { openEmbeddedStore } = await import('../store/embedded/embedded.ts');
  const { StoreCorrupt, StoreLocked } = await import('../store/store.ts');
  try {
    return await openEmbeddedStore(join(dataDir, 'store'), deps);
  } catch (error) {
    if (error instanceof StoreCorrupt)
      throw new UserError(
        `the store is damaged: ${error.message}`,
        'restore a backup, or start afresh with `k8ts reset`',
      );
    if (error instanceof StoreLocked)
      throw new UserError(error.message, 'stop that process first, or give another --data-dir');
    if ((error as NodeJS.ErrnoException).code !== undefined)
      return guard(join(dataDir, 'store'), () => {
        throw error;
      });
    throw error;
  }
}
