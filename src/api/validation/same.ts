// Owns equality as the API means it: absent, null and empty lists and maps are the same. Quantities are compared as text.
import type { ObjectSchema, Schema } from '../schema/schema.ts';

const isEmpty = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  (typeof value === 'object' && (Array.isArray(value) ? value.length === 0 : Object.keys(value).length === 0));

/** Semantic equality of JSON values, used to tell whether an update changed something. */
export function same(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (isEmpty(a)) return isEmpty(b);
  if (isEmpty(b)) return false;
  if (typeof a !== 'object' || typeof b !== 'object') return false;
  if (Array.isArray(a)) return Array.isArray(b) && a.length === b.length && a.every((item, at) => same(item, b[at]));
  if (Array.isArray(b)) return false;
  const left = a as Readonly<Record<string, unknown>>;
  const right = b as Readonly<Record<string, unknown>>;
  for (const key of Object.keys(left)) if (!sameField(left, right, key)) return false;
  for (const key of Object.keys(right)) if (!Object.hasOwn(left, key) && !isEmpty(right[key])) return false;
  return true;
}

function sameField(
  left: Readonly<Record<string, unknown>>,
  right: Readonly<Record<string, unknown>>,
  key: string,
): boolean {
  return same(left[key], Object.hasOwn(right, key) ? right[key] : undefined);
}

type Json = Readonly<Record<string, unknown>>;

/**
 * As `same`, by the shape of what is compared: a part that upstream keeps behind a pointer differs absent from empty.
 * What the shape does not know is not compared.
 */
export function sameAs(schema: Schema | undefined, a: unknown, b: unknown): boolean {
  if (a === b) return true;
  switch (schema?.type) {
    case 'object':
      return sameFields(schema, (a ?? {}) as Json, (b ?? {}) as Json);
    case 'list': {
      const [left, right] = [(a ?? []) as readonly unknown[], (b ?? []) as readonly unknown[]];
      return left.length === right.length && left.every((item, at) => sameAs(schema.items, item, right[at]));
    }
    case 'map': {
      const [left, right] = [(a ?? {}) as Json, (b ?? {}) as Json];
      const keys = Object.keys(left);
      return (
        keys.length === Object.keys(right).length &&
        keys.every((key) => Object.hasOwn(right, key) && sameAs(schema.values, left[key], right[key]))
      );
    }
    default:
      return same(a, b);
  }
}

function sameFields(schema: ObjectSchema, a: Json, b: Json): boolean {
  return schema.fields.every(({ name, pointer, schema: inner }) => {
    const [left, right] = [a[name] ?? undefined, b[name] ?? undefined];
    if (pointer && inner.type === 'object' && (left === undefined) !== (right === undefined)) return false;
    return sameAs(inner, left, right);
  });
}
