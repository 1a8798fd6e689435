// Owns compacting a store that several API servers share: one of them does it each interval, agreed by a key, as
// kube-apiserver does it (apiserver/pkg/storage/etcd3/compact.go), so that ours and upstream's can share an etcd.
import { sleep } from '../base/clock.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import { isAbort } from '../base/task-group.ts';
import { Compacted } from './store.ts';
import type { Store } from './store.ts';

export interface CompactorDeps {
  readonly clock: Clock;
  readonly log: Logger;
  /** History younger than this is kept. */
  readonly intervalMs: number;
}

/** upstream's name: its version counts the compactions, its value is the revision of the last one. */
const key = 'compact_rev_key';

/** Runs until aborted. What fails is tried again after the next interval. */
export async function runCompactor(
  store: Store,
  { clock, log, intervalMs }: CompactorDeps,
  signal: AbortSignal,
): Promise<void> {
  let seen: Seen = { version: 0, revision: 0 };
  while (!signal.aborted) {
    try {
      await sleep(clock, intervalMs, signal);
      seen = await compactOnce(store, seen);
      log.debug('compaction', { ...seen });
    } catch (error) {
      if (signal.aborted || isAbort(error)) return;
      log.warn('history was not compacted', { error });
    }
  }
}

/** The key's version, and the store's revision, an interval ago. */
interface Seen {
  readonly version: number;
  readonly revision: number;
}

async function compactOnce(store: Store, { version, revision }: Seen): Promise<Seen> {
  const result = await store.transact({
    compare: [{ key, target: 'version', is: '=', value: version }],
    then: [{ type: 'put', key, value: Buffer.from(String(revision)) }],
    otherwise: [{ type: 'range', range: { start: key } }],
  });
  if (!result.succeeded) {
    // Another server was faster: it compacts, and the next turn is anyone's.
    const [found] = result.results;
    const current = found?.type === 'range' ? (found.result.items[0]?.version ?? 0) : 0;
    return { version: current, revision: result.revision };
  }
  if (revision > 0)
    await store.compact(revision).catch((error: unknown) => {
      if (!(error instanceof Compacted)) throw error;
    });
  return { version: version + 1, revision: result.revision };
}
