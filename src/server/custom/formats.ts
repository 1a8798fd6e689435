// Owns the named formats of OpenAPI strings that Kubernetes checks (kube-openapi's strfmt). Unknown formats are ignored.
import { isIPv4, isIPv6 } from 'node:net';
import { dnsLabel, dnsSubdomain } from '../../api/names.ts';
import { parseDuration, parseInstant } from '../../api/time.ts';

type Judge = (text: string) => boolean;

const form =
  (pattern: RegExp): Judge =>
  (text) =>
    pattern.test(text);

const uuid = (version: string): Judge =>
  form(new RegExp(`^[0-9a-f]{8}-?[0-9a-f]{4}-?${version}[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}$`, 'i'));

function isDate(text: string): boolean {
  return /^\d{4}-\d\d-\d\d$/.test(text) && parseInstant(`${text}T00:00:00Z`) !== undefined;
}

function isDateTime(text: string): boolean {
  const upper = text.toUpperCase();
  const found = /^\d{4}-\d\d-\d\dT(\d\d):(\d\d):(\d\d)(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/.exec(upper);
  if (found === null) return false;
  const [, hour, minute, second] = found;
  return isDate(upper.slice(0, 10)) && Number(hour) < 24 && Number(minute) < 60 && Number(second) < 60;
}

/** Go's net.ParseIP of older releases: leading zeros are taken. */
function isOldIPv4(text: string): boolean {
  const parts = text.split('.');
  return parts.length === 4 && parts.every((part) => /^\d{1,3}$/.test(part) && Number(part) < 256);
}

function isCidr(text: string): boolean {
  const [address, bits, ...rest] = text.split('/');
  if (address === undefined || bits === undefined || rest.length > 0 || !/^\d{1,3}$/.test(bits)) return false;
  if (isIPv4(address)) return Number(bits) <= 32;
  return isIPv6(address) && !address.includes('%') && Number(bits) <= 128;
}

const hex = '[0-9A-Fa-f]{2}';
const isMac = form(
  new RegExp(
    `^(?:${hex}([:-])(?:${hex}\\1){4}(?:${hex}\\1){0,2}${hex}|(?:[0-9A-Fa-f]{4}\\.){2}(?:[0-9A-Fa-f]{4}\\.)?[0-9A-Fa-f]{4})$`,
  ),
);

function isHostname(text: string): boolean {
  if (text.length > 255 || text === '') return false;
  return text
    .replace(/\.$/, '')
    .split('.')
    .every((label) =>
      /^[a-zA-Z0-9_\u00a1-\uffff](?:[a-zA-Z0-9_\u00a1-\uffff-]{0,61}[a-zA-Z0-9_\u00a1-\uffff])?$/.test(label),
    );
}

/** An address as mail programs read it, with or without a name before it. */
function isEmail(text: string): boolean {
  const found = /^(?:[^<>]*<([^<>]+)>|([^<>]+))$/.exec(text.trim());
  const address = found?.[1] ?? found?.[2] ?? '';
  return /^(?:[A-Za-z0-9!#$%&'*+/=?^_`{|}~\u0080-\uffff-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~\u0080-\uffff-]+)*|"(?:[^"\\]|\\.)*")@[A-Za-z0-9!#$%&'*+/=?^_`{|}~\u0080-\uffff-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~\u0080-\uffff-]+)*$/.test(
    address,
  );
}

/** As Go's url.ParseRequestURI: absolute, or a path. */
function isUri(text: string): boolean {
  if (text === '' || /\p{Cc}/u.test(text) || /%(?![0-9A-Fa-f]{2})/.test(text)) return false;
  if (text.startsWith('/') || text === '*') return true;
  const scheme = /^([a-zA-Z][a-zA-Z0-9+.-]*):(.*)$/.exec(text);
  if (scheme === null) return false;
  const rest = scheme[2]!;
  if (!rest.startsWith('/')) return rest !== '' || true;
  if (!rest.startsWith('//')) return true;
  const authority = rest.slice(2).split(/[/?#]/)[0]!;
  const host = authority.slice(authority.lastIndexOf('@') + 1);
  return !/[\s<>"]/.test(host) && /^(?:\[[^\]]*\]|[^:[\]]*)(?::\d*)?$/.test(host);
}

const isByte = form(/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$/);

const second = 1_000_000_000n;
/** Units by their names; of each, the last may have more letters behind it ("minutes"). */
const units: readonly (readonly [names: readonly string[], nanos: bigint])[] = [
  [['ns', 'nano'], 1n],
  [['us', 'µs', 'micro'], 1_000n],
  [['ms', 'milli'], 1_000_000n],
  [['s', 'sec'], second],
  [['m', 'min'], 60n * second],
  [['h', 'hr', 'hour'], 3_600n * second],
  [['d', 'day'], 86_400n * second],
  [['w', 'wk', 'week'], 604_800n * second],
];

/** Nanoseconds of Go's durations, and of texts in which whole numbers with units in words can be found; undefined for others. */
export function durationNanos(text: string): bigint | undefined {
  const plain = parseDuration(text);
  if (plain !== undefined) return plain;
  let total: bigint | undefined;
  for (const [, count, word] of text.matchAll(/(\d+)\s*([A-Za-zµ]+)/g)) {
    const unit = word!.toLowerCase();
    for (const [names, nanos] of units)
      if (names.includes(unit) || unit.startsWith(names.at(-1)!)) total = (total ?? 0n) + BigInt(count!) * nanos;
  }
  return total;
}

const isDuration: Judge = (text) => durationNanos(text) !== undefined;

function isLuhn(text: string): boolean {
  const digits = text.replace(/[^0-9]+/g, '');
  if (
    !/^(?:4\d{12}(?:\d{3})?|5[1-5]\d{14}|(?:222[1-9]|22[3-9]\d|2[3-6]\d\d|27[01]\d|2720)\d{12}|6(?:011|5\d\d)\d{12}|3[47]\d{13}|3(?:0[0-5]|[68]\d)\d{11}|(?:2131|1800|35\d{3})\d{11}|6[27]\d{14})$/.test(
      digits,
    )
  )
    return false;
  let sum = 0;
  for (let at = 0; at < digits.length; at++) {
    let digit = Number(digits[digits.length - 1 - at]);
    if (at % 2 === 1) digit = digit * 2 > 9 ? digit * 2 - 9 : digit * 2;
    sum += digit;
  }
  return sum % 10 === 0;
}

function isIsbn10(text: string): boolean {
  const plain = text.replace(/[\s-]+/g, '');
  if (!/^\d{9}[\dX]$/.test(plain)) return false;
  let sum = 0;
  for (let at = 0; at < 9; at++) sum += (at + 1) * Number(plain[at]);
  sum += 10 * (plain[9] === 'X' ? 10 : Number(plain[9]));
  return sum % 11 === 0;
}

function isIsbn13(text: string): boolean {
  const plain = text.replace(/[\s-]+/g, '');
  if (!/^\d{13}$/.test(plain)) return false;
  let sum = 0;
  for (let at = 0; at < 12; at++) sum += (at % 2 === 0 ? 1 : 3) * Number(plain[at]);
  return (10 - (sum % 10)) % 10 === Number(plain[12]);
}

const channel = '(?:25[0-5]|2[0-4]\\d|1\\d\\d|\\d{1,2})';
const always: Judge = () => true;

const judges: ReadonlyMap<string, Judge> = new Map<string, Judge>([
  ['date', isDate],
  ['datetime', isDateTime],
  ['byte', isByte],
  ['password', always],
  ['duration', isDuration],
  ['uuid', uuid('[0-9a-f]')],
  ['uuid3', uuid('3')],
  ['uuid4', form(/^[0-9a-f]{8}-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$/i)],
  ['uuid5', form(/^[0-9a-f]{8}-?[0-9a-f]{4}-?5[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$/i)],
  ['ipv4', isOldIPv4],
  ['ipv6', (text) => isIPv6(text) && !text.includes('%')],
  ['cidr', isCidr],
  ['mac', isMac],
  ['hostname', isHostname],
  ['email', isEmail],
  ['uri', isUri],
  ['bsonobjectid', form(/^[0-9a-fA-F]{24}$/)],
  ['isbn', (text) => isIsbn10(text) || isIsbn13(text)],
  ['isbn10', isIsbn10],
  ['isbn13', isIsbn13],
  ['creditcard', isLuhn],
  ['ssn', form(/^\d{3}[- ]?\d{2}[- ]?\d{4}$/)],
  ['hexcolor', form(/^#?(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})$/)],
  ['rgbcolor', form(new RegExp(`^rgb\\(\\s*${channel}\\s*,\\s*${channel}\\s*,\\s*${channel}\\s*\\)$`))],
  ['k8sshortname', (text) => dnsLabel(text).length === 0],
  ['k8slongname', (text) => dnsSubdomain(text).length === 0],
]);

/** Undefined for formats that are not checked. Dashes in their names do not count. */
export function formatJudge(name: string): Judge | undefined {
  return judges.get(name.replaceAll('-', ''));
}

const numberFormats: ReadonlySet<string> = new Set(['int32', 'int64', 'float', 'double']);

export function isKnownFormat(name: string): boolean {
  return numberFormats.has(name) || formatJudge(name) !== undefined;
}
