// Owns the text forms of time on the wire: Time (seconds), MicroTime (microseconds) and Duration. And time zones' calendars. Reads no clock.

const rfc3339 = /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2}):(\d{2})(?:[.,](\d+))?(Z|[+-]\d{2}:\d{2})$/;

export interface Instant {
  /** Seconds since the epoch, possibly negative. */
  readonly seconds: number;
  /** 0 to 999 999 999. */
  readonly nanos: number;
}

/** RFC 3339; undefined for anything else. */
export function parseInstant(text: string): Instant | undefined {
  return plainInstant(text) ?? anyInstant(text);
}

/** "2026-11-30T23:11:38Z", by far the most common form; undefined for others, and for what needs a closer look. */
function plainInstant(text: string): Instant | undefined {
  if (text.length !== 20 || !plain.test(text)) return undefined;
  const year = two(text, 0) * 100 + two(text, 2);
  const day = two(text, 8);
  // Date.UTC takes years below 100 for those of the twentieth century.
  if (year < 100 || day < 1 || day > 28) return undefined;
  const ms = Date.UTC(year, two(text, 5) - 1, day, two(text, 11), two(text, 14), two(text, 17));
  return { seconds: ms / 1000, nanos: 0 };
}

const plain = /^[0-9]{4}-(?:0[1-9]|1[0-2])-[0-3][0-9]T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z$/;

function two(text: string, at: number): number {
  return text.charCodeAt(at) * 10 + text.charCodeAt(at + 1) - 528;
}

function anyInstant(text: string): Instant | undefined {
  const match = rfc3339.exec(text);
  if (match === null) return undefined;
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  if (month < 1 || month > 12 || day < 1 || day > daysIn(year, month) || hour > 23 || minute > 59 || second > 59)
    return undefined;
  const offset = offsetSeconds(match[8]!);
  if (offset === undefined) return undefined;
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  date.setUTCHours(hour, minute, second);
  const nanos = match[7] === undefined ? 0 : Number(match[7].slice(0, 9).padEnd(9, '0'));
  return { seconds: date.getTime() / 1000 - offset, nanos };
}

function daysIn(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}

function offsetSeconds(zone: string): number | undefined {
  if (zone === 'Z') return 0;
  const hours = Number(zone.slice(1, 3));
  const minutes = Number(zone.slice(4, 6));
  if (hours > 24 || minutes > 59) return undefined;
  return (zone[0] === '-' ? -1 : 1) * (hours * 3600 + minutes * 60);
}

/** "2026-11-30T23:11:38Z", as metav1.Time is written. */
export function formatTime(seconds: number): string {
  return `${new Date(seconds * 1000).toISOString().slice(0, -5)}Z`;
}

/** "2026-11-30T23:11:38.000123Z", as metav1.MicroTime is written. */
export function formatMicroTime({ seconds, nanos }: Instant): string {
  const micros = String(Math.floor(nanos / 1000)).padStart(6, '0');
  return `${new Date(seconds * 1000).toISOString().slice(0, -5)}.${micros}Z`;
}

/** The Time of a clock's milliseconds. */
export function timeOf(epochMs: number): string {
  const seconds = Math.floor(epochMs / 1000);
  // Many ask within a second, and a Date's text takes a microsecond.
  if (seconds !== lastSeconds) {
    lastText = formatTime(seconds);
    lastSeconds = seconds;
  }
  return lastText;
}

let lastSeconds = Number.NaN;
let lastText = '';

/** The MicroTime of a clock's milliseconds. */
export function microTimeOf(epochMs: number): string {
  const seconds = Math.floor(epochMs / 1000);
  return formatMicroTime({ seconds, nanos: Math.round((epochMs - seconds * 1000) * 1e6) });
}

/** Milliseconds since the epoch of a Time or MicroTime. Throws for what is neither. */
export function millisOf(text: string): number {
  const instant = parseInstant(text);
  if (instant === undefined) throw new Error(`not a time: ${text}`);
  return instant.seconds * 1000 + instant.nanos / 1e6;
}

/** As `millisOf`; undefined for what is absent or no time. */
export function maybeMillisOf(text: string | null | undefined): number | undefined {
  const instant = text ? parseInstant(text) : undefined;
  return instant === undefined ? undefined : instant.seconds * 1000 + instant.nanos / 1e6;
}

const microTime = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{6}(?:Z|[+-]\d{2}:\d{2})$/;

/** MicroTime takes exactly six fractional digits on the wire. */
export function parseMicroTime(text: string): Instant | undefined {
  return microTime.test(text) ? parseInstant(text) : undefined;
}

const units: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1_000n,
  µs: 1_000n,
  μs: 1_000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
};
const durationPart = /(\d*)(?:\.(\d*))?(ns|us|µs|μs|ms|s|m|h)/y;
const maxDuration = 2n ** 63n - 1n;

/** Nanoseconds of "1h2m3.5s", as Go reads durations; undefined for what is none. */
export function parseDuration(text: string): bigint | undefined {
  const negative = text.startsWith('-');
  const body = negative || text.startsWith('+') ? text.slice(1) : text;
  if (body === '0') return 0n;
  if (body === '' || body.length > 200) return undefined;
  let total = 0n;
  durationPart.lastIndex = 0;
  while (durationPart.lastIndex < body.length) {
    const match = durationPart.exec(body);
    if (match === null) return undefined;
    const [, whole = '', fraction = '', unit] = match;
    if (whole === '' && fraction === '') return undefined;
    const per = units[unit!]!;
    total += BigInt(whole === '' ? 0 : whole) * per;
    if (fraction !== '') total += (BigInt(fraction) * per) / 10n ** BigInt(fraction.length);
    if (total > maxDuration) return undefined;
  }
  return negative ? -total : total;
}

/** "1h0m0s", "1.5s", "300ms", "0s": as Go writes durations. */
export function formatDuration(nanoseconds: bigint): string {
  if (nanoseconds === 0n) return '0s';
  const sign = nanoseconds < 0n ? '-' : '';
  const rest = nanoseconds < 0n ? -nanoseconds : nanoseconds;
  if (rest < 1_000n) return `${sign}${rest}ns`;
  if (rest < 1_000_000n) return `${sign}${decimal(rest, 1_000n)}µs`;
  if (rest < 1_000_000_000n) return `${sign}${decimal(rest, 1_000_000n)}ms`;
  const totalSeconds = rest / 1_000_000_000n;
  const seconds = decimal(rest % 60_000_000_000n, 1_000_000_000n);
  const minutes = (totalSeconds / 60n) % 60n;
  const hours = totalSeconds / 3600n;
  if (hours > 0n) return `${sign}${hours}h${minutes}m${seconds}s`;
  return minutes > 0n ? `${sign}${minutes}m${seconds}s` : `${sign}${seconds}s`;
}

function decimal(amount: bigint, per: bigint): string {
  const fraction = String(amount % per)
    .padStart(String(per).length - 1, '0')
    .replace(/0+$/, '');
  return fraction === '' ? `${amount / per}` : `${amount / per}.${fraction}`;
}

/** Milliseconds of a Duration; throws for what is none. */
export function durationMs(text: string): number {
  const nanoseconds = parseDuration(text);
  if (nanoseconds === undefined) throw new Error(`not a duration: ${text}`);
  return Number(nanoseconds) / 1e6;
}

/** Tells what clocks and calendars of a time zone show, in digits. Throws RangeError for a zone that is not known. */
export function digitsInZone(timeZone: string): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
}
