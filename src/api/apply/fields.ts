// Owns sets of fields in their FieldsV1 form: the JSON itself is the set, frozen and shared. Knows no schema and no values.
import { canonicalElement, compareElements, displayOf } from './element.ts';

/**
 * A set of paths. Keys are path elements in their canonical text and upstream's order; a node is in the set when it has
 * the key "." or is empty. The root itself is never in the set: the empty object is the empty set.
 */
export interface Fields {
  readonly [element: string]: Fields;
}

/** A node that is in the set and has nothing beneath it. */
export const leaf: Fields = Object.freeze({});
export const emptyFields: Fields = leaf;

const self = '.';

export function isEmpty(set: Fields): boolean {
  for (const _ in set) return false;
  return true;
}

/** True when the path that leads to this node is in the set. */
export function isMember(node: Fields): boolean {
  return node[self] !== undefined || isEmpty(node);
}

export type Entry = readonly [element: string, node: Fields];

/** A node from entries in any order; `member` says whether the node itself is in the set. Undefined when nothing is. */
export function nodeOf(entries: Entry[], member: boolean): Fields | undefined {
  if (entries.length === 0) return member ? leaf : undefined;
  sortEntries(entries);
  const node: Record<string, Fields> = {};
  if (member) node[self] = leaf;
  for (const [element, child] of entries) node[element] = child;
  return Object.freeze(node);
}

/** Longer ones are left to the engine, which sorts them faster but not without memory. */
const insertionLimit = 32;

function sortEntries(entries: Entry[]): void {
  if (entries.length > insertionLimit) {
    entries.sort((a, b) => compareElements(a[0], b[0]));
    return;
  }
  for (let at = 1; at < entries.length; at++) {
    const entry = entries[at]!;
    let to = at;
    for (; to > 0 && compareElements(entries[to - 1]![0], entry[0]) > 0; to--) entries[to] = entries[to - 1]!;
    entries[to] = entry;
  }
}

export function rootOf(entries: Entry[]): Fields {
  return nodeOf(entries, false) ?? emptyFields;
}

/** In either. */
export function union(a: Fields, b: Fields): Fields {
  if (a === b || isEmpty(b)) return a;
  if (isEmpty(a)) return b;
  return unionNodes(a, b, false, false);
}

function unionNodes(a: Fields, b: Fields, aMember: boolean, bMember: boolean): Fields {
  const member = aMember || bMember;
  let changed = member !== aMember;
  const entries: Entry[] = [];
  for (const element in a) {
    if (element === self) continue;
    const mine = a[element]!;
    const other = b[element];
    const both =
      other === undefined || other === mine ? mine : unionNodes(mine, other, isMember(mine), isMember(other));
    if (both !== mine) changed = true;
    entries.push([element, both]);
  }
  for (const element in b)
    if (element !== self && a[element] === undefined) {
      changed = true;
      entries.push([element, b[element]!]);
    }
  return changed ? (nodeOf(entries, member) ?? leaf) : a;
}

/** What `a` has and `b` has not; what is beneath a removed path stays. */
export function difference(a: Fields, b: Fields): Fields {
  if (a === b) return emptyFields;
  return differenceNodes(a, b, false, false, false) ?? emptyFields;
}

/** As `difference`, but whatever is beneath a path of `b` goes too. */
export function differenceBeneath(a: Fields, b: Fields): Fields {
  return isEmpty(b) ? a : (differenceNodes(a, b, false, false, true) ?? emptyFields);
}

function differenceNodes(
  a: Fields,
  b: Fields,
  aMember: boolean,
  bMember: boolean,
  beneath: boolean,
): Fields | undefined {
  if (beneath && bMember) return undefined;
  const member = aMember && !bMember;
  let changed = member !== aMember;
  const entries: Entry[] = [];
  for (const element in a) {
    if (element === self) continue;
    const mine = a[element]!;
    const other = b[element];
    const rest = other === undefined ? mine : differenceNodes(mine, other, isMember(mine), isMember(other), beneath);
    if (rest !== mine) changed = true;
    if (rest !== undefined) entries.push([element, rest]);
  }
  return changed ? nodeOf(entries, member) : a;
}

