// Owns sharing leases among many short-lived keys (events): a lease for each would double their writes.
import type { Clock } from '../base/clock.ts';
import type { Store } from './store.ts';

export interface LeasePoolOptions {
  /**
   * How long one lease is given out at most; its keys live up to so much longer, and never more than a twentieth of their
   * time. Default 60 s, as kube-apiserver's (--lease-reuse-duration-seconds).
   */
  readonly reuseSeconds?: number;
  /** After so many keys a new lease is taken: ending one deletes all its keys at once. Default 1000. */
  readonly maxKeys?: number;
  /** Told how many keys a lease has when no more are given to it. */
  readonly onFull?: (keys: number) => void;
}

export interface LeasePool {
  /** A lease which lasts at least `ttlSeconds` from now. */
  leaseFor(ttlSeconds: number): Promise<number>;
}

interface Current {
  readonly id: Promise<number>;
  readonly untilMs: number;
  keys: number;
}

const reuseShare = 0.05;

export function leasePool(store: Store, clock: Clock, options: LeasePoolOptions = {}): LeasePool {
  const { reuseSeconds = 60, maxKeys = 1000, onFull } = options;
  const byTtl = new Map<number, Current>();
  return {
    async leaseFor(ttlSeconds) {
      const nowMs = clock.monotonic();
      let current = byTtl.get(ttlSeconds);
      if (current === undefined || current.untilMs <= nowMs || current.keys >= maxKeys) {
        if (current !== undefined) onFull?.(current.keys);
        const reuse = Math.min(reuseSeconds, Math.floor(ttlSeconds * reuseShare));
        const id = store.grantLease(Math.ceil(ttlSeconds) + reuse).then((lease) => lease.id);
        const granted: Current = { id, untilMs: nowMs + reuse * 1000, keys: 0 };
        current = granted;
        byTtl.set(ttlSeconds, granted);
        id.catch(() => {
          if (byTtl.get(ttlSeconds) === granted) byTtl.delete(ttlSeconds);
        });
      }
      current.keys++;
      return current.id;
    },
  };
}
