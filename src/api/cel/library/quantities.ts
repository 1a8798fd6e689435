// Owns Kubernetes' quantity library of CEL (documentation "Kubernetes quantity library").
import {
  addQuantities,
  approximate,
  compareQuantities,
  type Quantity,
  quantityOf,
  subtractQuantities,
  tryParseQuantity,
} from '../../quantity.ts';
import { define, type Library, member, overload } from '../functions.ts';
import { bool, double, int, opaque, string } from '../types.ts';
import { CelError, CelOpaque, type CelValue } from '../values.ts';

const quantity = opaque('kubernetes.Quantity');
const nanosPerUnit = 1_000_000_000n;

/** How upstream holds an amount: as a whole number times a power of ten, or (undefined) as a decimal of any length. */
type Scale = number | undefined;

class CelQuantity extends CelOpaque {
  readonly typeName = 'kubernetes.Quantity';
  readonly quantity: Quantity;
  readonly scale: Scale;
  constructor(value: Quantity, scale: Scale) {
    super();
    this.quantity = value;
    this.scale = scale;
  }
  override equals(other: CelOpaque): boolean {
    return other instanceof CelQuantity && compareQuantities(this.quantity, other.quantity) === 0;
  }
}

/** Digits decide: what is too long, or has a fraction of a binary unit, is held as a decimal. */
function scaleOf(text: string): Scale {
  const [, whole = '', fraction = '', suffix = ''] = /^[+-]?0*(\d*)(?:\.(\d*))?(.*)$/.exec(text) ?? [];
  const digits = whole.length + fraction.length;
  const power = binaryPowers.indexOf(suffix) + 1;
  if (power > 0) return fraction === '' && 14 - whole.length - Math.trunc(power * 3) >= 0 ? 0 : undefined;
  const exponent = /^[eE](.+)$/.exec(suffix)?.[1];
  const scale = exponent === undefined ? (decimalScales[suffix] ?? 0) : Number(exponent);
  return digits <= 18 ? scale - fraction.length : undefined;
}

const binaryPowers = ['Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];
const decimalScales: Readonly<Record<string, number>> = { n: -9, u: -6, m: -3, k: 3, M: 6, G: 9, T: 12, P: 15, E: 18 };

function sumScale(x: CelQuantity, y: CelQuantity): Scale {
  if (x.scale === undefined || y.scale === undefined) return undefined;
  if (y.quantity.nano === 0n) return x.scale;
  return x.quantity.nano === 0n ? y.scale : Math.min(x.scale, y.scale);
}

const of = (value: CelValue | undefined): Quantity => (value as CelQuantity).quantity;

function parsed(text: CelValue | undefined): Quantity {
  const found = tryParseQuantity(text as string);
  if (found === undefined)
    throw new CelError(`quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'`);
  return found;
}

/** Only whole numbers within 64 bits that upstream holds as such: 1.5Gi, 1000m and 2.0 are none. */
function asInteger({ quantity: value, scale }: CelQuantity): bigint | undefined {
  if (scale === undefined || scale < 0) return undefined;
  if (value.nano % nanosPerUnit !== 0n) return undefined;
  const units = value.nano / nanosPerUnit;
  return BigInt.asIntN(64, units) === units ? units : undefined;
}

const comparing = (name: string, holds: (order: number) => boolean) =>
  define(
    name,
    member(quantity, [quantity], bool, ([x, y]) => holds(compareQuantities(of(x), of(y)))),
  );

type Apply = (x: Quantity, y: Quantity) => Quantity;

function computed(apply: Apply, x: CelQuantity, y: CelQuantity): CelQuantity {
  return new CelQuantity(apply(x.quantity, y.quantity), sumScale(x, y));
}

const computing = (name: string, apply: Apply) =>
  define(
    name,
    member(quantity, [quantity], quantity, ([x, y]) => computed(apply, x as CelQuantity, y as CelQuantity)),
    member(quantity, [int], quantity, ([x, y]) =>
      computed(apply, x as CelQuantity, new CelQuantity(quantityOf(y as bigint), 0)),
    ),
  );

export const quantities: Library = {
  name: 'kubernetes.quantity',
  functions: [
    define(
      'quantity',
      overload([string], quantity, ([text]) => new CelQuantity(parsed(text), scaleOf(text as string))),
    ),
    define(
      'isQuantity',
      overload([string], bool, ([text]) => tryParseQuantity(text as string) !== undefined),
    ),
    define(
      'isInteger',
      member(quantity, [], bool, ([value]) => asInteger(value as CelQuantity) !== undefined),
    ),
    define(
      'asInteger',
      member(quantity, [], int, ([value]) => {
        const whole = asInteger(value as CelQuantity);
        if (whole === undefined) throw new CelError('cannot convert value to integer');
        return whole;
      }),
    ),
    define(
      'asApproximateFloat',
      member(quantity, [], double, ([value]) => approximate(of(value))),
    ),
    define(
      'sign',
      overload([quantity], int, ([value]) => (of(value).nano > 0n ? 1n : of(value).nano < 0n ? -1n : 0n)),
    ),
    comparing('isGreaterThan', (order) => order > 0),
    comparing('isLessThan', (order) => order < 0),
    define(
      'compareTo',
      member(quantity, [quantity], int, ([x, y]) => BigInt(compareQuantities(of(x), of(y)))),
    ),
    computing('add', addQuantities),
    computing('sub', subtractQuantities),
  ],
};
