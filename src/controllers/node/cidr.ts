// Owns cutting a cluster's address range into equal node ranges and remembering which are taken. Pure.
import { isIP } from 'node:net';

interface Range {
  readonly base: bigint;
  readonly prefix: number;
  readonly bits: 32 | 128;
}

function parseCidr(text: string): Range {
  const [address = '', length = ''] = text.split('/');
  const family = isIP(address);
  const bits = family === 6 ? 128 : 32;
  const prefix = Number(length);
  if (family === 0 || !/^\d+$/.test(length) || prefix > bits) throw new Error(`"${text}" is not a CIDR`);
  const mask = ((1n << BigInt(prefix)) - 1n) << BigInt(bits - prefix);
  return { base: addressNumber(address) & mask, prefix, bits };
}

/** Hands out the sub-ranges in turn; one that was released comes again only after all others. */
export class CidrPool {
  readonly #range: Range;
  readonly #nodePrefix: number;
  readonly #taken = new Set<number>();
  readonly #count: number;
  #next = 0;

  constructor(cidr: string, nodePrefix: number) {
    this.#range = parseCidr(cidr);
    this.#nodePrefix = nodePrefix;
    const bits = nodePrefix - this.#range.prefix;
    if (bits < 0 || nodePrefix > this.#range.bits)
      throw new Error(`node mask /${nodePrefix} does not fit into ${cidr}`);
    // 2^16 ranges are more than a cluster has nodes.
    this.#count = 2 ** Math.min(bits, 16);
  }

  get family(): 4 | 6 {
    return this.#range.bits === 32 ? 4 : 6;
  }

  /** Undefined when all are taken. */
  allocate(): string | undefined {
    for (let tried = 0; tried < this.#count; tried++) {
      const at = this.#next;
      this.#next = (this.#next + 1) % this.#count;
      if (this.#taken.has(at)) continue;
      this.#taken.add(at);
      const base = this.#range.base + (BigInt(at) << BigInt(this.#range.bits - this.#nodePrefix));
      return `${addressText(base, this.#range.bits)}/${this.#nodePrefix}`;
    }
    return undefined;
  }

  /** Marks what overlaps `cidr`; ranges outside of ours are none of our business. */
  occupy(cidr: string): void {
    for (const at of this.#overlapping(cidr)) this.#taken.add(at);
  }

  release(cidr: string): void {
    for (const at of this.#overlapping(cidr)) this.#taken.delete(at);
  }

  #overlapping(cidr: string): number[] {
    const other = parseCidr(cidr);
    if (other.bits !== this.#range.bits) return [];
    const shift = BigInt(this.#range.bits - this.#nodePrefix);
    const size = 1n << BigInt(other.bits - other.prefix);
    const first = (other.base - this.#range.base) >> shift;
    const last = (other.base + size - 1n - this.#range.base) >> shift;
    const result: number[] = [];
    const end = last < BigInt(this.#count) ? last : BigInt(this.#count - 1);
    for (let at = first < 0n ? 0n : first; at <= end; at++) result.push(Number(at));
    return result;
  }
}

function addressNumber(address: string): bigint {
  if (isIP(address) === 4) return address.split('.').reduce((total, part) => total * 256n + BigInt(part), 0n);
  const [head = '', tail] = address.split('::');
  const words = (text: string) => (text === '' ? [] : text.split(':').flatMap(wordsOf));
  const [left, right] = [words(head), words(tail ?? '')];
  const all = [...left, ...Array<number>(Math.max(0, 8 - left.length - right.length)).fill(0), ...right];
  return all.reduce((total, word) => total * 65536n + BigInt(word), 0n);
}

function wordsOf(part: string): number[] {
  if (!part.includes('.')) return [Number.parseInt(part, 16)];
  const [a = 0, b = 0, c = 0, d = 0] = part.split('.').map(Number);
  return [a * 256 + b, c * 256 + d];
}

function addressText(value: bigint, bits: 32 | 128): string {
  if (bits === 32) return [24n, 16n, 8n, 0n].map((shift) => String((value >> shift) & 255n)).join('.');
  const words = Array.from({ length: 8 }, (_, at) => ((value >> BigInt(112 - at * 16)) & 0xffffn).toString(16));
  // The longest run of zeros is cut out, as RFC 5952 wants.
  const runs = [...words.join(':').matchAll(/(?:^|:)(?:0(?::|$)){2,}/g)].sort((a, b) => b[0].length - a[0].length);
  const text = words.join(':');
  const run = runs[0];
  return run ? `${text.slice(0, run.index)}::${text.slice(run.index + run[0].length)}` : text;
}
