// Owns forgetting: superseded versions are dropped from the store when they are an interval old, so that it does not grow for ever.
import type { Clock } from '../../base/clock.ts';
import { sleep } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import type { Store } from '../../store/store.ts';
import { Compacted } from '../../store/store.ts';

/** Ends with the signal. */
export async function compactRegularly(
  store: Store,
  clock: Clock,
  intervalMs: number,
  log: Logger,
  signal: AbortSignal,
): Promise<void> {
  let before = 0;
  while (!signal.aborted) {
    try {
      await sleep(clock, intervalMs, signal);
    } catch (error) {
      if (signal.aborted) return;
      throw error;
    }
    try {
      // What was newest an interval ago: younger versions are kept for lists and watches that still need them.
      if (before > 0) await store.compact(before);
      before = (await store.status()).revision;
    } catch (error) {
      // Another server of the same store may have been faster.
      if (!(error instanceof Compacted)) log.warn('compaction failed; it is tried again', { error });
    }
  }
}
