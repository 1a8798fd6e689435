// Owns simulated nodes: many in one process, which behave towards the API as real ones do and run nothing.
import type { ContainerImage, Node, Pod, Taint } from '../../api/generated/core.v1.ts';
import { nodes, pods } from '../../api/generated/resources.ts';
import { keyOf } from '../../api/meta.ts';
import { isConflict, isNotFound } from '../../api/status-error.ts';
import { maybeMillisOf } from '../../api/time.ts';
import type { Clock, Timer } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import type { Random } from '../../base/random.ts';
import { taskGroup } from '../../base/task-group.ts';
import type { Client } from '../../client/client.ts';
import type { Informer } from '../../client/informer.ts';
import type { InformerFactory } from '../../client/informer-factory.ts';
import { type NodeAgent, nodeAgent } from '../node/node-agent.ts';
import { healthyNode, nodeStatus } from '../node/node-status.ts';
import type { Machine } from '../node/machine.ts';
import type { FrozenPod } from '../pod/pod-words.ts';
import { type StatusWriter, statusWriter } from '../pod/status-writer.ts';
import { AddressRange, simulatedNodeAddress } from './addresses.ts';
import { UsageMeters } from './usage.ts';
import { simulatedStatus, simulatedTimes, type Stage } from './simulated-pod.ts';

export interface SimulatedNodesOptions {
  /** One node a name. */
  readonly names: readonly string[];
  /** Quantities; also allocatable. */
  readonly capacity?: Readonly<Record<string, string>>;
  readonly labels?: Readonly<Record<string, string>>;
  readonly taints?: readonly Taint[];
  readonly architecture?: string;
  /** From seeing a pod to its running. */
  readonly startMs?: number;
  /** How long the containers of a pod run which does not restart them always. */
  readonly jobMs?: number;
  /** From seeing a deletion to the pod's being gone; never longer than its grace period. */
  readonly stopMs?: number;
}

export interface SimulatedNodesDeps {
  readonly client: Client;
  /** Running; its pods informer serves all nodes. */
  readonly informers: InformerFactory;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

export interface SimulatedNodes {
  /** What /metrics/resource of that node's kubelet would say; undefined for a node that is not one of these. */
  resourceMetrics(node: string): string | undefined;
  run(signal: AbortSignal): Promise<void>;
}

const defaultCapacity = { cpu: '32', 'ephemeral-storage': '1Ti', memory: '256Gi', pods: '110' };
/** Registrations under way at once. */
const registerAtOnce = 32;

export function simulatedNodes(options: SimulatedNodesOptions, deps: SimulatedNodesDeps): SimulatedNodes {
  let set: SimulatedPods | undefined;
  return {
    resourceMetrics: (node) => set?.resourceMetrics(node),
    async run(signal) {
      const { client, clock, logger, informers } = deps;
      const group = taskGroup(signal);
      const statuses = statusWriter({ client, clock, logger });
      const agents = options.names.map((name, index) => agentOf(name, index, options, deps));
      const podInformer = informers.informer(pods);
      const own = new SimulatedPods(options, deps, statuses, podInformer, informers.informer(nodes), group.run);
      set = own;
      group.run('pods', (inner) => own.run(inner));
      const waiting = agents[Symbol.iterator]();
      for (let lane = 0; lane < registerAtOnce; lane++)
        group.run('register', async (inner) => {
          for (const { name, agent } of waiting) {
            await agent.register(inner);
            group.run(`node ${name}`, (own) => agent.run(own));
          }
        });
      try {
        await group.done;
      } finally {
        await statuses.stop();
      }
    },
  };
}

function agentOf(
  name: string,
  index: number,
  options: SimulatedNodesOptions,
  deps: SimulatedNodesDeps,
): { name: string; agent: NodeAgent } {
  const capacity = { ...defaultCapacity, ...options.capacity };
  const machine: Machine = {
    hostname: name,
    cpus: 1,
    memoryBytes: 0,
    diskBytes: 0,
    hugepages: new Map(),
    machineId: '',
    systemUuid: '',
    bootId: '',
    kernelVersion: 'simulated',
    osImage: 'simulated',
    architecture: options.architecture ?? 'amd64',
    ip: simulatedNodeAddress(index + 1),
  };
  const images: ContainerImage[] = [];
  const agent = nodeAgent({
    identity: {
      name,
      hostname: name,
      labels: { 'k8ts.io/simulated': 'true', ...options.labels },
      taints: options.taints ?? [],
    },
    architecture: machine.architecture,
    status: async (before) =>
      nodeStatus(
        {
          resources: { capacity, allocatable: capacity },
          machine,
          addresses: [
            { type: 'InternalIP', address: machine.ip },
            { type: 'Hostname', address: name },
          ],
          kubeletPort: 10250,
          runtimeVersion: 'simulated://1.0',
          images,
          health: healthyNode,
        },
        before,
        deps.clock.now(),
      ),
    client: deps.client,
    clock: deps.clock,
    random: deps.random,
    logger: deps.logger,
    statusMs: 60_000,
  });
  return { name, agent };
}

interface Entry {
  pod: FrozenPod;
  stage: Stage;
  ip: string;
  startedMs: number;
  endedMs: number;
  timer: Timer | undefined;
  isEnding: boolean;
}

class SimulatedPods {
  readonly #options: SimulatedNodesOptions;
  readonly #deps: SimulatedNodesDeps;
  readonly #statuses: StatusWriter;
  readonly #informer: Informer<Pod>;
  readonly #nodes: Informer<Node>;
  readonly #background: ReturnType<typeof taskGroup>['run'];
  readonly #entries = new Map<string, Entry>();
  readonly #ranges = new Map<string, AddressRange>();
  readonly #own: ReadonlyMap<string, string>;
  readonly #byNode = new Map<string, Set<Entry>>();
  readonly #meters = new Map<string, UsageMeters>();
  readonly #sinceMs: number;

