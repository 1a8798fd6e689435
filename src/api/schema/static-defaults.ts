// Owns static defaults: those that OpenAPI states. Defaults which depend on other fields are the kinds' own.
import { setOwn } from '../meta.ts';
import type { Schema } from './schema.ts';

type Filler = (value: unknown) => void;

/** undefined: nothing below the schema has a default. */
const fillers = new WeakMap<Schema, Filler | undefined>();
const inProgress = new Set<Schema>();

/** Fills the static defaults of `schema` into `object`, in place. */
export function applyStaticDefaults(schema: Schema, object: unknown): void {
  fillerOf(schema)?.(object);
}

function fillerOf(schema: Schema): Filler | undefined {
  if (fillers.has(schema)) return fillers.get(schema);
  // Only JSONSchemaProps contains itself, and it has no defaults.
  if (inProgress.has(schema)) return undefined;
  inProgress.add(schema);
  const filler = compile(schema);
  inProgress.delete(schema);
  fillers.set(schema, filler);
  return filler;
}

function compile(schema: Schema): Filler | undefined {
  switch (schema.type) {
    case 'object':
      return compileObject(schema);
    case 'list': {
      const fill = fillerOf(schema.items);
      return fill && ((value) => Array.isArray(value) && value.forEach(fill));
    }
    case 'map': {
      const fill = fillerOf(schema.values);
      return fill && ((value) => isObject(value) && Object.values(value).forEach(fill));
    }
    default:
      return undefined;
  }
}

function compileObject(schema: Extract<Schema, { type: 'object' }>): Filler | undefined {
  const defaults = schema.fields.filter((field) => field.default !== undefined);
  const nested = schema.fields.flatMap((field) => {
    const fill = fillerOf(field.schema);
    return fill === undefined ? [] : [{ name: field.name, fill }];
  });
  if (defaults.length + nested.length === 0) return undefined;
  return (value) => {
    if (!isObject(value)) return;
    for (const field of defaults)
      if (!Object.hasOwn(value, field.name)) setOwn(value, field.name, fresh(field.default));
    for (const { name, fill } of nested) if (Object.hasOwn(value, name)) fill(value[name]);
  };
}

/** Defaults that are objects are anew each time: whoever gets one may change it. */
function fresh(value: unknown): unknown {
  return typeof value === 'object' ? structuredClone(value) : value;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