/** In both. */
export function intersection(a: Fields, b: Fields): Fields {
  return a === b ? a : (intersectionNodes(a, b, false, false) ?? emptyFields);
}

function intersectionNodes(a: Fields, b: Fields, aMember: boolean, bMember: boolean): Fields | undefined {
  const member = aMember && bMember;
  const entries: Entry[] = [];
  for (const element in a) {
    if (element === self) continue;
    const other = b[element];
    if (other === undefined) continue;
    const mine = a[element]!;
    const both = mine === other ? mine : intersectionNodes(mine, other, isMember(mine), isMember(other));
    if (both !== undefined) entries.push([element, both]);
  }
  return nodeOf(entries, member);
}

export function sameFields(a: Fields, b: Fields): boolean {
  if (a === b) return true;
  let count = 0;
  for (const element in a) {
    const other = b[element];
    if (other === undefined || !sameFields(a[element]!, other)) return false;
    count++;
  }
  for (const _ in b) count--;
  return count === 0;
}

/** Every path, the members of a node before what is beneath its children: the order in which conflicts are told. */
export function pathsOf(set: Fields, prefix = ''): string[] {
  const elements = Object.keys(set).filter((element) => element !== self);
  const members = elements.filter((element) => isMember(set[element]!));
  return [
    ...members.map((element) => prefix + displayOf(element)),
    ...elements.flatMap((element) => pathsOf(set[element]!, prefix + displayOf(element))),
  ];
}

/** A set from paths of field names: ["metadata", "name"]. */
export function fieldsOfPaths(paths: readonly (readonly string[])[]): Fields {
  let set = emptyFields;
  for (const path of paths)
    set = union(
      set,
      path.reduceRight<Fields>((node, name) => ({ [`f:${name}`]: node }), leaf),
    );
  return set;
}

/** Never an object for itself: what a WeakMap gives, a minor garbage collection takes for alive, and with it the key. */
const checked = new WeakMap<object, Fields | 'itself' | 'invalid'>();

/** Anyone's FieldsV1 as a set, in canonical form; undefined when it is none. Remembered by the frozen object that it came from. */
export function parseFields(value: unknown): Fields | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  const known = checked.get(value);
  if (known === 'itself') return value as Fields;
  if (known !== undefined) return known === 'invalid' ? undefined : known;
  const set = isEmptyRoot(value) ? emptyFields : parseNode(value, 0);
  if (Object.isFrozen(value) && set !== value) checked.set(value, set ?? 'invalid');
  if (set !== undefined) checked.set(set, 'itself');
  return set;
}

/** Deeper than any object may be. */
const maxDepth = 1_000;

function isEmptyRoot(value: object): boolean {
  const names = Object.keys(value);
  return names.length === 0 || (names.length === 1 && names[0] === self);
}

function parseNode(value: unknown, depth: number): Fields | undefined {
  if (value === null) return leaf;
  if (typeof value !== 'object' || Array.isArray(value) || depth > maxDepth) return undefined;
  let same = Object.isFrozen(value);
  let member = false;
  let last = self;
  const entries: Entry[] = [];
  for (const text of Object.keys(value)) {
    if (text === self) {
      member = depth > 0;
      if (entries.length > 0 || !member) same = false;
      continue;
    }
    const element = canonicalElement(text);
    if (element === undefined) return undefined;
    if (element === null) {
      same = false;
      continue;
    }
    const given = (value as Record<string, unknown>)[text];
    const child = parseNode(given, depth + 1);
    if (child === undefined) return undefined;
    if (element !== text || child !== given || compareElements(last, element) >= 0) same = false;
    last = element;
    entries.push([element, child]);
  }
  if (same) return value as Fields;
  if (depth === 0) return rootOf(merged(entries));
  return nodeOf(merged(entries), member || entries.length === 0);
}

/** Two texts of one element are one. */
function merged(entries: readonly Entry[]): Entry[] {
  const byElement = new Map<string, Fields>();
  for (const [element, node] of entries) {
    const known = byElement.get(element);
    byElement.set(element, known === undefined ? node : unionNodes(known, node, isMember(known), isMember(node)));
  }
  return [...byElement];
}
