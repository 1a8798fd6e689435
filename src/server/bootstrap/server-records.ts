// Owns what a server keeps of itself in the cluster while it serves: the `kubernetes` Service with its endpoints, and its lease.
import type { Clock } from '../../base/clock.ts';
import type { Random } from '../../base/random.ts';
import type { TaskGroup } from '../../base/task-group.ts';
import type { ApiServerOptions } from '../options.ts';
import { keepIdentityLease } from './identity-lease.ts';
import { keepKubernetesService, leaveKubernetesService } from './kubernetes-service.ts';
import type { KubernetesServiceOptions } from './kubernetes-service.ts';

export interface ServerRecords {
  run(group: TaskGroup): void;
  /** Says that the server goes, while it still can. What fails the others notice by themselves, when its lease ends. */
  leave(): Promise<void>;
}

/** So long the end of a server may be held up by a store that does not answer. */
const leaveMs = 2_000;

/** Undefined when another process keeps them. */
export function serverRecords(
  { keepsOwnRecords = true, hostname, advertise }: ApiServerOptions,
  reach: KubernetesServiceOptions,
  { clock, random }: { readonly clock: Clock; readonly random: Random },
): ServerRecords | undefined {
  if (!keepsOwnRecords) return undefined;
  const { transport, log } = reach;
  const stopped = new AbortController();
  return {
    run(group) {
      const own = (signal: AbortSignal) => AbortSignal.any([signal, stopped.signal]);
      group.run('kubernetes service', (signal) => keepKubernetesService(reach, clock, log, own(signal)));
      if (hostname === undefined) return;
      const peerAddress = advertise === undefined ? {} : { peerAddress: `${advertise.address}:${advertise.port}` };
      const lease = { transport, clock, random, log, hostname, ...peerAddress };
      group.run('identity lease', (signal) => keepIdentityLease(lease, signal));
    },
    async leave() {
      // Or it would come back at the next turn.
      stopped.abort();
      let late: { cancel(): void } | undefined;
      const tooLate = new Promise<void>((_, reject) => {
        late = clock.after(leaveMs, () => reject(new Error('the store did not answer in time')));
      });
      try {
        await Promise.race([leaveKubernetesService(reach), tooLate]);
      } catch (error) {
        log.warn('this server could not be taken off the endpoints; its lease ends by itself', { error });
      } finally {
        late?.cancel();
      }
    },
  };
}
