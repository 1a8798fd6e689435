// Owns which fields an object has, by its schema: what an applied configuration claims. And fields as seen through a schema.
import type { ListSchema, Schema } from '../schema/schema.ts';
import { emptyFields, type Entry, type Fields, isEmpty, isMember, leaf, nodeOf, rootOf } from './fields.ts';
import { deduced, fieldElement, fieldOf, isMap, itemElement, type JsonMap, partsOf, valueSchema } from './structure.ts';

/** All fields of `value`. Throws `NotTypable` for an associative list's item without its keys. */
export function fieldSetOf(schema: Schema, value: unknown): Fields {
  return valueNode(schema, value, false) ?? emptyFields;
}

function valueNode(schema: Schema, value: unknown, member: boolean): Fields | undefined {
  switch (partsOf(schema, value)) {
    case 'leaf':
      return leaf;
    case 'map':
      return isMap(value) ? mapNode(schema, value, member) : nodeOf([], member);
    case 'list':
      return Array.isArray(value) ? listNode(schema as ListSchema, value, member) : nodeOf([], member);
  }
}

function mapNode(schema: Schema, value: JsonMap, member: boolean): Fields | undefined {
  const entries: Entry[] = [];
  for (const name in value) {
    const part = value[name];
    if (part === undefined) continue;
    // The name of a struct's field says nothing by itself; a free key, or an emptiness, does.
    const said = part === null || (isMap(part) && Object.keys(part).length === 0);
    const node = valueNode(valueSchema(schema, name) ?? deduced, part, said || fieldOf(schema, name) === undefined);
    if (node !== undefined) entries.push([fieldElement(schema, name), node]);
  }
  return nodeOf(entries, member);
}

function listNode(list: ListSchema, items: readonly unknown[], member: boolean): Fields | undefined {
  const nodes = new Map<string, Fields>();
  for (const item of items) nodes.set(itemElement(list, item), valueNode(list.items, item, true) ?? leaf);
  return nodeOf([...nodes], member);
}

/** The set with each struct field on the way to a path added as a path of its own. */
export function withNamedFields(schema: Schema, set: Fields): Fields {
  return isEmpty(set) ? set : (namedNode(schema, set, false) ?? emptyFields);
}

function namedNode(schema: Schema, node: Fields, member: boolean): Fields | undefined {
  const entries: Entry[] = [];
  for (const element in node) {
    if (element === '.') continue;
    const child = node[element]!;
    const name = element.startsWith('f:') ? element.slice(2) : undefined;
    const named = name !== undefined && fieldOf(schema, name) !== undefined;
    entries.push([element, namedNode(childSchema(schema, name), child, named || isMember(child)) ?? leaf]);
  }
  return nodeOf(entries, member);
}

function childSchema(schema: Schema, name: string | undefined): Schema {
  if (name !== undefined) return valueSchema(schema, name) ?? deduced;
  return schema.type === 'list' ? schema.items : deduced;
}

/** What sets became by a schema; 'itself' rather than the set, which the map would keep alive through minor garbage collections. */
const known = new WeakMap<Fields, { readonly schema: Schema; readonly set: Fields | 'itself' }>();

/** The set with what lies beneath a field that is a leaf by now (the schema became atomic) gathered to that field. */
export function reconciled(schema: Schema, set: Fields): Fields {
  const before = known.get(set);
  if (before?.schema === schema) return before.set === 'itself' ? set : before.set;
  const after = gathered(schema, set);
  known.set(set, { schema, set: after === set ? 'itself' : after });
  return after;
}

function gathered(schema: Schema, set: Fields): Fields {
  const entries: Entry[] = [];
  let changed = false;
  for (const element in set) {
    const child = set[element]!;
    const node = element === '.' ? child : reconciledNode(schema, element, child);
    if (node !== child) changed = true;
    if (element !== '.') entries.push([element, node]);
  }
  if (!changed) return set;
  return set['.'] === undefined ? rootOf(entries) : (nodeOf(entries, true) ?? leaf);
}

function reconciledNode(schema: Schema, element: string, node: Fields): Fields {
  if (isEmpty(node)) return node;
  const below = childSchema(schema, element.startsWith('f:') ? element.slice(2) : undefined);
  if (below.type !== 'object' && below.type !== 'map' && below.type !== 'list') return node;
  return partsOf(below, undefined) === 'leaf' ? leaf : gathered(below, node);
}
