// Owns following a cache from within the server: what is there now, then each change, and all anew after a reload.
import type { Entry } from './entry.ts';
import type { WatchCache } from './watch-cache.ts';

export interface Follower {
  put(entry: Entry, previous: Entry | undefined): void;
  removed(entry: Entry): void;
  /** Forget everything: what is there follows as puts. */
  reset(): void;
}

/** Calls `follower` synchronously as the cache changes. Returns the way to stop. */
export function followCache(cache: WatchCache, follower: Follower): () => void {
  let stopped = false;
  const watching = {
    scope: { type: 'all' as const },
    deliver({
      current,
      previous,
    }: {
      readonly current: Entry | undefined;
      readonly previous: Entry | undefined;
    }): void {
      if (current !== undefined) follower.put(current, previous);
      else if (previous !== undefined) follower.removed(previous);
    },
    close(reason: 'reloaded' | 'stopped'): void {
      if (reason === 'reloaded' && !stopped) fill();
    },
  };
  function fill(): void {
    follower.reset();
    for (const entry of cache.list({ type: 'all' })) follower.put(entry, undefined);
  }
  fill();
  cache.add(watching);
  return () => {
    stopped = true;
    cache.remove(watching);
  };
}
