// Owns a store that only hands its calls on: what wraps a store begins from it and says what it does otherwise.
import type { Store } from './store.ts';

export function handedOn(store: Store): Store {
  return {
    range: (range, options) => store.range(range, options),
    transact: (transaction) => store.transact(transaction),
    watch: (range, options) => store.watch(range, options),
    requestProgress: () => store.requestProgress(),
    compact: (revision) => store.compact(revision),
    grantLease: (ttlSeconds, id) => store.grantLease(ttlSeconds, id),
    keepLeaseAlive: (id) => store.keepLeaseAlive(id),
    revokeLease: (id) => store.revokeLease(id),
    lease: (id) => store.lease(id),
    leases: () => store.leases(),
    status: () => store.status(),
    close: () => store.close(),
  };
}
