// Owns making objects invalid by their schemas, in ways that each must be refused for: values of another type, required fields left out.
import type { Definition, Sample } from './documents.ts';

interface Schema {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly nullable?: boolean;
  readonly 'x-kubernetes-int-or-string'?: boolean;
  readonly 'x-kubernetes-preserve-unknown-fields'?: boolean;
}

export interface Mutation {
  readonly what: string;
  readonly object: Sample['object'];
  /** The field that the refusal must name. */
  readonly field: string;
  readonly reason: 'FieldValueTypeInvalid' | 'FieldValueRequired';
}

const others: Readonly<Record<string, unknown>> = {
  object: 'a text',
  array: 'a text',
  string: { not: 'a text' },
  integer: 'a text',
  number: 'a text',
  boolean: 'a text',
};

export function schemaOf({ spec }: Definition, apiVersion: string): Schema | undefined {
  const version = spec.versions.find(({ name }) => name === apiVersion.split('/')[1]);
  return version?.schema?.openAPIV3Schema as Schema | undefined;
}

/** Of the fields of `spec`. */
export function mutationsOf({ object }: Sample, definition: Definition): Mutation[] {
  const schema = schemaOf(definition, object.apiVersion)?.properties?.['spec'];
  const spec = object['spec'];
  if (schema?.properties === undefined || typeof spec !== 'object' || spec === null) return [];
  const found: Mutation[] = [];
  for (const [name, inner] of Object.entries(schema.properties)) {
    if (!Object.hasOwn(spec, name)) continue;
    const type = inner.type ?? '';
    const field = `spec.${name}`;
    if (Object.hasOwn(others, type) && inner['x-kubernetes-int-or-string'] !== true)
      found.push({
        what: `${field} is no ${type}`,
        object: { ...object, spec: { ...spec, [name]: others[type] } },
        field,
        reason: 'FieldValueTypeInvalid',
      });
    if (schema.required?.includes(name) !== true || 'default' in inner) continue;
    const { [name]: _, ...rest } = spec as Record<string, unknown>;
    found.push({ what: `without ${field}`, object: { ...object, spec: rest }, field, reason: 'FieldValueRequired' });
  }
  return found;
}
