// Owns the elements of field paths: their text in FieldsV1 ("f:name", "k:{…}", "v:…", "i:3"), their order and how people read them.
import { compareText } from '../../base/text.ts';
import { parseExact } from '../codec/json-parse.ts';
import { writeJson } from '../codec/json-write.ts';
import { quoteText } from '../field-error.ts';

/** How an element looks in a conflict: ".name", "[a=1,b=\"x\"]", "[=\"v\"]", "[3]". */
export function displayOf(element: string): string {
  const rest = element.slice(2);
  switch (element[0]) {
    case 'f':
      return `.${rest}`;
    case 'k':
      return `[${Object.entries(parseExact(rest) as object)
        .map(([name, value]) => `${name}=${shown(value)}`)
        .join(',')}]`;
    case 'v':
      return `[=${shown(parseExact(rest))}]`;
    default:
      return `[${rest}]`;
  }
}

function shown(value: unknown): string {
  return typeof value === 'string' ? quoteText(value) : writeJson(value);
}

/** The element of a list item that is known by its keys. `keys` are sorted by name. */
export function keyElement(keys: readonly (readonly [name: string, value: unknown])[]): string {
  let text = 'k:{';
  for (let at = 0; at < keys.length; at++) {
    if (at > 0) text += ',';
    const [name, value] = keys[at]!;
    text += `${writeJson(name)}:${writeJson(value)}`;
  }
  return `${text}}`;
}

export function valueElement(value: unknown): string {
  return `v:${writeJson(value)}`;
}

/**
 * The element in the one form in which it is compared by text; undefined when it is none, null for a kind of element that
 * a later version may know: those are skipped. Field names stay as they are.
 */
export function canonicalElement(text: string): string | null | undefined {
  if (text[1] !== ':') return undefined;
  const rest = text.slice(2);
  switch (text[0]) {
    case 'f':
      return text;
    case 'i':
      return /^-?\d{1,15}$/.test(rest) ? `i:${Number(rest)}` : undefined;
    case 'v': {
      const value = parse(rest);
      return value === undefined ? undefined : valueElement(value);
    }
    case 'k': {
      const keys = parse(rest);
      if (typeof keys !== 'object' || keys === null || Array.isArray(keys)) return undefined;
      return keyElement(Object.entries(keys).sort(([a], [b]) => compareText(a, b)));
    }
    default:
      return null;
  }
}

function parse(text: string): unknown {
  try {
    return parseExact(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

const rank: Readonly<Record<string, number>> = { f: 0, k: 1, v: 2, i: 3 };

/** Upstream's order: field names, keys, values, indexes; numbers by value, everything else as text. "." (the node itself) comes first. */
export function compareElements(a: string, b: string): number {
  if (a === b) return 0;
  if (a === '.') return -1;
  if (b === '.') return 1;
  const kind = a[0]!;
  if (kind !== b[0]) return rank[kind]! - rank[b[0]!]!;
  if (kind === 'f') return compareText(a, b);
  const left = valueOf(a);
  const right = valueOf(b);
  return kind === 'k' ? compareKeys(left as object, right as object) : compareValues(left, right);
}

const values = new Map<string, unknown>();
/** Keys and values recur: names of containers, types of conditions. */
const valueLimit = 4096;

/** What an element's text says of keys, value or index. */
function valueOf(element: string): unknown {
  let value = values.get(element);
  if (value === undefined) {
    value = parseExact(element.slice(2));
    if (values.size >= valueLimit) values.clear();
    values.set(element, value);
  }
  return value;
}

function compareKeys(a: object, b: object): number {
  const left = Object.entries(a);
  const right = Object.entries(b);
  for (let at = 0; at < left.length && at < right.length; at++) {
    const order = compareText(left[at]![0], right[at]![0]) || compareValues(left[at]![1], right[at]![1]);
    if (order !== 0) return order;
  }
  return left.length - right.length;
}

function typeRank(value: unknown): number {
  if (value === null) return 5;
  if (Array.isArray(value)) return 3;
  return ({ number: 0, bigint: 0, string: 1, boolean: 2, object: 4 } as Record<string, number>)[typeof value]!;
}

function compareValues(a: unknown, b: unknown): number {
  const left = typeRank(a);
  const right = typeRank(b);
  if (left !== right) return left - right;
  if (typeof a === 'bigint' || typeof b === 'bigint') return a === b ? 0 : (a as bigint) < (b as bigint) ? -1 : 1;
  if (typeof a === 'number' || typeof a === 'boolean') return Number(a) - Number(b);
  if (typeof a === 'string') return compareText(a, b as string);
  return compareText(writeJson(a), writeJson(b));
}
