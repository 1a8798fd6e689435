// Owns chance as an input: seeded for simulation and replay, the system's for real use.
import { randomBytes } from 'node:crypto';

export interface Random {
  /** A number in [0, 1). */
  next(): number;
  /** `length` random bytes in a buffer of their own: nobody else sees them, and what the caller does to them. */
  bytes(length: number): Uint8Array;
}

/** Asking the system costs microseconds each time, and every request needs a few bytes: they are fetched in blocks. */
const blockBytes = 4096;
let block = new Uint8Array(0);
let used = 0;

export const systemRandom: Random = {
  next: () => Math.random(),
  bytes(length) {
    if (length > blockBytes / 8) return new Uint8Array(randomBytes(length));
    if (used + length > block.length) {
      // A plain array: a Buffer's slice would show the whole block to whoever asks for its memory.
      block = new Uint8Array(randomBytes(blockBytes));
      used = 0;
    }
    used += length;
    return block.slice(used - length, used);
  },
};

/** A reproducible source (mulberry32). Not for keys or tokens. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  const next32 = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return (mixed ^ (mixed >>> 14)) >>> 0;
  };
  return {
    next: () => next32() / 2 ** 32,
    bytes: (length) => Uint8Array.from({ length }, () => next32() & 0xff),
  };
}

/** An integer in [0, below). */
export function randomInteger(random: Random, below: number): number {
  return Math.floor(random.next() * below);
}

const hex = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

/** A version 4 UUID. */
export function randomUuid(random: Random): string {
  const bytes = random.bytes(16);
  bytes[6] = (bytes[6]! & 0x0f) | 0x40;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  let text = '';
  for (let i = 0; i < 16; i++) text += (i === 4 || i === 6 || i === 8 || i === 10 ? '-' : '') + hex[bytes[i]!];
  return text;
}

const nameAlphabet = 'bcdfghjklmnpqrstvwxz2456789';

/** The suffix that generateName gets: no vowels, no look-alikes. */
export function randomSuffix(random: Random, length = 5): string {
  return Array.from(random.bytes(length), (byte) => nameAlphabet[byte % nameAlphabet.length]).join('');
}
