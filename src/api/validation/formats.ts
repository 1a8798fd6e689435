// Owns the forms of names, labels, keys, ports and addresses: each check returns what is wrong, a line each, or nothing.
import { isIPv4, isIPv6 } from 'node:net';

const none: readonly string[] = [];

function pattern(form: RegExp, max: number, says: string): (value: string) => readonly string[] {
  return (value) => {
    const long = value.length > max;
    const formed = form.test(value);
    if (!long && formed) return none;
    return [...(long ? [`must be no more than ${max} bytes`] : []), ...(formed ? [] : [says])];
  };
}

export const dnsLabel = pattern(
  /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/,
  63,
  "must be lower case alphanumeric characters or '-', starting and ending with an alphanumeric (RFC 1123 label)",
);

export const dnsSubdomain = pattern(
  /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/,
  253,
  "must be lower case alphanumeric characters, '-' or '.', starting and ending with an alphanumeric (RFC 1123 subdomain)",
);

export const dnsSubdomainWithUnderscore = pattern(
  /^[a-z0-9_]([-a-z0-9_]*[a-z0-9_])?(\.[a-z0-9_]([-a-z0-9_]*[a-z0-9_])?)*$/,
  253,
  "must be lower case alphanumeric characters, '_', '-' or '.', starting and ending with an alphanumeric or '_'",
);

export const dns1035Label = pattern(
  /^[a-z]([-a-z0-9]*[a-z0-9])?$/,
  63,
  "must be lower case alphanumeric characters or '-', starting with a letter and ending with an alphanumeric (RFC 1035 label)",
);

const labelValueForm = pattern(
  /^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$/,
  63,
  "a valid label must be empty or alphanumeric characters, '-', '_' or '.', starting and ending with an alphanumeric",
);
export const labelValue = (value: string): readonly string[] => (value === '' ? none : labelValueForm(value));

const namePart = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;

/** "name" or "prefix.example/name". */
export function qualifiedName(value: string): readonly string[] {
  const parts = value.split('/');
  if (parts.length > 2) return ["must be a name, optionally with a DNS subdomain prefix and '/' before it"];
  const problems: string[] = [];
  const name = parts.at(-1)!;
  if (parts.length === 2) {
    const prefix = parts[0]!;
    if (prefix === '') problems.push('prefix part must be non-empty');
    else problems.push(...dnsSubdomain(prefix).map((problem) => `prefix part ${problem}`));
  }
  if (name === '') problems.push('name part must be non-empty');
  else if (name.length > 63) problems.push('name part must be no more than 63 bytes');
  if (!namePart.test(name))
    problems.push(
      "name part must be alphanumeric characters, '-', '_' or '.', starting and ending with an alphanumeric",
    );
  return problems.length === 0 ? none : problems;
}

/** Names that take a generated suffix may end with a dash. */
const unprefixed = (name: string, isPrefix: boolean): string => (isPrefix ? name.replace(/-$/, 'a') : name);

export const subdomainName = (name: string, isPrefix = false): readonly string[] =>
  dnsSubdomain(unprefixed(name, isPrefix));
export const labelName = (name: string, isPrefix = false): readonly string[] => dnsLabel(unprefixed(name, isPrefix));

/** Keys of ConfigMaps and Secrets, which become file names. */
export function dataKey(value: string): readonly string[] {
  const problems: string[] = [];
  if (value.length > 253) problems.push('must be no more than 253 bytes');
  if (!/^[-._a-zA-Z0-9]+$/.test(value))
    problems.push("a valid config key must consist of alphanumeric characters, '-', '_' or '.'");
  problems.push(...dotted(value));
  return problems;
}

function dotted(value: string): readonly string[] {
  if (value === '.') return ["must not be '.'"];
  if (value === '..') return ["must not be '..'"];
  return value.startsWith('..') ? ["must not start with '..'"] : none;
}

/** Names of environment variables, relaxed since 1.34: any printable ASCII but "=". */
export function envName(value: string): readonly string[] {
  if (value === '') return ['environment variable name must be non-empty'];
  return /^[ -<>-~]+$/.test(value) ? none : ["a valid environment variable name is printable ASCII without '='"];
}

export const portNumber = (value: number): readonly string[] =>
  value >= 1 && value <= 65535 ? none : ['must be between 1 and 65535, inclusive'];

/** Names of ports (IANA service names, RFC 6335). */
export function portName(value: string): readonly string[] {
  const problems: string[] = [];
  if (value.length > 15) problems.push('must be no more than 15 bytes');
  if (!/^[-a-z0-9]+$/.test(value))
    problems.push('must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)');
  if (!/[a-z]/.test(value)) problems.push('must contain at least one letter (a-z)');
  if (value.includes('--')) problems.push('must not contain consecutive hyphens');
  if (value.startsWith('-') || value.endsWith('-')) problems.push('must not begin or end with a hyphen');
  return problems;
}

export const httpHeaderName = (value: string): readonly string[] =>
  /^[-A-Za-z0-9]+$/.test(value) ? none : ["a valid HTTP header must consist of alphanumeric characters or '-'"];

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

export function ipFamily(value: string): IpFamily | undefined {
  if (isIPv4(value)) return 'IPv4';
  return isIPv6(value) ? 'IPv6' : undefined;
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
