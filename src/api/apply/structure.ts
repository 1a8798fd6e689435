// Owns how a schema is seen by server-side apply: what is a leaf, what has parts, what names a part, and what Go would show.
import type { FieldSchema, ListSchema, ObjectSchema, Schema } from '../schema/schema.ts';
import { compareText } from '../../base/text.ts';
import { keyElement, valueElement } from './element.ts';

/** Where nothing is declared (x-kubernetes-preserve-unknown-fields): maps have parts, lists are leaves. */
export const deduced: Schema = { type: 'any' };

export type JsonMap = Readonly<Record<string, unknown>>;

export function isMap(value: unknown): value is JsonMap {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** How a value of this schema is owned: as a whole, by its fields or by its items. */
export function partsOf(schema: Schema, value: unknown): 'leaf' | 'map' | 'list' {
  switch (schema.type) {
    case 'object':
    case 'map':
      return schema.atomic ? 'leaf' : 'map';
    case 'list':
      return schema.listType === 'atomic' ? 'leaf' : 'list';
    case 'any':
      return isMap(value) ? 'map' : 'leaf';
    default:
      return 'leaf';
  }
}

/** The field that an object schema declares by this name. */
export function fieldOf(schema: Schema, name: string): FieldSchema | undefined {
  return schema.type === 'object' ? schema.byName.get(name) : undefined;
}

const fieldElements = new Map<string, string>();

/** The path element of a field or key. Those of declared fields are made once: they are few, and come with every object. */
export function fieldElement(schema: Schema, name: string): string {
  if (schema.type !== 'object' || !schema.byName.has(name)) return `f:${name}`;
  let element = fieldElements.get(name);
  if (element === undefined) fieldElements.set(name, (element = `f:${name}`));
  return element;
}

/** The schema of what stands under `name`; undefined when nothing may. */
export function valueSchema(schema: Schema, name: string): Schema | undefined {
  switch (schema.type) {
    case 'object':
      return schema.byName.get(name)?.schema ?? schema.additional ?? (schema.preserveUnknown ? deduced : undefined);
    case 'map':
      return schema.values;
    case 'any':
      return deduced;
    default:
      return undefined;
  }
}

/** The value cannot be read by its schema. The message names no place: whoever catches it knows. */
export class NotTypable extends Error {
  override readonly name = 'NotTypable';
}

interface Keys {
  readonly names: readonly string[];
  readonly defaults: readonly unknown[];
}

const keysOfList = new WeakMap<ListSchema, Keys>();

function keysOf(list: ListSchema): Keys {
  let keys = keysOfList.get(list);
  if (keys === undefined) {
    const names = [...list.mapKeys].sort(compareText);
    keys = { names, defaults: names.map((name) => keyDefault(list.items, fieldOf(list.items, name))) };
    keysOfList.set(list, keys);
  }
  return keys;
}

/** The path element of an item of a set or a map list. Throws `NotTypable` when it has none. */
export function itemElement(list: ListSchema, item: unknown): string {
  if (list.listType === 'set') {
    if (typeof item === 'object' && item !== null)
      throw new NotTypable('an item of a list of type set must be a scalar');
    return valueElement(item);
  }
  if (!isMap(item)) throw new NotTypable('an item of an associative list must be an object');
  const { names, defaults } = keysOf(list);
  const pairs: (readonly [string, unknown])[] = [];
  for (let at = 0; at < names.length; at++) {
    const name = names[at]!;
    const value = item[name] ?? defaults[at];
    if (value !== undefined) pairs.push([name, value]);
  }
  if (pairs.length === 0)
    throw new NotTypable(`an item of an associative list omits its key fields ${JSON.stringify(list.mapKeys)}`);
  return keyElement(pairs);
}

/** The schema's default; OpenAPI has the zero value as the default of a built-in type's field that is always written. */
function keyDefault(items: Schema, field: FieldSchema | undefined): unknown {
  if (field === undefined || field.default !== undefined) return field?.default;
  if (items.type !== 'object' || items.name === '' || field.pointer) return undefined;
  return field.omitempty && !emptyByDefault.has(`${items.name}.${field.name}`)
    ? undefined
    : scalarZero[field.schema.type];
}

/** Fields that Go omits when empty and whose declared default is nevertheless the empty text. */
const emptyByDefault: ReadonlySet<string> = new Set(['core.v1.LocalObjectReference.name']);

const emptyMap: JsonMap = Object.freeze({});

/** What Go writes for a field of a built-in type that nobody set; undefined when it writes nothing. */
export function zeroOf(field: FieldSchema | undefined): unknown {
  if (field === undefined || field.proto === 0) return undefined;
  if (field.omitzero) return undefined;
  const { type } = field.schema;
  if (type === 'object') return field.pointer ? (field.omitempty ? undefined : null) : emptyMap;
  if (type === 'time' || type === 'microTime') return field.pointer && field.omitempty ? undefined : null;
  if (field.omitempty) return undefined;
  if (field.pointer) return null;
  return scalarZero[type] ?? null;
}

const scalarZero: Readonly<Record<string, unknown>> = {
  string: '',
  boolean: false,
  int32: 0,
  int64: 0,
  uint8: 0,
  double: 0,
  quantity: '0',
  duration: '0s',
  intOrString: 0,
};

/** A value as Go would write it: what is empty and omitted is undefined, what is unset but written has its zero. */
export function written(field: FieldSchema | undefined, value: unknown): unknown {
  if (field === undefined || field.proto === 0) return value;
  if (value === undefined || value === null) return zeroOf(field);
  if (field.omitempty && !field.pointer && isZero(field.schema, value)) return undefined;
  return value;
}

function isZero(schema: Schema, value: unknown): boolean {
  if (typeof value !== 'object') return value === '' || value === 0 || value === false;
  if (Array.isArray(value)) return value.length === 0;
  if (schema.type !== 'map') return false;
  for (const _ in value as object) return false;
  return true;
}

const alwaysWritten = new WeakMap<ObjectSchema, readonly string[]>();

/** The fields that Go writes whether set or not. */
export function alwaysWrittenFields(schema: Schema): readonly string[] {
  if (schema.type !== 'object' || schema.name === '') return [];
  let names = alwaysWritten.get(schema);
  if (names === undefined) {
    names = schema.fields.filter((field) => zeroOf(field) !== undefined).map((field) => field.name);
    alwaysWritten.set(schema, names);
  }
  return names;
}

/** Deep equality of JSON values. */
export function equalJson(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a)) {
    if (!Array.isArray(b) || a.length !== b.length) return false;
    for (let at = 0; at < a.length; at++) if (!equalJson(a[at], b[at])) return false;
    return true;
  }
  if (Array.isArray(b)) return false;
  const left = a as JsonMap;
  const right = b as JsonMap;
  const names = Object.keys(left);
  if (names.length !== Object.keys(right).length) return false;
  for (const name of names) if (!Object.hasOwn(right, name) || !equalJson(left[name], right[name])) return false;
  return true;
}
