// Owns the choice which bytes stay that could be made again: those asked for again, as far as there is room. Knows nothing of what they are.
import { Slab } from './slab.ts';

/** Bytes that are kept until there is no more room; whoever holds this finds out by asking. */
export interface KeptBytes {
  readonly bytes: Buffer | undefined;
}

interface Held extends KeptBytes {
  bytes: Buffer | undefined;
  isProven: boolean;
  /** Asked for since it was last looked at for its place. */
  isUsed: boolean;
}

export interface ByteKeeperOptions {
  /** Room for what nobody has asked for again. */
  readonly trialBytes: number;
  /** Room for what was asked for again: the part of it that was used lately stays longest. */
  readonly provenBytes: number;
}

/**
 * Most encodings are read once or never: the answer of a write, a watch event. They are on trial in a small room, first in, first
 * out; what is used again there moves to the large room, where it has a second chance each time its turn to leave comes.
 */
export class ByteKeeper {
  readonly #options: ByteKeeperOptions;
  /** They come and leave in the same order. */
  readonly #slab = new Slab();
  readonly #trial = new Set<Held>();
  readonly #proven = new Set<Held>();
  #trialBytes = 0;
  #provenBytes = 0;

  constructor(options: ByteKeeperOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#trialBytes + this.#provenBytes;
  }

  /** Keeps a copy. `isProven`: it will be asked for again, as far as one can tell. */
  keep(bytes: Uint8Array, isProven = false): KeptBytes {
    const held: Held = { bytes: this.#copy(bytes, isProven), isProven, isUsed: false };
    this.#enter(held, bytes.length);
    return held;
  }

  /** The bytes, if they are still there. */
  use(kept: KeptBytes): Buffer | undefined {
    const held = kept as Held;
    const { bytes } = held;
    if (bytes === undefined) return undefined;
    if (held.isProven) held.isUsed = true;
    else {
      this.#trial.delete(held);
      this.#trialBytes -= bytes.length;
      held.isProven = true;
      held.bytes = this.#copy(bytes, true);
      this.#enter(held, bytes.length);
    }
    return held.bytes ?? bytes;
  }

  /** Nobody will ask for them any more. */
  release(kept: KeptBytes): void {
    const held = kept as Held;
    if (held.bytes === undefined) return;
    (held.isProven ? this.#proven : this.#trial).delete(held);
    this.#letGo(held, held.bytes.length);
  }

  #copy(bytes: Uint8Array, isProven: boolean): Buffer {
    const copy = isProven ? Buffer.allocUnsafeSlow(bytes.length) : this.#slab.take(bytes.length);
    copy.set(bytes);
    return copy;
  }

  #enter(held: Held, bytes: number): void {
    if (held.isProven) {
      this.#proven.add(held);
      this.#provenBytes += bytes;
      while (this.#provenBytes > this.#options.provenBytes) this.#leaveProven();
    } else {
      this.#trial.add(held);
      this.#trialBytes += bytes;
      while (this.#trialBytes > this.#options.trialBytes) this.#leave(this.#trial);
    }
  }

  #leaveProven(): void {
    const [oldest] = this.#proven;
    if (!oldest!.isUsed) return this.#leave(this.#proven);
    oldest!.isUsed = false;
    this.#proven.delete(oldest!);
    this.#proven.add(oldest!);
  }

  #leave(room: Set<Held>): void {
    const [oldest] = room;
    room.delete(oldest!);
    this.#letGo(oldest!, oldest!.bytes!.length);
  }

  #letGo(held: Held, bytes: number): void {
    if (held.isProven) this.#provenBytes -= bytes;
    else this.#trialBytes -= bytes;
    held.bytes = undefined;
  }
}
