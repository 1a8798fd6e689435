// Owns the comparison of two objects by their schema: which fields were added or changed, and which are gone.
import type { ListSchema, Schema } from '../schema/schema.ts';
import { emptyFields, type Entry, type Fields, leaf, nodeOf } from './fields.ts';
import {
  alwaysWrittenFields,
  deduced,
  equalJson,
  fieldElement,
  fieldOf,
  isMap,
  itemElement,
  type JsonMap,
  partsOf,
  valueSchema,
  written,
} from './structure.ts';

export interface Comparison {
  /** Paths that were added or have another value now. */
  readonly changed: Fields;
  readonly removed: Fields;
}

interface Difference {
  readonly changed: Fields | undefined;
  readonly removed: Fields | undefined;
}

const leafAdded: Difference = { changed: leaf, removed: undefined };
const leafRemoved: Difference = { changed: undefined, removed: leaf };

/**
 * Compares as Go would see both objects (unset struct fields count as written). `literal`: what `after` says counts as it
 * stands, also where Go would not write it: null, an empty list. Parts that are the same by reference are skipped. Throws
 * `NotTypable` when an associative list holds an item without its keys.
 */
export function compare(schema: Schema, before: unknown, after: unknown, literal = false): Comparison {
  const found = compareValues(schema, before, after, literal);
  return { changed: found?.changed ?? emptyFields, removed: found?.removed ?? emptyFields };
}

/** At least one side is defined. */
function compareValues(schema: Schema, before: unknown, after: unknown, literal: boolean): Difference | undefined {
  if (before === after) return undefined;
  if (before === undefined) return { changed: wholeOf(schema, after, literal), removed: undefined };
  if (after === undefined) return { changed: undefined, removed: wholeOf(schema, before, false) };
  const parts = partsOf(schema, after ?? before);
  if (schema.type === 'any' && isMixed(before, after))
    return combine(
      compareLeaves(before, after),
      compareValues(schema, isMap(before) ? before : undefined, isMap(after) ? after : undefined, literal),
    );
  if (parts === 'map') {
    const left = isMap(before) ? before : undefined;
    const right = isMap(after) ? after : undefined;
    if (!isBare(schema, left) || !isBare(schema, right)) return compareMaps(schema, left, right, literal);
  } else if (parts === 'list') {
    const left = Array.isArray(before) ? before : [];
    const right = Array.isArray(after) ? after : [];
    if (left.length > 0 || right.length > 0) return compareLists(schema as ListSchema, left, right, literal);
  }
  return compareLeaves(before, after);
}

/** All that is within a value which is new or gone as a whole, and itself. */
function wholeOf(schema: Schema, value: unknown, literal: boolean): Fields {
  switch (partsOf(schema, value)) {
    case 'map':
      return wholeMap(schema, isMap(value) ? value : undefined, literal);
    case 'list':
      return Array.isArray(value) ? wholeList(schema as ListSchema, value, literal) : leaf;
    default:
      return leaf;
  }
}

function wholeMap(schema: Schema, map: JsonMap | undefined, literal: boolean): Fields {
  if (map === undefined || isBare(schema, map)) return leaf;
  const entries: Entry[] = [];
  for (const name in map) {
    const value = literal ? map[name] : written(fieldOf(schema, name), map[name]);
    if (value !== undefined)
      entries.push([fieldElement(schema, name), wholeOf(valueSchema(schema, name) ?? deduced, value, literal)]);
  }
  for (const name of alwaysWrittenFields(schema))
    if (!Object.hasOwn(map, name)) {
      const value = written(fieldOf(schema, name), undefined);
      if (value !== undefined)
        entries.push([fieldElement(schema, name), wholeOf(valueSchema(schema, name) ?? deduced, value, literal)]);
    }
  return nodeOf(entries, true) ?? leaf;
}

