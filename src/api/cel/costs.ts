// Owns what a call costs when it is run: units of work by function, as upstream charges them. Estimates before the run are next door.
import { codePoints } from '../../base/text.ts';
import type { Overload } from './functions.ts';
import { CelOpaque, CelOptional, type CelList, type CelValue, isList, isMap } from './values.ts';

/** A tenth of a unit a character: what upstream charges for walking text. */
export const traversalFactor = 0.1;
/** Four characters of a pattern are taken for one step of its machine. */
export const regexFactor = 0.25;
export const listCost = 10;
export const mapCost = 30;
export const structCost = 40;
/** Two checks of access an expression, and no more. */
export const checkCost = 350_000;

type Cost = (args: readonly CelValue[], result: CelValue) => number;

/** Characters, bytes, elements; 1 for what has no size. */
export function sizeOf(value: CelValue): number {
  if (typeof value === 'string') return codePoints(value);
  if (typeof value !== 'object' || value === null) return 1;
  if (value instanceof Uint8Array) return value.length;
  if (value instanceof CelOpaque) return value.size;
  return isList(value) || isMap(value) ? value.size : 1;
}

/** Of an optional value, what is inside counts. */
const insideSize = (value: CelValue): number =>
  value instanceof CelOptional && value.value !== undefined ? insideSize(value.value) : sizeOf(value);

const walked = (value: CelValue | undefined, times = 1): number => Math.ceil(sizeOf(value!) * times * traversalFactor);
const ofFirst: Cost = ([text]) => walked(text);
const ofSecond: Cost = ([, text]) => walked(text);
const twice: Cost = ([text]) => walked(text, 2);
const patterned: Cost = ([text, pattern]) =>
  Math.ceil((1 + sizeOf(text!)) * traversalFactor) * Math.ceil(sizeOf(pattern!) * regexFactor);
const smaller: Cost = ([x, y]) => Math.ceil(Math.min(insideSize(x!), insideSize(y!)) * traversalFactor);

/** All that is in a value: a unit each, texts by their bytes. */
function traversal(value: CelValue): number {
  if (typeof value === 'string') return Math.trunc(Buffer.byteLength(value) * traversalFactor);
  if (value instanceof Uint8Array) return Math.trunc(value.length * traversalFactor);
  if (typeof value !== 'object' || value === null) return 1;
  let cost = 0;
  if (isList(value)) for (let at = 0; at < value.size; at++) cost += traversal(value.at(at));
  else if (isMap(value)) for (const key of value.keys()) cost += traversal(key) + traversal(value.get(key)!);
  else return 1;
  return cost;
}

const allocated = (size: number): number => Math.trunc(size) + 1 + listCost;
const ofResult: Cost = (_args, result) => allocated(sizeOf(result));

/** Each element compared with each other. */
function compared(items: CelList): number {
  if (items.size === 0) return allocated(0);
  const first = items.at(0);
  const factor = typeof first === 'string' || first instanceof Uint8Array ? 2 + traversalFactor : 2;
  return allocated(items.size * items.size * factor);
}

const ofPairs =
  (factor: number): Cost =>
  ([x, y]) =>
    1 + sizeOf(x!) * sizeOf(y!) * factor;

function selectorCost([, text]: readonly CelValue[]): number {
  const length = sizeOf(text!);
  return listCost + Math.ceil(length * traversalFactor) + Math.ceil(length * 0.5) * (listCost + structCost);
}

/** Comparing the bits of an address with those of a block. */
function contained([block, other]: readonly CelValue[], more: number): number {
  return walked(block, 2) + more + (typeof other === 'string' ? walked(other) : 0);
}

const each: Cost = ([items]) => traversal(items!);

/** By function; those not named cost 1. */
const costs: ReadonlyMap<string, Cost> = new Map<string, Cost>([
  ['_==_', (args, result) => (args[0] instanceof CelOpaque ? 1 : smaller(args, result))],
  ['_!=_', smaller],
  ['check', () => checkCost],
  ['fieldSelector', selectorCost],
  ['labelSelector', selectorCost],
  ...['isSorted', 'sum', 'max', 'min', 'indexOf', 'lastIndexOf', 'includes'].map((name) => [name, each] as const),
  ...[
    'url',
    'lowerAscii',
    'upperAscii',
    'substring',
    'trim',
    'jsonpatch.escapeKey',
    'cidr',
    'isIP',
    'isCIDR',
    'ip',
  ].map((name) => [name, ofFirst] as const),
  ...['quantity', 'isQuantity', 'semver', 'isSemver', 'strings.quote', 'format'].map(
    (name) => [name, ofFirst] as const,
  ),
  ...['replace', 'split', 'ip.isCanonical'].map((name) => [name, twice] as const),
  ['join', (_args, result) => walked(result, 2)],
  ...['find', 'findAll', 'matches'].map((name) => [name, patterned] as const),
  ['containsIP', (args) => contained(args, 0)],
  ['containsCIDR', (args) => contained(args, walked(args[0]) + 1)],
  ['slice', ofResult],
  ['lists.range', ofResult],
  ['reverse', ofResult],
  ['flatten', ([items, depth]) => allocated(sizeOf(items!) * (depth === undefined ? 1 : Number(depth as bigint)))],
  ['distinct', ([items]) => compared(items as CelList)],
  ['sort', ([items]) => compared(items as CelList)],
  ['@sortByKeys', ([, keys]) => compared(keys as CelList)],
  ['sets.contains', ofPairs(1)],
  ['sets.intersects', ofPairs(1)],
  ['sets.equivalent', ofPairs(2)],
  ['startsWith', ofSecond],
  ['endsWith', ofSecond],
  ['contains', ([text, part]) => walked(text) * walked(part)],
]);

const comparisons: ReadonlySet<string> = new Set(['_<_', '_<=_', '_>_', '_>=_']);
const isText = (overload: Overload, at: number): boolean => {
  const kind = overload.params[at]?.kind;
  return kind === 'string' || kind === 'bytes';
};

/** Undefined: 1, whatever the arguments are. */
export function callCost(overload: Overload): Cost | undefined {
  if (overload.cost !== undefined) return overload.cost;
  const { name = '' } = overload;
  if (comparisons.has(name)) return isText(overload, 0) && isText(overload, 1) ? smaller : undefined;
  switch (name) {
    case '_+_':
      return isText(overload, 0) ? ([x, y]) => Math.ceil((sizeOf(x!) + sizeOf(y!)) * traversalFactor) : undefined;
    case '@in':
      return overload.params[1]?.kind === 'list' ? ([, whole]) => sizeOf(whole!) : undefined;
    case 'bytes':
      return overload.params[0]?.kind === 'string' ? ofFirst : undefined;
    case 'string':
      return overload.params[0]?.kind === 'bytes' ? ofFirst : undefined;
    case 'ip':
      return overload.isMember ? undefined : ofFirst;
    default:
      return costs.get(name);
  }
}
