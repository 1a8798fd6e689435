// Owns what a call may cost before it is run, and how large its result may be: bounds by function, as upstream states them.
import type { Literal } from './ast.ts';
import { checkCost, listCost, regexFactor, structCost, traversalFactor } from './costs.ts';
import type { Overload, SizeRange } from './functions.ts';
import type { CelType } from './types.ts';

/** What is known of one argument; the receiver is the first. */
export interface Argument {
  readonly type: CelType;
  /** Undefined: nothing is known. */
  readonly size: SizeRange | undefined;
  /** Of a list's elements. */
  readonly element: SizeRange | undefined;
  readonly literal: Literal | undefined;
}

export interface CallEstimate {
  readonly cost: SizeRange;
  /** Absent: that of its type. */
  readonly resultSize?: SizeRange | undefined;
}

type Estimate = (args: readonly Argument[]) => CallEstimate;

export const unknown: SizeRange = { min: 0, max: Number.POSITIVE_INFINITY };
export const fixed = (value: number): SizeRange => ({ min: value, max: value });
export const add = (...ranges: readonly SizeRange[]): SizeRange => ({
  min: ranges.reduce((sum, { min }) => sum + min, 0),
  max: ranges.reduce((sum, { max }) => sum + max, 0),
});
/** Nothing times anything is nothing, also without bound. */
const times = (a: number, b: number): number => (a === 0 || b === 0 ? 0 : a * b);
export const multiply = (a: SizeRange, b: SizeRange): SizeRange => ({
  min: times(a.min, b.min),
  max: times(a.max, b.max),
});
export const union = (a: SizeRange, b: SizeRange): SizeRange => ({
  min: Math.min(a.min, b.min),
  max: Math.max(a.max, b.max),
});
const scaled = ({ min, max }: SizeRange, factor: number): SizeRange => ({
  min: Math.ceil(times(min, factor)),
  max: Math.ceil(times(max, factor)),
});

const one = fixed(1);
const known = (argument: Argument | undefined): SizeRange => argument?.size ?? unknown;
const walked = (argument: Argument | undefined, factor = 1): SizeRange =>
  scaled(known(argument), factor * traversalFactor);

const ofFirst: Estimate = ([text]) => ({ cost: walked(text) });
const ofSecond: Estimate = ([, text]) => ({ cost: walked(text) });
/** As long as what it is made of. */
const sameSize: Estimate = ([text]) => ({ cost: walked(text), resultSize: known(text) });
const twice: Estimate = ([text]) => ({ cost: walked(text, 2) });

const patterned: Estimate = ([text, pattern]) => ({
  cost: multiply(scaled(add(known(text), one), traversalFactor), scaled(known(pattern), regexFactor)),
});
const found: Estimate = (args) => ({ ...patterned(args), resultSize: { min: 0, max: known(args[0]).max } });

/** One a comparison, and more for text. Texts themselves are walked. */
const each: Estimate = ([items]) => {
  const { type } = items!;
  if (type.kind !== 'list' && type.kind !== 'map')
    return { cost: scaled(known(items), type.kind === 'dyn' ? 1 : traversalFactor) };
  const inner = type.kind === 'list' ? type.element.kind : type.key.kind;
  const one_ =
    inner === 'string' || inner === 'bytes' ? add(one, scaled(items!.element ?? unknown, traversalFactor)) : one;
  return { cost: multiply(known(items), one_) };
};

/** From the shortest to the longest text that replacing may leave. */
function replacedSize(text: SizeRange, part: SizeRange, by: SizeRange): SizeRange {
  const most = (): number => {
    if (part.min === 0) return times(text.max + 1, by.max) + text.max;
    if (by.max <= part.min) return text.max;
    return times(Math.ceil(text.max / part.min), by.max);
  };
  const least = (): number => {
    if (part.max === 0) return times(text.min + 1, by.min) + text.min;
    if (part.max <= by.min) return text.min;
    return times(Math.ceil(text.min / part.max), by.min);
  };
  return { min: least(), max: most() };
}

