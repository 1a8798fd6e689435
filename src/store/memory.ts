// Owns the engine that keeps everything in memory: for tests, simulation and forks. Nothing outlives the process.
import { LeaseTable } from './mvcc/lease-table.ts';
import { MvccEngine } from './mvcc/engine.ts';
import type { EngineDeps, Journal } from './mvcc/engine.ts';
import { Mvcc } from './mvcc/mvcc.ts';
import type { ValueForm } from './mvcc/mvcc.ts';
import type { Store } from './store.ts';

export type MemoryStoreDeps = EngineDeps;

export function memoryStore(deps: MemoryStoreDeps): Store {
  const leases = new LeaseTable();
  const values: ValueForm<Uint8Array> = {
    store: (value) => value,
    size: (value) => value.length,
    load: (value) => value,
    release: () => undefined,
  };
  const mvcc = new Mvcc<Uint8Array>(values, leases);
  const journal: Journal<Uint8Array> = {
    append: () => undefined,
    onDurable: () => undefined,
    onLost: () => undefined,
    compacted: () => undefined,
    size: () => ({ bytes: 0, inUse: 0 }),
    close: async () => undefined,
  };
  return new MvccEngine({ mvcc, leases, journal }, deps);
}
