// Owns what becomes of a stream of core/v1 events before it is written: counted, combined, limited. Pure but for the memory it keeps.
import { LRUCache } from 'lru-cache';
import type { Event } from '../api/generated/core.v1.ts';

/** As client-go's correlator: memory of 4096 keys, 10 distinct messages in 10 minutes, bursts of 25 refilled one in 5 minutes. */
const cacheSize = 4096;
const maxSimilar = 10;
const similarForMs = 600_000;
const burst = 25;
const refillMs = 300_000;

export type Correlated =
  | { readonly do: 'drop' }
  | { readonly do: 'create'; readonly event: Event; readonly key: string }
  /** The event of that name and namespace was seen before: only count, time and message change. */
  | { readonly do: 'count'; readonly event: Event; readonly key: string };

interface Seen {
  readonly name: string;
  readonly count: number;
  readonly firstTimestamp: string;
}

export class EventCorrelator {
  readonly #similar = new LRUCache<string, { messages: Set<string>; lastMs: number }>({ max: cacheSize });
  readonly #seen = new LRUCache<string, Seen>({ max: cacheSize });
  readonly #buckets = new LRUCache<string, { tokens: number; atMs: number }>({ max: cacheSize });

  correlate(event: Event, nowMs: number): Correlated {
    const { combined, key } = this.#combine(event, nowMs);
    const before = this.#seen.get(key);
    const count = (before?.count ?? 0) + 1;
    const result: Event = before
      ? {
          ...combined,
          count,
          firstTimestamp: before.firstTimestamp,
          metadata: { ...combined.metadata, name: before.name },
        }
      : combined;
    const seen = { name: result.metadata.name, count, firstTimestamp: result.firstTimestamp ?? '' };
    this.#seen.set(key, seen);
    if (!this.#allowed(sourceKey(event), nowMs)) return { do: 'drop' };
    return { do: before ? 'count' : 'create', event: result, key };
  }

  /** The counted event is gone from the server (its hour is over): the next one is created anew. */
  forget(key: string): void {
    this.#seen.delete(key);
  }

  #combine(event: Event, nowMs: number): { combined: Event; key: string } {
    const kind = [sourceKey(event), event.type, event.reason, event.reportingComponent, event.reportingInstance].join(
      '|',
    );
    const known = this.#similar.get(kind);
    const group = known && nowMs - known.lastMs < similarForMs ? known : { messages: new Set<string>(), lastMs: nowMs };
    group.lastMs = nowMs;
    group.messages.add(event.message ?? '');
    if (group.messages.size > maxSimilar + 1)
      for (const first of group.messages) if (group.messages.delete(first)) break;
    this.#similar.set(kind, group);
    if (group.messages.size <= maxSimilar) return { combined: event, key: `${kind}|${event.message}` };
    const message = `(combined from similar events): ${event.message}`;
    return { combined: { ...event, message }, key: kind };
  }

  #allowed(key: string, nowMs: number): boolean {
    const bucket = this.#buckets.get(key) ?? { tokens: burst, atMs: nowMs };
    const tokens = Math.min(burst, bucket.tokens + (nowMs - bucket.atMs) / refillMs);
    const allowed = tokens >= 1;
    this.#buckets.set(key, { tokens: allowed ? tokens - 1 : tokens, atMs: nowMs });
    return allowed;
  }
}

function sourceKey({ source, involvedObject: about }: Event): string {
  const place = [about.kind, about.namespace, about.name, about.fieldPath, about.uid, about.apiVersion];
  return [source?.component, source?.host, ...place].join('|');
}
