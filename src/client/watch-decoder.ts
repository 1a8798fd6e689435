// Owns how a watch answer's bytes become events: one JSON document a line, with a bound on the line.
import { parseExact } from '../api/codec/json-parse.ts';

/** A line longer than the server may ever send: the largest object (etcd's request limit is 1.5 MiB) with room for escapes. */
export const maxWatchLineBytes = 32 * 1024 * 1024;

export interface RawWatchEvent {
  readonly type: string;
  readonly object: unknown;
}

/** Feed it chunks; it returns the events that are complete. */
export class WatchDecoder {
  readonly #maxBytes: number;
  #pending: Uint8Array[] = [];
  #pendingBytes = 0;

  constructor(maxBytes: number = maxWatchLineBytes) {
    this.#maxBytes = maxBytes;
  }

  push(chunk: Uint8Array): RawWatchEvent[] {
    const events: RawWatchEvent[] = [];
    let start = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      this.#keep(chunk.subarray(start, end));
      start = end + 1;
      const line = this.#take();
      if (line.trim() !== '') events.push(parseEvent(line));
    }
    if (start < chunk.length) this.#keep(chunk.subarray(start));
    return events;
  }

  /** Throws when the stream ended in the middle of an event. */
  end(): void {
    if (this.#take().trim() !== '') throw new Error('watch stream ended in the middle of an event');
  }

  #keep(part: Uint8Array): void {
    this.#pendingBytes += part.length;
    if (this.#pendingBytes > this.#maxBytes) throw new Error(`watch event exceeds ${this.#maxBytes} bytes`);
    if (part.length > 0) this.#pending.push(part);
  }

  #take(): string {
    const parts = this.#pending;
    this.#pending = [];
    this.#pendingBytes = 0;
    return parts.length === 1
      ? Buffer.from(parts[0]!.buffer, parts[0]!.byteOffset, parts[0]!.length).toString('utf8')
      : Buffer.concat(parts).toString('utf8');
  }
}

function parseEvent(line: string): RawWatchEvent {
  const event = parseExact(line) as Partial<RawWatchEvent> | null;
  if (typeof event?.type !== 'string' || typeof event.object !== 'object' || event.object === null)
    throw new Error('watch stream sent something that is no event');
  return { type: event.type, object: event.object };
}
