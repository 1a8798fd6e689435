// Owns what CEL computes with at run time: its values, how JSON of a known type becomes one, and back. No operators.
import { wholeNumber } from '../codec/json-parse.ts';
import type { CelType } from './types.ts';
import { dyn, int, string } from './types.ts';

/** int is a bigint, double a number; the rest as named. */
export type CelValue =
  | null
  | boolean
  | bigint
  | number
  | string
  | Uint8Array
  | CelUint
  | CelTimestamp
  | CelDuration
  | CelList
  | CelMap
  | CelOptional
  | CelTypeValue
  | CelOpaque;

/** A failure of evaluation: `&&` and `||` may absorb it, everything else passes it on. */
export class CelError extends Error {
  override readonly name = 'CelError';
}

export class CelUint {
  readonly value: bigint;
  constructor(value: bigint) {
    this.value = value;
  }
}

export class CelTimestamp {
  /** Since the epoch. */
  readonly nanos: bigint;
  /** Seconds east of UTC, as it was written: only its text shows it. */
  readonly offset: number;
  constructor(nanos: bigint, offset = 0) {
    this.nanos = nanos;
    this.offset = offset;
  }
}

export class CelDuration {
  readonly nanos: bigint;
  constructor(nanos: bigint) {
    this.nanos = nanos;
  }
}

export class CelOptional {
  static readonly none = new CelOptional(undefined);
  readonly value: CelValue | undefined;
  constructor(value: CelValue | undefined) {
    this.value = value;
  }
}

export class CelTypeValue {
  readonly name: string;
  constructor(name: string) {
    this.name = name;
  }
}

/** The base of extension libraries' values. */
export abstract class CelOpaque {
  abstract readonly typeName: string;
  /** What cost grows with: bytes of addresses; 1 for others. */
  get size(): number {
    return 1;
  }
  abstract equals(other: CelOpaque): boolean;
}

export interface CelList {
  readonly kind: 'list';
  readonly size: number;
  at(index: number): CelValue;
  /** How Kubernetes compares and adds lists of its schemas (x-kubernetes-list-type); absent: atomic. */
  readonly listType?: ListType;
}

export type ListType = { readonly type: 'set' } | { readonly type: 'map'; readonly keys: readonly string[] };

export interface CelMap {
  readonly kind: 'map';
  readonly size: number;
  /** Undefined when the key is absent. */
  get(key: CelValue): CelValue | undefined;
  keys(): Iterable<CelValue>;
  /** For objects of a schema: their type's name. */
  readonly structName?: string;
}

export function isList(value: CelValue): value is CelList {
  return typeof value === 'object' && value !== null && 'kind' in value && value.kind === 'list';
}

export function isMap(value: CelValue): value is CelMap {
  return typeof value === 'object' && value !== null && 'kind' in value && value.kind === 'map';
}

export class ArrayList implements CelList {
  readonly kind = 'list';
  readonly items: readonly CelValue[];
  readonly listType?: ListType;
  constructor(items: readonly CelValue[], listType?: ListType) {
    this.items = items;
    if (listType !== undefined) this.listType = listType;
  }
  get size(): number {
    return this.items.length;
  }
  at(index: number): CelValue {
    return this.items[index]!;
  }
}

