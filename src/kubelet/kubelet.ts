// Owns the putting together of a node agent over a real container runtime: what each part is given, and in which order they start.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ContainerImage, NodeStatus } from '../api/generated/core.v1.ts';
import { nodes, pods, services } from '../api/generated/resources.ts';
import type { Frozen } from '../api/meta.ts';
import { sleep } from '../base/clock.ts';
import type { MetricsRegistry } from '../base/metrics.ts';
import { deferred, taskGroup } from '../base/task-group.ts';
import { type EventBroadcaster, eventBroadcaster } from '../client/events.ts';
import { refusal } from './admission.ts';
import { connectCri, type Cri } from './cri.ts';
import { cgroups } from './host/cgroups.ts';
import { cniConfig } from './host/cni.ts';
import { type Machine, readMachine } from './node/machine.ts';
import { type NodeAgent, nodeAgent } from './node/node-agent.ts';
import {
  healthyNode,
  type NodeHealth,
  type NodeIdentity,
  nodeLabels,
  type NodeResources,
  nodeResources,
  nodeStatus,
} from './node/node-status.ts';
import { type PressureWatch, pressureWatch } from './node/pressure.ts';
import type { Pressure } from './eviction.ts';
import { runStaticPods } from './static-pods.ts';
import { runImageGc } from './runtime/image-gc.ts';
import { kubeObjects } from './objects.ts';
import type { Kubelet, KubeletDeps, KubeletOptions } from './options.ts';
import type { NodeContext } from './pod/node-context.ts';
import { statusWriter } from './pod/status-writer.ts';
import { type NodePods, nodePods, relistOnce } from './pods.ts';
import { imagePuller } from './runtime/images.ts';
import { rotateLogs } from './runtime/log-rotation.ts';
import { runtimeCache } from './runtime/runtime-cache.ts';
import { terminationMessage } from './runtime/termination-message.ts';
import { kubeletAuthorizer } from './server/authorize.ts';
import { kubeletServer } from './server/kubelet-server.ts';
import { statsReporter } from './server/stats.ts';
import type { HttpListener } from '../wire/http-listener.ts';
import { systemMounter } from './volumes/mounts.ts';
import { serviceAccountTokens } from './volumes/tokens.ts';
import { volumes } from './volumes/volumes.ts';

const defaultMaxPods = 110;

