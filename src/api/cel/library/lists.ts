// Owns Kubernetes' functions of lists, and the extension "sets" (documentation "Kubernetes list library", cel-go "sets").
import { compare, equal } from '../equality.ts';
import { define, type Library, member, overload, type SizeRange } from '../functions.ts';
import { bool, bytes, type CelType, double, duration, int, list, param, string, timestamp, uint } from '../types.ts';
import { CelDuration, CelError, type CelList, CelUint, type CelValue } from '../values.ts';
import { checkedDuration, checkedInt, checkedUint, sizeOf } from './operators.ts';

const a = param('A');
const summable: readonly CelType[] = [int, uint, double, duration];
const ordered: readonly CelType[] = [bool, int, uint, double, string, bytes, timestamp, duration];

const each = {
  cost: ([items]: readonly CelValue[]) => Math.max(1, sizeOf(items!)),
  estimate: ([items]: readonly SizeRange[]) => ({
    cost: { min: Math.max(1, items!.min), max: Math.max(1, items!.max) },
  }),
};

/** Each of one with each of the other. */
const pairs = {
  cost: ([x, y]: readonly CelValue[]) => Math.max(1, sizeOf(x!) * sizeOf(y!)),
  estimate: ([x, y]: readonly SizeRange[]) => ({
    cost: { min: Math.max(1, x!.min * y!.min), max: Math.max(1, x!.max * y!.max) },
  }),
};

const array = (items: CelValue): CelValue[] =>
  Array.from({ length: (items as CelList).size }, (_, at) => (items as CelList).at(at));

function sum(items: readonly CelValue[], kind: CelType['kind']): CelValue {
  switch (kind) {
    case 'double':
      return items.reduce<number>((total, item) => total + (item as number), 0);
    case 'uint':
      return items.reduce<CelUint>(
        (total, item) => checkedUint(total.value + (item as CelUint).value),
        new CelUint(0n),
      );
    case 'duration':
      return items.reduce<CelDuration>(
        (total, item) => checkedDuration(total.nanos + (item as CelDuration).nanos),
        new CelDuration(0n),
      );
    default:
      return items.reduce<bigint>((total, item) => checkedInt(total + (item as bigint)), 0n);
  }
}

function extreme(name: string, sign: 1 | -1) {
  return define(
    name,
    ...ordered.map((type) =>
      member(
        list(type),
        [],
        type,
        ([items]) => {
          const all = array(items!);
          if (all.length === 0) throw new CelError(`${name} called on empty list`);
          return all.reduce((best, item) => (sign * compare(item, best) > 0 ? item : best));
        },
        each,
      ),
    ),
  );
}

function isSorted([items]: readonly CelValue[]): boolean {
  return array(items!).every((item, at, all) => at === 0 || compare(all[at - 1]!, item) <= 0);
}

const includesAll = (all: readonly CelValue[], some: readonly CelValue[]) =>
  some.every((item) => all.some((other) => equal(item, other)));
const includesAny = (all: readonly CelValue[], some: readonly CelValue[]) =>
  some.some((item) => all.some((other) => equal(item, other)));

export const lists: Library = {
  name: 'lists',
  functions: [
    define('isSorted', ...ordered.map((type) => member(list(type), [], bool, isSorted, each))),
    define(
      'sum',
      ...summable.map((type) => member(list(type), [], type, ([items]) => sum(array(items!), type.kind), each)),
    ),
    extreme('min', -1),
    extreme('max', 1),
    define(
      'indexOf',
      member(
        list(a),
        [a],
        int,
        ([items, item]) => BigInt(array(items!).findIndex((other) => equal(other, item!))),
        each,
      ),
    ),
    define(
      'lastIndexOf',
      member(
        list(a),
        [a],
        int,
        ([items, item]) => BigInt(array(items!).findLastIndex((other) => equal(other, item!))),
        each,
      ),
    ),
  ],
};

export const sets: Library = {
  name: 'sets',
  functions: [
    define(
      'sets.contains',
      overload([list(a), list(a)], bool, ([all, some]) => includesAll(array(all!), array(some!)), pairs),
    ),
    define(
      'sets.intersects',
      overload([list(a), list(a)], bool, ([all, some]) => includesAny(array(all!), array(some!)), pairs),
    ),
    define(
      'sets.equivalent',
      overload(
        [list(a), list(a)],
        bool,
        ([x, y]) => includesAll(array(x!), array(y!)) && includesAll(array(y!), array(x!)),
        pairs,
      ),
    ),
  ],
};
