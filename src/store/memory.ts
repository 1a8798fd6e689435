// Owns the engine that keeps everything in memory: for tests, simulation and forks. Nothing outlives the process.
import { LeaseTable } from './mvcc/lease-table.ts';
import { MvccEngine } from './mvcc/engine.ts';
import type { EngineDeps, Journal } from './mvcc/engine.ts';
import { Mvcc } from './mvcc/mvcc.ts';
import type { ValueForm } from './mvcc/mvcc.ts';
import type { Store } from './store.ts';

export type MemoryStoreDeps = EngineDeps;

/** Values of a fork stay where the store it came from has them, until they are read. */
export type MemoryValue = Uint8Array | { readonly length: number; load(): Uint8Array };

const values: ValueForm<MemoryValue> = {
  store: (value) => value,
  size: (value) => value.length,
  load: (value) => (value instanceof Uint8Array ? value : value.load()),
  release: () => undefined,
};

export function memoryStore(deps: MemoryStoreDeps): Store {
  const { mvcc, leases } = emptyState();
  return memoryEngine(mvcc, leases, deps, async () => undefined);
}

export function emptyState(): { mvcc: Mvcc<MemoryValue>; leases: LeaseTable } {
  const leases = new LeaseTable();
  return { mvcc: new Mvcc(values, leases), leases };
}

/** A memory store that begins with this state. */
export function memoryEngine(
  mvcc: Mvcc<MemoryValue>,
  leases: LeaseTable,
  deps: MemoryStoreDeps,
  onClose: () => Promise<void>,
): Store {
  const journal: Journal<MemoryValue> = {
    append: () => undefined,
    onDurable: () => undefined,
    onLost: () => undefined,
    compacted: () => undefined,
    size: () => ({ bytes: 0, inUse: 0 }),
    close: onClose,
  };
  return new MvccEngine({ mvcc, leases, journal, share: (value) => ({ value, release: () => undefined }) }, deps);
}
