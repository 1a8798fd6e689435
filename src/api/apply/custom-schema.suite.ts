// Owns, for tests only, the schema of a custom resource made from its OpenAPI v3 schema: just what apply looks at.
import { schemaOfType } from '../schema/builtin.ts';
import type { FieldSchema, ObjectSchema, Schema } from '../schema/schema.ts';
import { isMap, type JsonMap } from './structure.ts';

/** A kind's schema, with the metadata that every object has. */
export function customKindSchema(openApi: JsonMap): ObjectSchema {
  const schema = customSchema(openApi);
  const own = schema.type === 'object' ? schema.fields : [];
  const meta: [string, Schema][] = [
    ['apiVersion', { type: 'string' }],
    ['kind', { type: 'string' }],
    ['metadata', schemaOfType('meta.v1.ObjectMeta')],
  ];
  const fields = [...meta.map(([name, of]) => field(name, of, undefined)), ...own];
  return {
    ...objectSchema(fields),
    ...(openApi['x-kubernetes-preserve-unknown-fields'] === true && { preserveUnknown: true }),
  };
}

function customSchema(openApi: JsonMap): Schema {
  const { type, properties, additionalProperties, items } = openApi;
  const preserveUnknown = openApi['x-kubernetes-preserve-unknown-fields'] === true;
  const atomic = openApi['x-kubernetes-map-type'] === 'atomic';
  if (openApi['x-kubernetes-int-or-string'] === true) return { type: 'intOrString' };
  switch (type) {
    case 'object':
      if (isMap(additionalProperties)) return { type: 'map', values: customSchema(additionalProperties), atomic };
      return {
        ...objectSchema(
          Object.entries((properties ?? {}) as Record<string, JsonMap>).map(([name, property]) =>
            field(name, customSchema(property), property['default']),
          ),
        ),
        atomic,
        preserveUnknown,
      };
    case 'array':
      return {
        type: 'list',
        items: customSchema(items as JsonMap),
        listType: (openApi['x-kubernetes-list-type'] as 'set' | 'map' | undefined) ?? 'atomic',
        mapKeys: (openApi['x-kubernetes-list-map-keys'] as string[] | undefined) ?? [],
      };
    case 'integer':
      return { type: 'int64' };
    case 'number':
      return { type: 'double' };
    case 'boolean':
    case 'string':
      return { type };
    default:
      return { type: 'any' };
  }
}

function field(name: string, schema: Schema, value: unknown): FieldSchema {
  return {
    name,
    schema,
    required: false,
    omitempty: true,
    omitzero: false,
    pointer: true,
    proto: 0,
    within: [],
    patchStrategy: [],
    default: value,
  };
}

function objectSchema(fields: readonly FieldSchema[]): ObjectSchema {
  return { type: 'object', name: '', fields, byName: new Map(fields.map((one) => [one.name, one])), atomic: false };
}
