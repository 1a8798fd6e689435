// Owns Kubernetes' IP and CIDR libraries of CEL (documentation "Kubernetes IP address library", "Kubernetes CIDR library").
import { BlockList, isIP, isIPv4, SocketAddress } from 'node:net';
import { define, type Library, member, overload } from '../functions.ts';
import { bool, int, opaque, string } from '../types.ts';
import { CelError, CelOpaque, type CelValue } from '../values.ts';

const ip = opaque('net.IP');
const cidr = opaque('net.CIDR');

class CelIp extends CelOpaque {
  readonly typeName = 'net.IP';
  /** The canonical text. */
  readonly text: string;
  constructor(text: string) {
    super();
    this.text = text;
  }
  override get size(): number {
    return this.family === 4 ? 4 : 16;
  }
  get family(): 4 | 6 {
    return isIPv4(this.text) ? 4 : 6;
  }
  override equals(other: CelOpaque): boolean {
    return other instanceof CelIp && other.text === this.text;
  }
}

class CelCidr extends CelOpaque {
  readonly typeName = 'net.CIDR';
  readonly ip: CelIp;
  readonly bits: number;
  constructor(address: CelIp, bits: number) {
    super();
    this.ip = address;
    this.bits = bits;
  }
  override get size(): number {
    return Math.ceil(this.bits / 8);
  }
  get family(): 'ipv4' | 'ipv6' {
    return this.ip.family === 4 ? 'ipv4' : 'ipv6';
  }
  contains(address: CelIp): boolean {
    const block = new BlockList();
    block.addSubnet(this.ip.text, this.bits, this.family);
    return address.family === this.ip.family && block.check(address.text, this.family);
  }
  /** The address with all bits behind the prefix cleared. */
  masked(): CelCidr {
    const size = this.ip.family === 4 ? 32n : 128n;
    const keep = size - BigInt(this.bits);
    return new CelCidr(addressOf((numberOf(this.ip) >> keep) << keep, this.ip.family), this.bits);
  }
  override equals(other: CelOpaque): boolean {
    return other instanceof CelCidr && other.bits === this.bits && other.ip.equals(this.ip);
  }
}

/** Zones, leading zeros and IPv4 in IPv6 are refused, as upstream refuses them. */
function readIp(text: string): CelIp | undefined {
  const family = isIP(text);
  if (family === 0 || text.includes('%')) return undefined;
  if (family === 4) return new CelIp(text);
  const canonical = new SocketAddress({ address: text, family: 'ipv6' }).address;
  const plain = new CelIp(withoutDots(canonical));
  return numberOf(plain) >> 32n === 0xffffn ? undefined : plain;
}

/** "::1.2.3.4" with its last two groups in hexadecimal digits. */
function withoutDots(text: string): string {
  return text.replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_, ...parts: string[]) => {
    const [a, b, c, d] = parts.slice(0, 4).map(Number);
    return `${((a! << 8) | b!).toString(16)}:${((c! << 8) | d!).toString(16)}`;
  });
}

function readCidr(text: string): CelCidr | undefined {
  const [address = '', bits = '', rest] = text.split('/');
  const found = readIp(address);
  if (found === undefined || rest !== undefined || !/^(0|[1-9]\d{0,2})$/.test(bits)) return undefined;
  return Number(bits) <= (found.family === 4 ? 32 : 128) ? new CelCidr(found, Number(bits)) : undefined;
}

function required<T>(text: CelValue | undefined, read: (text: string) => T | undefined, what: string): T {
  const found = read(text as string);
  if (found === undefined) throw new CelError(`${what} "${String(text)}" parse error`);
  return found;
}

function groups(text: string): bigint[] {
  const [head = '', tail] = text.split('::');
  const parts = (part: string) => (part === '' ? [] : part.split(':').map((group) => BigInt(`0x${group}`)));
  const before = parts(head);
  const after = tail === undefined ? [] : parts(tail);
  return [...before, ...new Array<bigint>(8 - before.length - after.length).fill(0n), ...after];
}

