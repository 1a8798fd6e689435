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

class CelQuantity extends CelOpaque {
  readonly typeName = 'kubernetes.Quantity';
  readonly quantity: Quantity;
  constructor(value: Quantity) {
    super();
    this.quantity = value;
  }
  override equals(other: CelOpaque): boolean {
    return other instanceof CelQuantity && compareQuantities(this.quantity, other.quantity) === 0;
  }
}

const of = (value: CelValue | undefined): Quantity => (value as CelQuantity).quantity;

function parsed(text: CelValue | undefined): Quantity {
  const found = tryParseQuantity(text as string);
  if (found === undefined)
    throw new CelError(`quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'`);
  return found;
}

/** Only whole numbers within 64 bits; binary suffixes count as upstream counts them: 1.5Gi is no integer. */
function asInteger(value: Quantity): bigint | undefined {
  if (value.nano % nanosPerUnit !== 0n) return undefined;
  const units = value.nano / nanosPerUnit;
  return BigInt.asIntN(64, units) === units ? units : undefined;
}

const comparing = (name: string, holds: (order: number) => boolean) =>
  define(
    name,
    member(quantity, [quantity], bool, ([x, y]) => holds(compareQuantities(of(x), of(y)))),
  );

const computing = (name: string, apply: (x: Quantity, y: Quantity) => Quantity) =>
  define(
    name,
    member(quantity, [quantity], quantity, ([x, y]) => new CelQuantity(apply(of(x), of(y)))),
    member(quantity, [int], quantity, ([x, y]) => new CelQuantity(apply(of(x), quantityOf(y as bigint)))),
  );

export const quantities: Library = {
  name: 'kubernetes.quantity',
  functions: [
    define(
      'quantity',
      overload([string], quantity, ([text]) => new CelQuantity(parsed(text))),
    ),
    define(
      'isQuantity',
      overload([string], bool, ([text]) => tryParseQuantity(text as string) !== undefined),
    ),
    define(
      'isInteger',
      member(quantity, [], bool, ([value]) => asInteger(of(value)) !== undefined),
    ),
    define(
      'asInteger',
      member(quantity, [], int, ([value]) => {
        const whole = asInteger(of(value));
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
      member(quantity, [], int, ([value]) => (of(value).nano > 0n ? 1n : of(value).nano < 0n ? -1n : 0n)),
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
