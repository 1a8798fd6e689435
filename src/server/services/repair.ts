// Owns the loop that puts IPAddress objects right: those of services come back, those of none go; what it cannot mend is told as events.
import type { Service } from '../../api/generated/core.v1.ts';
import type { IPAddress } from '../../api/generated/networking.v1.ts';
import type { Frozen } from '../../api/meta.ts';
import { isAlreadyExists, isNotFound, ignoring } from '../../api/status-error.ts';
import type { Clock } from '../../base/clock.ts';
import { sleep } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import { isAbort } from '../../base/task-group.ts';
import type { EventRecorder } from '../../client/events.ts';
import type { Transport } from '../../client/transport.ts';
import type { WatchCache } from '../cache/watch-cache.ts';
import type { IpRange } from './ip-range.ts';
import { addressObject, planRepair } from './plan-repair.ts';
import type { PortRange } from './node-port-ledger.ts';

export interface RepairOptions {
  readonly services: WatchCache;
  readonly addresses: WatchCache;
  /** Those that addresses may be of now. */
  readonly ranges: () => readonly IpRange[];
  readonly nodePorts: PortRange;
  /** As the server itself. */
  readonly transport: Transport;
  readonly events: EventRecorder;
  readonly clock: Clock;
  readonly log: Logger;
}

const everyMs = 3 * 60_000;
const collection = '/apis/networking.k8s.io/v1/ipaddresses';

/** One look at everything. Rejects when a write fails for another reason than that someone else was faster. */
async function repairOnce({
  services,
  addresses,
  ranges,
  nodePorts,
  transport,
  events,
  clock,
  log,
}: RepairOptions): Promise<void> {
  const objects = <T>(cache: WatchCache) =>
    [...cache.list({ type: 'all' })].map(({ object }) => object as unknown as Frozen<T>);
  const { create, remove, complaints } = planRepair({
    services: objects<Service>(services),
    addresses: objects<IPAddress>(addresses),
    ranges: ranges(),
    nodePorts,
    nowMs: clock.now(),
  });
  for (const name of remove) {
    log.warn('an IPAddress of no service is removed', { name });
    await ignoring(isNotFound, transport.call({ method: 'DELETE', path: `${collection}/${name}` }));
  }
  for (const { ip, service } of create) {
    const { namespace, name } = service.metadata;
    log.warn("a service's IPAddress is made anew", { ip, service: `${namespace}/${name}` });
    const body = addressObject(ip, namespace, name);
    await ignoring(isAlreadyExists, transport.call({ method: 'POST', path: collection, body }));
  }
  for (const { service, reason, message } of complaints) events.event(service, 'Warning', reason, message);
}

/** Until the signal aborts: now, and every three minutes. */
export async function keepRepaired(options: RepairOptions, signal: AbortSignal): Promise<void> {
  const { clock, log } = options;
  try {
    for (;;) {
      try {
        await repairOnce(options);
      } catch (error) {
        if (isAbort(error) || signal.aborted) return;
        log.error("services' addresses cannot be repaired", { error });
      }
      await sleep(clock, everyMs, signal);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
