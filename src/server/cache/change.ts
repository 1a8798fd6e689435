// Owns a change of one object as watchers see it, with the events it can become and their encodings, shared by all watchers.
import { Entry } from './entry.ts';

export type EventType = 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';

/** One event as sent. Shared by every watcher that gets it; frames are made at most once a form. */
export class SharedEvent {
  readonly type: EventType;
  readonly entry: Entry;
  #frames: Map<string, Buffer> | undefined;

  constructor(type: EventType, entry: Entry) {
    this.type = type;
    this.entry = entry;
  }

  frame(form: string, make: (event: SharedEvent) => Buffer): Buffer {
    this.#frames ??= new Map();
    let frame = this.#frames.get(form);
    if (frame === undefined) {
      frame = make(this);
      this.#frames.set(form, frame);
    }
    return frame;
  }

  /** Lets the bytes go; a watcher that is behind makes them anew. */
  dropFrames(): void {
    this.#frames = undefined;
  }
}

/** A put (`current` set) or a deletion of `key` at `revision`. */
export class Change {
  readonly key: string;
  readonly revision: number;
  readonly current: Entry | undefined;
  readonly previous: Entry | undefined;
  #events: SharedEvent[] | undefined;

  constructor(key: string, revision: number, current: Entry | undefined, previous: Entry | undefined) {
    this.key = key;
    this.revision = revision;
    this.current = current;
    this.previous = previous;
  }

  /**
   * What the change is to someone who sees only what `matches` selects: entering the selection is ADDED, leaving it
   * DELETED (API concepts, "Efficient detection of changes").
   */
  eventFor(matches: (entry: Entry) => boolean): SharedEvent | undefined {
    const now = this.current !== undefined && matches(this.current);
    const before = this.previous !== undefined && matches(this.previous);
    if (now) return this.#event(before ? 'MODIFIED' : 'ADDED');
    return before ? this.#event('DELETED') : undefined;
  }

  #event(type: 'ADDED' | 'MODIFIED' | 'DELETED'): SharedEvent {
    this.#events ??= [];
    let event = this.#events.find((known) => known.type === type);
    if (event === undefined) {
      event = new SharedEvent(type, type === 'DELETED' ? this.previous!.at(this.revision) : this.current!);
      this.#events.push(event);
    }
    return event;
  }

  dropFrames(): void {
    if (this.#events !== undefined) for (const event of this.#events) event.dropFrames();
  }
}