export function kubelet(options: KubeletOptions, deps: KubeletDeps): Kubelet {
  const ready = deferred();
  ready.promise.catch(() => undefined);
  const listening = { port: 0 };
  /** Set once its parts are there: the status is first told before. */
  const watched: { pressure?: PressureWatch } = {};
  return {
    ready: ready.promise,
    get port() {
      return listening.port;
    },
    async run(signal) {
      mkdirSync(options.rootFolder, { recursive: true, mode: 0o711 });
      const cri = await connectCri(options.runtimeEndpoint);
      try {
        const parts = await assemble(options, deps, cri);
        const group = taskGroup(signal);
        start(parts, group.run, () => ready.resolve());
        await group.done;
      } catch (error) {
        ready.reject(error);
        throw error;
      } finally {
        cri.close();
      }
    },
  };

  interface Parts {
    readonly node: NodeContext;
    readonly agent: NodeAgent;
    readonly pods: NodePods;
    readonly events: EventBroadcaster;
    readonly statuses: ReturnType<typeof statusWriter>;
    readonly listener: HttpListener | undefined;
    readonly pressure: PressureWatch;
  }

  async function assemble(
    given: KubeletOptions,
    { client, clock, random, logger, informers }: KubeletDeps,
    cri: Cri,
  ): Promise<Parts> {
    const machine = await readMachine(given.rootFolder);
    const hostIp = given.nodeIp ?? machine.ip;
    const identity: NodeIdentity = {
      name: given.nodeName,
      hostname: given.nodeName,
      labels: given.nodeLabels ?? {},
      taints: given.registerWithTaints ?? [],
    };
    const resources = nodeResources(machine, given.maxPods ?? defaultMaxPods);
    const events = eventBroadcaster({ client, clock, random, logger });
    const podsFolder = join(given.rootFolder, 'pods');
    const objects = kubeObjects(client, clock);
    const serviceInformer = informers.informer(services);
    const node: NodeContext = {
      nodeName: given.nodeName,
      hostIps: [hostIp],
      allocatable: resources.allocatable,
      memoryCapacityBytes: machine.memoryBytes,
      hugepageSizes: [...machine.hugepages.keys()],
      seccompFolder: join(given.rootFolder, 'seccomp'),
      folders: { pods: podsFolder, logs: given.logFolder ?? join(given.rootFolder, 'logs') },
      cri,
      runtime: runtimeCache({ cri, clock, logger, terminationMessage }),
      images: imagePuller(cri, () => clock.monotonic()),
      volumes: volumes({ podsFolder, objects, tokens: serviceAccountTokens(client, clock), mounter: systemMounter }),
      cgroups: cgroups(given.cgroupRoot ?? '/kubepods'),
      objects,
      services: async () => {
        await serviceInformer.whenSynced();
        return serviceInformer.list();
      },
      dns: () => ({
        clusterDns: given.clusterDns ?? [],
        clusterDomain: given.clusterDomain ?? 'cluster.local',
        hostResolvConf: readText(given.resolvConf ?? '/etc/resolv.conf'),
      }),
      events: events.recorder('kubelet', given.nodeName),
      clock,
      random,
      logger,
    };
    const statuses = statusWriter({ client, clock, logger });
    const agent = nodeAgent({
      identity,
      architecture: machine.architecture,
      status: (before) => presentStatus({ cri, machine, resources, hostIp, node }, before),
      client,
      clock,
      random,
      logger,
    });
    const labels = nodeLabels(identity, machine.architecture);
    const nodeInformer = informers.informer(nodes, { fieldSelector: `metadata.name=${given.nodeName}` });
    const set = nodePods({
      node,
      client,
      informer: informers.informer(pods, { fieldSelector: `spec.nodeName=${given.nodeName}` }),
      statuses,
      admit: (pod, others) =>
        refusal(pod, others, resources.allocatable, {
          ...labels,
          ...nodeInformer.get({ namespace: '', name: given.nodeName })?.metadata.labels,
        }),
    });
    if (given.cni) writeCniWhenKnown(given.cni, nodeInformer);
    const listener =
      given.server &&
      (await kubeletServer(
        { authorize: kubeletAuthorizer(client, given.nodeName), ...given.server },
        {
          node,
          pods: set,
          metrics: deps.metrics,
          stats: statsReporter(node, () => set.list()),
        },
      ));
    listening.port = listener?.port ?? 0;
    observe(deps.metrics, node, set);
    const pressure = pressureWatch(node, set, given.rootFolder, () => agent.touch());
    watched.pressure = pressure;
    return { node, agent, pods: set, events, statuses, listener, pressure };
  }

  function writeCniWhenKnown(
    cni: NonNullable<KubeletOptions['cni']>,
    informer: ReturnType<typeof deps.informers.informer<import('../api/generated/core.v1.ts').Node>>,
  ): void {
    let written = '';
    const write = (podCidr: string | undefined): void => {
      if (!podCidr || podCidr === written) return;
      mkdirSync(cni.confFolder, { recursive: true });
      writeFileSync(
        join(cni.confFolder, `10-${cni.networkName}.conflist`),
        cniConfig({ networkName: cni.networkName, bridge: cni.bridge, podCidr, dataFolder: cni.dataFolder }),
      );
      written = podCidr;
    };
    informer.on({ added: (node) => write(node.spec.podCIDR), updated: (node) => write(node.spec.podCIDR) });
  }

  interface StatusSources {
    readonly cri: Cri;
    readonly machine: Machine;
    readonly resources: NodeResources;
    readonly hostIp: string;
    readonly node: NodeContext;
  }

  async function presentStatus(sources: StatusSources, before: Frozen<NodeStatus> | undefined): Promise<NodeStatus> {
    const { cri, machine, resources, hostIp, node } = sources;
    const [version, images, health] = await Promise.all([
      cri.runtime.version({}, { timeoutMs: 10_000 }).catch(() => undefined),
      nodeImages(cri).catch(() => [] as ContainerImage[]),
      runtimeHealth(node),
    ]);
    return nodeStatus(
      {
        resources,
        machine,
        addresses: [
          { type: 'InternalIP', address: hostIp },
          { type: 'Hostname', address: options.nodeName },
        ],
        kubeletPort: listening.port || (options.server?.port ?? 0),
        runtimeVersion: version ? `${version.runtimeName}://${version.runtimeVersion}` : 'unknown://',
        images,
        health: withPressure(health, watched.pressure?.present),
      },
      before,
      deps.clock.now(),
    );
  }

  function start(parts: Parts, run: ReturnType<typeof taskGroup>['run'], isReady: () => void): void {
    const { agent, node, events, statuses } = parts;
    run('events', (signal) => events.run(signal));
    run('log rotation', (signal) =>
      rotateLogs({ cri: node.cri, runtime: node.runtime, clock: node.clock, logger: node.logger }, signal),
    );
    run('pressure', (signal) => parts.pressure.run(signal));
    run('images', (signal) =>
      runImageGc(
        {
          cri: node.cri,
          clock: node.clock,
          logger: node.logger,
          folder: options.rootFolder,
          keep: new Set(options.keepImages),
        },
        signal,
      ),
    );
    if (options.staticPodFolder !== undefined)
      run('static pods', (signal) => staticPodsOf(parts, options.staticPodFolder!, signal));
    if (parts.listener) run('server', (signal) => closing(parts.listener!, signal));
    run('runtime', (signal) => node.runtime.run(signal));
    run('node', async (signal) => {
      await agent.register(signal);
      await parts.pods.whenKnown(signal);
      isReady();
      await Promise.all([agent.run(signal), awaitReadiness(parts, signal)]);
    });
    run('pods', async (signal) => {
      try {
        await parts.pods.run(signal);
      } finally {
        await statuses.stop();
      }
    });
  }

  async function staticPodsOf({ node, pods: set }: Parts, folder: string, signal: AbortSignal): Promise<void> {
    await relistOnce(node, signal);
    await runStaticPods(
      {
        folder,
        nodeName: options.nodeName,
        client: deps.client,
        informer: deps.informers.informer(pods, { fieldSelector: `spec.nodeName=${options.nodeName}` }),
        clock: node.clock,
        logger: node.logger,
        set: set.setStatic,
      },
      signal,
    );
  }

  /** While the node is not ready its health is looked at often, so that it is ready as soon as it can be. */
  async function awaitReadiness({ agent, node }: Parts, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const { ready: isReady } = await runtimeHealth(node);
      agent.touch();
      if (isReady) return;
      try {
        await sleep(deps.clock, 50, signal);
      } catch (error) {
        if (signal.aborted) return;
        throw error;
      }
    }
  }
}

