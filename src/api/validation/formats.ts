// Owns the forms of ports, ids and addresses: each check returns what is wrong, a line each, or nothing. Names and labels: api/names.ts.
import { isIPv4, isIPv6 } from 'node:net';

const none: readonly string[] = [];

export const portNumber = (value: number): readonly string[] =>
  value >= 1 && value <= 65535 ? none : ['must be between 1 and 65535, inclusive'];

/** User and group ids. */
export const posixId = (value: number): readonly string[] =>
  value >= 0 && value <= 2147483647 ? none : ['must be between 0 and 2147483647, inclusive'];

/** Strict: no leading zeros, no IPv4 in IPv6 form. */
export const isIpAddress = (value: string): boolean => isIPv4(value) || isPlainIPv6(value);

const isPlainIPv6 = (value: string): boolean =>
  isIPv6(value) && !value.includes('%') && addressBits(value) >> 32n !== 0xffffn;

export const ipAddress = (value: string): readonly string[] =>
  isIpAddress(value) ? none : ['must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)'];

export type IpFamily = 'IPv4' | 'IPv6';

/** Addresses with a zone are none: objects are read elsewhere than where they are written. */
export function ipFamily(value: string): IpFamily | undefined {
  if (isIPv4(value)) return 'IPv4';
  return isIPv6(value) && !value.includes('%') ? 'IPv6' : undefined;
}

/** Strict: the prefix has no leading zeros and the bits beyond it are zero. */
export function cidr(value: string): readonly string[] {
  const slash = value.indexOf('/');
  const address = value.slice(0, slash);
  const bits = value.slice(slash + 1);
  const width = isIPv4(address) ? 32 : isPlainIPv6(address) ? 128 : 0;
  const formed = slash > 0 && width > 0 && /^(0|[1-9]\d{0,2})$/.test(bits) && Number(bits) <= width;
  if (!formed) return ['must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)'];
  const mask = (1n << BigInt(width - Number(bits))) - 1n;
  return (addressBits(address) & mask) === 0n ? none : ['must not have bits set beyond the prefix length'];
}

/** The address as a number, 32 or 128 bits wide. */
export function addressBits(address: string): bigint {
  if (isIPv4(address)) return address.split('.').reduce((bits, part) => (bits << 8n) | BigInt(part), 0n);
  let text = address;
  const embedded = /[^:]+\.[^:]+$/.exec(text)?.[0];
  if (embedded !== undefined) {
    const four = addressBits(embedded);
    text = `${text.slice(0, -embedded.length)}${(four >> 16n).toString(16)}:${(four & 0xffffn).toString(16)}`;
  }
  const [head = '', tail] = text.split('::');
  const left = head === '' ? [] : head.split(':');
  const right = tail === undefined || tail === '' ? [] : tail.split(':');
  const groups = [...left, ...Array<string>(8 - left.length - right.length).fill('0'), ...right];
  return groups.reduce((bits, group) => (bits << 16n) | BigInt(`0x${group}`), 0n);
}

/** Addresses that make no sense to outsiders: unspecified, loopback, link-local. */
export function specialAddress(text: string): readonly string[] {
  // Upstream reads leading zeros here, which it has refused by then.
  const value = /^\d+(\.\d+){3}$/.test(text) ? text.split('.').map(Number).join('.') : text;
  const family = ipFamily(value);
  if (family === undefined) return ['must be a valid IP address'];
  const bits = addressBits(value);
  const within = (range: string): boolean => {
    const [base = '', length = '0'] = range.split('/');
    const width = family === 'IPv4' ? 32 : 128;
    const shift = BigInt(width - Number(length));
    return bits >> shift === addressBits(base) >> shift;
  };
  return specialRanges[family]
    .filter(([range]) => within(range))
    .map(([range, name]) => `may not be ${name} (${range})`);
}

const specialRanges: Readonly<Record<IpFamily, readonly (readonly [range: string, name: string])[]>> = {
  IPv4: [
    ['0.0.0.0/32', 'unspecified'],
    ['127.0.0.0/8', 'in the loopback range'],
    ['169.254.0.0/16', 'in the link-local range'],
    ['224.0.0.0/24', 'in the link-local multicast range'],
  ],
  IPv6: [
    ['::/128', 'unspecified'],
    ['::1/128', 'in the loopback range'],
    ['fe80::/10', 'in the link-local range'],
    ['ff02::/16', 'in the link-local multicast range'],
  ],
};
