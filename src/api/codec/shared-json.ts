// Owns JSON values that many objects hold alike (sets of managed fields): one frozen value with its text for all of them. Bounded; no meaning.

import { writeJson } from './json-write.ts';

/** Longer texts are seldom alike, and dear to keep. */
const longestText = 16_384;
/** So many of the newest, and at most as many before them. */
const generationSize = 2048;

let young = new Map<string, object>();
let old = new Map<string, object>();
const texts = new WeakMap<object, string>();

/** The one value that reads as `text`, made by `make` (deeply frozen, and written as `text`) when there is none. */
function shared(text: string, make: () => object): object {
  let value = young.get(text);
  if (value !== undefined) return value;
  value = old.get(text) ?? make();
  texts.set(value, text);
  if (text.length > longestText) return value;
  if (young.size >= generationSize) {
    old = young;
    young = new Map();
  }
  young.set(text, value);
  return value;
}

/** `value`, which is deeply frozen, or the one like it that was seen before. */
export function sharedJson<T extends object>(value: T): T {
  if (texts.has(value)) return value;
  return shared(JSON.stringify(value), () => value) as T;
}

/** Throws SyntaxError. What is no object is not shared. */
export function sharedJsonOf(text: string): unknown {
  const known = young.get(text);
  if (known !== undefined) return known;
  const value = JSON.parse(text) as unknown;
  if (typeof value !== 'object' || value === null) return value;
  // Under the text as this program writes it: spaces and the like would make two of one.
  return shared(JSON.stringify(value), () => frozen(value));
}

/** True for values that came from here: frozen, and nobody's own. */
export function isSharedJson(value: unknown): boolean {
  return typeof value === 'object' && value !== null && texts.has(value);
}

/** JSON.stringify, remembered for shared values. */
export function jsonText(value: unknown): string {
  return (typeof value === 'object' && value !== null ? texts.get(value) : undefined) ?? writeJson(value);
}

function frozen(value: object): object {
  Object.freeze(value);
  for (const inner of Object.values(value) as unknown[])
    if (typeof inner === 'object' && inner !== null && !Object.isFrozen(inner)) frozen(inner);
  return value;
}
