// Owns the address ranges that ServiceCIDR objects announce, as the cache has them. Gives out nothing.
import type { ServiceCIDR } from '../../api/generated/networking.v1.ts';
import type { Frozen } from '../../api/meta.ts';
import type { WatchCache } from '../cache/watch-cache.ts';
import { followCache } from '../cache/follow.ts';
import { ipRange, type IpRange } from './ip-range.ts';

/** Without a condition it counts as ready: the controller that says so may not run yet (KEP-1880). */
export function isReady({ metadata, status }: Frozen<ServiceCIDR>): boolean {
  if (metadata.deletionTimestamp !== undefined) return false;
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  return ready === undefined || ready.status === 'True';
}

/** Answers with the ranges that are ready now; worked out anew only when a ServiceCIDR has changed. */
export function announcedRanges(cache: WatchCache): () => readonly IpRange[] {
  let known: readonly IpRange[] | undefined;
  const forget = (): void => void (known = undefined);
  followCache(cache, { put: forget, removed: forget, reset: forget });
  return () =>
    (known ??= [...cache.list({ type: 'all' })]
      .map((entry) => entry.object as unknown as Frozen<ServiceCIDR>)
      .filter(isReady)
      .flatMap(({ spec }) => (spec?.cidrs ?? []).map(ipRange)));
}
