// Owns who of several equal components is the active one: a Lease that its holder renews and the others watch with their own clocks.
import { type Clock, sleep } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import type { Random } from '../base/random.ts';
import { taskGroup } from '../base/task-group.ts';
import type { Frozen, ObjectKey } from '../api/meta.ts';
import type { Lease } from '../api/generated/coordination.v1.ts';
import { leases } from '../api/generated/resources.ts';
import { isNotFound } from '../api/status-error.ts';
import { microTimeOf } from '../api/time.ts';
import type { Client } from './client.ts';

export interface LeaderElectionOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly lease: ObjectKey;
  /** Who we are among the candidates: host name and a random part. */
  readonly identity: string;
  /** How long others leave a silent leader alone. Default 15 s. */
  readonly leaseMs?: number;
  /** How long a leader tries to renew before it steps down. Default 10 s; less than `leaseMs`. */
  readonly renewMs?: number;
  /** Between two tries. Default 2 s. */
  readonly retryMs?: number;
  readonly onLeader?: (identity: string) => void;
}

/** The lease went to another, or could not be renewed in time: the component must stop at once (upstream ends its process). */
export class LeadershipLost extends Error {
  override readonly name = 'LeadershipLost';
}

/** Waits to lead, then runs `task` while leading. Releases the lease when the signal aborts. */
export async function lead(
  options: LeaderElectionOptions,
  task: (signal: AbortSignal) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const candidate = new Candidate(options);
  if (!(await candidate.acquire(signal))) return;
  const group = taskGroup(signal);
  group.run('renew lease', (stop) => candidate.renew(stop));
  let ended = false;
  group.run('lead', async (stop) => {
    await task(stop);
    ended = true;
    if (!stop.aborted) throw new Error('the task of the leader ended by itself');
  });
  try {
    await group.done;
  } catch (error) {
    const cause = (error as Error).cause;
    throw cause instanceof LeadershipLost ? cause : error;
  } finally {
    if (signal.aborted || ended) await candidate.release();
  }
}

class Candidate {
  readonly #options: LeaderElectionOptions;
  readonly #leaseMs: number;
  readonly #renewMs: number;
  readonly #retryMs: number;
  /** The newest lease seen, and when (by our monotonic clock): clocks of other machines are not compared. */
  #observed: Frozen<Lease> | undefined;
  #observedAtMs = 0;
  #reported = '';

  constructor(options: LeaderElectionOptions) {
    this.#options = options;
    this.#leaseMs = options.leaseMs ?? 15_000;
    this.#renewMs = options.renewMs ?? 10_000;
    this.#retryMs = options.retryMs ?? 2_000;
  }

  /** False when the signal aborted first. */
  async acquire(signal: AbortSignal): Promise<boolean> {
    const { clock, random, logger, lease } = this.#options;
    while (!signal.aborted) {
      if (await this.#tryToLead(signal)) {
        logger.info('became leader', { lease: lease.name, identity: this.#options.identity });
        return true;
      }
      await sleep(clock, this.#retryMs * (1 + 1.2 * random.next()), signal).catch(() => undefined);
    }
    return false;
  }

  async renew(signal: AbortSignal): Promise<void> {
    const { clock, lease } = this.#options;
    let renewedAtMs = clock.monotonic();
    while (!signal.aborted) {
      await sleep(clock, this.#retryMs, signal);
      if (await this.#tryToLead(signal)) renewedAtMs = clock.monotonic();
      else if (clock.monotonic() - renewedAtMs >= this.#renewMs)
        throw new LeadershipLost(`lease ${lease.namespace}/${lease.name} could not be renewed`);
    }
  }

  async release(): Promise<void> {
    const held = this.#observed;
    if (held?.spec.holderIdentity !== this.#options.identity) return;
    const now = microTimeOf(this.#options.clock.now());
    const { metadata, spec } = held;
    await this.#leases
      .update({
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'Lease',
        metadata,
        spec: { ...spec, holderIdentity: '', leaseDurationSeconds: 1, renewTime: now, acquireTime: now },
      } as Frozen<Lease>)
      .catch((error: unknown) => this.#options.logger.warn('lease was not released', { error }));
  }

  get #leases() {
    return this.#options.client.resource(leases);
  }

  /** One try to take or renew the lease, bounded by the time that a renewal may take. */
  async #tryToLead(signal: AbortSignal): Promise<boolean> {
    const { clock, logger } = this.#options;
    const abort = new AbortController();
    const onAbort = () => abort.abort(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    const timer = clock.after(this.#renewMs, () => abort.abort(new Error('no answer in time')));
    try {
      return await this.#takeOrRenew(abort.signal);
    } catch (error) {
      if (!signal.aborted) logger.debug('lease was not taken', { error });
      return false;
    } finally {
      timer.cancel();
      signal.removeEventListener('abort', onAbort);
    }
  }

  async #takeOrRenew(signal: AbortSignal): Promise<boolean> {
    const { clock, identity, lease: key } = this.#options;
    const current = await this.#leases.get(key, { signal }).catch((error: unknown) => {
      if (isNotFound(error)) return undefined;
      throw error;
    });
    const now = microTimeOf(clock.now());
    const leaseDurationSeconds = Math.round(this.#leaseMs / 1000);
    if (!current) {
      const spec = {
        holderIdentity: identity,
        leaseDurationSeconds,
        acquireTime: now,
        renewTime: now,
        leaseTransitions: 0,
      };
      this.#observe(await this.#leases.create({ metadata: { ...key }, spec }, { signal }));
      return true;
    }
    this.#observe(current);
    const holder = current.spec.holderIdentity ?? '';
    if (holder !== '' && holder !== identity && this.#isFresh(current)) return false;
    const ours = holder === identity;
    const transitions = current.spec.leaseTransitions ?? 0;
    const spec = {
      ...current.spec,
      holderIdentity: identity,
      leaseDurationSeconds,
      renewTime: now,
      acquireTime: ours ? (current.spec.acquireTime ?? now) : now,
      leaseTransitions: ours ? transitions : transitions + 1,
    };
    this.#observe(await this.#leases.update({ ...current, spec }, { signal }));
    return true;
  }

  #isFresh(lease: Frozen<Lease>): boolean {
    const durationMs = (lease.spec.leaseDurationSeconds ?? 0) * 1000;
    return this.#observedAtMs + durationMs > this.#options.clock.monotonic();
  }

  #observe(lease: Frozen<Lease>): void {
    if (lease.metadata.resourceVersion !== this.#observed?.metadata.resourceVersion)
      this.#observedAtMs = this.#options.clock.monotonic();
    this.#observed = lease;
    const holder = lease.spec.holderIdentity ?? '';
    if (holder === this.#reported) return;
    this.#reported = holder;
    this.#options.onLeader?.(holder);
  }
}
