// Owns the bytes of protobuf: a writer which fills its buffer from the end, so that lengths are known, and a bounded reader.

import { Slab } from '../../base/slab.ts';
import { isKept } from './json-parse.ts';

export class ProtobufError extends Error {
  override readonly name = 'ProtobufError';
}

/** How one value travels: `write` puts it without its tag (in front), `read` takes it. */
export interface ValueCodec {
  readonly wire: 0 | 1 | 2;
  write(writer: Writer, value: unknown): void;
  read(reader: Reader): unknown;
}

/** Stands for a struct of which nothing is set. */
export const absent = Symbol('absent');

/** Lent to one writer after another: messages are copied out at their own size, so that nobody keeps more than they need. */
let scratch: Buffer | undefined;
const scratchBytes = 16_384;
const largestScratch = 1024 * 1024;

/** Most messages are stored values, which stay for a while: in node's pool they would keep what lies beside them. */
const messages = new Slab();

/** Everything is written in front of what was written before: last field first. `finish` ends it. */
export class Writer {
  #buffer: Buffer;
  #at: number;

  constructor() {
    this.#buffer = scratch ?? Buffer.allocUnsafeSlow(scratchBytes);
    // One that fails never gives it back.
    scratch = undefined;
    this.#at = this.#buffer.length;
  }

  /** Bytes written so far. */
  get length(): number {
    return this.#buffer.length - this.#at;
  }

  finish(): Buffer {
    const message = messages.take(this.length);
    this.#buffer.copy(message, 0, this.#at);
    if (this.#buffer.length <= largestScratch) scratch = this.#buffer;
    return message;
  }

  #reserve(count: number): number {
    if (count > this.#at) {
      const used = this.length;
      const size = Math.max(this.#buffer.length * 2, used + count);
      const larger = Buffer.allocUnsafe(size);
      this.#buffer.copy(larger, size - used, this.#at);
      this.#buffer = larger;
      this.#at = size - used;
    }
    this.#at -= count;
    return this.#at;
  }

  tag(number: number, wire: number): void {
    this.uint32(((number << 3) | wire) >>> 0);
  }

  uint32(value: number): void {
    const count = value < 0x80 ? 1 : value < 0x4000 ? 2 : value < 0x200000 ? 3 : value < 0x10000000 ? 4 : 5;
    let at = this.#reserve(count);
    let rest = value;
    for (let left = count; left > 1; left--) {
      this.#buffer[at++] = (rest & 0x7f) | 0x80;
      rest >>>= 7;
    }
    this.#buffer[at] = rest;
  }

  /** A signed number of up to 64 bits; negative ones take ten bytes. */
  int64(value: number): void {
    if (value >= 0 && value <= 0xffffffff) this.uint32(value);
    else {
      let rest = BigInt.asUintN(64, BigInt(value));
      const bytes: number[] = [];
      while (rest >= 0x80n) {
        bytes.push(Number(rest & 0x7fn) | 0x80);
        rest >>= 7n;
      }
      bytes.push(Number(rest));
      const at = this.#reserve(bytes.length);
      for (let position = 0; position < bytes.length; position++) this.#buffer[at + position] = bytes[position]!;
    }
  }

  double(value: number): void {
    const at = this.#reserve(8);
    this.#buffer.writeDoubleLE(value, at);
  }

  /** The text with its length in front. */
  text(value: string): void {
    const { length } = value;
    if (length < 48) {
      const at = this.#reserve(length);
      let position = 0;
      for (; position < length; position++) {
        const code = value.charCodeAt(position);
        if (code > 0x7f) break;
        this.#buffer[at + position] = code;
      }
      if (position === length) {
        this.uint32(length);
        return;
      }
      this.#at = at + length;
    }
    const size = Buffer.byteLength(value, 'utf8');
    // Room first: it may change the buffer.
    const start = this.#reserve(size);
    this.#buffer.write(value, start, size, 'utf8');
    this.uint32(size);
  }

  /** The bytes with their length in front. */
  bytes(value: Uint8Array): void {
    const at = this.#reserve(value.length);
    this.#buffer.set(value, at);
    this.uint32(value.length);
  }

  raw(value: Uint8Array): void {
    const at = this.#reserve(value.length);
    this.#buffer.set(value, at);
  }
}

export class Reader {
  readonly buffer: Buffer;
  at: number;
  end: number;

  constructor(bytes: Uint8Array) {
    this.buffer = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.at = 0;
    this.end = this.buffer.length;
  }

  /** A varint that must fit 32 bits: tags and lengths. */
  uint32(): number {
    const first = this.at < this.end ? this.buffer[this.at]! : 0x80;
    if (first < 0x80) {
      this.at++;
      return first;
    }
    const value = this.#varint();
    if (value > 0xffffffffn) throw new ProtobufError('proto: integer overflow');
    return Number(value);
  }

  /** A signed 64-bit number, when a double holds it. */
  int64(): number {
    const first = this.at < this.end ? this.buffer[this.at]! : 0x80;
    if (first < 0x80) {
      this.at++;
      return first;
    }
    const value = BigInt.asIntN(64, this.#varint());
    if (!isKept(value)) throw new ProtobufError(`the whole number ${value} is beyond what is kept exactly`);
    return Number(value);
  }

  #varint(): bigint {
    let low = 0;
    let at = this.at;
    // Four bytes are 28 bits: plain numbers do.
    for (let shift = 0; shift < 28; shift += 7) {
      if (at >= this.end) throw new ProtobufError('unexpected EOF');
      const byte = this.buffer[at++]!;
      low |= (byte & 0x7f) << shift;
      if (byte < 0x80) {
        this.at = at;
        return BigInt(low);
      }
    }
    let value = BigInt(low);
    for (let shift = 28n; shift < 70n; shift += 7n) {
      if (at >= this.end) throw new ProtobufError('unexpected EOF');
      const byte = this.buffer[at++]!;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) {
        this.at = at;
        return BigInt.asUintN(64, value);
      }
    }
    throw new ProtobufError('proto: integer overflow');
  }

  double(): number {
    this.#need(8);
    this.at += 8;
    return this.buffer.readDoubleLE(this.at - 8);
  }

  text(): string {
    const size = this.uint32();
    this.#need(size);
    const start = this.at;
    this.at += size;
    return this.buffer.toString('utf8', start, this.at);
  }

  /** A view of the bytes, not a copy. */
  bytes(): Buffer {
    const size = this.uint32();
    this.#need(size);
    this.at += size;
    return this.buffer.subarray(this.at - size, this.at);
  }

  /** Enters a length-delimited part; returns the end to `leave` to. */
  enter(): number {
    const size = this.uint32();
    this.#need(size);
    const outer = this.end;
    this.end = this.at + size;
    return outer;
  }

  leave(outer: number): void {
    this.at = this.end;
    this.end = outer;
  }

  skip(wire: number): void {
    if (wire === 0) this.#varint();
    else if (wire === 1) this.#advance(8);
    else if (wire === 2) this.#advance(this.uint32());
    else if (wire === 5) this.#advance(4);
    else throw new ProtobufError(`proto: illegal wireType ${wire}`);
  }

  #advance(count: number): void {
    this.#need(count);
    this.at += count;
  }

  #need(count: number): void {
    if (count > this.end - this.at) throw new ProtobufError('unexpected EOF');
  }
}
