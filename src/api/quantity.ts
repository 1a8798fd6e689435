// Owns Quantity: exact amounts with upstream's text forms (documentation of apimachinery, pkg/api/resource). Knows no object.

/** How the amount was written, which its canonical form keeps: "500m", "1Gi", "1e3". */
export type QuantityFormat = 'DecimalSI' | 'BinarySI' | 'DecimalExponent';

/** An exact amount in billionths: what is finer is rounded away from zero when parsed. */
export interface Quantity {
  readonly nano: bigint;
  readonly format: QuantityFormat;
}

export const zero: Quantity = { nano: 0n, format: 'DecimalSI' };

export class QuantityError extends Error {
  override readonly name = 'QuantityError';
}

const formText = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const shape = /^([+-]?)([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)$/;
const exponentShape = /^[eE]([-+]?[0-9]+)$/;
const nanoPerUnit = 1_000_000_000n;
const maxUnits = 2n ** 63n - 1n;
const maxNano = maxUnits * nanoPerUnit;

const decimalSuffixes: ReadonlyMap<string, number> = new Map([
  ['n', -9],
  ['u', -6],
  ['m', -3],
  ['', 0],
  ['k', 3],
  ['M', 6],
  ['G', 9],
  ['T', 12],
  ['P', 15],
  ['E', 18],
]);
const binarySuffixes: ReadonlyMap<string, number> = new Map([
  ['Ki', 10],
  ['Mi', 20],
  ['Gi', 30],
  ['Ti', 40],
  ['Pi', 50],
  ['Ei', 60],
]);
const suffixOfExponent = new Map([...decimalSuffixes].map(([suffix, exponent]) => [exponent, suffix]));
const suffixOfPower = new Map([...binarySuffixes].map(([suffix, power]) => [power, suffix]));

/** Throws QuantityError for what is no quantity. */
export function parseQuantity(text: string): Quantity {
  const match = shape.exec(text);
  if (match === null || text === '') throw new QuantityError(formText);
  const [, sign, whole = '', fraction = '', suffix = ''] = match;
  // Text without any digit is nothing, as upstream reads it: "Gi" is 0.
  const { base, exponent, format } = parseSuffix(suffix);
  const magnitude = toNano(whole.replace(/^0+/, ''), fraction, base, exponent);
  // Only powers of two are cut to 2^63-1: "10E" and "1e30" stay, "10Ei" does not.
  const capped = base === 2 && magnitude > maxNano ? maxNano : magnitude;
  return { nano: sign === '-' ? -capped : capped, format };
}

export function tryParseQuantity(text: string): Quantity | undefined {
  try {
    return parseQuantity(text);
  } catch (error) {
    if (error instanceof QuantityError) return undefined;
    throw error;
  }
}

function parseSuffix(suffix: string): { base: 2 | 10; exponent: number; format: QuantityFormat } {
  const decimal = decimalSuffixes.get(suffix);
  if (decimal !== undefined) return { base: 10, exponent: decimal, format: 'DecimalSI' };
  const binary = binarySuffixes.get(suffix);
  if (binary !== undefined) return { base: 2, exponent: binary, format: 'BinarySI' };
  const match = exponentShape.exec(suffix);
  if (match === null) throw new QuantityError("unable to parse quantity's suffix");
  return { base: 10, exponent: Number(match[1]), format: 'DecimalExponent' };
}

/** So many digits stand before the point at most; larger amounts are cut to 2^63-1. */
const maxDigits = 120;

/** Digits are bounded before they become a BigInt: strangers may write a million of them. */
function toNano(whole: string, fraction: string, base: 2 | 10, exponent: number): bigint {
  const digits = (whole + fraction).replace(/^0+/, '');
  if (digits === '') return 0n;
  // The value is 0.digits × 10^magnitude (× 2^exponent).
  const shift = base === 10 ? exponent : 0;
  const magnitude = digits.length - fraction.length + shift;
  if (magnitude > maxDigits) return maxNano;
  if (magnitude < -40) return 1n;
  const kept = digits.slice(0, maxDigits);
  const lost = /[1-9]/.test(digits.slice(maxDigits));
  let numerator = BigInt(kept);
  // numerator × 10^scale is the value in billionths.
  const scale = digits.length - kept.length - fraction.length + shift + 9;
  if (base === 2) numerator <<= BigInt(exponent);
  if (scale >= 0) return numerator * 10n ** BigInt(scale);
  const divisor = 10n ** BigInt(-scale);
  const quotient = numerator / divisor;
  return lost || quotient * divisor !== numerator ? quotient + 1n : quotient;
}

/** The canonical text: no fraction, the largest suffix that loses nothing. */
export function formatQuantity(quantity: Quantity): string {
  const { nano } = quantity;
  if (nano === 0n) return '0';
  if (quantity.format === 'BinarySI' && nano % nanoPerUnit === 0n) {
    const units = nano / nanoPerUnit;
    if (units <= -1024n || units >= 1024n) return formatBinary(units);
  }
  return formatDecimal(nano, quantity.format === 'DecimalExponent');
}

function formatBinary(units: bigint): string {
  let power = 0;
  let rest = units;
  while (power < 60 && (rest & 1023n) === 0n) {
    rest >>= 10n;
    power += 10;
  }
  return `${rest}${suffixOfPower.get(power) ?? ''}`;
}

function formatDecimal(nano: bigint, asExponent: boolean): string {
  let exponent = -9;
  let rest = nano;
  while (rest % 1000n === 0n) {
    rest /= 1000n;
    exponent += 3;
  }
  if (asExponent) return exponent === 0 ? `${rest}` : `${rest}e${exponent}`;
  const suffix = suffixOfExponent.get(exponent);
  return suffix !== undefined ? `${rest}${suffix}` : `${rest * 10n ** BigInt(exponent - 18)}E`;
}

const plain = /^(?:0|[1-9][0-9]{0,2}|-?[1-9][0-9]{0,2}[numkMGTPE]|[1-9][0-9]{0,2}[KMGTP]i)$/;

/** "1.5Gi" → "1536Mi", "0.5k" → "500". Throws QuantityError. */
export function canonicalQuantity(text: string): string {
  // Up to three digits with a suffix are canonical but for binary ones which could be whole larger units: none has three digits.
  return plain.test(text) ? text : formatQuantity(parseQuantity(text));
}

export function quantityOf(units: number | bigint, format: QuantityFormat = 'DecimalSI'): Quantity {
  return { nano: BigInt(units) * nanoPerUnit, format };
}

export function milliQuantity(milli: number | bigint, format: QuantityFormat = 'DecimalSI'): Quantity {
  return { nano: BigInt(milli) * 1_000_000n, format };
}

export function compareQuantities(a: Quantity, b: Quantity): -1 | 0 | 1 {
  return a.nano < b.nano ? -1 : a.nano > b.nano ? 1 : 0;
}

/** The sum keeps the format of `a`, or takes that of `b` when `a` is zero. */
export function addQuantities(a: Quantity, b: Quantity): Quantity {
  return { nano: a.nano + b.nano, format: a.nano === 0n ? b.format : a.format };
}

export function subtractQuantities(a: Quantity, b: Quantity): Quantity {
  return { nano: a.nano - b.nano, format: a.nano === 0n ? b.format : a.format };
}

/** Units, rounded away from zero. A double: exact up to 2^53. */
export function valueOf(quantity: Quantity): number {
  return Number(roundedUp(quantity.nano, nanoPerUnit));
}

/** Thousandths, rounded away from zero. */
export function milliValueOf(quantity: Quantity): number {
  return Number(roundedUp(quantity.nano, 1_000_000n));
}

/** Units as a double, with the fraction. */
export function approximate(quantity: Quantity): number {
  return Number(quantity.nano) / 1e9;
}

function roundedUp(nano: bigint, per: bigint): bigint {
  const quotient = nano / per;
  if (quotient * per === nano) return quotient;
  return nano > 0n ? quotient + 1n : quotient - 1n;
}

const quick = /^([0-9]{1,10})(m|k|M|G|Ki|Mi|Gi)?$/;
const factors: Readonly<Record<string, number>> = { k: 1e3, M: 1e6, G: 1e9, Ki: 1024, Mi: 1024 ** 2, Gi: 1024 ** 3 };

/** `valueOf` of a text, quick for the usual forms: what the scheduler counts memory with. */
export function value(text: string): number {
  const match = quick.exec(text);
  if (match === null) return valueOf(parseQuantity(text));
  const amount = Number(match[1]);
  const suffix = match[2];
  if (suffix === undefined) return amount;
  if (suffix === 'm') return Math.ceil(amount / 1000);
  const result = amount * factors[suffix]!;
  return Number.isSafeInteger(result) ? result : valueOf(parseQuantity(text));
}

/** `milliValueOf` of a text, quick for the usual forms: what the scheduler counts CPU with. */
export function milliValue(text: string): number {
  const match = quick.exec(text);
  if (match === null) return milliValueOf(parseQuantity(text));
  const amount = Number(match[1]);
  const suffix = match[2];
  if (suffix === undefined) return amount * 1000;
  if (suffix === 'm') return amount;
  const result = amount * factors[suffix]! * 1000;
  return Number.isSafeInteger(result) ? result : milliValueOf(parseQuantity(text));
}
