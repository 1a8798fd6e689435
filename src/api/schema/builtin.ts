// Owns the schemas of the built-in types: unpacks the generated table, each type when it is first asked for.
import { kindTypes, typeTable } from '../generated/schema-table.ts';
import {
  flagOmitempty,
  flagOmitzero,
  flagPointer,
  flagRequired,
  type PackedExtra,
  type PackedField,
  type PackedType,
} from './packed.ts';
import type { FieldSchema, ListSchema, ObjectSchema, PatchStrategy, ScalarType, Schema } from './schema.ts';

/** The schema of a built-in kind, by what stands in its apiVersion and kind; undefined when there is none. */
export function schemaOf(apiVersion: string, kind: string): ObjectSchema | undefined {
  const type = kindTypeOf(apiVersion, kind);
  if (type === undefined) return undefined;
  const schema = schemaOfType(type);
  return schema.type === 'object' ? schema : undefined;
}

/** "core.v1.Pod" for ("v1", "Pod"). Options and Status are registered in every group version. */
function kindTypeOf(apiVersion: string, kind: string): string | undefined {
  return kindTypes.get(`${apiVersion}/${kind}`) ?? (inEveryGroup.has(kind) ? kindTypes.get(`v1/${kind}`) : undefined);
}

const inEveryGroup: ReadonlySet<string> = new Set([
  'CreateOptions',
  'DeleteOptions',
  'GetOptions',
  'ListOptions',
  'PatchOptions',
  'UpdateOptions',
  'WatchEvent',
  'Status',
]);

/** The names of all types that `schemaOfType` knows. */
export function typeNames(): string[] {
  return [...lines().keys()];
}

/** "v1/Pod", "apps/v1/Deployment": all built-in kinds. */
export function kindNames(): string[] {
  return [...kindTypes.keys()];
}

/** The schema of a type by its Go name: "core.v1.Container", "meta.v1.ObjectMeta". Throws for an unknown one. */
export function schemaOfType(name: string): Schema {
  let schema = known.get(name);
  if (schema === undefined) {
    schema = special.get(name)?.() ?? unpack(name);
    known.set(name, schema);
  }
  return schema;
}

const known = new Map<string, Schema>();

const scalar =
  (type: ScalarType): (() => Schema) =>
  () => ({ type });

const propsOr = (or: 'bool' | 'list' | 'strings') => (): Schema => ({
  type: 'alternative',
  or,
  get object(): Schema {
    return schemaOfType('apiextensions.v1.JSONSchemaProps');
  },
});

/** Types whose JSON form is not that of their fields (documentation of apimachinery). */
const special: ReadonlyMap<string, () => Schema> = new Map([
  ['string', scalar('string')],
  ['bool', scalar('boolean')],
  ['int32', scalar('int32')],
  ['int64', scalar('int64')],
  ['uint8', scalar('uint8')],
  ['float64', scalar('double')],
  ['bytes', scalar('bytes')],
  ['interface {}', scalar('any')],
  ['meta.v1.Time', scalar('time')],
  ['meta.v1.MicroTime', scalar('microTime')],
  ['meta.v1.Duration', scalar('duration')],
  ['api.resource.Quantity', scalar('quantity')],
  ['util.intstr.IntOrString', scalar('intOrString')],
  ['runtime.RawExtension', scalar('raw')],
  ['apiextensions.v1.JSON', scalar('raw')],
  ['meta.v1.FieldsV1', scalar('fields')],
  ['apiextensions.v1.JSONSchemaPropsOrBool', propsOr('bool')],
  ['apiextensions.v1.JSONSchemaPropsOrArray', propsOr('list')],
  ['apiextensions.v1.JSONSchemaPropsOrStringArray', propsOr('strings')],
]);

let index: Map<string, string> | undefined;

/** The table is one text, a line a type: an index is cheap, and most types are never asked for. */
function lines(): ReadonlyMap<string, string> {
  if (index === undefined) {
    index = new Map();
    for (const line of typeTable.split('\n')) {
      const at = line.indexOf('=');
      if (at > 0) index.set(line.slice(0, at), line.slice(at + 1));
    }
  }
  return index;
}

function unpack(name: string): Schema {
  const line = lines().get(name);
  if (line === undefined) throw new Error(`no type named ${name}`);
  const packed = JSON.parse(line) as PackedType;
  if (typeof packed === 'string') {
    const schema = expression(packed, {});
    return packed === '[]string' ? ({ ...schema, message: name } as ListSchema) : schema;
  }
  const fields = packed[1].map((field) => new BuiltinField(field));
  return {
    type: 'object',
    name,
    fields,
    byName: new Map(fields.map((field) => [field.name, field])),
    atomic: packed[0] === 1,
  };
}

class BuiltinField implements FieldSchema {
  readonly name: string;
  readonly required: boolean;
  readonly omitempty: boolean;
  readonly omitzero: boolean;
  readonly pointer: boolean;
  readonly proto: number;
  readonly within: readonly number[];
  readonly patchStrategy: readonly PatchStrategy[];
  readonly patchMergeKey?: string;
  readonly default?: unknown;
  readonly #type: string;
  readonly #extra: PackedExtra;
  #schema: Schema | undefined;

  constructor([name, type, proto, flags, extra = {}]: PackedField) {
    this.name = name;
    this.required = (flags & flagRequired) !== 0;
    this.omitempty = (flags & flagOmitempty) !== 0;
    this.omitzero = (flags & flagOmitzero) !== 0;
    this.pointer = (flags & flagPointer) !== 0;
    this.proto = proto;
    this.within = extra.in ?? none;
    this.patchStrategy = extra.ps ?? none;
    if (extra.pk !== undefined) this.patchMergeKey = extra.pk;
    if (extra.d !== undefined) this.default = extra.d;
    this.#type = type;
    this.#extra = extra;
  }

  /** Resolved late: types refer to each other, also in circles. */
  get schema(): Schema {
    return (this.#schema ??= expression(this.#type, this.#extra));
  }
}

const none: readonly never[] = [];

/** "[]core.v1.Container", "map[string]string", "core.v1.PodSpec" with what the field adds to it. */
function expression(type: string, extra: PackedExtra): Schema {
  if (type.startsWith('[]')) {
    const items = expression(type.slice(2), extra.e === undefined ? {} : { e: extra.e });
    return { type: 'list', items, listType: extra.lt ?? 'atomic', mapKeys: extra.lk ?? none };
  }
  if (type.startsWith('map[')) {
    const values = expression(type.slice(type.indexOf(']') + 1), extra.e === undefined ? {} : { e: extra.e });
    return { type: 'map', values, atomic: extra.at === 1 };
  }
  const schema = schemaOfType(type);
  if (extra.e !== undefined && schema.type === 'string') return { type: 'string', enum: extra.e };
  if (extra.lt !== undefined && schema.type === 'list')
    return { ...schema, listType: extra.lt, mapKeys: extra.lk ?? none };
  if (extra.at !== undefined && (schema.type === 'object' || schema.type === 'map'))
    return { ...schema, atomic: extra.at === 1 };
  return schema;
}
