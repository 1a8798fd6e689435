// Owns the text that string.format() makes (extension "strings": %s %d %f %e %b %o %x %X %%).
import {
  CelDuration,
  CelError,
  type CelList,
  CelTimestamp,
  CelTypeValue,
  CelUint,
  type CelValue,
  isList,
  isMap,
  typeNameOf,
} from '../values.ts';
import { doubleToText, durationText, timestampText } from './conversions.ts';

const defaultPrecision = 6;
/** Longer texts than this are not made. */
const maxPrecision = 10_000;

/** A part of a pattern: text, or a verb with its precision. */
export type Clause = string | { readonly verb: string; readonly precision: number | undefined };

/** Throws CelError for what is no pattern. */
export function parsePattern(pattern: string): Clause[] {
  const clauses: Clause[] = [];
  let rest = pattern;
  while (rest !== '') {
    const at = rest.indexOf('%');
    if (at !== 0) {
      clauses.push(at < 0 ? rest : rest.slice(0, at));
      rest = at < 0 ? '' : rest.slice(at);
      continue;
    }
    if (rest.startsWith('%%')) {
      clauses.push('%');
      rest = rest.slice(2);
      continue;
    }
    const found = /^%(?:\.(\d+))?(.)/su.exec(rest);
    if (found === null) throw new CelError('could not parse formatting clause: unexpected end of string');
    const [whole, precision, verb] = found;
    if (!/^[sdfebxXo]$/.test(verb!))
      throw new CelError(`could not parse formatting clause: unrecognized formatting clause "${verb}"`);
    if (precision !== undefined && Number(precision) > maxPrecision)
      throw new CelError(`could not parse formatting clause: precision ${precision} exceeds ${maxPrecision}`);
    clauses.push({ verb: verb!, precision: precision === undefined ? undefined : Number(precision) });
    rest = rest.slice(whole.length);
  }
  return clauses;
}

export function formatText(pattern: string, args: CelList): string {
  let used = 0;
  return parsePattern(pattern)
    .map((clause) => {
      if (typeof clause === 'string') return clause;
      if (used >= args.size) throw new CelError(`index ${used} out of range`);
      return formatted(clause.verb, args.at(used++), clause.precision);
    })
    .join('');
}

function formatted(verb: string, value: CelValue, precision: number | undefined): string {
  switch (verb) {
    case 's':
      return plain(value);
    case 'd':
      return decimal(value);
    case 'f':
      return fixed(numberOf(value, verb), precision);
    case 'e':
      // Upstream has its own idea of the precision here.
      return scientific(numberOf(value, verb));
    case 'b':
      return typeof value === 'boolean' ? (value ? '1' : '0') : integer(value, verb).toString(2);
    case 'o':
      return integer(value, verb).toString(8);
    case 'x':
      return hex(value);
    case 'X':
      return hex(value).toUpperCase();
    default:
      throw new CelError(`could not parse formatting clause: unrecognized formatting clause "${verb}"`);
  }
}

function refuse(verb: string, value: CelValue): CelError {
  return new CelError(`error during formatting: %${verb} cannot be used on ${typeNameOf(value)}`);
}

function plain(value: CelValue): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return doubleToText(value);
  if (value === null) return 'null';
  if (typeof value === 'boolean' || typeof value === 'bigint') return String(value);
  if (value instanceof CelUint) return String(value.value);
  if (value instanceof Uint8Array) return Buffer.from(value).toString();
  if (value instanceof CelTimestamp) return timestampText(value);
  if (value instanceof CelDuration) return durationText(value);
  if (value instanceof CelTypeValue) return value.name;
  if (isList(value)) return `[${Array.from({ length: value.size }, (_, at) => quoted(value.at(at))).join(', ')}]`;
  if (isMap(value)) {
    const entries = Array.from(
      value.keys(),
      (key) => [plain(key), `${quoted(key)}:${quoted(value.get(key)!)}`] as const,
    );
    return `{${entries
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([, text]) => text)
      .join(', ')}}`;
  }
  throw refuse('s', value);
}

/** Within lists and maps values are written as expressions would write them. */
function quoted(value: CelValue): string {
  if (typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'number')
    return Number.isFinite(value) ? value.toFixed(defaultPrecision) : `"${infinite(value)}"`;
  if (value instanceof Uint8Array) return `b${JSON.stringify(Buffer.from(value).toString())}`;
  if (value instanceof CelTimestamp) return `timestamp(${JSON.stringify(timestampText(value))})`;
  if (value instanceof CelDuration) return `duration(${JSON.stringify(durationText(value))})`;
  return plain(value);
}

function infinite(value: number): string {
  return Number.isNaN(value) ? 'NaN' : value > 0 ? '∞' : '-∞';
}

function decimal(value: CelValue): string {
  return String(integer(value, 'd'));
}

function integer(value: CelValue, verb: string): bigint {
  if (typeof value === 'bigint') return value;
  if (value instanceof CelUint) return value.value;
  throw refuse(verb, value);
}

function numberOf(value: CelValue, verb: string): number {
  if (typeof value === 'number') return value;
  const named = typeof value === 'string' ? notFinite.get(value) : undefined;
  if (named === undefined) throw refuse(verb, value);
  return named;
}

/** Texts that stand for numbers. */
const notFinite: ReadonlyMap<string, number> = new Map([
  ['NaN', Number.NaN],
  ['Infinity', Number.POSITIVE_INFINITY],
  ['-Infinity', Number.NEGATIVE_INFINITY],
]);

/** With commas between thousands. */
function fixed(value: number, precision = defaultPrecision): string {
  if (!Number.isFinite(value)) return infinite(value);
  const [whole = '', fraction] = exact(value, precision).split('.');
  const grouped = whole.replaceAll(/\B(?=(?:\d{3})+$)/g, ',');
  return fraction === undefined ? grouped : `${grouped}.${fraction}`;
}

const maxFixed = 100;

/** Halves go to the even digit, as Go rounds. */
function exact(value: number, precision: number): string {
  const size = Math.abs(value);
  const sign = value < 0 || Object.is(value, -0) ? '-' : '';
  if (size >= 1e21) return `${sign}${BigInt(size)}${precision > 0 ? `.${'0'.repeat(precision)}` : ''}`;
  const digits = size.toFixed(Math.min(precision, maxFixed));
  if (precision >= maxFixed) return sign + digits + '0'.repeat(precision - maxFixed);
  const long = size.toFixed(Math.min(maxFixed, precision + 60));
  const cut = long.length - (Math.min(maxFixed, precision + 60) - precision);
  const isHalf = /^50*$/.test(long.slice(cut));
  const kept = long.slice(0, cut).replace(/\.$/, '');
  return sign + (isHalf && Number(kept.at(-1)) % 2 === 0 ? kept : digits);
}

const superscripts = '⁰¹²³⁴⁵⁶⁷⁸⁹';

/** "1.234500×10⁰³": upstream writes the exponent as a power of ten. */
function scientific(value: number, precision = defaultPrecision): string {
  if (!Number.isFinite(value)) return infinite(value);
  const [digits = '', exponent = '0'] = value.toExponential(Math.min(precision, 100)).split('e');
  const size = String(Math.abs(Number(exponent))).padStart(2, '0');
  const sign = Number(exponent) < 0 ? '⁻' : '';
  return `${digits}×10${sign}${Array.from(size, (digit) => superscripts[Number(digit)]).join('')}`;
}

function hex(value: CelValue): string {
  if (typeof value === 'string') return Buffer.from(value).toString('hex');
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex');
  return integer(value, 'x').toString(16);
}