const split: Estimate = ([text, , limit]) => {
  const { literal } = limit ?? {};
  const max = literal?.type === 'int' ? Number(BigInt.asUintN(64, literal.value)) : known(text).max;
  return { cost: walked(text, 2), resultSize: { min: 0, max } };
};

const join: Estimate = ([items, by]) => {
  const list = known(items);
  let size = multiply(list, items!.element ?? unknown);
  if (by !== undefined)
    size = add(size, multiply(known(by), { min: Math.max(0, list.min - 1), max: Math.max(0, list.max - 1) }));
  return { cost: scaled(size, traversalFactor), resultSize: size };
};

const allocated = (size: SizeRange, factor = 1): CallEstimate => ({
  cost: add(scaled(size, factor), fixed(1 + listCost)),
  resultSize: size,
});

/** A number that is written down; negative ones count as none. */
function written(argument: Argument | undefined, otherwise: number): number {
  const { literal } = argument ?? {};
  return literal?.type === 'int' ? Math.max(0, Number(literal.value)) : otherwise;
}

function sorted(items: Argument, type: CelType | undefined): CallEstimate {
  const inner = type?.kind === 'list' ? type.element.kind : undefined;
  const isText = inner === 'string' || inner === 'bytes';
  return allocated(multiply(known(items), known(items)), isText ? 2 + traversalFactor : 2);
}

/** Upstream counts in unsigned numbers, where less than nothing is very much. */
const between = (from: number, to: number): number => (to < from ? Number.POSITIVE_INFINITY : to - from);

const pairs =
  (factor: number): Estimate =>
  ([x, y]) => ({ cost: add(scaled(multiply(known(x), known(y)), factor), one) });

const selector: Estimate = ([, text]) => {
  const length = known(text);
  const requirements = scaled(scaled(length, 0.5), listCost + structCost);
  return { cost: add(fixed(listCost), scaled(length, traversalFactor), requirements) };
};

/** Addresses have 4 or 16 bytes. */
const address: SizeRange = { min: 4, max: 16 };
const bits = scaled(add(address, address), traversalFactor);
const spoken = (other: Argument | undefined): SizeRange => (other?.type.kind === 'string' ? walked(other) : fixed(0));

/** The longest pattern of a named format, in characters; the longest of what a format says. */
const maxFormatRegex = 128;
const maxFormat = 64;

const nominalEquality: ReadonlySet<string> = new Set([
  'net.IP',
  'net.CIDR',
  'kubernetes.Quantity',
  'kubernetes.Semver',
  'kubernetes.authorization.Authorizer',
  'kubernetes.authorization.PathCheck',
  'kubernetes.authorization.GroupCheck',
  'kubernetes.authorization.ResourceCheck',
  'kubernetes.authorization.Decision',
]);

const compared: Estimate = ([x, y]) => {
  const max = Math.min(known(x).max, known(y).max);
  return { cost: scaled({ min: max > 0 ? 1 : 0, max }, traversalFactor) };
};

const equality: Estimate = (args) => {
  const [x, y] = args;
  const type = x!.type;
  if (type.kind === 'opaque' && y!.type.kind === 'opaque' && y!.type.name === type.name) {
    if (nominalEquality.has(type.name)) return { cost: one };
    if (type.name === 'kubernetes.NamedFormat') return { cost: scaled({ min: 1, max: maxFormat }, traversalFactor) };
    if (type.name === 'kubernetes.URL') return { cost: scaled({ min: 1, max: y!.size?.max ?? 1 }, traversalFactor) };
  }
  return compared(args);
};

const isText = ({ params }: Overload, at: number): boolean => {
  const kind = params[at]?.kind;
  return kind === 'string' || kind === 'bytes';
};

const joined =
  (isList: boolean): Estimate =>
  ([x, y]) => {
    const resultSize = add(known(x), known(y));
    return { cost: isList ? one : scaled(resultSize, traversalFactor), resultSize };
  };

