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
 * maps sorted, quantities canonical. Does not change `value`; trusts the types of its scalars.
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

function planOf(field: FieldSchema, at: number, compiler: Compiler): FieldPlan {
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
    dropsZero: field.omitempty && !field.pointer && !structLike.has(schema.type),
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

function objectDecoder(schema: ObjectSchema, compiler: Compiler): Decoder {
  let plans: Map<string, FieldPlan> | undefined;
  let always: readonly FieldPlan[] = [];
  const additional = schema.additional;
  const isOwn = compiler === own;
  const prepare = (): Map<string, FieldPlan> => {
    const all = schema.fields.map((field, at) => planOf(field, at, compiler));
    always = all.filter((plan) => plan.always !== undefined);
    return new Map(all.map((plan) => [plan.name, plan]));
  };

  return (value, at) => {
    plans ??= prepare();
    if (value === null) value = {};
    if (isOwn && settled.get(value as object) === schema && Object.isFrozen(value)) return value;
    if (typeof value !== 'object' || Array.isArray(value) || value instanceof NumberText)
      throw new TypeMismatch(value, schema.name === '' ? 'object' : goType(schema.name), at.path);
    const input = value as Record<string, unknown>;
    const { path } = at;
    const result: Record<string, unknown> = {};
    const found: FieldPlan[] = [];
    let extras: [string, unknown][] | undefined;
    let sorted = true;
    let missing = always.length;
    let last = -1;
    for (const key of Object.keys(input)) {
      const plan = plans.get(key);
      path.push(key);
      if (plan === undefined) {
        if (additional !== undefined) (extras ??= []).push([key, compiler.decoderOf(additional)(input[key], at)]);
        else if (schema.preserveUnknown) (extras ??= []).push([key, plainNumbers(input[key])]);
        else noteUnknown(at);
      } else {
        const decoded = decodeField(plan, input[key], at);
        if (decoded !== undefined) {
          if (plan.at < last) sorted = false;
          last = plan.at;
          if (plan.always !== undefined) missing--;
          found.push(plan);
          result[plan.name] = decoded;
        }
      }
      path.pop();
    }
    const whole = sorted && missing === 0 ? result : assemble(found, result, missing === 0 ? [] : always);
    if (extras !== undefined) for (const [key, extra] of extras) setOwn(whole, key, extra);
    return whole;
  };
}

function decodeField(plan: FieldPlan, value: unknown, at: Decoding): unknown {
  if (value === null || value === undefined) return plan.nullable && value === null ? null : undefined;
  const decoded = plan.decode(value, at);
  return plan.dropsZero && isZero(decoded) ? undefined : decoded;
}

/** In the schema's order, with those of `always` that were not found. */
function assemble(
  found: FieldPlan[],
  values: Record<string, unknown>,
  always: readonly FieldPlan[],
): Record<string, unknown> {
  for (const plan of always)
    if (values[plan.name] === undefined) {
      values[plan.name] = plan.always!();
      found.push(plan);
    }
  found.sort(bySchema);
  const result: Record<string, unknown> = {};
  for (const { name } of found) result[name] = values[name];
  return result;
}

function bySchema(a: FieldPlan, b: FieldPlan): number {
  return a.at - b.at;
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
  return (value, at) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value) || value instanceof NumberText)
      throw new TypeMismatch(value, 'map[string]', at.path);
    const decode = compiler.decoderOf(values);
    const input = value as Record<string, unknown>;
    const result: Record<string, unknown> = {};
    // Go writes maps in the order of their keys.
    const keys = Object.keys(input);
    if (keys.length > 1) keys.sort();
    for (const key of keys) {
      at.path.push(key);
      const item = input[key];
      setOwn(result, key, item === null ? zero() : decode(item, at));
      at.path.pop();
    }
    return result;
  };
}

function listDecoder(items: Schema, compiler: Compiler): Decoder {
  const zero = zeroOf(items);
  return (value, at) => {
    if (!Array.isArray(value)) throw new TypeMismatch(value, '[]', at.path);
    const decode = compiler.decoderOf(items);
    const result: unknown[] = new Array(value.length);
    for (let position = 0; position < value.length; position++) {
      at.path.push(position);
      result[position] = value[position] === null ? zero() : decode(value[position], at);
      at.path.pop();
    }
    return result;
  };
}

function alternativeDecoder(or: 'bool' | 'list' | 'strings', object: Schema, compiler: Compiler): Decoder {
  const list = listDecoder(object, compiler);
  return (value, at) => {
    if (or === 'bool' && typeof value === 'boolean') return value;
    if (or !== 'bool' && Array.isArray(value)) {
      if (or === 'list') return list(value, at);
      if (value.every((item) => typeof item === 'string')) return value;
      throw new TypeMismatch(value, '[]string', at.path);
    }
    if (value instanceof NumberText) finite(value);
    return compiler.decoderOf(object)(value, at);
  };
}
