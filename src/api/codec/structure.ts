// Owns structural decoding: a parsed JSON value against a schema, as Go's decoder does it: types, unknown fields, zero values.
// The result has its fields in the schema's order, in canonical forms, and holds exactly what upstream would write.
import { setOwn } from '../meta.ts';
import type { FieldSchema, ObjectSchema, ScalarType, Schema } from '../schema/schema.ts';
import { finite, NumberText, plainNumbers } from './json-parse.ts';
import { type ScalarDecoder, scalarDecoder, TypeMismatch } from './scalars.ts';

/** What is known on the way down: where we are, and what was found on the way. */
export interface Decoding {
  /** `spec`, `containers`, 0, …: the place of the value in hand. */
  readonly path: (string | number)[];
  /** Texts for fieldValidation, in the document's order: `unknown field "spec.foo"`. */
  readonly strict: string[];
  /** The first number of 64 bits that a field of that type could not keep: no double holds it. */
  lost?: string;
}

export type Decoder = (value: unknown, at: Decoding) => unknown;

const maxStrict = 100;

/** Compiles schemas to decoders, each once: types refer to each other in circles, so what is needed is looked up late. */
class Compiler {
  readonly #decoders = new WeakMap<Schema, Decoder>();
  readonly scalar: (type: ScalarType) => ScalarDecoder;

  constructor(scalar: (type: ScalarType) => ScalarDecoder) {
    this.scalar = scalar;
  }

  decoderOf(schema: Schema): Decoder {
    let decoder = this.#decoders.get(schema);
    if (decoder === undefined) {
      decoder = compile(schema, this);
      this.#decoders.set(schema, decoder);
    }
    return decoder;
  }
}

const fromStrangers = new Compiler(scalarDecoder);

const keep: ScalarDecoder = (value) => value;
const own = new Compiler((type) => (type === 'quantity' ? scalarDecoder(type) : keep));

/** Decodes what strangers sent. */
export function decoderOf(schema: Schema): Decoder {
  return fromStrangers.decoderOf(schema);
}

/**
 * Brings an object of our own into the form that upstream writes: fields in order, zero values dropped or filled in,
 * maps sorted, quantities canonical. Does not change `value`, and shares with it what has that form; trusts the types of its scalars.
 */
export function normalize(schema: Schema, value: unknown): unknown {
  return own.decoderOf(schema)(value, { path: [], strict: [] });
}

/** What `settle` made: in its final form by that schema once it is frozen. */
const settled = new WeakMap<object, Schema>();

/**
 * As `normalize`, for objects that are stored: the parts right below the root (spec, status) are remembered, and taken as they
 * are when they come again, frozen, in a later state of the object. States that share a part then share its memory too.
 */
export function settle(schema: ObjectSchema, value: unknown): Record<string, unknown> {
  const result = normalize(schema, value) as Record<string, unknown>;
  for (const name in result) {
    const part = result[name];
    const field = typeof part === 'object' && part !== null ? schema.byName.get(name) : undefined;
    if (field?.schema.type === 'object') settled.set(part as object, field.schema);
  }
  return result;
}

function compile(schema: Schema, compiler: Compiler): Decoder {
  switch (schema.type) {
    case 'object':
      return objectDecoder(schema, compiler);
    case 'map':
      return mapDecoder(schema.values, compiler);
    case 'list':
      return listDecoder(schema.items, compiler);
    case 'alternative':
      return alternativeDecoder(schema.or, schema.object, compiler);
    default:
      return compiler.scalar(schema.type);
  }
}

interface FieldPlan {
  readonly name: string;
  readonly at: number;
  readonly decode: Decoder;
  /** Written even when absent: this value (a struct's is made anew each time). */
  readonly always: (() => unknown) | undefined;
  /** Zero values are dropped. */
  readonly dropsZero: boolean;
  readonly nullable: boolean;
}

const structLike: ReadonlySet<Schema['type']> = new Set([
  'object',
  'time',
  'microTime',
  'duration',
  'quantity',
  'intOrString',
  'raw',
  'alternative',
]);

/** Lists whose defaults come only when nothing is said: an empty one is something, which validation refuses. */
const saidEmpty: ReadonlySet<string> = new Set(['autoscaling.v2.HPAScalingRules.policies']);

