// Owns the arithmetic of address ranges: which addresses a CIDR has, in numbers. Pure.
import { isIPv4, isIPv6 } from 'node:net';

export interface IpRange {
  readonly family: 'IPv4' | 'IPv6';
  /** As written canonically: "10.96.0.0/16". */
  readonly cidr: string;
  /** Addresses that may be given out, counted from `at(0)`: all but the network's own and, for IPv4, the broadcast address. */
  readonly size: number;
  at(index: number): string;
  contains(address: string): boolean;
}

function toBigInt(address: string): bigint {
  if (isIPv4(address)) return address.split('.').reduce((value, part) => (value << 8n) | BigInt(part), 0n);
  const [head = '', tail] = address.split('::') as [string, string | undefined];
  const left = head === '' ? [] : head.split(':');
  const right = tail === undefined || tail === '' ? [] : tail.split(':');
  const middle = tail === undefined ? [] : Array.from({ length: 8 - left.length - right.length }, () => '0');
  return [...left, ...middle, ...right].reduce((value, part) => (value << 16n) | BigInt(`0x${part}`), 0n);
}

function toText(value: bigint, family: IpRange['family']): string {
  if (family === 'IPv4') return [24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 0xffn).join('.');
  const groups = Array.from({ length: 8 }, (_, at) => Number((value >> BigInt(112 - at * 16)) & 0xffffn));
  let best = { start: -1, length: 1 };
  for (let start = 0; start < 8; start++) {
    let length = 0;
    while (start + length < 8 && groups[start + length] === 0) length++;
    if (length > best.length) best = { start, length };
  }
  const hex = groups.map((group) => group.toString(16));
  if (best.start < 0) return hex.join(':');
  return `${hex.slice(0, best.start).join(':')}::${hex.slice(best.start + best.length).join(':')}`;
}

/** More addresses than this of one range are never given out. */
const maxSize = 2 ** 31;

/** Throws for text that is no CIDR. */
export function ipRange(cidr: string): IpRange {
  const [address = '', bitsText = ''] = cidr.trim().split('/') as [string, string | undefined];
  const family = isIPv4(address) ? 'IPv4' : isIPv6(address) ? 'IPv6' : undefined;
  const width = family === 'IPv4' ? 32 : 128;
  const bits = Number(bitsText);
  if (family === undefined || !/^\d+$/.test(bitsText) || bits > width) throw new Error(`"${cidr}" is no address range`);
  const hostBits = BigInt(width - bits);
  const base = (toBigInt(address) >> hostBits) << hostBits;
  const total = 1n << hostBits;
  const usable = total - (family === 'IPv4' ? 2n : 1n);
  const size = usable < 1n ? 0 : Number(usable < BigInt(maxSize) ? usable : BigInt(maxSize));
  return {
    family,
    cidr: `${toText(base, family)}/${bits}`,
    size,
    at: (index) => toText(base + 1n + BigInt(index), family),
    contains(other) {
      if (family === 'IPv4' ? !isIPv4(other) : !isIPv6(other)) return false;
      const value = toBigInt(other);
      return value > base && value < base + total - (family === 'IPv4' ? 1n : 0n);
    },
  };
}
