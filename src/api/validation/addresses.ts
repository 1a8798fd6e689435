// Owns addresses and ranges in validated fields: canonical forms, strict checks, and the warnings about forms that are not canonical.
import { isIPv4, isIPv6 } from 'node:net';
import { addressBits, cidr, ipAddress } from './formats.ts';
import type { Problems } from './problems.ts';

/** RFC 5952: lower case, no leading zeros, the longest run of zero groups cut out. */
function canonicalIPv6(bits: bigint): string {
  const groups = Array.from({ length: 8 }, (_, at) => Number((bits >> BigInt(112 - at * 16)) & 0xffffn));
  let best = { at: -1, length: 1 };
  for (let at = 0; at < 8; at++) {
    let length = 0;
    while (groups[at + length] === 0) length++;
    if (length > best.length) best = { at, length };
  }
  const text = (part: readonly number[]): string => part.map((group) => group.toString(16)).join(':');
  if (best.at < 0) return text(groups);
  return `${text(groups.slice(0, best.at))}::${text(groups.slice(best.at + best.length))}`;
}

/** The one form in which upstream writes an address; undefined for what is none. */
export function canonicalAddress(address: string): string | undefined {
  if (isIPv4(address)) return address;
  return isIPv6(address) && !address.includes('%') ? canonicalIPv6(addressBits(address)) : undefined;
}

/** As `canonicalAddress`, for "address/bits", with the bits beyond the prefix kept. */
export function canonicalCidr(value: string): string | undefined {
  const slash = value.lastIndexOf('/');
  const address = slash < 0 ? undefined : canonicalAddress(value.slice(0, slash));
  return address === undefined ? undefined : `${address}${value.slice(slash)}`;
}

/** For new fields: strict, and in the canonical form. */
export function validateCanonicalCidr(problems: Problems, path: string, value: string): void {
  const wrong = cidr(value);
  problems.each(path, value, wrong);
  const canonical = wrong.length === 0 ? canonicalCidr(value) : undefined;
  if (canonical !== undefined && canonical !== value)
    problems.invalid(path, value, `must be in canonical form ("${canonical}")`);
}

/** IPv6 in another form than the canonical one is accepted in old fields, with a warning. */
export function cidrWarnings(path: string, value: string): string[] {
  const canonical = canonicalCidr(value);
  if (canonical === undefined || canonical === value || cidr(value).length > 0) return [];
  return [`${path}: IPv6 CIDR value "${value}" should be in RFC 5952 canonical format ("${canonical}")`];
}

export function addressWarnings(path: string, value: string): string[] {
  const canonical = canonicalAddress(value);
  if (canonical === undefined || canonical === value || ipAddress(value).length > 0) return [];
  return [`${path}: IPv6 address "${value}" should be in RFC 5952 canonical format ("${canonical}")`];
}

interface Range {
  readonly first: bigint;
  readonly bits: number;
  readonly width: number;
}

function rangeOf(value: string): Range {
  const [address = '', bits = '0'] = value.split('/');
  return { first: addressBits(address), bits: Number(bits), width: isIPv4(address) ? 32 : 128 };
}

/** Both are valid ranges: `inner` lies within `outer` and is smaller. */
export function isStrictSubset(inner: string, outer: string): boolean {
  const [small, large] = [rangeOf(inner), rangeOf(outer)];
  if (small.width !== large.width || small.bits <= large.bits) return false;
  const shift = BigInt(large.width - large.bits);
  return small.first >> shift === large.first >> shift;
}
