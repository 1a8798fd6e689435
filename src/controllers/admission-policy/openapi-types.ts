// Owns the CEL types of kinds as the server's OpenAPI documents describe them. Pure; asks nobody.
import { bool, type CelType, double, dyn, int, list, map, string, timestamp } from '../../api/cel/types.ts';

/** The parts of an OpenAPI v3 schema that a type is made from. */
export interface OpenApiSchema {
  readonly $ref?: string;
  readonly allOf?: readonly OpenApiSchema[];
  readonly type?: string;
  readonly format?: string;
  readonly properties?: Readonly<Record<string, OpenApiSchema>>;
  readonly additionalProperties?: OpenApiSchema | boolean;
  readonly items?: OpenApiSchema;
  readonly 'x-kubernetes-int-or-string'?: boolean;
  readonly 'x-kubernetes-preserve-unknown-fields'?: boolean;
  readonly 'x-kubernetes-group-version-kind'?: readonly { group: string; version: string; kind: string }[];
}

export type OpenApiSchemas = Readonly<Record<string, OpenApiSchema>>;

export function schemaOfKind(
  schemas: OpenApiSchemas,
  wanted: { readonly group: string; readonly version: string; readonly kind: string },
): OpenApiSchema | undefined {
  return Object.values(schemas).find((schema) =>
    schema['x-kubernetes-group-version-kind']?.some(
      ({ group, version, kind }) => group === wanted.group && version === wanted.version && kind === wanted.kind,
    ),
  );
}

/** What the schema leaves open is dyn. Structures look at their fields only when asked: schemas may be recursive. */
export function celTypeOf(schema: OpenApiSchema, schemas: OpenApiSchemas, name = 'object'): CelType {
  const target = schema.$ref ?? (schema.allOf?.length === 1 ? schema.allOf[0]?.$ref : undefined);
  if (target !== undefined) {
    const key = target.slice(target.lastIndexOf('/') + 1);
    const found = Object.hasOwn(schemas, key) ? schemas[key] : undefined;
    return found === undefined ? dyn : celTypeOf(found, schemas, key);
  }
  if (schema['x-kubernetes-int-or-string'] || schema.format === 'int-or-string') return dyn;
  switch (schema.type) {
    case 'boolean':
      return bool;
    case 'integer':
      return int;
    case 'number':
      return double;
    case 'string':
      return schema.format === 'date-time' ? timestamp : string;
    case 'array':
      return list(schema.items === undefined ? dyn : celTypeOf(schema.items, schemas, `${name}[]`));
    case 'object':
      return objectType(schema, schemas, name);
    default:
      return dyn;
  }
}

function objectType(schema: OpenApiSchema, schemas: OpenApiSchemas, name: string): CelType {
  const { properties, additionalProperties: values } = schema;
  if (schema['x-kubernetes-preserve-unknown-fields']) return dyn;
  if (properties === undefined)
    return typeof values === 'object' ? map(string, celTypeOf(values, schemas, `${name}{}`)) : dyn;
  return {
    kind: 'struct',
    name,
    field(field) {
      const inner = Object.hasOwn(properties, field) ? properties[field] : undefined;
      return inner === undefined ? undefined : celTypeOf(inner, schemas, `${name}.${field}`);
    },
  };
}
