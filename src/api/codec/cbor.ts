// Owns CBOR (RFC 8949) as the API uses it (KEP-4222): JSON's values, texts as byte strings, self-described, bounded.
import { isUtf8 } from 'node:buffer';
import { setOwn } from '../meta.ts';
import { badRequest } from '../status-error.ts';
import { wholeNumber } from './json-parse.ts';

const selfDescribed = Buffer.from([0xd9, 0xd9, 0xf7]);
const maxDepth = 1_000;
/** Expected later encoding (RFC 8949, 3.4.5.2). */
const laterForms: ReadonlyMap<number, BufferEncoding> = new Map([
  [21, 'base64url'],
  [22, 'base64'],
  [23, 'hex'],
]);

/** Throws StatusError 400 for malformed bytes, duplicate keys, or values that JSON has not. */
export function decodeCbor(bytes: Uint8Array): unknown {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const reader = new CborReader(buffer);
  const value = reader.value(0);
  if (reader.at !== buffer.length) throw malformed('data behind the value');
  return value;
}

function malformed(why: string): Error {
  return badRequest(`error decoding CBOR: ${why}`);
}

class CborReader {
  readonly #buffer: Buffer;
  at = 0;

  constructor(buffer: Buffer) {
    this.#buffer = buffer;
  }

  value(depth: number): unknown {
    if (depth > maxDepth) throw malformed('exceeded max depth');
    const first = this.#byte();
    const major = first >> 5;
    const info = first & 31;
    switch (major) {
      case 0:
      case 1:
        return this.#integer(info, major === 1);
      case 2:
        // Go's strings travel as byte strings, so that nobody has to check them.
        return this.#bytes(info, 2).toString('utf8');
      case 3:
        return this.#text(info);
      case 4:
        return this.#list(info, depth);
      case 5:
        return this.#map(info, depth);
      case 6:
        return this.#tagged(this.#argument(info), depth);
      default:
        return this.#simple(info);
    }
  }

  #byte(): number {
    if (this.at >= this.#buffer.length) throw malformed('unexpected EOF');
    return this.#buffer[this.at++]!;
  }

  #take(count: number): Buffer {
    if (count > this.#buffer.length - this.at) throw malformed('unexpected EOF');
    this.at += count;
    return this.#buffer.subarray(this.at - count, this.at);
  }

  #argument(info: number): number {
    if (info < 24) return info;
    if (info === 24) return this.#byte();
    if (info === 25) return this.#take(2).readUInt16BE(0);
    if (info === 26) return this.#take(4).readUInt32BE(0);
    if (info === 27) return Number(this.#take(8).readBigUInt64BE(0));
    throw malformed('reserved length');
  }

