// Owns forks: a memory store that begins as another store was at a revision, and goes its own way. The other is not touched.
import { emptyState, memoryEngine } from './memory.ts';
import type { MemoryStoreDeps } from './memory.ts';
import { byteKey } from './mvcc/keys.ts';
import { MvccEngine } from './mvcc/engine.ts';
import type { SharedState } from './mvcc/engine.ts';
import type { KeyValue, Store } from './store.ts';

const pageKeys = 1000;

/**
 * Forks `from` at a kept revision (0: the newest) with its keys, revisions and, from an engine of this process, its
 * history; values are shared, so that it takes milliseconds. Leases begin their time anew; a key whose lease has ended
 * in `from` since stays without one. Throws `Compacted` or `FutureRevision`. `from` may be closed before the fork.
 */
export async function forkStore(from: Store, atRevision: number, deps: MemoryStoreDeps): Promise<Store> {
  const state = from instanceof MvccEngine ? from.sharedState(atRevision) : await readState(from, atRevision);
  const { mvcc, leases } = emptyState();
  const nowMs = deps.clock.monotonic();
  for (const { lease } of state.versions)
    if (lease !== 0 && !leases.has(lease)) {
      const ttlSeconds = state.leases.get(lease);
      if (ttlSeconds !== undefined) leases.grant(lease, ttlSeconds, nowMs);
    }
  for (const { key, ...version } of state.versions)
    mvcc.restore(key, { ...version, lease: leases.has(version.lease) ? version.lease : 0 });
  mvcc.recovered(state.revision, state.compactRevision);
  return memoryEngine(mvcc, leases, deps, async () => state.release());
}

/** Over the interface alone: the state of one revision, without what was before it. */
async function readState(from: Store, atRevision: number): Promise<SharedState> {
  const items: KeyValue[] = [];
  let revision = atRevision;
  for (let start: string | undefined = '\0'; start !== undefined; ) {
    const page = await from.range({ start, end: '\0' }, { limit: pageKeys, revision });
    revision ||= page.revision;
    items.push(...page.items);
    const last: KeyValue | undefined = page.items.at(-1);
    start = page.more && last !== undefined ? `${last.key}\0` : undefined;
  }
  const leases = new Map<number, number>();
  for (const id of new Set(items.map(({ lease }) => lease))) {
    const lease = id === 0 ? undefined : await from.lease(id);
    if (lease !== undefined) leases.set(id, lease.ttlSeconds);
  }
  const versions = items.map(({ key, value, ...rest }) => ({ ...rest, key: byteKey(key), stored: value }));
  return { revision, compactRevision: revision, versions, leases, release: () => undefined };
}
