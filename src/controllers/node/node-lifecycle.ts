// Owns noticing that a node's kubelet has gone silent, and the taints, conditions and pod readiness that follow.
import { sleep } from '../../base/clock.ts';
import { type Frozen, keyOf } from '../../api/meta.ts';
import type { Node, Pod } from '../../api/generated/core.v1.ts';
import { leases, nodes, pods } from '../../api/generated/resources.ts';
import { podCondition } from '../../api/pod-readiness.ts';
import { isConflict, isNotFound } from '../../api/status-error.ts';
import { timeOf } from '../../api/time.ts';
import type { Lister } from '../../client/object-store.ts';
import { type Controller, type ControllerContext, reading, self } from '../framework/controller.ts';
import {
  evictionRate,
  nodeCondition,
  planLabels,
  planTaints,
  unknownConditions,
  type ZoneCount,
  zoneOf,
} from './taints.ts';

export interface NodeLifecycleOptions {
  readonly periodMs: number;
  readonly graceMs: number;
}

const leaseNamespace = 'kube-node-lease';
const nodeIndex = 'node';
/** A node that never reported gets a little longer. */
const startupGraceMs = 60_000;

interface Health {
  readonly uid: string;
  heartbeat: string;
  renewal: string;
  /** When, by our clock, we last saw a sign of life. */
  probedAtMs: number;
  wasReady: boolean;
}

export function nodeLifecycleController(context: ControllerContext, options: NodeLifecycleOptions): Controller {
  const monitor = new NodeMonitor(context, options);
  return {
    name: 'node-lifecycle-controller',
    watches: monitor.watches,
    reconcile: async (key, signal) => {
      await monitor.adjust(key.name, signal);
      return undefined;
    },
    run: (signal) => monitor.run(signal),
  };
}

class NodeMonitor {
  readonly #context: ControllerContext;
  readonly #options: NodeLifecycleOptions;
  readonly #nodes;
  readonly #leases;
  readonly #pods;
  readonly #writer;
  readonly #podWriter;
  readonly #recorder;
  readonly #health = new Map<string, Health>();
  /** Zone → when its next eviction taint may be set. */
  readonly #nextEvictionMs = new Map<string, number>();

  constructor(context: ControllerContext, options: NodeLifecycleOptions) {
    this.#context = context;
    this.#options = options;
    this.#nodes = context.informers.informer(nodes);
    this.#leases = context.informers.informer(leases);
    this.#pods = context.informers.informer(pods);
    this.#writer = context.informers.writer(nodes);
    this.#podWriter = context.informers.writer(pods);
    this.#recorder = context.events.recorder('node-controller');
    this.#pods.addIndex(nodeIndex, (pod) => (pod.spec.nodeName ? [pod.spec.nodeName] : []));
  }