/** By function; those not named cost 1. */
const estimates: ReadonlyMap<string, Estimate> = new Map<string, Estimate>([
  ['_==_', equality],
  ['_!=_', compared],
  ['check', () => ({ cost: fixed(checkCost) })],
  ['fieldSelector', selector],
  ['labelSelector', selector],
  ...['isSorted', 'sum', 'max', 'min', 'indexOf', 'lastIndexOf', 'includes'].map((name) => [name, each] as const),
  ...['url', 'jsonpatch.escapeKey', 'lowerAscii', 'upperAscii', 'substring', 'trim'].map(
    (name) => [name, sameSize] as const,
  ),
  [
    'replace',
    ([text, part, by]) => ({ cost: walked(text, 2), resultSize: replacedSize(known(text), known(part), known(by)) }),
  ],
  ['split', split],
  ['join', join],
  ['find', found],
  ['findAll', found],
  ['matches', patterned],
  ...['cidr', 'isIP', 'isCIDR', 'quantity', 'isQuantity', 'semver', 'isSemver', 'format'].map(
    (name) => [name, ofFirst] as const,
  ),
  ['ip.isCanonical', twice],
  ['containsIP', ([, other]) => ({ cost: add(bits, spoken(other)) })],
  ['containsCIDR', ([, other]) => ({ cost: add(bits, scaled(address, traversalFactor), one, spoken(other)) })],
  ['validate', ([, text]) => ({ cost: scaled(walked(text), maxFormatRegex * regexFactor) })],
  ['slice', ([items, from, to]) => allocated(fixed(between(written(from, 0), written(to, known(items).max))))],
  ['lists.range', ([count]) => allocated(fixed(written(count, Number.POSITIVE_INFINITY)))],
  ['reverse', ([items]) => allocated(known(items))],
  [
    'flatten',
    ([items, depth]) => allocated(known(items), depth === undefined ? 1 : written(depth, Number.POSITIVE_INFINITY)),
  ],
  ['distinct', ([items]) => allocated(multiply(known(items), known(items)), 2)],
  ['sort', ([items]) => sorted(items!, items!.type)],
  ['@sortByKeys', ([, keys]) => sorted(keys!, keys!.type)],
  ['sets.contains', pairs(1)],
  ['sets.intersects', pairs(1)],
  ['sets.equivalent', pairs(2)],
  ['startsWith', ofSecond],
  ['endsWith', ofSecond],
  ['contains', ([text, part]) => ({ cost: multiply(walked(text), walked(part)) })],
  [
    'strings.quote',
    ([text]) => ({ cost: walked(text), resultSize: { min: known(text).min + 2, max: known(text).max * 2 + 2 } }),
  ],
]);

const comparisons: ReadonlySet<string> = new Set(['_<_', '_<=_', '_>_', '_>=_']);
const plain: Estimate = () => ({ cost: one });

/** The bounds of a call that means `overload`. */
export function callEstimate(overload: Overload, args: readonly Argument[]): CallEstimate {
  return estimateOf(overload)(args);
}

function estimateOf(overload: Overload): Estimate {
  const { name = '', params, isMember } = overload;
  if (comparisons.has(name)) return isText(overload, 0) && isText(overload, 1) ? compared : plain;
  switch (name) {
    case '_+_':
      return isText(overload, 0) ? joined(false) : params[0]?.kind === 'list' ? joined(true) : plain;
    case '@in':
      return params[1]?.kind === 'list' ? ([, whole]) => ({ cost: known(whole) }) : plain;
    case 'bytes':
      return params[0]?.kind === 'string'
        ? ([text]) => ({ cost: walked(text), resultSize: { min: known(text).min, max: known(text).max * 4 } })
        : plain;
    case 'string':
      return params[0]?.kind === 'bytes'
        ? ([text]) => ({
            cost: walked(text),
            resultSize: { min: Math.floor(known(text).min / 4), max: known(text).max },
          })
        : plain;
    case 'ip':
      return isMember ? plain : ofFirst;
    default:
      return estimates.get(name) ?? plain;
  }
}