function observe(metrics: MetricsRegistry, { runtime, nodeName }: NodeContext, set: NodePods): void {
  const containers = (state: string) => () =>
    runtime.list().reduce((total, pod) => total + pod.containers.filter((each) => each.state === state).length, 0);
  metrics.gauges('kubelet_node_name', "The node's name. The count is always 1.", ['node']).of(nodeName).set(1);
  metrics.observed('kubelet_active_pods', 'Pods that this kubelet takes care of', () => set.list().length);
  metrics.observed(
    'kubelet_running_pods',
    'Pods with a ready sandbox',
    () => runtime.list().filter(({ sandboxes }) => sandboxes.some(({ ready }) => ready)).length,
  );
  metrics.observed('kubelet_running_containers', 'Containers that run', containers('running'));
}

function withPressure(health: NodeHealth, pressure: Pressure | undefined): NodeHealth {
  return pressure === undefined
    ? health
    : { ...health, memoryPressure: pressure.memory, diskPressure: pressure.disk, pidPressure: pressure.pid };
}

/** Listens until the signal aborts. */
async function closing(listener: HttpListener, signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
  await listener.close(1000);
}

/** More are not reported (kubelet documentation, nodeStatusMaxImages). */
const maxImages = 50;

async function nodeImages(cri: Cri): Promise<ContainerImage[]> {
  const { images } = await cri.images.listImages({}, { timeoutMs: 10_000 });
  return images
    .toSorted((a, b) => Number(b.size - a.size))
    .slice(0, maxImages)
    .map((image) => ({ names: [...image.repoDigests, ...image.repoTags].slice(0, 5), sizeBytes: Number(image.size) }));
}

async function runtimeHealth(node: NodeContext): Promise<NodeHealth> {
  try {
    const { status } = await node.cri.runtime.status({}, { timeoutMs: 10_000 });
    const failing = (status?.conditions ?? []).filter((condition) => !condition.status);
    if (failing.length === 0) return healthyNode;
    const words = failing.map(
      ({ type, reason, message }) => `${type} condition not ready: reason:${reason} message:${message}`,
    );
    return { ...healthyNode, ready: false, message: words.join('; ') };
  } catch (error) {
    return { ...healthyNode, ready: false, message: `container runtime is down: ${(error as Error).message}` };
  }
}

function readText(file: string): string {
  if (file === '') return '';
  try {
    return readFileSync(file, 'utf8');
  } catch {
    // A host without resolvers of its own: pods get the cluster's only.
    return '';
  }
}