function numberOf({ family, text }: CelIp): bigint {
  if (family === 4) return text.split('.').reduce((sum, part) => sum * 256n + BigInt(part), 0n);
  return groups(text).reduce((sum, group) => sum * 65_536n + group, 0n);
}

function addressOf(value: bigint, family: 4 | 6): CelIp {
  const part = (shift: bigint, mask: bigint) => (value >> shift) & mask;
  if (family === 4) return new CelIp([24n, 16n, 8n, 0n].map((shift) => part(shift, 255n)).join('.'));
  const text = Array.from({ length: 8 }, (_, at) => part(BigInt(112 - 16 * at), 65_535n).toString(16)).join(':');
  return readIp(text)!;
}

const within = (address: CelIp, ...subnets: string[]): boolean =>
  subnets.some((subnet) => readCidr(subnet)!.contains(address));
const isMulticast = (address: CelIp) => within(address, '224.0.0.0/4', 'ff00::/8');
const isLoopback = (address: CelIp) => within(address, '127.0.0.0/8', '::1/128');
const isUnspecified = (address: CelIp) => address.text === '0.0.0.0' || address.text === '::';
const isLinkLocal = (address: CelIp) => within(address, '169.254.0.0/16', 'fe80::/10');
const isLinkLocalMulticast = (address: CelIp) => within(address, '224.0.0.0/24', 'ff02::/16');
const isGlobalUnicast = (address: CelIp) =>
  address.text !== '255.255.255.255' &&
  !isUnspecified(address) &&
  !isLoopback(address) &&
  !isMulticast(address) &&
  !isLinkLocal(address);

const judging = (name: string, judge: (address: CelIp) => boolean) =>
  define(
    name,
    member(ip, [], bool, ([address]) => judge(address as CelIp)),
  );

function containsCidr(outer: CelCidr, inner: CelCidr): boolean {
  return outer.bits <= inner.bits && outer.contains(inner.ip);
}

export const networks: Library = {
  name: 'kubernetes.net',
  functions: [
    define(
      'ip',
      overload([string], ip, ([text]) => required(text, readIp, 'IP Address')),
      member(cidr, [], ip, ([block]) => (block as CelCidr).ip),
    ),
    define(
      'isIP',
      overload([string], bool, ([text]) => readIp(text as string) !== undefined),
    ),
    define(
      'ip.isCanonical',
      overload([string], bool, ([text]) => required(text, readIp, 'IP Address').text === text),
    ),
    define(
      'family',
      member(ip, [], int, ([address]) => BigInt((address as CelIp).family)),
    ),
    judging('isUnspecified', isUnspecified),
    judging('isLoopback', isLoopback),
    judging('isLinkLocalMulticast', isLinkLocalMulticast),
    judging('isLinkLocalUnicast', isLinkLocal),
    judging('isGlobalUnicast', isGlobalUnicast),
    define(
      'cidr',
      overload([string], cidr, ([text]) => required(text, readCidr, 'network address')),
    ),
    define(
      'isCIDR',
      overload([string], bool, ([text]) => readCidr(text as string) !== undefined),
    ),
    define(
      'containsIP',
      member(cidr, [ip], bool, ([block, address]) => (block as CelCidr).contains(address as CelIp)),
      member(cidr, [string], bool, ([block, text]) =>
        (block as CelCidr).contains(required(text, readIp, 'IP Address')),
      ),
    ),
    define(
      'containsCIDR',
      member(cidr, [cidr], bool, ([outer, inner]) => containsCidr(outer as CelCidr, inner as CelCidr)),
      member(cidr, [string], bool, ([outer, text]) =>
        containsCidr(outer as CelCidr, required(text, readCidr, 'network address')),
      ),
    ),
    define(
      'prefixLength',
      member(cidr, [], int, ([block]) => BigInt((block as CelCidr).bits)),
    ),
    define(
      'masked',
      member(cidr, [], cidr, ([block]) => (block as CelCidr).masked()),
    ),
    define(
      'string',
      overload([ip], string, ([address]) => (address as CelIp).text),
      overload([cidr], string, ([block]) => `${(block as CelCidr).ip.text}/${(block as CelCidr).bits}`),
    ),
  ],
};
