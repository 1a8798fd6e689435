// Owns what protobuf cannot tell apart: lists and maps that are empty and those that are absent. Both are read back as null.
import type { Schema } from '../../api/schema/schema.ts';

type Fix = (value: Record<string, unknown>) => void;

/** undefined: nothing below the schema is written when it is empty. */
const fixes = new WeakMap<Schema, Fix | undefined>();
const inProgress = new Set<Schema>();

/** Puts null in the place of empty lists and maps that are written all the same, in place. Raw JSON is left alone. */
export function nullEmpties(schema: Schema, object: unknown): void {
  if (isObject(object)) fixOf(schema)?.(object);
}

function fixOf(schema: Schema): Fix | undefined {
  if (fixes.has(schema)) return fixes.get(schema);
  // Schemas that contain themselves are kept as JSON.
  if (inProgress.has(schema)) return undefined;
  inProgress.add(schema);
  const fix = compile(schema);
  inProgress.delete(schema);
  fixes.set(schema, fix);
  return fix;
}

function compile(schema: Schema): Fix | undefined {
  switch (schema.type) {
    case 'object': {
      const fields = schema.fields.flatMap((field) => {
        const below = fixOf(field.schema);
        const isCollection = field.schema.type === 'list' || field.schema.type === 'map';
        const written = isCollection && !field.omitempty && !field.pointer;
        return below !== undefined || written ? [{ name: field.name, below, written }] : [];
      });
      if (fields.length === 0) return undefined;
      return (value) => {
        for (const { name, below, written } of fields) {
          const inner = value[name];
          // Frozen is what an earlier state of the object was stored with.
          if (!isObject(inner) || Object.isFrozen(inner)) continue;
          if (written && isEmpty(inner)) value[name] = null;
          else below?.(inner);
        }
      };
    }
    case 'list':
    case 'map': {
      const below = fixOf(schema.type === 'list' ? schema.items : schema.values);
      return below && ((value) => Object.values(value).forEach((inner) => isObject(inner) && below(inner)));
    }
    default:
      return undefined;
  }
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;

const isEmpty = (value: object): boolean =>
  Array.isArray(value) ? value.length === 0 : Object.keys(value).length === 0;