  constructor(
    options: SimulatedNodesOptions,
    deps: SimulatedNodesDeps,
    statuses: StatusWriter,
    informer: Informer<Pod>,
    nodeInformer: Informer<Node>,
    background: ReturnType<typeof taskGroup>['run'],
  ) {
    this.#options = options;
    this.#deps = deps;
    this.#statuses = statuses;
    this.#informer = informer;
    this.#nodes = nodeInformer;
    this.#background = background;
    this.#own = new Map(options.names.map((name, index) => [name, simulatedNodeAddress(index + 1)]));
    this.#sinceMs = deps.clock.now();
  }

  resourceMetrics(node: string): string | undefined {
    if (!this.#own.has(node)) return undefined;
    let meters = this.#meters.get(node);
    if (meters === undefined) this.#meters.set(node, (meters = new UsageMeters(this.#sinceMs)));
    const running = [...(this.#byNode.get(node) ?? [])].filter(({ stage }) => stage === 'running');
    return meters.text(running, this.#deps.clock.now());
  }

  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#informer.whenSynced(signal), this.#nodes.whenSynced(signal)]);
    const off = this.#informer.on({
      added: (pod) => this.#seen(pod),
      updated: (pod) => this.#seen(pod),
      deleted: (pod) => this.#gone(pod),
    });
    await new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
    off();
    for (const { timer } of this.#entries.values()) timer?.cancel();
  }

  #seen(pod: FrozenPod): void {
    if (!this.#own.has(pod.spec.nodeName ?? '')) return;
    const entry = this.#entries.get(pod.metadata.uid) ?? this.#open(pod);
    if (entry.stage === 'running') this.#meters.get(pod.spec.nodeName!)?.settle(entry, this.#deps.clock.now());
    entry.pod = pod;
    if (pod.metadata.deletionTimestamp) this.#end(entry);
  }

  #open(pod: FrozenPod): Entry {
    const { phase, podIP, startTime } = pod.status ?? {};
    const now = this.#deps.clock.now();
    const entry: Entry = {
      pod,
      stage: phase === 'Running' ? 'running' : phase === 'Succeeded' || phase === 'Failed' ? 'ended' : 'waiting',
      ip: podIP ?? '',
      startedMs: maybeMillisOf(startTime) ?? now,
      endedMs: now,
      timer: undefined,
      isEnding: false,
    };
    this.#entries.set(pod.metadata.uid, entry);
    const there = this.#byNode.get(pod.spec.nodeName!);
    if (there === undefined) this.#byNode.set(pod.spec.nodeName!, new Set([entry]));
    else there.add(entry);
    if (podIP) this.#range(pod.spec.nodeName!)?.claim(podIP);
    const times = simulatedTimes(pod, this.#options.startMs ?? 0, this.#options.jobMs ?? 1000);
    if (entry.stage === 'waiting') this.#after(entry, times.startMs, () => this.#start(entry));
    else if (entry.stage === 'running' && times.durationMs !== undefined)
      this.#after(entry, Math.max(0, entry.startedMs + times.durationMs - now), () => this.#complete(entry));
    return entry;
  }

  #after(entry: Entry, delayMs: number, then: () => void): void {
    entry.timer?.cancel();
    entry.timer = this.#deps.clock.after(delayMs, then);
  }

  #start(entry: Entry): void {
    entry.stage = 'running';
    entry.startedMs = this.#deps.clock.now();
    entry.ip = entry.pod.spec.hostNetwork ? '' : this.#address(entry.pod.spec.nodeName!);
    this.#publish(entry);
    const { durationMs } = simulatedTimes(entry.pod, 0, this.#options.jobMs ?? 1000);
    if (durationMs !== undefined) this.#after(entry, durationMs, () => this.#complete(entry));
  }

  #complete(entry: Entry): void {
    entry.stage = 'ended';
    entry.endedMs = this.#deps.clock.now();
    this.#publish(entry);
  }

