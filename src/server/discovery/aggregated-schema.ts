// Owns the shape of aggregated discovery for its protobuf form. It is no stored kind, so the generated tables do not have it.
import { schemaOfType } from '../../api/schema/builtin.ts';
import type { FieldSchema, ObjectSchema, Schema } from '../../api/schema/schema.ts';

const text: Schema = { type: 'string' };
const texts: Schema = { type: 'list', items: text, listType: 'atomic', mapKeys: [] };
const listOf = (items: Schema): Schema => ({ type: 'list', items, listType: 'atomic', mapKeys: [] });

/** Fields with their protobuf numbers, as apidiscovery.k8s.io/v2 has them. */
function message(
  name: string,
  fields: readonly (readonly [name: string, proto: number, schema: Schema])[],
): ObjectSchema {
  const all = fields.map(
    ([field, proto, schema]): FieldSchema => ({
      name: field,
      schema,
      required: false,
      omitempty: true,
      omitzero: false,
      pointer: false,
      proto,
      within: [],
      patchStrategy: [],
    }),
  );
  return {
    type: 'object',
    name: `apidiscovery.v2.${name}`,
    fields: all,
    byName: new Map(all.map((field) => [field.name, field])),
    atomic: false,
  };
}

/** Made when first asked for: few clients want it. */
export function aggregatedSchema(): ObjectSchema {
  const kind = message('GroupVersionKind', [
    ['group', 1, text],
    ['version', 2, text],
    ['kind', 3, text],
  ]);
  const subresource = message('APISubresourceDiscovery', [
    ['subresource', 1, text],
    ['responseKind', 2, kind],
    ['acceptedTypes', 3, listOf(kind)],
    ['verbs', 4, texts],
  ]);
  const resource = message('APIResourceDiscovery', [
    ['resource', 1, text],
    ['responseKind', 2, kind],
    ['scope', 3, text],
    ['singularResource', 4, text],
    ['verbs', 5, texts],
    ['shortNames', 6, texts],
    ['categories', 7, texts],
    ['subresources', 8, listOf(subresource)],
  ]);
  const version = message('APIVersionDiscovery', [
    ['version', 1, text],
    ['resources', 2, listOf(resource)],
    ['freshness', 3, text],
  ]);
  const group = message('APIGroupDiscovery', [
    ['metadata', 1, schemaOfType('meta.v1.ObjectMeta')],
    ['versions', 2, listOf(version)],
  ]);
  return message('APIGroupDiscoveryList', [
    ['metadata', 1, schemaOfType('meta.v1.ListMeta')],
    ['items', 2, listOf(group)],
  ]);
}
