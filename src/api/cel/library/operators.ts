// Owns CEL's operators: arithmetic with overflow as an error, comparison, membership, indexing.
import { define, type Library, type Overload, overload } from '../functions.ts';
import { compare, equal, sameItem } from '../equality.ts';
import {
  bool,
  bytes,
  type CelType,
  double,
  duration,
  dyn,
  int,
  list,
  map,
  optional,
  param,
  string,
  timestamp,
  uint,
} from '../types.ts';
import {
  ArrayList,
  CelDuration,
  CelError,
  type CelList,
  type CelMap,
  CelOptional,
  CelTimestamp,
  CelUint,
  type CelValue,
  EntryMap,
  isList,
  isMap,
} from '../values.ts';

const a = param('A');
const b = param('B');

const minInt = -(2n ** 63n);
const maxInt = 2n ** 63n - 1n;
const maxUint = 2n ** 64n - 1n;

export function checkedInt(value: bigint): bigint {
  if (value < minInt || value > maxInt) throw new CelError('integer overflow');
  return value;
}

export function checkedUint(value: bigint): CelUint {
  if (value < 0n || value > maxUint) throw new CelError('unsigned integer overflow');
  return new CelUint(value);
}

/** Seconds from 0001-01-01 to 9999-12-31, the range of google.protobuf.Timestamp. */
const minTimestamp = -62_135_596_800n * 1_000_000_000n;
const maxTimestamp = 253_402_300_800n * 1_000_000_000n - 1n;

export function checkedTimestamp(nanos: bigint, offset = 0): CelTimestamp {
  if (nanos < minTimestamp || nanos > maxTimestamp) throw new CelError('timestamp overflow');
  return new CelTimestamp(nanos, offset);
}

export function checkedDuration(nanos: bigint): CelDuration {
  if (nanos < minInt || nanos > maxInt) throw new CelError('duration overflow');
  return new CelDuration(nanos);
}

type Binary<T> = (left: T, right: T) => CelValue;

const ints = (apply: Binary<bigint>): Overload =>
  overload([int, int], int, ([x, y]) => apply(x as bigint, y as bigint));
const uints = (apply: Binary<bigint>): Overload =>
  overload([uint, uint], uint, ([x, y]) => apply((x as CelUint).value, (y as CelUint).value));
const doubles = (apply: Binary<number>): Overload =>
  overload([double, double], double, ([x, y]) => apply(x as number, y as number));

function nonZero(value: bigint, what: string): bigint {
  if (value === 0n) throw new CelError(what);
  return value;
}

/** Kubernetes: sets and maps of a schema merge, other lists are put one behind the other. */
function concatenate(left: CelList, right: CelList): CelList {
  const items = Array.from({ length: left.size }, (_, at) => left.at(at));
  const { listType } = left;
  for (let at = 0; at < right.size; at++) {
    const item = right.at(at);
    const place = listType === undefined ? -1 : items.findIndex((other) => sameItem(other, item, listType));
    if (place < 0) items.push(item);
    else items[place] = item;
  }
  return new ArrayList(items, listType);
}

const comparable: readonly CelType[] = [bool, int, uint, double, string, bytes, timestamp, duration];
const numeric: readonly CelType[] = [int, uint, double];

function comparison(name: string, holds: (order: number) => boolean) {
  const apply = ([x, y]: readonly CelValue[]) => holds(compare(x!, y!));
  const crossed = numeric.flatMap((left) =>
    numeric.filter((right) => right !== left).map((right) => overload([left, right], bool, apply)),
  );
  return define(name, ...comparable.map((type) => overload([type, type], bool, apply)), ...crossed);
}

function indexOf(whole: CelValue, key: CelValue): CelValue | undefined {
  if (isMap(whole)) return whole.get(key);
  const index = key instanceof CelUint ? key.value : key;
  if (!isList(whole)) throw new CelError('no such overload');
  if (typeof index !== 'bigint' && !(typeof index === 'number' && Number.isInteger(index)))
    throw new CelError('unsupported index type');
  return index < 0 || index >= whole.size ? undefined : whole.at(Number(index));
}

function missing(whole: CelValue, key: CelValue): CelError {
  return new CelError(isMap(whole) ? `no such key: ${String(key)}` : `index out of bounds: ${String(key)}`);
}

function index([whole, key]: readonly CelValue[]): CelValue {
  const found = indexOf(whole!, key!);
  if (found === undefined) throw missing(whole!, key!);
  return found;
}

function optionalIndex([whole, key]: readonly CelValue[]): CelValue {
  const inside = whole instanceof CelOptional ? whole.value : whole;
  const found = inside === undefined ? undefined : indexOf(inside, key!);
  return found === undefined ? CelOptional.none : new CelOptional(found);
}

function isIn([item, whole]: readonly CelValue[]): boolean {
  if (isMap(whole!)) return whole.get(item!) !== undefined;
  const items = whole as CelList;
  for (let at = 0; at < items.size; at++) if (equal(item!, items.at(at))) return true;
  return false;
}

function entriesOf(whole: CelMap): [CelValue, CelValue][] {
  return Array.from(whole.keys(), (key) => [key, whole.get(key)!]);
}