  #end(entry: Entry): void {
    if (entry.isEnding) return;
    entry.isEnding = true;
    const graceMs = (entry.pod.metadata.deletionGracePeriodSeconds ?? 0) * 1000;
    this.#after(entry, Math.min(graceMs, this.#options.stopMs ?? 0), () => {
      if (entry.stage === 'running') this.#complete(entry);
      this.#background(`remove ${entry.pod.metadata.name}`, () => this.#remove(entry.pod));
    });
  }

  /** As a kubelet does: the last word on a deleted pod is its node's. */
  async #remove(pod: FrozenPod): Promise<void> {
    const { uid } = pod.metadata;
    await this.#statuses.settled(uid);
    try {
      await this.#deps.client.resource(pods).delete(keyOf(pod), { gracePeriodSeconds: 0, preconditions: { uid } });
    } catch (error) {
      if (isNotFound(error) || isConflict(error)) return;
      this.#deps.logger.warn('cannot remove a pod', { pod: pod.metadata.name, error });
      const entry = this.#entries.get(uid);
      if (entry)
        this.#after(entry, 1000, () => this.#background(`remove ${pod.metadata.name}`, () => this.#remove(pod)));
    }
  }

  #gone(pod: FrozenPod): void {
    const entry = this.#entries.get(pod.metadata.uid);
    if (!entry) return;
    entry.timer?.cancel();
    this.#entries.delete(pod.metadata.uid);
    this.#byNode.get(pod.spec.nodeName!)?.delete(entry);
    if (entry.ip) this.#ranges.get(pod.spec.nodeName!)?.free(entry.ip);
  }

  #publish(entry: Entry): void {
    const { clock } = this.#deps;
    const times = simulatedTimes(entry.pod, 0, 0);
    this.#statuses.set(
      entry.pod,
      simulatedStatus(entry.pod, {
        stage: entry.stage,
        ip: entry.ip,
        startedMs: entry.startedMs,
        endedMs: entry.endedMs,
        exitCode: times.exitCode,
        isDeleted: entry.isEnding,
        hostIp: this.#own.get(entry.pod.spec.nodeName!) ?? '',
        nowMs: clock.now(),
      }),
    );
  }

  #range(node: string): AddressRange | undefined {
    const known = this.#ranges.get(node);
    const cidr = this.#nodes.get({ namespace: '', name: node })?.spec.podCIDR;
    if (known || !cidr) return known;
    const made = new AddressRange(cidr);
    this.#ranges.set(node, made);
    return made;
  }

  /** From the node's podCIDR; without one, or when it is used up, from a range that no one routes. */
  #address(node: string): string {
    return this.#range(node)?.take() ?? this.#spare().take()!;
  }

  #spare(): AddressRange {
    const known = this.#ranges.get('');
    if (known) return known;
    const made = new AddressRange('100.64.0.0/10');
    this.#ranges.set('', made);
    return made;
  }
}