/** Maps made by expressions: keys are bool, int, uint or string; 1, 1u and 1.0 are the same key. */
export class EntryMap implements CelMap {
  readonly kind = 'map';
  readonly #entries: ReadonlyMap<string, readonly [CelValue, CelValue]>;
  readonly structName?: string;
  constructor(entries: Iterable<readonly [CelValue, CelValue]>, structName?: string) {
    this.#entries = new Map(Array.from(entries, (entry) => [keyText(entry[0]), entry] as const));
    if (structName !== undefined) this.structName = structName;
  }
  get size(): number {
    return this.#entries.size;
  }
  get(key: CelValue): CelValue | undefined {
    return this.#entries.get(keyText(key))?.[1];
  }
  *keys(): Iterable<CelValue> {
    for (const [key] of this.#entries.values()) yield key;
  }
}

function keyText(key: CelValue): string {
  if (typeof key === 'string') return `s${key}`;
  if (typeof key === 'bigint') return `n${key}`;
  if (key instanceof CelUint) return `n${key.value}`;
  if (typeof key === 'number') return Number.isInteger(key) ? `n${BigInt(key)}` : 'none';
  if (typeof key === 'boolean') return `b${key}`;
  throw new CelError('unsupported key type');
}

/** What a schema says of JSON: the CEL type, and how its lists behave. Built once a schema. */
export interface JsonType {
  readonly type: CelType;
  readonly element?: JsonType;
  readonly listType?: ListType;
  /** Of an object with known fields, by the name used in expressions. */
  readonly fields?: ReadonlyMap<string, { readonly name: string; readonly type: JsonType }>;
  /** Reads a string into a value (timestamps, durations, bytes); absent: as it is. */
  readonly read?: (text: string) => CelValue;
}

export const untyped: JsonType = { type: dyn };

/** Types by what JSON may say for them; others are read from texts. */
const saidAs: Readonly<Record<string, readonly CelType['kind'][]>> = {
  string: ['string'],
  boolean: ['bool'],
  int64: ['int', 'double'],
  float64: ['double'],
  list: ['list'],
  map: ['map', 'struct'],
};

/** Throws CelError for a value that its schema does not allow: rules are run on such, too. */
function check(kind: CelType['kind'], got: string): void {
  if (kind !== 'dyn' && !saidAs[got]!.includes(kind)) throw new CelError(`invalid data, expected ${kind}, got ${got}`);
}

/** A value of JSON as its type says; what is inside is read when it is looked at. Throws CelError for one of another type. */
export function fromJson(json: unknown, as: JsonType = untyped): CelValue {
  const { kind } = as.type;
  switch (typeof json) {
    case 'string':
      if (as.read !== undefined) return as.read(json);
      check(kind, 'string');
      return json;
    case 'boolean':
      check(kind, 'boolean');
      return json;
    case 'bigint':
      check(kind, 'int64');
      return kind === 'double' ? Number(json) : json;
    case 'number':
      if (kind === 'double') return json;
      if (!Number.isSafeInteger(json)) {
        check(kind, 'float64');
        return json;
      }
      check(kind, 'int64');
      return BigInt(json);
    case 'object':
      if (json === null) return null;
      check(kind, Array.isArray(json) ? 'list' : 'map');
      if (Array.isArray(json)) return new JsonList(json, as.element ?? untyped, as.listType);
      return as.fields === undefined ? new JsonMap(json, as.element ?? untyped) : new JsonStruct(json, as);
    default:
      return null;
  }
}

class JsonList implements CelList {
  readonly kind = 'list';
  readonly json: readonly unknown[];
  readonly listType?: ListType;
  readonly #element: JsonType;
  constructor(json: readonly unknown[], element: JsonType, listType: ListType | undefined) {
    this.json = json;
    this.#element = element;
    if (listType !== undefined) this.listType = listType;
  }
  get size(): number {
    return this.json.length;
  }
  at(index: number): CelValue {
    return fromJson(this.json[index], this.#element);
  }
}

class JsonMap implements CelMap {
  readonly kind = 'map';
  readonly json: object;
  readonly #element: JsonType;
  constructor(json: object, element: JsonType) {
    this.json = json;
    this.#element = element;
  }
  get size(): number {
    return Object.keys(this.json).length;
  }
  get(key: CelValue): CelValue | undefined {
    if (typeof key !== 'string' || !Object.hasOwn(this.json, key)) return undefined;
    return fromJson((this.json as Record<string, unknown>)[key], this.#element);
  }
  keys(): Iterable<CelValue> {
    return Object.keys(this.json);
  }
}

class JsonStruct implements CelMap {
  readonly kind = 'map';
  readonly json: object;
  readonly #as: JsonType;
  constructor(json: object, as: JsonType) {
    this.json = json;
    this.#as = as;
  }
  get structName(): string {
    return this.#as.type.kind === 'struct' ? this.#as.type.name : 'object';
  }
  /** Also of fields that cannot be reached. */
  get size(): number {
    return Object.keys(this.json).length;
  }
  get(key: CelValue): CelValue | undefined {
    const field = typeof key === 'string' ? this.#as.fields?.get(key) : undefined;
    if (field === undefined || !Object.hasOwn(this.json, field.name)) return undefined;
    const value = (this.json as Record<string, unknown>)[field.name];
    // A null in a typed field is as if it were not there; dyn fields may be null.
    if (value === null && field.type.type.kind !== 'dyn') return undefined;
    return value === undefined ? undefined : fromJson(value, field.type);
  }
  *keys(): Iterable<CelValue> {
    for (const [name, field] of this.#as.fields ?? []) if (Object.hasOwn(this.json, field.name)) yield name;
  }
}

/** The value as JSON, for patches and messages. Throws CelError for what JSON cannot hold. */
export function toJson(value: CelValue): unknown {
  if (value instanceof JsonList || value instanceof JsonMap || value instanceof JsonStruct) return value.json;
  if (typeof value === 'bigint') return wholeNumber(value);
  if (value instanceof CelUint) return wholeNumber(value.value);
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  if (value === null || typeof value !== 'object') return value;
  if (isList(value)) return Array.from({ length: value.size }, (_, index) => toJson(value.at(index)));
  if (isMap(value)) {
    return Object.fromEntries(
      Array.from(value.keys(), (key) => {
        if (typeof key !== 'string') throw new CelError('map key is not a string');
        return [key, toJson(value.get(key)!)];
      }),
    );
  }
  throw new CelError('value cannot be converted to JSON');
}

/** The name that `type()` and error messages give. */
export function typeNameOf(value: CelValue): string {
  switch (typeof value) {
    case 'boolean':
      return 'bool';
    case 'bigint':
      return int.kind;
    case 'number':
      return 'double';
    case 'string':
      return string.kind;
    default:
  }
  if (value === null) return 'null_type';
  if (value instanceof Uint8Array) return 'bytes';
  if (value instanceof CelUint) return 'uint';
  if (value instanceof CelTimestamp) return 'google.protobuf.Timestamp';
  if (value instanceof CelDuration) return 'google.protobuf.Duration';
  if (value instanceof CelOptional) return 'optional_type';
  if (value instanceof CelTypeValue) return 'type';
  if (value instanceof CelOpaque) return value.typeName;
  return isMap(value) ? (value.structName ?? 'map') : 'list';
}
