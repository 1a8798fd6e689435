// Owns the TypeScript types of the API: one module a Go package of facts/types.json, all fields with their JSON names.
import type { Facts, Field, TypeFact } from './facts.ts';

/** Types whose JSON form is not that of their fields (documentation of apimachinery). */
const wireForms: Readonly<Record<string, string>> = {
  'meta.v1.Time': 'string',
  'meta.v1.MicroTime': 'string',
  'meta.v1.Duration': 'string',
  'api.resource.Quantity': 'string',
  'util.intstr.IntOrString': 'number | string',
  'runtime.RawExtension': 'Readonly<Record<string, unknown>>',
  'meta.v1.FieldsV1': 'Readonly<Record<string, unknown>>',
  'apiextensions.v1.JSON': 'unknown',
  'apiextensions.v1.JSONSchemaPropsOrBool': 'JSONSchemaProps | boolean',
  'apiextensions.v1.JSONSchemaPropsOrArray': 'JSONSchemaProps | JSONSchemaProps[]',
  'apiextensions.v1.JSONSchemaPropsOrStringArray': 'JSONSchemaProps | string[]',
};

/** Fields that every stored object has, although the wire may omit them on create. */
const alwaysThere: ReadonlySet<string> = new Set(['name', 'uid', 'resourceVersion', 'creationTimestamp']);

export function moduleOf(typeName: string): string {
  return typeName.slice(0, typeName.lastIndexOf('.'));
}

function shortName(typeName: string): string {
  return typeName.slice(typeName.lastIndexOf('.') + 1);
}

/** Every module's text by its file name. */
export function generateTypes(facts: Facts): ReadonlyMap<string, string> {
  const modules = new Map<string, string[]>();
  const kindOf = new Map(Object.entries(facts.kinds).map(([gvk, type]) => [type, gvk]));
  for (const [name, fact] of Object.entries(facts.types)) {
    const lines = modules.get(moduleOf(name)) ?? [];
    modules.set(moduleOf(name), lines);
    lines.push(declaration(name, fact, kindOf.get(name), facts));
  }
  return new Map([...modules].map(([module, lines]) => [`${module}.ts`, withImports(lines)]));
}

function declaration(name: string, fact: TypeFact, gvk: string | undefined, facts: Facts): string {
  const own = shortName(name);
  const wire = wireForms[name];
  if (wire !== undefined) return `export type ${own} = ${wire};`;
  if (fact.kind === 'alias') return `export type ${own} = ${typeText(fact.of, name)};`;
  const fields = flatten(fact, facts).map((field) => `  ${fieldText(field, name, gvk !== undefined)}`);
  if (gvk !== undefined) {
    const slash = gvk.lastIndexOf('/');
    fields.unshift(`  apiVersion: '${gvk.slice(0, slash)}';`, `  kind: '${gvk.slice(slash + 1)}';`);
  }
  return `export interface ${own} {\n${fields.join('\n')}\n}`;
}

/** Inline fields are the embedding type's own in JSON; TypeMeta is written by hand. */
function flatten(fact: Extract<TypeFact, { kind: 'struct' }>, facts: Facts): Field[] {
  return (fact.fields ?? []).flatMap((field) => {
    if (!field.inline) return field.name === '' ? [] : [field];
    const inner = facts.types[field.type];
    return field.type === 'meta.v1.TypeMeta' || inner?.kind !== 'struct' ? [] : flatten(inner, facts);
  });
}

function fieldText(field: Field, owner: string, isKind: boolean): string {
  let type = typeText(field.type, owner);
  const isTop =
    isKind && (field.name === 'metadata' || field.name === 'spec' || field.name === 'status') && !field.pointer;
  if (field.type === 'meta.v1.ObjectMeta' && !isKind) type = `Partial<${type}>`;
  const optional =
    isTop || (owner === 'meta.v1.ObjectMeta' && alwaysThere.has(field.name)) ? '' : field.omitempty ? '?' : '';
  const key = /^[A-Za-z_$][\w$]*$/.test(field.name) ? field.name : JSON.stringify(field.name);
  return `${key}${optional}: ${type};`;
}

function typeText(type: string, owner: string): string {
  if (type.startsWith('[]')) return `${parenthesised(typeText(type.slice(2), owner))}[]`;
  const map = /^map\[([^\]]+)\](.*)$/.exec(type);
  if (map) return `Record<string, ${typeText(map[2]!, owner)}>`;
  switch (type) {
    case 'string':
    case 'bytes':
      return 'string';
    case 'bool':
      return 'boolean';
    case 'int32':
    case 'int64':
    case 'uint8':
    case 'float64':
      return 'number';
    case 'interface {}':
      return 'unknown';
    default:
      return moduleOf(type) === moduleOf(owner) ? shortName(type) : `${moduleAlias(type)}.${shortName(type)}`;
  }
}

function parenthesised(type: string): string {
  return type.includes('|') ? `(${type})` : type;
}

/** `core.v1` is imported as `core_v1`: no module name has an underscore of its own. */
function moduleAlias(typeName: string): string {
  return moduleOf(typeName).replaceAll('.', '_');
}

function fileOf(alias: string): string {
  return `${alias.replaceAll('_', '.')}.ts`;
}

function withImports(lines: readonly string[]): string {
  const body = lines.join('\n\n');
  const used = new Set([...body.matchAll(/\b([a-z]\w*)\.[A-Z]/g)].map((match) => match[1]!));
  const imports = [...used].toSorted().map((name) => `import type * as ${name} from './${fileOf(name)}';\n`);
  return `${header}${imports.join('')}\n${body}\n`;
}

export const header = '// Generated from facts/ by tools/generate; run `npm run generate`.\n';