  get watches() {
    return [self(this.#nodes), reading(this.#leases), reading(this.#pods)];
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#context;
    while (!signal.aborted) {
      for (const node of this.#nodes.list())
        await this.#probe(node, signal).catch((error: unknown) => {
          if (!signal.aborted && !isNotFound(error) && !isConflict(error))
            logger.warn('node health was not updated', { node: node.metadata.name, error });
        });
      for (const [name, { uid }] of this.#health) {
        if (this.#nodes.get({ namespace: '', name })) continue;
        this.#health.delete(name);
        const about = { apiVersion: 'v1', kind: 'Node', name, uid };
        const message = `Node ${name} event: Removing Node ${name} from Controller`;
        this.#recorder.event(about, 'Normal', 'RemovingNode', message);
      }
      await this.#taintForEviction(signal).catch((error: unknown) => {
        if (!signal.aborted && !isNotFound(error) && !isConflict(error)) logger.warn('node was not tainted', { error });
      });
      await sleep(clock, this.#options.periodMs, signal);
    }
  }

  /** Taints without eviction and labels, at once with each change. */
  async adjust(name: string, signal: AbortSignal): Promise<void> {
    const node = this.#nodes.get({ namespace: '', name });
    if (node) await this.#taint(node, false, signal);
  }

  async #taint(node: Frozen<Node>, evict: boolean, signal: AbortSignal): Promise<boolean> {
    const taints = planTaints(node, evict, this.#context.clock.now());
    const labels = planLabels(node);
    if (!taints && !labels) return false;
    const body = {
      metadata: { resourceVersion: node.metadata.resourceVersion, ...(labels && { labels }) },
      ...(taints && { spec: { taints: taints.length > 0 ? taints : null } }),
    };
    await this.#writer.patch(keyOf(node), { type: 'merge', body }, { signal });
    return true;
  }

  async #probe(node: Frozen<Node>, signal: AbortSignal): Promise<void> {
    const { name } = node.metadata;
    const nowMs = this.#context.clock.monotonic();
    const ready = nodeCondition(node, 'Ready');
    const lease = this.#leases.get({ namespace: leaseNamespace, name });
    const heartbeat = ready ? `${ready.lastHeartbeatTime} ${ready.status}` : '';
    const renewal = lease?.spec.renewTime ?? '';
    const known = this.#health.get(name);
    if (!known)
      this.#recorder.event(
        node,
        'Normal',
        'RegisteredNode',
        `Node ${name} event: Registered Node ${name} in Controller`,
      );
    const health = known ?? {
      uid: node.metadata.uid,
      heartbeat,
      renewal,
      probedAtMs: nowMs,
      wasReady: ready?.status === 'True',
    };
    this.#health.set(name, health);
    // Our own writing of Unknown is no sign of life.
    const beats = heartbeat !== health.heartbeat && ready?.status !== 'Unknown';
    if (beats || renewal !== health.renewal) health.probedAtMs = nowMs;
    health.heartbeat = heartbeat;
    health.renewal = renewal;
    const graceMs = ready ? this.#options.graceMs : Math.max(startupGraceMs, this.#options.graceMs);
    let current = node;
    if (nowMs - health.probedAtMs > graceMs) current = await this.#markUnknown(node, signal);
    const isReady = nodeCondition(current, 'Ready')?.status;
    if (health.wasReady && isReady !== 'True')
      this.#recorder.event(current, 'Normal', 'NodeNotReady', `Node ${name} status is now: NodeNotReady`);
    if (isReady === 'Unknown') await this.#markPodsNotReady(name, signal);
    health.wasReady = isReady === 'True';
  }

  async #markUnknown(node: Frozen<Node>, signal: AbortSignal): Promise<Frozen<Node>> {
    const conditions = unknownConditions(node, this.#context.clock.now());
    const before = node.status?.conditions ?? [];
    if (conditions.length === before.length && conditions.every((condition, at) => condition === before[at]))
      return node;
    const status = { ...node.status, conditions };
    return this.#writer.updateStatus({ ...node, status } as Frozen<Node>, { signal });
  }

  async #markPodsNotReady(nodeName: string, signal: AbortSignal): Promise<void> {
    for (const pod of (this.#pods as Lister<Pod>).indexed(nodeIndex, nodeName)) {
      if (podCondition(pod, 'Ready')?.status !== 'True') continue;
      const lastTransitionTime = timeOf(this.#context.clock.now());
      const body = {
        metadata: { uid: pod.metadata.uid },
        status: { conditions: [{ type: 'Ready', status: 'False', lastTransitionTime }] },
      };
      try {
        await this.#podWriter.patch(keyOf(pod), { type: 'strategic', body }, { subresource: 'status', signal });
        this.#recorder.event(pod, 'Warning', 'NodeNotReady', 'Node is not ready');
      } catch (error) {
        if (!isNotFound(error) && !isConflict(error)) throw error;
      }
    }
  }

  /** NoExecute taints, as many as each zone's rate allows. */
  async #taintForEviction(signal: AbortSignal): Promise<void> {
    const nowMs = this.#context.clock.monotonic();
    const zones = new Map<string, { ready: number; notReady: number; down: Frozen<Node>[] }>();
    for (const node of this.#nodes.list()) {
      const zone = zones.get(zoneOf(node)) ?? { ready: 0, notReady: 0, down: [] };
      zones.set(zoneOf(node), zone);
      const status = nodeCondition(node, 'Ready')?.status;
      if (status === 'True') zone.ready++;
      else if (status !== undefined) {
        zone.notReady++;
        if (planTaints(node, true, 0) !== undefined) zone.down.push(node);
      }
    }
    const counts: ZoneCount[] = [...zones.values()];
    for (const [name, zone] of zones) {
      const rate = evictionRate(zone, counts);
      for (const node of zone.down) {
        if (rate === 0 || (this.#nextEvictionMs.get(name) ?? 0) > nowMs) break;
        const tainted = await this.#taint(node, true, signal);
        if (tainted) this.#nextEvictionMs.set(name, nowMs + 1000 / rate);
      }
    }
    for (const name of this.#nextEvictionMs.keys()) if (!zones.has(name)) this.#nextEvictionMs.delete(name);
  }
}
