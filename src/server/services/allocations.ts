// Owns what is taken: cluster addresses and node ports by service, from the cache and from writes under way.
import type { Service } from '../../api/generated/core.v1.ts';
import type { Frozen, KubeObject } from '../../api/meta.ts';
import type { Random } from '../../base/random.ts';
import { randomInteger } from '../../base/random.ts';
import type { Entry } from '../cache/entry.ts';
import { followCache } from '../cache/follow.ts';
import type { WatchCache } from '../cache/watch-cache.ts';
import type { IpRange } from './ip-range.ts';

type ServiceObject = Frozen<KubeObject & Service>;

/** "10.96.0.7", "port 30001". */
function claimsOf({ spec }: ServiceObject): string[] {
  const claims = (spec?.clusterIPs ?? []).filter((ip) => ip !== 'None' && ip !== '').map(String);
  for (const { nodePort } of spec?.ports ?? []) if (nodePort) claims.push(`port ${nodePort}`);
  if (spec?.healthCheckNodePort) claims.push(`port ${spec.healthCheckNodePort}`);
  return claims;
}

export class Allocations {
  /** By claim: the key of the service that has it. */
  readonly #taken = new Map<string, string>();
  readonly #pending = new Map<string, number>();
  readonly #random: Random;

  readonly #addresses: WatchCache | undefined;

  /** `addresses`: the IPAddress objects, whoever made them; an address with an object is taken. */
  constructor(services: WatchCache, random: Random, addresses?: WatchCache) {
    this.#random = random;
    this.#addresses = addresses;
    followCache(services, {
      put: (entry, previous) => {
        if (previous !== undefined) this.#release(previous);
        for (const claim of claimsOf(entry.object as ServiceObject)) this.#taken.set(claim, entry.key);
      },
      removed: (entry) => this.#release(entry),
      reset: () => this.#taken.clear(),
    });
  }

  #release(entry: Entry): void {
    for (const claim of claimsOf(entry.object as ServiceObject))
      if (this.#taken.get(claim) === entry.key) this.#taken.delete(claim);
  }

  isTaken(claim: string): boolean {
    return this.#taken.has(claim) || this.#pending.has(claim) || this.#addresses?.get(claim) !== undefined;
  }

  /** Until `settle`: nobody else gets it. */
  reserve(claim: string): void {
    this.#pending.set(claim, (this.#pending.get(claim) ?? 0) + 1);
  }

  settle(claims: readonly string[]): void {
    for (const claim of claims) {
      const count = (this.#pending.get(claim) ?? 1) - 1;
      if (count <= 0) this.#pending.delete(claim);
      else this.#pending.set(claim, count);
    }
  }

  /** A free address, from the upper part of the range first: the lower is left for those who name theirs (KEP-3070). */
  freeIp(range: IpRange): string | undefined {
    const lower = Math.min(Math.max(16, Math.floor(range.size / 16)), 256);
    const offset = range.size <= 16 ? 0 : Math.min(lower, range.size);
    return this.#pick(range.size, offset, (at) => range.at(at));
  }

  /** The cluster addresses that the services have. */
  *addresses(): Iterable<string> {
    for (const claim of this.#taken.keys()) if (!claim.startsWith('port ')) yield claim;
  }

  /** The ports that the services have, in whatever range. */
  *ports(): Iterable<number> {
    for (const claim of this.#taken.keys()) if (claim.startsWith('port ')) yield Number(claim.slice(5));
  }

  /** `isTaken`: what others are known to have beside. */
  freePort(from: number, to: number, isTaken: (port: number) => boolean): number | undefined {
    const size = to - from + 1;
    const offset = size < 16 ? 0 : Math.min(Math.max(16, Math.floor(size / 32)), 128);
    const claim = this.#pick(
      size,
      offset,
      (at) => `port ${from + at}`,
      (at) => isTaken(from + at),
    );
    return claim === undefined ? undefined : Number(claim.slice(5));
  }

  #pick(
    size: number,
    offset: number,
    claimAt: (at: number) => string,
    isGone: (at: number) => boolean = () => false,
  ): string | undefined {
    const isFree = (at: number): boolean => !this.isTaken(claimAt(at)) && !isGone(at);
    const upper = size - offset;
    if (upper > 0) {
      const start = randomInteger(this.#random, upper);
      for (let step = 0; step < upper; step++) {
        const at = offset + ((start + step) % upper);
        if (isFree(at)) return claimAt(at);
        if (step > 100_000) break;
      }
    }
    for (let at = 0; at < offset; at++) if (isFree(at)) return claimAt(at);
    return undefined;
  }
}