function inserted(whole: CelMap, entries: readonly [CelValue, CelValue][]): CelMap {
  for (const [key] of entries)
    if (whole.get(key) !== undefined) throw new CelError(`insert failed: key ${String(key)} already exists`);
  return new EntryMap([...entriesOf(whole), ...entries]);
}

export const operators: Library = {
  name: 'operators',
  functions: [
    define(
      '_==_',
      overload([a, a], bool, ([x, y]) => equal(x!, y!)),
    ),
    define(
      '_!=_',
      overload([a, a], bool, ([x, y]) => !equal(x!, y!)),
    ),
    comparison('_<_', (order) => order < 0),
    comparison('_<=_', (order) => order <= 0),
    comparison('_>_', (order) => order > 0),
    comparison('_>=_', (order) => order >= 0),
    define('_&&_', overload([bool, bool], bool, unreachable)),
    define('_||_', overload([bool, bool], bool, unreachable)),
    define('_?_:_', overload([bool, a, a], a, unreachable)),
    define('@not_strictly_false', overload([bool], bool, unreachable)),
    define(
      '!_',
      overload([bool], bool, ([x]) => !(x as boolean)),
    ),
    define(
      '-_',
      overload([int], int, ([x]) => checkedInt(-(x as bigint))),
      overload([double], double, ([x]) => -(x as number)),
    ),
    define(
      '_+_',
      ints((x, y) => checkedInt(x + y)),
      uints((x, y) => checkedUint(x + y)),
      doubles((x, y) => x + y),
      overload([string, string], string, ([x, y]) => (x as string) + (y as string)),
      overload([bytes, bytes], bytes, ([x, y]) => Buffer.concat([x as Uint8Array, y as Uint8Array])),
      overload([list(a), list(a)], list(a), ([x, y]) => concatenate(x as CelList, y as CelList)),
      overload([timestamp, duration], timestamp, ([x, y]) =>
        checkedTimestamp((x as CelTimestamp).nanos + (y as CelDuration).nanos, (x as CelTimestamp).offset),
      ),
      overload([duration, timestamp], timestamp, ([x, y]) =>
        checkedTimestamp((x as CelDuration).nanos + (y as CelTimestamp).nanos, (y as CelTimestamp).offset),
      ),
      overload([duration, duration], duration, ([x, y]) =>
        checkedDuration((x as CelDuration).nanos + (y as CelDuration).nanos),
      ),
    ),
    define(
      '_-_',
      ints((x, y) => checkedInt(x - y)),
      uints((x, y) => checkedUint(x - y)),
      doubles((x, y) => x - y),
      overload([timestamp, timestamp], duration, ([x, y]) =>
        checkedDuration((x as CelTimestamp).nanos - (y as CelTimestamp).nanos),
      ),
      overload([timestamp, duration], timestamp, ([x, y]) =>
        checkedTimestamp((x as CelTimestamp).nanos - (y as CelDuration).nanos, (x as CelTimestamp).offset),
      ),
      overload([duration, duration], duration, ([x, y]) =>
        checkedDuration((x as CelDuration).nanos - (y as CelDuration).nanos),
      ),
    ),
    define(
      '_*_',
      ints((x, y) => checkedInt(x * y)),
      uints((x, y) => checkedUint(x * y)),
      doubles((x, y) => x * y),
    ),
    define(
      '_/_',
      ints((x, y) => checkedInt(x / nonZero(y, 'division by zero'))),
      uints((x, y) => checkedUint(x / nonZero(y, 'division by zero'))),
      doubles((x, y) => x / y),
    ),
    define(
      '_%_',
      ints((x, y) => x % nonZero(y, 'modulus by zero')),
      uints((x, y) => checkedUint(x % nonZero(y, 'modulus by zero'))),
    ),
    define('@in', overload([a, list(a)], bool, isIn), overload([a, map(a, b)], bool, isIn)),
    // What transformMap and transformMapEntry become.
    define(
      '@map_insert',
      overload([map(a, b), a, b], map(a, b), ([whole, key, value]) => inserted(whole as CelMap, [[key!, value!]])),
    ),
    define(
      '@map_merge',
      overload([map(a, b), map(a, b)], map(a, b), ([whole, more]) =>
        inserted(whole as CelMap, entriesOf(more as CelMap)),
      ),
    ),
    define(
      '_[_]',
      overload([list(a), int], a, index),
      overload([map(a, b), a], b, index),
      overload([list(a), dyn], a, index),
      overload([optional(list(a)), int], optional(a), optionalIndex),
      overload([optional(map(a, b)), a], optional(b), optionalIndex),
    ),
    define(
      '_[?_]',
      overload([list(a), int], optional(a), optionalIndex),
      overload([map(a, b), a], optional(b), optionalIndex),
      overload([optional(list(a)), int], optional(a), optionalIndex),
      overload([optional(map(a, b)), a], optional(b), optionalIndex),
    ),
  ],
};

/** Logical operators never reach their overloads: evaluation treats them itself. */
function unreachable(): CelValue {
  throw new CelError('a logical operator is not called as a function');
}
