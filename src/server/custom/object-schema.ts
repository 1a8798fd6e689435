// Owns the generic shape of a custom kind, for server-side apply: what has parts, and what names them.
import type { FieldSchema, ObjectSchema, Schema } from '../../api/schema/schema.ts';
import { schemaOfType } from '../../api/schema/builtin.ts';
import type { Structural } from './structural.ts';

/** The whole kind, with the metadata that every object has. */
export function kindSchema(root: Structural): ObjectSchema {
  const own = [...root.properties].filter(([name]) => name !== 'apiVersion' && name !== 'kind' && name !== 'metadata');
  const fields = [...typeFields(), ...own.map(([name, inner]) => field(name, shape(inner), inner.default))];
  return object(fields, { preserveUnknown: root.preserveUnknown });
}

function typeFields(): FieldSchema[] {
  return [
    field('apiVersion', { type: 'string' }),
    field('kind', { type: 'string' }),
    field('metadata', schemaOfType('meta.v1.ObjectMeta')),
  ];
}

function shape(node: Structural): Schema {
  if (node.intOrString) return { type: 'intOrString' };
  switch (node.type) {
    case 'object':
      return objectShape(node);
    case 'array':
      return {
        type: 'list',
        items: node.items === undefined ? { type: 'any' } : shape(node.items),
        listType: node.listType,
        mapKeys: node.mapKeys,
      };
    case 'integer':
      return { type: 'int64' };
    case 'number':
      return { type: 'double' };
    case 'boolean':
    case 'string':
      return { type: node.type };
    default:
      return { type: 'any' };
  }
}

function objectShape(node: Structural): Schema {
  const { additional, properties, atomicMap, preserveUnknown } = node;
  if (additional !== undefined && properties.size === 0)
    return { type: 'map', values: additional === 'any' ? { type: 'any' } : shape(additional), atomic: atomicMap };
  const fields = [...properties].map(([name, inner]) => field(name, shape(inner), inner.default));
  if (node.embedded) for (const one of typeFields()) if (!properties.has(one.name)) fields.push(one);
  return object(fields, { atomic: atomicMap, preserveUnknown, embedded: node.embedded });
}

function field(name: string, schema: Schema, value?: unknown): FieldSchema {
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
    ...(value !== undefined && { default: value }),
  };
}

function object(fields: readonly FieldSchema[], more: Partial<ObjectSchema>): ObjectSchema {
  return {
    type: 'object',
    name: '',
    fields,
    byName: new Map(fields.map((one) => [one.name, one])),
    atomic: false,
    ...more,
  };
}
