// Owns a node's presence in the API: registration, lease, status. Knows neither pods nor where its health comes from.
import type { Lease } from '../../api/generated/coordination.v1.ts';
import type { Node, NodeStatus } from '../../api/generated/core.v1.ts';
import { leases, nodes } from '../../api/generated/resources.ts';
import { type Frozen, type New, thaw } from '../../api/meta.ts';
import { isAlreadyExists, isConflict, isNotFound } from '../../api/status-error.ts';
import { microTimeOf } from '../../api/time.ts';
import { type Clock, sleep } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import type { Random } from '../../base/random.ts';
import { deferred } from '../../base/task-group.ts';
import type { Client } from '../../client/client.ts';
import { newNode, type NodeIdentity, nodeLabels, nodeStatusPatch } from './node-status.ts';

export interface NodeAgentOptions {
  readonly identity: NodeIdentity;
  readonly architecture: string;
  /** The present status, given the one that the API server has. */
  readonly status: (before: Frozen<NodeStatus> | undefined) => Promise<NodeStatus>;
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Between looks at the own status. */
  readonly statusMs?: number;
}

export interface NodeAgent {
  /** Makes or takes over the Node object; retries until it is there. Resolves with it. */
  register(signal: AbortSignal): Promise<Frozen<Node>>;
  /** Looks at the status now instead of at the next round. */
  touch(): void;
  /** Renews the lease and keeps the status true until the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
}

const leaseNamespace = 'kube-node-lease';
const leaseSeconds = 40;
const leaseRenewMs = 10_000;
const defaultStatusMs = 10_000;
/** An unchanged status is sent this often. */
const heartbeatMs = 300_000;

export function nodeAgent(options: NodeAgentOptions): NodeAgent {
  return new Agent(options);
}

class Agent implements NodeAgent {
  readonly #options: NodeAgentOptions;
  #known: Frozen<Node> | undefined;
  #sentMs = 0;
  #touched = deferred();

  constructor(options: NodeAgentOptions) {
    this.#options = options;
  }

  touch(): void {
    this.#touched.resolve();
  }

  async register(signal: AbortSignal): Promise<Frozen<Node>> {
    const { clock, logger } = this.#options;
    for (let waitMs = 100; ; waitMs = Math.min(7000, waitMs * 2)) {
      try {
        return await this.#register();
      } catch (error) {
        signal.throwIfAborted();
        logger.warn('cannot register the node', { node: this.#options.identity.name, error });
      }
      await sleep(clock, waitMs, signal);
    }
  }

  async #register(): Promise<Frozen<Node>> {
    const { client, identity, architecture, clock } = this.#options;
    const status = await this.#options.status(undefined);
    try {
      this.#known = await client.resource(nodes).create(newNode(identity, status, architecture) as New<Node>);
      this.#sentMs = clock.monotonic();
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      this.#known = await this.#takeOver();
    }
    await this.#sendStatus();
    return this.#known;
  }

  /** A node of that name is ours from an earlier run: its labels are brought up to date, what others set stays. */
  async #takeOver(): Promise<Frozen<Node>> {
    const { client, identity, architecture } = this.#options;
    const key = { namespace: '', name: identity.name };
    const found = await client.resource(nodes).get(key);
    const wanted = nodeLabels(identity, architecture);
    const labels = Object.fromEntries(
      Object.entries(wanted).filter(([name, value]) => found.metadata.labels?.[name] !== value),
    );
    if (Object.keys(labels).length === 0) return found;
    return client.resource(nodes).patch(key, { type: 'strategic', body: { metadata: { labels } } });
  }

  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#leaseLoop(signal), this.#statusLoop(signal)]);
  }

  async #statusLoop(signal: AbortSignal): Promise<void> {
    const { clock, logger, random } = this.#options;
    while (!signal.aborted) {
      this.#touched = deferred();
      try {
        await this.#sendStatus();
      } catch (error) {
        if (signal.aborted) return;
        logger.warn('cannot update the node status', { error });
      }
      const pause = (this.#options.statusMs ?? defaultStatusMs) * (0.96 + 0.08 * random.next());
      const timer = clock.after(pause, () => this.#touched.resolve());
      const onAbort = () => this.#touched.resolve();
      signal.addEventListener('abort', onAbort, { once: true });
      if (!signal.aborted) await this.#touched.promise;
      signal.removeEventListener('abort', onAbort);
      timer.cancel();
    }
  }

  async #sendStatus(): Promise<void> {
    const { client, identity, clock } = this.#options;
    const before = this.#known?.status;
    const status = await this.#options.status(before);
    const isDue = clock.monotonic() - this.#sentMs >= heartbeatMs;
    const patch = nodeStatusPatch(before, status, isDue);
    if (patch === undefined) return;
    const key = { namespace: '', name: identity.name };
    try {
      this.#known = await client
        .resource(nodes)
        .patch(key, { type: 'strategic', body: patch }, { subresource: 'status' });
      this.#sentMs = clock.monotonic();
    } catch (error) {
      // Someone deleted the node: as long as this agent runs, it belongs here.
      if (isNotFound(error)) await this.#register();
      else throw error;
    }
  }

  async #leaseLoop(signal: AbortSignal): Promise<void> {
    const { clock, logger, random } = this.#options;
    let lease: Frozen<Lease> | undefined;
    let failures = 0;
    while (!signal.aborted) {
      try {
        lease = await this.#renew(lease);
        failures = 0;
      } catch (error) {
        if (signal.aborted) return;
        lease = undefined;
        failures++;
        logger.warn('cannot renew the node lease', { error });
      }
      const pause = failures > 0 ? Math.min(7000, 200 * 2 ** failures) : leaseRenewMs * (0.96 + 0.08 * random.next());
      try {
        await sleep(clock, pause, signal);
      } catch (error) {
        if (signal.aborted) return;
        throw error;
      }
    }
  }

  async #renew(held: Frozen<Lease> | undefined): Promise<Frozen<Lease>> {
    const { client, identity, clock } = this.#options;
    const resource = client.resource(leases);
    const renewTime = microTimeOf(clock.now());
    const key = { namespace: leaseNamespace, name: identity.name };
    if (held) {
      const next = thaw<Lease>(held);
      next.spec = { ...next.spec, holderIdentity: identity.name, leaseDurationSeconds: leaseSeconds, renewTime };
      try {
        return await resource.update(next);
      } catch (error) {
        if (!isConflict(error) && !isNotFound(error)) throw error;
      }
    }
    const spec = { holderIdentity: identity.name, leaseDurationSeconds: leaseSeconds, renewTime };
    const owner = this.#known && {
      ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: identity.name, uid: this.#known.metadata.uid }],
    };
    try {
      return await resource.create({ metadata: { ...key, ...owner }, spec } as New<Lease>);
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      const found = thaw<Lease>(await resource.get(key));
      return resource.update({ ...found, spec: { ...found.spec, ...spec } });
    }
  }
}