function planOf(field: FieldSchema, at: number, compiler: Compiler, owner: string): FieldPlan {
  const { schema } = field;
  let decode: Decoder | undefined;
  const isAlways = field.pointer
    ? !field.omitempty
    : (!field.omitempty || structLike.has(schema.type)) && !field.omitzero;
  const zero = field.pointer ? () => null : zeroOf(schema);
  return {
    name: field.name,
    at,
    decode: (value, decoding) => {
      decode ??= compiler.decoderOf(schema);
      return decode(value, decoding);
    },
    always: isAlways ? zero : undefined,
    dropsZero:
      field.omitempty && !field.pointer && !structLike.has(schema.type) && !saidEmpty.has(`${owner}.${field.name}`),
    nullable: schema.nullable === true,
  };
}

/** What a zero Go value of the type looks like in JSON. */
export function zeroOf(schema: Schema): () => unknown {
  switch (schema.type) {
    case 'object':
      return () => decoderOf(schema)({}, { path: [], strict: [] });
    case 'string':
      return () => '';
    case 'boolean':
      return () => false;
    case 'int32':
    case 'int64':
    case 'uint8':
    case 'double':
    case 'intOrString':
      return () => 0;
    case 'quantity':
      return () => '0';
    case 'duration':
      return () => '0s';
    default:
      return () => null;
  }
}

export function isZero(value: unknown): boolean {
  if (typeof value === 'object') {
    if (value === null) return true;
    if (Array.isArray(value)) return value.length === 0;
    for (const key in value) if (Object.hasOwn(value, key)) return false;
    return true;
  }
  return value === '' || value === 0 || value === false;
}

/** How the fields of one object schema are decoded: made on first use. */
interface ObjectPlan {
  readonly byName: ReadonlyMap<string, FieldPlan>;
  /** In the schema's order. */
  readonly fields: readonly FieldPlan[];
  /** How many are written even when absent. */
  readonly alwaysCount: number;
}

function objectPlanOf(schema: ObjectSchema, compiler: Compiler): ObjectPlan {
  const fields = schema.fields.map((field, at) => planOf(field, at, compiler, schema.name));
  const alwaysCount = fields.filter((plan) => plan.always !== undefined).length;
  return { byName: new Map(fields.map((plan) => [plan.name, plan])), fields, alwaysCount };
}

function objectDecoder(schema: ObjectSchema, compiler: Compiler): Decoder {
  let plan: ObjectPlan | undefined;
  const isOwn = compiler === own;

  return (value, at) => {
    plan ??= objectPlanOf(schema, compiler);
    if (value === null) value = {};
    if (isOwn && settled.get(value as object) === schema && Object.isFrozen(value)) return value;
    if (typeof value !== 'object' || Array.isArray(value) || value instanceof NumberText)
      throw new TypeMismatch(value, schema.name === '' ? 'object' : goType(schema.name), at.path);
    const input = value as Record<string, unknown>;
    const { path } = at;
    const keys = Object.keys(input);
    // Of our own objects a copy is made only when something in them is to be different.
    let result: Record<string, unknown> | undefined = isOwn ? undefined : {};
    let extras: [string, unknown][] | undefined;
    let sorted = true;
    let missing = plan.alwaysCount;
    let last = -1;
    for (let position = 0; position < keys.length; position++) {
      const key = keys[position]!;
      const given = input[key];
      const field = plan.byName.get(key);
      path.push(key);
      if (field === undefined) {
        result ??= copyOf(input, keys, position);
        const extra = decodeExtra(schema, compiler, given, at);
        if (extra !== undefined) (extras ??= []).push([key, extra]);
      } else {
        const decoded = decodeField(field, given, at);
        if (result === undefined && (decoded !== given || given === undefined)) result = copyOf(input, keys, position);
        if (decoded !== undefined) {
          if (field.at < last) sorted = false;
          last = field.at;
          if (field.always !== undefined) missing--;
          if (result !== undefined) result[field.name] = decoded;
        }
      }
      path.pop();
    }
    const found = result ?? input;
    const whole = sorted && missing === 0 ? found : assemble(plan.fields, found);
    if (extras !== undefined) for (const [key, extra] of extras) setOwn(whole, key, extra);
    return whole;
  };
}

/** The first `count` of the keys, with their values. */
function copyOf(
  input: Readonly<Record<string, unknown>>,
  keys: readonly string[],
  count: number,
): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  for (let at = 0; at < count; at++) setOwn(result, keys[at]!, input[keys[at]!]);
  return result;
}

