// Owns CEL's equality and order of values (language definition, "Equality" and "Ordering"; Kubernetes: list types of schemas).
import { compareText } from '../../base/text.ts';
import {
  CelDuration,
  CelError,
  type CelList,
  type CelMap,
  CelOpaque,
  CelOptional,
  CelTimestamp,
  CelTypeValue,
  CelUint,
  type CelValue,
  isList,
  isMap,
} from './values.ts';

/** Values of different types are unequal, except that all kinds of number compare by their worth. */
export function equal(a: CelValue, b: CelValue): boolean {
  if (a === b) return true;
  if (
    a === null ||
    b === null ||
    typeof a === 'boolean' ||
    typeof a === 'string' ||
    typeof b === 'boolean' ||
    typeof b === 'string'
  )
    return false;
  if (isNumber(a) && isNumber(b)) return compareNumbers(a, b) === 0;
  if (a instanceof Uint8Array) return b instanceof Uint8Array && Buffer.compare(a, b) === 0;
  if (a instanceof CelTimestamp) return b instanceof CelTimestamp && a.nanos === b.nanos;
  if (a instanceof CelDuration) return b instanceof CelDuration && a.nanos === b.nanos;
  if (a instanceof CelTypeValue) return b instanceof CelTypeValue && a.name === b.name;
  if (a instanceof CelOptional) {
    if (!(b instanceof CelOptional)) return false;
    return a.value === undefined || b.value === undefined ? a.value === b.value : equal(a.value, b.value);
  }
  if (a instanceof CelOpaque) return b instanceof CelOpaque && a.typeName === b.typeName && a.equals(b);
  if (isList(a)) return isList(b) && equalLists(a, b);
  return isMap(a) && isMap(b) && equalMaps(a, b);
}

function equalLists(a: CelList, b: CelList): boolean {
  if (a.size !== b.size) return false;
  const { listType } = a.listType === undefined ? b : a;
  if (listType !== undefined)
    return everyItem(a, (item) => someItem(b, (other) => sameItem(item, other, listType) && equal(item, other)));
  for (let at = 0; at < a.size; at++) if (!equal(a.at(at), b.at(at))) return false;
  return true;
}

function everyItem(list: CelList, holds: (item: CelValue) => boolean): boolean {
  for (let at = 0; at < list.size; at++) if (!holds(list.at(at))) return false;
  return true;
}

function someItem(list: CelList, holds: (item: CelValue) => boolean): boolean {
  return !everyItem(list, (item) => !holds(item));
}

/** Whether two items stand for the same place in a list of a schema's type: equal in a set, equal keys in a map. */
export function sameItem(a: CelValue, b: CelValue, listType: NonNullable<CelList['listType']>): boolean {
  if (listType.type === 'set') return equal(a, b);
  if (!isMap(a) || !isMap(b)) return false;
  return listType.keys.every((key) => {
    const [left, right] = [a.get(key), b.get(key)];
    return left === undefined || right === undefined ? left === right : equal(left, right);
  });
}

function equalMaps(a: CelMap, b: CelMap): boolean {
  if (fieldsOf(a) !== fieldsOf(b)) return false;
  for (const key of a.keys()) {
    const other = b.get(key);
    if (other === undefined || !equal(a.get(key)!, other)) return false;
  }
  return true;
}

/** Of objects only what can be reached counts. */
function fieldsOf(map: CelMap): number {
  return map.structName === undefined ? map.size : [...map.keys()].length;
}

type CelNumber = bigint | number | CelUint;

function isNumber(value: CelValue): value is CelNumber {
  return typeof value === 'bigint' || typeof value === 'number' || value instanceof CelUint;
}

/** NaN for what cannot be ordered (a double that is not a number). */
function compareNumbers(a: CelNumber, b: CelNumber): number {
  const left = a instanceof CelUint ? a.value : a;
  const right = b instanceof CelUint ? b.value : b;
  // A whole number beside a fractional one is rounded to one, as the language definition has it.
  if (typeof left !== typeof right) return compareNumbers(Number(left), Number(right));
  return left < right ? -1 : left > right ? 1 : left == right ? 0 : Number.NaN; // oxlint-disable-line eqeqeq
}

/** Negative, zero, positive; NaN when unordered. Throws CelError for types without order. */
export function compare(a: CelValue, b: CelValue): number {
  if (isNumber(a) && isNumber(b)) return compareNumbers(a, b);
  if (typeof a === 'string' && typeof b === 'string') return compareText(a, b);
  if (typeof a === 'boolean' && typeof b === 'boolean') return Number(a) - Number(b);
  if (a instanceof Uint8Array && b instanceof Uint8Array) return Buffer.compare(a, b);
  if (a instanceof CelTimestamp && b instanceof CelTimestamp) return order(a.nanos, b.nanos);
  if (a instanceof CelDuration && b instanceof CelDuration) return order(a.nanos, b.nanos);
  throw new CelError('no such overload');
}

function order(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
