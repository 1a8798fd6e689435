// Owns which leases exist, which keys hang on them and when they end. Pure: told the time, sets no timer.
import { LeaseExists, LeaseNotFound } from '../store.ts';
import type { Lease } from '../store.ts';
import { keyText } from './keys.ts';
import type { ByteKey } from './keys.ts';

interface Row {
  readonly ttlSeconds: number;
  readonly keys: Set<ByteKey>;
  deadlineMs: number;
}

export class LeaseTable {
  readonly #rows = new Map<number, Row>();

  /** Times are of one monotonic clock, in milliseconds. */
  grant(id: number, ttlSeconds: number, nowMs: number): void {
    if (this.#rows.has(id)) throw new LeaseExists(id);
    this.#rows.set(id, { ttlSeconds, keys: new Set(), deadlineMs: nowMs + ttlSeconds * 1000 });
  }

  has(id: number): boolean {
    return this.#rows.has(id);
  }

  require(id: number): void {
    if (!this.#rows.has(id)) throw new LeaseNotFound(id);
  }

  /** Returns the seconds granted, or 0 for an unknown or ended lease. */
  keepAlive(id: number, nowMs: number): number {
    const row = this.#rows.get(id);
    if (row === undefined || row.deadlineMs <= nowMs) return 0;
    row.deadlineMs = nowMs + row.ttlSeconds * 1000;
    return row.ttlSeconds;
  }

  /** Removes the lease; its keys must be deleted (or be gone) by the caller. */
  end(id: number): void {
    this.#rows.delete(id);
  }

  attach(id: number, key: ByteKey): void {
    this.#rows.get(id)?.keys.add(key);
  }

  detach(id: number, key: ByteKey): void {
    this.#rows.get(id)?.keys.delete(key);
  }

  keysOf(id: number): string[] {
    return [...(this.#rows.get(id)?.keys ?? [])].sort().map(keyText);
  }

  ids(): number[] {
    return [...this.#rows.keys()];
  }

  /** Ids with the seconds that were granted. */
  granted(): { id: number; ttlSeconds: number }[] {
    return [...this.#rows].map(([id, row]) => ({ id, ttlSeconds: row.ttlSeconds }));
  }

  ttlOf(id: number): number | undefined {
    return this.#rows.get(id)?.ttlSeconds;
  }

  describe(id: number, nowMs: number): Lease | undefined {
    const row = this.#rows.get(id);
    if (row === undefined) return undefined;
    const remainingSeconds = Math.max(0, Math.floor((row.deadlineMs - nowMs) / 1000));
    return { id, ttlSeconds: row.ttlSeconds, remainingSeconds, keys: this.keysOf(id) };
  }

  expired(nowMs: number): number[] {
    return [...this.#rows].filter(([, row]) => row.deadlineMs <= nowMs).map(([id]) => id);
  }

  nextDeadlineMs(): number | undefined {
    let next: number | undefined;
    for (const row of this.#rows.values()) if (next === undefined || row.deadlineMs < next) next = row.deadlineMs;
    return next;
  }
}