/** A field that the schema does not name; undefined when it is dropped. */
function decodeExtra(schema: ObjectSchema, compiler: Compiler, value: unknown, at: Decoding): unknown {
  if (schema.additional !== undefined) return compiler.decoderOf(schema.additional)(value, at);
  if (schema.preserveUnknown) return plainNumbers(value);
  noteUnknown(at);
  return undefined;
}

function decodeField(plan: FieldPlan, value: unknown, at: Decoding): unknown {
  if (value === null || value === undefined) return plan.nullable && value === null ? null : undefined;
  const decoded = plan.decode(value, at);
  return plan.dropsZero && isZero(decoded) ? undefined : decoded;
}

/** In the schema's order, with those that are always written. */
function assemble(fields: readonly FieldPlan[], values: Record<string, unknown>): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  for (const { name, always } of fields) {
    const value = values[name];
    if (value !== undefined) result[name] = value;
    else if (always !== undefined) result[name] = always();
  }
  return result;
}

function noteUnknown(at: Decoding): void {
  if (at.strict.length < maxStrict) at.strict.push(`unknown field "${pathText(at.path)}"`);
}

/** `spec.containers[0].foo` */
function pathText(path: readonly (string | number)[]): string {
  let text = '';
  for (const part of path) text += typeof part === 'number' ? `[${part}]` : text === '' ? part : `.${part}`;
  return text;
}

function goType(name: string): string {
  return name.split('.').slice(-2).join('.');
}

function mapDecoder(values: Schema, compiler: Compiler): Decoder {
  const zero = zeroOf(values);
  const isOwn = compiler === own;
  return (value, at) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value) || value instanceof NumberText)
      throw new TypeMismatch(value, 'map[string]', at.path);
    const decode = compiler.decoderOf(values);
    const input = value as Record<string, unknown>;
    const keys = Object.keys(input);
    const sorted = isAscending(keys);
    // Go writes maps in the order of their keys.
    if (!sorted) keys.sort();
    let result: Record<string, unknown> | undefined = isOwn && sorted ? undefined : {};
    for (let position = 0; position < keys.length; position++) {
      const key = keys[position]!;
      at.path.push(key);
      const item = input[key];
      const decoded = item === null ? zero() : decode(item, at);
      if (decoded !== item) result ??= copyOf(input, keys, position);
      if (result !== undefined) setOwn(result, key, decoded);
      at.path.pop();
    }
    return result ?? input;
  };
}

function isAscending(keys: readonly string[]): boolean {
  for (let at = 1; at < keys.length; at++) if (keys[at - 1]! > keys[at]!) return false;
  return true;
}

function listDecoder(items: Schema, compiler: Compiler): Decoder {
  const zero = zeroOf(items);
  const isOwn = compiler === own;
  return (value, at) => {
    if (!Array.isArray(value)) throw new TypeMismatch(value, '[]', at.path);
    const decode = compiler.decoderOf(items);
    let result: unknown[] | undefined = isOwn ? undefined : new Array(value.length);
    for (let position = 0; position < value.length; position++) {
      at.path.push(position);
      const item: unknown = value[position];
      const decoded = item === null ? zero() : decode(item, at);
      if (decoded !== item) result ??= value.slice();
      if (result !== undefined) result[position] = decoded;
      at.path.pop();
    }
    return result ?? (value as unknown);
  };
}

function alternativeDecoder(or: 'bool' | 'list' | 'strings', object: Schema, compiler: Compiler): Decoder {
  const list = listDecoder(object, compiler);
  return (value, outside) => {
    // What decodes itself does not tell of unknown fields.
    const at: Decoding = { path: outside.path, strict: [] };
    if (or === 'bool' && typeof value === 'boolean') return value;
    if (or !== 'bool' && Array.isArray(value)) {
      if (or === 'list') return list(value, at);
      if (value.every((item) => typeof item === 'string')) return value;
      throw new TypeMismatch(value, '[]string', at.path);
    }
    if (value instanceof NumberText) finite(value);
    // Upstream reads neither a schema nor a list of them in anything else.
    if (or !== 'bool' && (typeof value !== 'object' || value instanceof NumberText)) return undefined;
    return compiler.decoderOf(object)(value, at);
  };
}
