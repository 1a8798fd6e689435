// Owns consistent reads from the caches of a store that others write to, too: its revision is asked, then the caches are awaited.
import type { Clock } from '../../base/clock.ts';
import type { Store } from '../../store/store.ts';
import type { Feed } from '../cache/feed.ts';

/** So long the watch may take by itself before it is asked how far it is: the newest revision may be outside of what it watches. */
const patienceMs = 5;

interface FreshnessDeps {
  readonly store: Store;
  readonly feed: Pick<Feed, 'revision' | 'reached'>;
  readonly clock: Clock;
}

/**
 * Each call resolves when the caches show everything acknowledged by anyone before it. Calls of one turn of the event loop share a
 * question, which is sent at the turn's end: the busier the server, the fewer a request.
 */
export function freshness({ store, feed, clock }: FreshnessDeps): () => Promise<void> {
  let next: Promise<number> | undefined;

  async function ask(): Promise<number> {
    await new Promise((resolve) => setImmediate(resolve));
    // Who comes from now on came after the question.
    next = undefined;
    const { revision } = await store.range({ start: '/' }, { countOnly: true });
    return revision;
  }

  return async () => {
    const revision = await (next ??= ask());
    const wait = feed.reached(revision);
    if (wait === undefined) return;
    const late = clock.after(patienceMs, () => {
      // What fails here ends the watch too, which then begins anew.
      store.requestProgress().catch(() => undefined);
    });
    try {
      await wait;
    } finally {
      late.cancel();
    }
  };
}
