// Owns CEL's optional values (extension "OptionalTypes").
import { define, type Library, member, overload } from '../functions.ts';
import { bool, dyn, list, optional, param } from '../types.ts';
import {
  ArrayList,
  CelDuration,
  CelError,
  type CelList,
  CelOptional,
  CelTimestamp,
  CelUint,
  type CelValue,
  isList,
  isMap,
} from '../values.ts';

const a = param('A');

/** Whether a value is its type's zero: what optional.ofNonZeroValue leaves out. */
function isZero(value: CelValue): boolean {
  if (value === null || value === false || value === 0 || value === 0n || value === '') return true;
  if (value instanceof CelUint) return value.value === 0n;
  if (value instanceof Uint8Array) return value.length === 0;
  if (value instanceof CelDuration) return value.nanos === 0n;
  // Go's zero time.
  if (value instanceof CelTimestamp) return value.nanos === -62_135_596_800n * 1_000_000_000n;
  return typeof value === 'object' && (isList(value) || isMap(value)) && value.size === 0;
}

const inside = (value: CelValue): CelValue | undefined => (value as CelOptional).value;

function present(values: CelList): ArrayList {
  const items: CelValue[] = [];
  for (let at = 0; at < values.size; at++) {
    const value = inside(values.at(at));
    if (value !== undefined) items.push(value);
  }
  return new ArrayList(items);
}

export const optionals: Library = {
  name: 'optional',
  functions: [
    define(
      'optional.of',
      overload([a], optional(a), ([value]) => new CelOptional(value!)),
    ),
    define(
      'optional.ofNonZeroValue',
      overload([a], optional(a), ([value]) => (isZero(value!) ? CelOptional.none : new CelOptional(value!))),
    ),
    define(
      'optional.none',
      overload([], optional(dyn), () => CelOptional.none),
    ),
    define(
      'optional.unwrap',
      overload([list(optional(a))], list(a), ([values]) => present(values as CelList)),
    ),
    define(
      'unwrapOpt',
      member(list(optional(a)), [], list(a), ([values]) => present(values as CelList)),
    ),
    define(
      'hasValue',
      member(optional(a), [], bool, ([value]) => inside(value!) !== undefined),
    ),
    define(
      'value',
      member(optional(a), [], a, ([value]) => {
        const found = inside(value!);
        if (found === undefined) throw new CelError('optional.none() dereference');
        return found;
      }),
    ),
    define(
      'or',
      member(optional(a), [optional(a)], optional(a), ([value, other]) =>
        inside(value!) === undefined ? other! : value!,
      ),
    ),
    define(
      'orValue',
      member(optional(a), [a], a, ([value, other]) => inside(value!) ?? other!),
    ),
  ],
};
