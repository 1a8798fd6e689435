// Owns Kubernetes' functions of lists, and the extension "sets" (documentation "Kubernetes list library", cel-go "sets").
import { compare, equal } from '../equality.ts';
import { define, type Library, member, overload } from '../functions.ts';
import {
  bool,
  bytes,
  type CelType,
  double,
  duration,
  dyn,
  int,
  list,
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
  CelOptional,
  CelUint,
  type CelValue,
  isList,
} from '../values.ts';
import { checkedDuration, checkedInt, checkedUint } from './operators.ts';

const a = param('A');
const summable: readonly CelType[] = [int, uint, double, duration];
/** The first is what an empty list is taken for. */
const ordered: readonly CelType[] = [int, uint, double, bool, duration, timestamp, string, bytes];

const maxRange = 100_000;

const optionalAt = (items: CelList, at: number): CelOptional =>
  at < 0 || at >= items.size ? CelOptional.none : new CelOptional(items.at(at));

function flattened(items: readonly CelValue[], depth: number): CelValue[] {
  return items.flatMap((item) =>
    depth > 0 && typeof item === 'object' && item !== null && isList(item) ? flattened(array(item), depth - 1) : [item],
  );
}

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
      member(list(type), [], type, ([items]) => {
        const all = array(items!);
        if (all.length === 0) throw new CelError(`${name} called on empty list`);
        return all.reduce((best, item) => (sign * compare(item, best) > 0 ? item : best));
      }),
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
    define('isSorted', ...ordered.map((type) => member(list(type), [], bool, isSorted))),
    define('sum', ...summable.map((type) => member(list(type), [], type, ([items]) => sum(array(items!), type.kind)))),
    extreme('min', -1),
    extreme('max', 1),
    define(
      'indexOf',
      member(list(a), [a], int, ([items, item]) => BigInt(array(items!).findIndex((other) => equal(other, item!)))),
    ),
    define(
      'lastIndexOf',
      member(list(a), [a], int, ([items, item]) => BigInt(array(items!).findLastIndex((other) => equal(other, item!)))),
    ),
    define(
      'slice',
      member(list(a), [int, int], list(a), ([items, from, to]) => {
        const all = array(items!);
        const [start, end] = [Number(from as bigint), Number(to as bigint)];
        if (start < 0 || end > all.length || start > end)
          throw new CelError(`cannot slice(${start}, ${end}), list length is ${all.length}`);
        return new ArrayList(all.slice(start, end));
      }),
    ),
    define(
      'flatten',
      member(list(list(a)), [], list(a), ([items]) => new ArrayList(flattened(array(items!), 1))),
      member(list(dyn), [int], list(dyn), ([items, depth]) => {
        if ((depth as bigint) < 0n) throw new CelError('level must be non-negative');
        return new ArrayList(flattened(array(items!), Math.min(100, Number(depth as bigint))));
      }),
    ),
    define(
      'distinct',
      member(list(a), [], list(a), ([items]) => {
        const all = array(items!);
        return new ArrayList(all.filter((item, at) => !all.slice(0, at).some((other) => equal(item, other))));
      }),
    ),
    define(
      'sort',
      ...ordered.map((type) =>
        member(list(type), [], list(type), ([items]) => new ArrayList([...array(items!)].sort(compare))),
      ),
    ),
    define(
      '@sortByKeys',
      ...ordered.map((type) =>
        member(list(a), [list(type)], list(a), ([items, keys]) => {
          const order = array(keys!).map((key, at) => ({ key, at }));
          order.sort((x, y) => compare(x.key, y.key) || x.at - y.at);
          const all = array(items!);
          return new ArrayList(order.map(({ at }) => all[at]!));
        }),
      ),
    ),
    define(
      'reverse',
      member(list(a), [], list(a), ([items]) => new ArrayList([...array(items!)].reverse())),
    ),
    define(
      'first',
      member(list(a), [], optional(a), ([items]) => optionalAt(items as CelList, 0)),
    ),
    define(
      'last',
      member(list(a), [], optional(a), ([items]) => optionalAt(items as CelList, (items as CelList).size - 1)),
    ),
    define(
      'lists.range',
      overload([int], list(int), ([count]) => {
        const size = Number(count as bigint);
        if (size < 0) throw new CelError(`lists.range: size must be non-negative, got ${size}`);
        if (size > maxRange) throw new CelError(`lists.range: at most ${maxRange} elements`);
        return new ArrayList(Array.from({ length: Math.max(0, size) }, (_, at) => BigInt(at)));
      }),
    ),
  ],
};

export const sets: Library = {
  name: 'sets',
  functions: [
    define(
      'sets.contains',
      overload([list(a), list(a)], bool, ([all, some]) => includesAll(array(all!), array(some!))),
    ),
    define(
      'sets.intersects',
      overload([list(a), list(a)], bool, ([all, some]) => includesAny(array(all!), array(some!))),
    ),
    define(
      'sets.equivalent',
      overload(
        [list(a), list(a)],
        bool,
        ([x, y]) => includesAll(array(x!), array(y!)) && includesAll(array(y!), array(x!)),
      ),
    ),
  ],
};
