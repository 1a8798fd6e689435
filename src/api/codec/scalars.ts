// Owns the decoding of single values: types, ranges and canonical forms, as Go's decoder and the API's own types have them.
import { canonicalQuantity, QuantityError } from '../quantity.ts';
import type { ScalarType } from '../schema/schema.ts';
import { formatDuration, formatMicroTime, formatTime, parseDuration, parseInstant, parseMicroTime } from '../time.ts';
import { finite, isKept, NumberText, plainNumbers } from './json-parse.ts';
import { isSharedJson } from './shared-json.ts';
import type { Decoding } from './structure.ts';

export type ScalarDecoder = (value: unknown, at: Decoding) => unknown;

/** A value of the wrong JSON type or out of range; turned into 400 where the kind is known. */
export class TypeMismatch extends Error {
  override readonly name = 'TypeMismatch';

  constructor(value: unknown, goType: string, path: readonly (string | number)[]) {
    super(`json: cannot unmarshal ${jsonType(value)} into Go struct field ${fieldText(path)} of type ${goType}`);
  }
}

/** A value of the right JSON type that does not parse: quantities, times, base64. */
export class ValueError extends Error {
  override readonly name = 'ValueError';
}

function fieldText(path: readonly (string | number)[]): string {
  return path.filter((part) => typeof part === 'string').join('.');
}

function jsonType(value: unknown): string {
  if (value instanceof NumberText) return `number ${value.text.slice(0, 100)}`;
  if (typeof value === 'bigint') return `number ${value}`;
  if (typeof value === 'number') return 'number';
  if (typeof value === 'boolean') return 'bool';
  if (typeof value === 'string') return 'string';
  return value === null ? 'null' : Array.isArray(value) ? 'array' : 'object';
}

export function scalarDecoder(type: ScalarType): ScalarDecoder {
  return decoders[type];
}

function integer(goType: string, min: number, max: number): ScalarDecoder {
  return (value, at) => {
    if (typeof value === 'number' && value >= min && value <= max && Number.isInteger(value)) return value;
    const exact = typeof value === 'bigint' ? value : value instanceof NumberText ? digitsOf(value.text) : undefined;
    if (exact !== undefined && exact >= BigInt(min) && exact <= BigInt(max) && BigInt.asIntN(64, exact) === exact) {
      if (!isKept(exact)) at.lost ??= String(exact);
      return nearest(exact);
    }
    if (typeof value === 'number') throw new TypeMismatch(new NumberText(String(value)), goType, at.path);
    throw new TypeMismatch(value, goType, at.path);
  };
}

function digitsOf(text: string): bigint | undefined {
  return /^-?[0-9]{1,19}$/.test(text) ? BigInt(text) : undefined;
}

/** A double holds no more than 2^53 exactly: beyond, the nearest one within 64 bits, towards zero. */
function nearest(exact: bigint): number {
  const value = Number(exact);
  if (BigInt(value) === exact || Math.abs(value) < 2 ** 63) return value === 0 ? 0 : value;
  return Math.sign(value) * (2 ** 63 - 1024);
}

const text: ScalarDecoder = (value, at) => {
  if (typeof value === 'string') return value;
  throw new TypeMismatch(value, 'string', at.path);
};

function parsed(goType: string, canonical: (text: string) => string | undefined, say: (text: string) => string) {
  return (value: unknown, at: Decoding): unknown => {
    if (typeof value !== 'string') throw new TypeMismatch(value, goType, at.path);
    const result = canonical(value);
    if (result === undefined) throw new ValueError(say(value.slice(0, 100)));
    return result;
  };
}

const quantity: ScalarDecoder = (value, at) => {
  if (!['string', 'number', 'bigint'].includes(typeof value) && !(value instanceof NumberText))
    throw new ValueError(
      `unmarshalerDecoder: quantities must be text or a number, not ${jsonType(value)}, error found in ${fieldText(at.path)}`,
    );
  const written = typeof value === 'string' ? value.trim() : value instanceof NumberText ? value.text : String(value);
  try {
    return canonicalQuantity(written);
  } catch (error) {
    if (!(error instanceof QuantityError)) throw error;
    throw new ValueError(`unmarshalerDecoder: ${error.message}, error found in ${fieldText(at.path)}`);
  }
};

const base64 = /^[A-Za-z0-9+/]*={0,2}$/;

const bytes: ScalarDecoder = (value, at) => {
  // Go takes the bytes one by one as well.
  if (Array.isArray(value)) return Buffer.from(value.map((byte) => octet(byte, at) as number)).toString('base64');
  if (typeof value !== 'string') throw new TypeMismatch(value, '[]uint8', at.path);
  const packed = value.includes('\n') || value.includes('\r') ? value.replace(/[\r\n]/g, '') : value;
  if (packed.length % 4 !== 0 || !base64.test(packed))
    throw new ValueError(`illegal base64 data in ${fieldText(at.path)}`);
  // Bits beyond the last byte may be set: written back they are zero.
  return packed.endsWith('=') ? Buffer.from(packed, 'base64').toString('base64') : packed;
};

/** Canonical as it stands, and surely a day that there is. */
const plainTime = /^[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z$/;

const maxInt32 = 2 ** 31 - 1;
const maxInt64 = 2 ** 63;
const int32 = integer('int32', -(2 ** 31), maxInt32);
const octet = integer('uint8', 0, 255);

const raw: ScalarDecoder = (value) => plainNumbers(value);

/** Sets of fields that are shared already stay so. */
const fields: ScalarDecoder = (value) => (isSharedJson(value) ? value : plainNumbers(value));

const decoders: Readonly<Record<ScalarType, ScalarDecoder>> = {
  string: text,
  boolean: (value, at) => {
    if (typeof value === 'boolean') return value;
    throw new TypeMismatch(value, 'bool', at.path);
  },
  int32,
  int64: integer('int64', -maxInt64, maxInt64),
  uint8: octet,
  double: (value, at) => {
    if (typeof value === 'number') return value;
    if (typeof value === 'bigint') return Number(value);
    if (value instanceof NumberText) return finite(value);
    throw new TypeMismatch(value, 'float64', at.path);
  },
  bytes,
  quantity,
  time: parsed(
    'string',
    (value) => {
      if (plainTime.test(value)) return value;
      const instant = parseInstant(value);
      return instant && formatTime(instant.seconds);
    },
    (value) => `parsing time "${value}" as "2006-01-02T15:04:05Z07:00": cannot parse it`,
  ),
  microTime: parsed(
    'string',
    (value) => {
      const instant = parseMicroTime(value);
      return instant && formatMicroTime(instant);
    },
    (value) => `parsing time "${value}" as "2006-01-02T15:04:05.000000Z07:00": cannot parse it`,
  ),
  duration: parsed(
    'string',
    (value) => {
      const nanoseconds = parseDuration(value);
      return nanoseconds === undefined ? undefined : formatDuration(nanoseconds);
    },
    (value) => `time: invalid duration "${value}"`,
  ),
  intOrString: (value, at) => (typeof value === 'string' ? value : int32(value, at)),
  raw,
  fields,
  any: raw,
};
