// Owns CEL's conversions and size: int(), string(), timestamp(), type(), dyn() and their like.
import { parseDuration, parseInstant } from '../../time.ts';
import { define, type Library, overload } from '../functions.ts';
import {
  bool,
  bytes,
  double,
  duration,
  dyn,
  int,
  list,
  map,
  param,
  string,
  timestamp,
  typeOf,
  uint,
} from '../types.ts';
import { CelDuration, CelError, CelTimestamp, CelTypeValue, CelUint, typeNameOf } from '../values.ts';
import { sizeOf } from '../costs.ts';
import { checkedDuration, checkedInt, checkedTimestamp, checkedUint } from './operators.ts';

const a = param('A');
function wholeNumber(value: number): bigint {
  // The ends of the range are not exact, and so are refused.
  if (!Number.isFinite(value) || value <= -(2 ** 63)) throw new CelError('integer overflow');
  return BigInt(Math.trunc(value));
}

function parsed<T>(text: string, kind: string, read: (text: string) => T | undefined): T {
  const value = read(text);
  if (value === undefined) throw new CelError(`type conversion error from 'string' to '${kind}'`);
  return value;
}

const integerText = (text: string): bigint | undefined => (/^[+-]?\d+$/.test(text) ? BigInt(text) : undefined);
const unsignedText = (text: string): bigint | undefined => (/^\d+$/.test(text) ? BigInt(text) : undefined);

/** Underscores may stand between digits, as Go reads numbers. */
const withoutMarks = (text: string): string =>
  /^[+-]?_|__|_(?![0-9a-fA-F])|[^0-9a-fA-FxX]_/.test(text) ? text : text.replaceAll('_', '');

function decimalDouble(text: string): number | undefined {
  const plain = withoutMarks(text);
  if (!/^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(plain)) return undefined;
  const value = Number(plain);
  return Number.isFinite(value) ? value : undefined;
}

function hexDouble(text: string): number | undefined {
  const found = /^([+-]?)0[xX]([0-9a-fA-F]*)(?:\.([0-9a-fA-F]*))?[pP]([+-]?\d+)$/.exec(withoutMarks(text));
  if (found === null) return undefined;
  const [, sign, whole = '', fraction = '', power] = found;
  if (whole + fraction === '') return undefined;
  const value = Number(BigInt(`0x${whole}${fraction}`)) * 2 ** (Number(power) - 4 * fraction.length);
  if (!Number.isFinite(value)) return undefined;
  return sign === '-' ? -value : value;
}

function doubleText(text: string): number | undefined {
  if (/^[+-]?(inf|infinity)$/i.test(text)) return text.startsWith('-') ? -Infinity : Infinity;
  if (/^nan$/i.test(text)) return Number.NaN;
  return hexDouble(text) ?? decimalDouble(text);
}

const boolTexts: ReadonlyMap<string, boolean> = new Map([
  ...['1', 't', 'T', 'true', 'TRUE', 'True'].map((text) => [text, true] as const),
  ...['0', 'f', 'F', 'false', 'FALSE', 'False'].map((text) => [text, false] as const),
]);

/** As Go prints a float64 with 'g' and the shortest precision. */
export function doubleToText(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? '+Inf' : '-Inf';
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e6)) return value.toExponential().replace(/e([+-])(\d)$/, 'e$10$2');
  return Object.is(value, -0) ? '-0' : String(value);
}

/** Seconds east of UTC that a time is written with. */
export function offsetOf(text: string): number {
  const found = /([+-])(\d\d):(\d\d)$/.exec(text);
  return found === null ? 0 : (found[1] === '-' ? -1 : 1) * (Number(found[2]) * 3600 + Number(found[3]) * 60);
}

function offsetText(seconds: number): string {
  if (seconds === 0) return 'Z';
  const minutes = Math.abs(seconds) / 60;
  const two = (part: number): string => String(Math.trunc(part)).padStart(2, '0');
  return `${seconds < 0 ? '-' : '+'}${two(minutes / 60)}:${two(minutes % 60)}`;
}

/** RFC 3339 with as many fractional digits as there are, in the zone in which it was written. */
export function timestampText({ nanos: utc, offset }: CelTimestamp): string {
  const nanos = utc + BigInt(offset) * 1_000_000_000n;
  const seconds = floorDiv(nanos, 1_000_000_000n);
  const fraction = nanos - seconds * 1_000_000_000n;
  const date = new Date(Number(seconds) * 1000).toISOString().slice(0, 19);
  return `${date}${fraction === 0n ? '' : `.${String(fraction).padStart(9, '0').replace(/0+$/, '')}`}${offsetText(offset)}`;
}

