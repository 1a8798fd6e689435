// Owns putting the record of node ports right: after a crash of a server that writes services and ports apart (upstream's), or in a store that
// lived without the record. IPAddress objects are repair.ts'.
import type { Service } from '../../api/generated/core.v1.ts';
import type { Frozen, KubeObject } from '../../api/meta.ts';
import type { Clock } from '../../base/clock.ts';
import { sleep } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import { isAbort } from '../../base/task-group.ts';
import type { WatchCache } from '../cache/watch-cache.ts';
import type { NodePortLedger, PortRange } from './node-port-ledger.ts';
import { portsOf } from './plan-repair.ts';

export interface NodePortRepair {
  readonly services: WatchCache;
  readonly ledger: NodePortLedger;
  readonly nodePorts: PortRange;
  /** Waits until the cache shows all that was acknowledged. */
  readonly fresh: () => Promise<void>;
  readonly clock: Clock;
  readonly log: Logger;
  /** Told of each pass that failed. */
  readonly onError?: () => void;
}

const everyMs = 180_000;
/** A port without a service may be one whose service is being written: it is given back when it was seen so often. */
const passesUntilLeaked = 3;

export async function keepNodePortsRight(repair: NodePortRepair, signal: AbortSignal): Promise<void> {
  const { clock, log } = repair;
  const suspected = new Map<number, number>();
  while (!signal.aborted) {
    try {
      await repairPorts(repair, suspected);
    } catch (error) {
      if (signal.aborted || isAbort(error)) return;
      repair.onError?.();
      log.warn('the record of node ports was not checked', { error });
    }
    await sleep(clock, everyMs, signal).catch((error: unknown) => {
      if (!isAbort(error)) throw error;
    });
  }
}

async function repairPorts(
  { services, ledger, nodePorts, fresh, log }: NodePortRepair,
  suspected: Map<number, number>,
): Promise<void> {
  const isInside = (port: number): boolean => port >= nodePorts.from && port <= nodePorts.to;
  await fresh();
  const done = await ledger.repair((recorded) => {
    const used = new Set(
      [...services.list({ type: 'all' })]
        .flatMap(({ object }) => portsOf(object as Frozen<KubeObject & Service>))
        .filter(isInside),
    );
    const next = new Set(recorded);
    for (const port of used) next.add(port);
    for (const port of suspected.keys()) if (used.has(port) || !recorded.has(port)) suspected.delete(port);
    for (const port of recorded) {
      if (used.has(port)) continue;
      const seen = (suspected.get(port) ?? 0) + 1;
      suspected.set(port, seen);
      if (seen < passesUntilLeaked) continue;
      next.delete(port);
      suspected.delete(port);
      log.info('a node port that no service has is given back', { port });
    }
    const changed = next.size !== recorded.size || [...next].some((port) => !recorded.has(port));
    return changed ? next : undefined;
  });
  // Whoever was faster knows better; the next pass looks again.
  if (!done) log.debug('node ports change while they are checked');
}
