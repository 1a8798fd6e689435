// Owns what decoding does to a body, for the dry replay: unknown and null fields go, quantities become canonical, static defaults come.
import { canonicalQuantity } from '../../src/api/quantity.ts';
import { schemaOf } from '../../src/api/schema/builtin.ts';
import type { Schema } from '../../src/api/schema/schema.ts';

export function decodeBody(body: unknown, apiVersion: string, kind: string): unknown {
  const schema = schemaOf(apiVersion, kind);
  return schema === undefined ? body : decode(body, schema);
}

function decode(value: unknown, schema: Schema): unknown {
  if (value === null || value === undefined) return undefined;
  switch (schema.type) {
    case 'object': {
      const given = value as Readonly<Record<string, unknown>>;
      const result: Record<string, unknown> = {};
      for (const field of schema.fields) {
        const inner = decode(given[field.name], field.schema) ?? structuredClone(field.default);
        if (inner !== undefined) result[field.name] = inner;
      }
      return result;
    }
    case 'map':
      return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, decode(inner, schema.values)]));
    case 'list':
      return (value as readonly unknown[]).map((item) => decode(item, schema.items) ?? {});
    case 'quantity':
      return canonicalQuantity(String(value).trim());
    default:
      return value;
  }
}
