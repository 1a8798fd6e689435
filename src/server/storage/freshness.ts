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
 * Each call resolves when the caches show everything acknowledged by anyone before it. Calls that come while the store is being
 * asked share the next question: the one under way may have been answered before they came.
 */
export function freshness({ store, feed, clock }: FreshnessDeps): () => Promise<void> {
  let asking: Promise<number> | undefined;
  let next: Promise<number> | undefined;

  async function ask(): Promise<number> {
    const { revision } = await store.range({ start: '/' }, { countOnly: true });
    return revision;
  }

  function newest(): Promise<number> {
    if (next !== undefined) return next;
    if (asking === undefined) return begin(ask());
    const before = asking;
    const queued = before
      .catch(() => undefined)
      .then(() => {
        next = undefined;
        return begin(ask());
      });
    next = queued;
    return queued;
  }

  function begin(question: Promise<number>): Promise<number> {
    asking = question;
    const done = (): void => {
      if (asking === question) asking = undefined;
    };
    question.then(done, done);
    return question;
  }

  return async () => {
    const revision = await newest();
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