  #integer(info: number, isNegative: boolean): number | bigint {
    if (info !== 27) return isNegative ? -1 - this.#argument(info) : this.#argument(info);
    const argument = this.#take(8).readBigUInt64BE(0);
    if (argument >= 2n ** 63n) throw malformed('a whole number of more than 64 bits');
    return wholeNumber(isNegative ? -1n - argument : argument);
  }

  #bytes(info: number, major: number): Buffer {
    if (info !== 31) return this.#take(this.#argument(info));
    const parts: Buffer[] = [];
    for (let first = this.#byte(); first !== 0xff; first = this.#byte()) {
      if (first >> 5 !== major) throw malformed('a part of another type');
      parts.push(this.#take(this.#argument(first & 31)));
    }
    return Buffer.concat(parts);
  }

  #text(info: number): string {
    const bytes = this.#bytes(info, 3);
    if (!isUtf8(bytes)) throw malformed('text that is no UTF-8');
    return bytes.toString('utf8');
  }

  /** Tags 21 to 23 say in which form bytes stand in JSON; those of great numbers are not taken, others say nothing. */
  #tagged(tag: number, depth: number): unknown {
    if (tag === 2 || tag === 3) throw malformed('a number of any size');
    const form = laterForms.get(tag);
    if (form === undefined || this.#buffer[this.at]! >> 5 !== 2) return this.value(depth + 1);
    return this.#bytes(this.#byte() & 31, 2).toString(form);
  }

  #list(info: number, depth: number): unknown[] {
    const result: unknown[] = [];
    const count = info === 31 ? Number.POSITIVE_INFINITY : this.#argument(info);
    for (let at = 0; at < count && !this.#ends(info); at++) result.push(this.value(depth + 1));
    return result;
  }

  #ends(info: number): boolean {
    if (info !== 31 || this.#buffer[this.at] !== 0xff) return false;
    this.at++;
    return true;
  }

  #map(info: number, depth: number): Record<string, unknown> {
    const result: Record<string, unknown> = {};
    const count = info === 31 ? Number.POSITIVE_INFINITY : this.#argument(info);
    for (let at = 0; at < count && !this.#ends(info); at++) {
      const first = this.#byte();
      if (first >> 5 !== 2 && first >> 5 !== 3) throw malformed('a key that is no text');
      const key = this.#bytes(first & 31, first >> 5).toString('utf8');
      if (Object.hasOwn(result, key)) throw malformed(`duplicate key ${JSON.stringify(key.slice(0, 100))}`);
      setOwn(result, key, this.value(depth + 1));
    }
    return result;
  }

  #simple(info: number): unknown {
    if (info === 20) return false;
    if (info === 21) return true;
    if (info === 22) return null;
    let value: number;
    if (info === 25) value = half(this.#take(2).readUInt16BE(0));
    else if (info === 26) value = this.#take(4).readFloatBE(0);
    else if (info === 27) value = this.#take(8).readDoubleBE(0);
    else throw malformed('a simple value that JSON has not');
    if (!Number.isFinite(value)) throw malformed('a number that JSON has not');
    return value;
  }
}

function half(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 0x3ff;
  if (exponent === 31) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  return exponent === 0 ? sign * fraction * 2 ** -24 : sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

/** Self-described CBOR of a JSON value. */
export function encodeCbor(value: unknown): Buffer {
  const parts: Buffer[] = [selfDescribed];
  write(value, parts);
  return Buffer.concat(parts);
}

function write(value: unknown, parts: Buffer[]): void {
  if (value === null || value === undefined) parts.push(Buffer.of(0xf6));
  else if (typeof value === 'boolean') parts.push(Buffer.of(value ? 0xf5 : 0xf4));
  else if (typeof value === 'number') parts.push(numberBytes(value));
  else if (typeof value === 'bigint') parts.push(value >= 0n ? longHead(0, value) : longHead(1, -1n - value));
  else if (typeof value === 'string') {
    const bytes = Buffer.from(value, 'utf8');
    parts.push(head(2, bytes.length), bytes);
  } else if (Array.isArray(value)) {
    parts.push(head(4, value.length));
    for (const item of value) write(item, parts);
  } else {
    const entries = Object.entries(value as object).filter(([, item]) => item !== undefined);
    parts.push(head(5, entries.length));
    for (const [key, item] of entries) {
      write(key, parts);
      write(item, parts);
    }
  }
}

function numberBytes(value: number): Buffer {
  if (Number.isSafeInteger(value)) return value >= 0 ? head(0, value) : head(1, -1 - value);
  const bytes = Buffer.alloc(9);
  bytes[0] = 0xfb;
  bytes.writeDoubleBE(value, 1);
  return bytes;
}

function head(major: number, argument: number): Buffer {
  const type = major << 5;
  if (argument < 24) return Buffer.of(type | argument);
  if (argument < 0x100) return Buffer.of(type | 24, argument);
  if (argument < 0x10000) return Buffer.of(type | 25, argument >> 8, argument & 0xff);
  if (argument < 0x100000000) {
    const bytes = Buffer.alloc(5);
    bytes[0] = type | 26;
    bytes.writeUInt32BE(argument, 1);
    return bytes;
  }
  return longHead(major, BigInt(argument));
}

function longHead(major: number, argument: bigint): Buffer {
  const bytes = Buffer.alloc(9);
  bytes[0] = (major << 5) | 27;
  bytes.writeBigUInt64BE(argument, 1);
  return bytes;
}