export function floorDiv(a1: bigint, b: bigint): bigint {
  const quotient = a1 / b;
  return a1 % b !== 0n && a1 < 0n !== b < 0n ? quotient - 1n : quotient;
}

/** google.protobuf.Duration's JSON form: seconds with "s". */
export function durationText({ nanos }: CelDuration): string {
  const sign = nanos < 0n ? '-' : '';
  const size = nanos < 0n ? -nanos : nanos;
  const fraction = size % 1_000_000_000n;
  return `${sign}${size / 1_000_000_000n}${fraction === 0n ? '' : `.${String(fraction).padStart(9, '0').replace(/0+$/, '')}`}s`;
}

function readTimestamp(text: string): CelTimestamp {
  const instant = parsed(text, 'google.protobuf.Timestamp', parseInstant);
  return checkedTimestamp(BigInt(instant.seconds) * 1_000_000_000n + BigInt(instant.nanos), offsetOf(text));
}

export function readDuration(text: string): CelDuration {
  return checkedDuration(parsed(text, 'google.protobuf.Duration', parseDuration));
}

function utf8(value: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(value);
  } catch {
    throw new CelError('invalid UTF-8 in bytes, cannot convert to string');
  }
}

const size = [string, bytes, list(a), map(a, param('B'))];

export const conversions: Library = {
  name: 'conversions',
  functions: [
    define(
      'size',
      ...size.map((type) => overload([type], int, ([value]) => BigInt(sizeOf(value!)))),
      ...size.map((type) => ({ ...overload([type], int, ([value]) => BigInt(sizeOf(value!))), isMember: true })),
    ),
    define(
      'type',
      overload([a], typeOf(a), ([value]) => new CelTypeValue(typeNameOf(value!))),
    ),
    define(
      'dyn',
      overload([a], dyn, ([value]) => value!),
    ),
    define(
      'int',
      overload([int], int, ([value]) => value!),
      overload([uint], int, ([value]) => checkedInt((value as CelUint).value)),
      overload([double], int, ([value]) => checkedInt(wholeNumber(value as number))),
      overload([string], int, ([value]) => checkedInt(parsed(value as string, 'int', integerText))),
      overload([timestamp], int, ([value]) => floorDiv((value as CelTimestamp).nanos, 1_000_000_000n)),
      overload([duration], int, ([value]) => (value as CelDuration).nanos),
    ),
    define(
      'uint',
      overload([uint], uint, ([value]) => value!),
      overload([int], uint, ([value]) => checkedUint(value as bigint)),
      overload([double], uint, ([value]) => checkedUint(wholeNumber(value as number))),
      overload([string], uint, ([value]) => checkedUint(parsed(value as string, 'uint', unsignedText))),
    ),
    define(
      'double',
      overload([double], double, ([value]) => value!),
      overload([int], double, ([value]) => Number(value)),
      overload([uint], double, ([value]) => Number((value as CelUint).value)),
      overload([string], double, ([value]) => parsed(value as string, 'double', doubleText)),
    ),
    define(
      'bool',
      overload([bool], bool, ([value]) => value!),
      overload([string], bool, ([value]) => parsed(value as string, 'bool', (text) => boolTexts.get(text))),
    ),
    define(
      'bytes',
      overload([bytes], bytes, ([value]) => value!),
      overload([string], bytes, ([value]) => Buffer.from(value as string)),
    ),
    define(
      'string',
      overload([string], string, ([value]) => value!),
      overload([bool], string, ([value]) => String(value)),
      overload([int], string, ([value]) => String(value)),
      overload([uint], string, ([value]) => String((value as CelUint).value)),
      overload([double], string, ([value]) => doubleToText(value as number)),
      overload([bytes], string, ([value]) => utf8(value as Uint8Array)),
      overload([timestamp], string, ([value]) => timestampText(value as CelTimestamp)),
      overload([duration], string, ([value]) => durationText(value as CelDuration)),
    ),
    define(
      'timestamp',
      overload([timestamp], timestamp, ([value]) => value!),
      overload([string], timestamp, ([value]) => readTimestamp(value as string)),
      overload([int], timestamp, ([value]) => checkedTimestamp((value as bigint) * 1_000_000_000n)),
    ),
    define(
      'duration',
      overload([duration], duration, ([value]) => value!),
      overload([string], duration, ([value]) => readDuration(value as string)),
      overload([int], duration, ([value]) => checkedDuration((value as bigint) * 1_000_000_000n)),
    ),
  ],
};
