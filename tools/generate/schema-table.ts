// Owns the run-time schema table: facts/types.json merged with facts/schemas.json, packed a line a type.
import type { PackedExtra, PackedField } from '../../src/api/schema/packed.ts';
import { flagOmitempty, flagOmitzero, flagPointer, flagRequired } from '../../src/api/schema/packed.ts';
import type { PatchStrategy } from '../../src/api/schema/schema.ts';
import type { Facts, Field, OpenApiSchema, TypeFact } from './facts.ts';
import { header } from './types.ts';

type Struct = Extract<TypeFact, { kind: 'struct' }>;
type Extra = { -readonly [K in keyof PackedExtra]: PackedExtra[K] };

export function generateSchemaTable(facts: Facts, schemas: Readonly<Record<string, OpenApiSchema>>): string {
  const byType = new Map(Object.entries(schemas).map(([name, schema]) => [goName(name), schema]));
  const lines = Object.entries(facts.types).map(
    ([name, fact]) => `${name}=${JSON.stringify(packType(name, fact, facts, byType))}`,
  );
  const kinds = Object.entries(facts.kinds).map(
    ([gvk, type]) => `  [${JSON.stringify(gvk)}, ${JSON.stringify(type)}],`,
  );
  return [
    header,
    '/** "v1/Pod", "apps/v1/Deployment" to the name of the type. */',
    `export const kindTypes: ReadonlyMap<string, string> = new Map([\n${kinds.join('\n')}\n]);\n`,
    '/** A line a type, as src/api/schema/builtin.ts unpacks it. */',
    `export const typeTable: string = [\n${lines.map((line) => `${quote(line)},`).join('\n')}\n].join('\\n');\n`,
  ].join('\n');
}

/** "io.k8s.api.core.v1.Pod" is "core.v1.Pod" in types.json: the last three parts. */
function goName(openApiName: string): string {
  const parts = openApiName.split('.');
  return parts.slice(parts.at(-2) === 'runtime' ? -2 : -3).join('.');
}

function quote(line: string): string {
  return `'${line.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}

function packType(
  name: string,
  fact: TypeFact,
  facts: Facts,
  schemas: ReadonlyMap<string, OpenApiSchema>,
): string | [number, PackedField[]] {
  if (fact.kind === 'alias') return fact.of;
  const schema = schemas.get(name);
  const fields = flatten(fact, facts, []).map(({ field, within }) =>
    packField(field, within, schema, omitzero.has(`${name}.${field.name}`)),
  );
  return [schema?.['x-kubernetes-map-type'] === 'atomic' ? 1 : 0, fields];
}

/** Embedded structs share the JSON object of their owner, but are messages of their own in protobuf. */
function flatten(fact: Struct, facts: Facts, within: readonly number[]): { field: Field; within: readonly number[] }[] {
  return (fact.fields ?? []).flatMap((field) => {
    if (!field.inline) return field.name === '' ? [] : [{ field, within }];
    const inner = facts.types[field.type];
    if (inner?.kind !== 'struct') return [];
    const isTypeMeta = field.type === 'meta.v1.TypeMeta';
    const inlined = flatten(inner, facts, field.proto === undefined ? within : [...within, field.proto]);
    // TypeMeta travels in the envelope, not in the message.
    return isTypeMeta ? inlined.map((one) => ({ field: { ...one.field, proto: 0 }, within: [] })) : inlined;
  });
}

/** Structs with Go's omitzero, which the facts do not tell from omitempty: known from recorded answers. */
const omitzero: ReadonlySet<string> = new Set(['meta.v1.ObjectMeta.creationTimestamp']);

function packField(
  field: Field,
  within: readonly number[],
  owner: OpenApiSchema | undefined,
  isOmitzero: boolean,
): PackedField {
  const schema = owner?.properties?.[field.name];
  const required = owner === undefined ? !field.omitempty : (owner.required ?? []).includes(field.name);
  const flags =
    (required ? flagRequired : 0) |
    (field.omitempty ? flagOmitempty : 0) |
    (field.pointer ? flagPointer : 0) |
    (isOmitzero ? flagOmitzero : 0);
  const extra = packExtra(field, within, schema);
  const packed = [field.name, field.type, field.proto ?? 0, flags] as const;
  return Object.keys(extra).length === 0 ? packed : [...packed, extra];
}

function packExtra(field: Field, within: readonly number[], schema: OpenApiSchema | undefined): PackedExtra {
  const extra: Extra = {};
  const strategy = field.patchStrategy ?? schema?.['x-kubernetes-patch-strategy'];
  if (strategy !== undefined) extra.ps = strategy.split(',') as PatchStrategy[];
  const mergeKey = field.patchMergeKey ?? schema?.['x-kubernetes-patch-merge-key'];
  if (mergeKey !== undefined) extra.pk = mergeKey;
  const listType = schema?.['x-kubernetes-list-type'];
  if (listType === 'map' || listType === 'set') extra.lt = listType;
  if (schema?.['x-kubernetes-list-map-keys'] !== undefined) extra.lk = schema['x-kubernetes-list-map-keys'];
  const mapType = schema?.['x-kubernetes-map-type'];
  if (mapType !== undefined) extra.at = mapType === 'atomic' ? 1 : 0;
  const values = schema?.enum ?? schema?.items?.enum ?? schema?.additionalProperties?.enum;
  if (values !== undefined) extra.e = values;
  if (schema?.default !== undefined && (field.pointer || !isZero(schema.default))) extra.d = schema.default;
  if (within.length > 0) extra.in = within;
  return extra;
}

function isZero(value: unknown): boolean {
  return (
    value === '' ||
    value === 0 ||
    value === false ||
    (typeof value === 'object' && value !== null && Object.keys(value).length === 0)
  );
}
