// Owns CEL's accessors of timestamps and durations (language definition, "Abstract types").
import { digitsInZone } from '../../time.ts';
import { define, type Library, member } from '../functions.ts';
import { duration, int, string, timestamp } from '../types.ts';
import { type CelDuration, CelError, type CelTimestamp, type CelValue } from '../values.ts';
import { floorDiv } from './conversions.ts';

const nanosPerMilli = 1_000_000n;

/** The local date and time as a UTC date, so that its getUTC… methods give local fields. */
function local(nanos: bigint, zone: string): Date {
  const ms = Number(floorDiv(nanos, nanosPerMilli));
  return new Date(ms + offsetMs(ms, zone));
}

/** "+02:00", "-08:30", "UTC" or a name of the time zone database. */
function offsetMs(ms: number, zone: string): number {
  if (zone === '' || zone === 'UTC') return 0;
  const fixed = /^([+-]?)(\d{2}):(\d{2})$/.exec(zone);
  if (fixed !== null) return (fixed[1] === '-' ? -1 : 1) * (Number(fixed[2]) * 60 + Number(fixed[3])) * 60_000;
  let format: Intl.DateTimeFormat;
  try {
    format = zoneFormat(zone);
  } catch {
    throw new CelError(`unknown time zone ${zone}`);
  }
  const parts = Object.fromEntries(format.formatToParts(ms).map(({ type, value }) => [type, value]));
  const shown = Date.UTC(
    Number(parts['year']),
    Number(parts['month']) - 1,
    Number(parts['day']),
    Number(parts['hour']),
    Number(parts['minute']),
    Number(parts['second']),
  );
  return shown - Math.floor(ms / 1000) * 1000;
}

const formats = new Map<string, Intl.DateTimeFormat>();

function zoneFormat(zone: string): Intl.DateTimeFormat {
  let format = formats.get(zone);
  if (format === undefined) {
    format = digitsInZone(zone);
    // Names come from authors of expressions: there are some hundreds, and no more can be made up.
    formats.set(zone, format);
  }
  return format;
}

function dayOfYear(date: Date): number {
  return Math.floor((date.getTime() - Date.UTC(date.getUTCFullYear(), 0, 1)) / 86_400_000);
}

function accessor(name: string, read: (date: Date) => number, ofDuration?: (nanos: bigint) => bigint) {
  const get = ([value, zone]: readonly CelValue[]) =>
    BigInt(read(local((value as CelTimestamp).nanos, (zone as string | undefined) ?? 'UTC')));
  return define(
    name,
    member(timestamp, [], int, get),
    member(timestamp, [string], int, get),
    ...(ofDuration === undefined
      ? []
      : [member(duration, [], int, ([value]) => ofDuration((value as CelDuration).nanos))]),
  );
}

export const times: Library = {
  name: 'times',
  functions: [
    accessor('getFullYear', (date) => date.getUTCFullYear()),
    accessor('getMonth', (date) => date.getUTCMonth()),
    accessor('getDayOfYear', dayOfYear),
    accessor('getDayOfMonth', (date) => date.getUTCDate() - 1),
    accessor('getDate', (date) => date.getUTCDate()),
    accessor('getDayOfWeek', (date) => date.getUTCDay()),
    accessor(
      'getHours',
      (date) => date.getUTCHours(),
      (nanos) => nanos / 3_600_000_000_000n,
    ),
    accessor(
      'getMinutes',
      (date) => date.getUTCMinutes(),
      (nanos) => nanos / 60_000_000_000n,
    ),
    accessor(
      'getSeconds',
      (date) => date.getUTCSeconds(),
      (nanos) => nanos / 1_000_000_000n,
    ),
    accessor(
      'getMilliseconds',
      (date) => date.getUTCMilliseconds(),
      (nanos) => nanos / nanosPerMilli,
    ),
  ],
};
