// Owns the faults of a simulation: answers that are late or lost, requests that fail, watches that break off. By chance from a seed.
import { statusError } from '../../src/api/status-error.ts';
import { type Clock, sleep } from '../../src/base/clock.ts';
import type { Random } from '../../src/base/random.ts';
import type { Transport } from '../../src/client/transport.ts';

export interface Faults {
  /** False: all goes well from now on. */
  isOn: boolean;
  /** How many of each kind have happened. */
  readonly counts: Record<'refused' | 'slow' | 'lost' | 'dropped', number>;
}

/** Wraps the components' transports; the simulation's own client is left alone. */
export function faultyTransport(
  faults: Faults,
  { clock, random }: { readonly clock: Clock; readonly random: Random },
): (component: string, transport: Transport) => Transport {
  const unavailable = () => statusError('ServiceUnavailable', 'the simulation lets this request fail');
  const happens = (chance: number) => faults.isOn && random.next() < chance;
  return (component, inner) => {
    if (component === 'k8ts') return inner;
    return {
      async call(request) {
        if (happens(0.02)) {
          faults.counts.refused++;
          throw unavailable();
        }
        if (request.method !== 'GET' && happens(0.1)) {
          faults.counts.slow++;
          await sleep(clock, 20 + random.next() * 3000, request.signal);
        }
        const answer = await inner.call(request);
        // Done, but the caller does not learn it.
        if (request.method !== 'GET' && happens(0.02)) {
          faults.counts.lost++;
          throw unavailable();
        }
        return answer;
      },
      async *watch(request) {
        for await (const event of inner.watch(request)) {
          yield event;
          if (happens(0.02)) {
            faults.counts.dropped++;
            return;
          }
        }
      },
    };
  };
}