function wholeList(list: ListSchema, items: readonly unknown[], literal: boolean): Fields {
  const nodes = new Map<string, Fields>();
  for (const item of items) {
    const element = itemElement(list, item);
    // Duplicates are one whole.
    nodes.set(element, nodes.has(element) ? leaf : wholeOf(list.items, item, literal));
  }
  return nodeOf([...nodes], true) ?? leaf;
}

/** One is a map and the other a value that is none. */
function isMixed(before: unknown, after: unknown): boolean {
  return isMap(before) !== isMap(after) && !isUnset(before) && !isUnset(after);
}

function isUnset(value: unknown): boolean {
  return value === undefined || value === null;
}

function isBare(schema: Schema, map: JsonMap | undefined): boolean {
  if (map === undefined) return true;
  for (const _ in map) return false;
  return alwaysWrittenFields(schema).length === 0;
}

function compareLeaves(before: unknown, after: unknown): Difference | undefined {
  return equalJson(before, after) ? undefined : leafAdded;
}

function compareMaps(
  schema: Schema,
  left: JsonMap | undefined,
  right: JsonMap | undefined,
  literal: boolean,
): Difference | undefined {
  const found = new Collector();
  const visit = (name: string): void => {
    const was = left?.[name];
    const is = right?.[name];
    if (was === is && was !== undefined) return;
    const field = fieldOf(schema, name);
    const from = left === undefined ? undefined : written(field, was);
    const to = right === undefined ? undefined : literal && is !== undefined ? is : written(field, is);
    if (from === undefined && to === undefined) return;
    found.add(fieldElement(schema, name), compareValues(valueSchema(schema, name) ?? deduced, from, to, literal));
  };
  for (const name in left) visit(name);
  for (const name in right) if (left === undefined || !Object.hasOwn(left, name)) visit(name);
  for (const name of alwaysWrittenFields(schema))
    if (!(left !== undefined && Object.hasOwn(left, name)) && !(right !== undefined && Object.hasOwn(right, name)))
      visit(name);
  return found.done();
}

function compareLists(
  list: ListSchema,
  left: readonly unknown[],
  right: readonly unknown[],
  literal: boolean,
): Difference | undefined {
  const found = new Collector();
  const before = byElement(list, left);
  const after = byElement(list, right);
  const visit = (element: string): void => {
    const was = before.get(element) ?? [];
    const is = after.get(element) ?? [];
    if (was.length <= 1 && is.length <= 1) found.add(element, compareValues(list.items, was[0], is[0], literal));
    else if (was.length > 1 && is.length > 1) {
      if (!equalJson(was, is)) found.add(element, leafAdded);
    } else if (was.length > 1) {
      // Duplicates were owned as one whole: a single item in their place is new, with all that it has.
      found.add(element, is.length === 0 ? leafRemoved : compareValues(list.items, undefined, is[0], literal));
    } else {
      if (was.length > 0) found.add(element, compareValues(list.items, was[0], undefined, literal));
      found.add(element, leafAdded);
    }
  };
  for (const element of before.keys()) visit(element);
  for (const element of after.keys()) if (!before.has(element)) visit(element);
  return found.done();
}

function byElement(list: ListSchema, items: readonly unknown[]): Map<string, unknown[]> {
  const found = new Map<string, unknown[]>();
  for (const item of items) {
    const element = itemElement(list, item);
    const known = found.get(element);
    if (known === undefined) found.set(element, [item]);
    else known.push(item);
  }
  return found;
}

class Collector {
  readonly #changed: Entry[] = [];
  readonly #removed: Entry[] = [];

  add(element: string, found: Difference | undefined): void {
    if (found?.changed !== undefined) this.#changed.push([element, found.changed]);
    if (found?.removed !== undefined) this.#removed.push([element, found.removed]);
  }

  done(): Difference | undefined {
    if (this.#changed.length === 0 && this.#removed.length === 0) return undefined;
    return { changed: nodeOf(this.#changed, false), removed: nodeOf(this.#removed, false) };
  }
}

function combine(a: Difference | undefined, b: Difference | undefined): Difference | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return { changed: b.changed ?? a.changed, removed: b.removed ?? a.removed };
}
