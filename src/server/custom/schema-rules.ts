// Owns the judgement of a definition's schema: what is forbidden in it, lists and maps. Structure, defaults and rules in CEL are judged next door.
import { forbidden, invalid, notSupported, required } from '../../api/field-error.ts';
import type { FieldError } from '../../api/status-error.ts';
import { ruleErrors } from './rule-errors.ts';
import { defaultErrors } from './default-errors.ts';
import { isProps, schemasIn, structural } from './structural.ts';
import type { Props } from './structural.ts';
import { isUnsupported, structuralErrors } from './structural-rules.ts';
import { same } from '../verbs/equal.ts';

/**
 * `before`: the schema this version had; what was accepted and did not change is not judged again. `hasStatus`: the kind has the status
 * subresource, whose part of the schema is used by itself.
 */
export function validateSchema(
  schema: Props,
  before: Props | undefined,
  path: string,
  hasStatus: boolean,
): FieldError[] {
  if (before !== undefined && same(schema, before)) return [];
  const errors: FieldError[] = [];
  if (hasStatus) rootWithStatus(schema, path, errors);
  if (schema.nullable === true) errors.push(forbidden(`${path}.nullable`, 'nullable cannot be true at the root'));
  const soFar = errors.length;
  const whole = isUnsupported(schema) ? undefined : structural(schema);
  if (whole !== undefined) {
    errors.push(...structuralErrors(schema, path));
    if (errors.length === soFar) errors.push(...defaultErrors(whole, path));
  }
  const mayHaveRules = errors.length === soFar;
  node(schema, path, errors, outside, true);
  if (mayHaveRules && whole !== undefined && errors.length === soFar && saysSchema(schema))
    errors.push(invalid(path, '', "OpenAPIV3Schema 'schema' is not supported"));
  const form = whole === undefined ? [] : ruleErrors(whole, path, mayHaveRules ? errors : undefined);
  return [...errors, ...form];
}

const saysSchema = (schema: Props): boolean => !!schema.$schema || schemasIn(schema).some(saysSchema);

/** What stays true of a status taken out of the schema. Fields in the order in which upstream looks at them. */
const notWithStatus = [
  'nullable',
  'default',
  'enum',
  'maxProperties',
  'minProperties',
  'allOf',
  'oneOf',
  'anyOf',
  'not',
  'additionalProperties',
  'x-kubernetes-embedded-resource',
  'x-kubernetes-int-or-string',
  'x-kubernetes-list-map-keys',
  'x-kubernetes-list-type',
  'x-kubernetes-map-type',
] as const;

function rootWithStatus(schema: Props, path: string, errors: FieldError[]): void {
  if (schema.type && schema.type !== 'object') {
    errors.push(
      invalid(`${path}.type`, schema.type, 'only "object" is allowed at the root if the status subresource is enabled'),
    );
    return;
  }
  const field = notWithStatus.find((name) => schema[name] !== undefined && schema[name] !== false);
  if (field !== undefined)
    errors.push(
      invalid(path, schema, `${field} is not allowed at the root of the schema if the status subresource is enabled`),
    );
}

const types = ['array', 'boolean', 'integer', 'number', 'object', 'string'];

const ofResource: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata']);

interface Within {
  /** Why there may be no defaults here or below. */
  readonly noDefaults: string;
  /** In what every resource has by itself: the root's or an embedded one's. */
  readonly isMeta: boolean;
}

const outside: Within = { noDefaults: '', isMeta: false };

function node(schema: Props, path: string, errors: FieldError[], within = outside, isRoot = false): void {
  if (within.noDefaults !== '' && schema.default !== undefined)
    errors.push(forbidden(`${path}.default`, `must not be set ${within.noDefaults}`));
  unsupported(schema, path, errors);
  const isEmbedded = schema['x-kubernetes-embedded-resource'] === true;
  if (within.isMeta && isEmbedded)
    errors.push(forbidden(`${path}.x-kubernetes-embedded-resource`, 'must not be used inside of resource meta'));
  const below = (inner: Props, place: string, more: Partial<Within> = {}): void =>
    node(inner, `${path}.${place}`, errors, { ...within, ...more });
  if (schema.uniqueItems === true)
    errors.push(
      forbidden(
        `${path}.uniqueItems`,
        'uniqueItems cannot be set to true since the runtime complexity becomes quadratic',
      ),
    );
  const { properties = {}, additionalProperties, items } = schema;
  if (additionalProperties !== undefined && additionalProperties !== true && Object.keys(properties).length > 0)
    errors.push(forbidden(`${path}.additionalProperties`, 'additionalProperties is mutual exclusive with properties'));
  if (isProps(additionalProperties))
    below(
      additionalProperties,
      'additionalProperties',
      within.isMeta ? { noDefaults: 'inside additionalProperties applying to object metadata' } : {},
    );
  for (const [name, inner] of Object.entries(properties)) {
    const isOwn = (isRoot || isEmbedded) && ofResource.has(name);
    const noDefaults = isRoot && isOwn ? `in top-level ${name}` : within.noDefaults;
    below(inner, `properties[${name}]`, { noDefaults, isMeta: within.isMeta || isOwn });
  }
  if (isProps(schema.not)) below(schema.not, 'not');
  for (const name of ['allOf', 'oneOf', 'anyOf'] as const)
    schema[name]?.forEach((inner, at) => below(inner, `${name}[${at}]`));
  for (const [name, inner] of Object.entries(schema.definitions ?? {})) below(inner, `definitions[${name}]`);
  if (isProps(items)) below(items, 'items');
  else if (Array.isArray(items)) items.forEach((inner: Props, at) => below(inner, `items[${at}]`));
  for (const [name, inner] of Object.entries(schema.dependencies ?? {}))
    if (isProps(inner)) below(inner, `dependencies[${name}]`);
  if (schema['x-kubernetes-preserve-unknown-fields'] === false)
    errors.push(invalid(`${path}.x-kubernetes-preserve-unknown-fields`, false, 'must be true or undefined'));
  maps(schema, path, errors);
  lists(schema, path, errors);
}

/** Fields that custom kinds may not use anywhere in a schema, in upstream's order. */
function unsupported(schema: Props, path: string, errors: FieldError[]): void {
  const { type = '' } = schema;
  if (type !== '' && !types.includes(type)) errors.push(notSupported(`${path}.type`, type, types));
  const refuse = (field: string): number => errors.push(forbidden(`${path}.${field}`, `${field} is not supported`));
  const isFilled = (value: object | undefined): boolean => Object.keys(value ?? {}).length > 0;
  if (schema.id) refuse('id');
  if (schema.additionalItems !== undefined) refuse('additionalItems');
  if (isFilled(schema.patternProperties)) refuse('patternProperties');
  if (isFilled(schema.definitions)) refuse('definitions');
  if (schema.dependencies !== undefined) refuse('dependencies');
  if (schema.$ref !== undefined) refuse('$ref');
  if (type === 'null')
    errors.push(forbidden(`${path}.type`, 'type cannot be set to null, use nullable as an alternative'));
  if (Array.isArray(schema.items))
    errors.push(forbidden(`${path}.items`, 'items must be a schema object and not an array'));
}

/** A type that does not fit an extension; an absent one is missing. */
function wrongType(schema: Props, path: string, detail: string): FieldError {
  return schema.type ? invalid(`${path}.type`, schema.type, detail) : required(`${path}.type`, detail);
}

function maps(schema: Props, path: string, errors: FieldError[]): void {
  const mapType = schema['x-kubernetes-map-type'];
  if (mapType === undefined) return;
  if (schema.type !== 'object')
    errors.push(wrongType(schema, path, 'must be object if x-kubernetes-map-type is specified'));
  if (mapType !== 'atomic' && mapType !== 'granular')
    errors.push(notSupported(`${path}.x-kubernetes-map-type`, mapType, ['atomic', 'granular']));
}

const listTypes = ['atomic', 'set', 'map'];

function lists(schema: Props, path: string, errors: FieldError[]): void {
  const listType = schema['x-kubernetes-list-type'];
  const keys = schema['x-kubernetes-list-map-keys'] ?? [];
  const items = isProps(schema.items) ? schema.items : undefined;
  if (listType !== undefined && schema.type !== 'array')
    errors.push(wrongType(schema, path, 'must be array if x-kubernetes-list-type is specified'));
  else if (listType === 'set' && items !== undefined) setItems(items, path, errors);
  if (listType !== undefined && !listTypes.includes(listType))
    errors.push(notSupported(`${path}.x-kubernetes-list-type`, listType, listTypes));
  const detail = 'must be map if x-kubernetes-list-map-keys is non-empty';
  if (keys.length > 0 && listType === undefined) errors.push(required(`${path}.x-kubernetes-list-type`, detail));
  else if (keys.length > 0 && listType !== 'map')
    errors.push(invalid(`${path}.x-kubernetes-list-type`, listType, detail));
  if (listType === 'map') mapItems(schema, items, keys, path, errors);
  if (items === undefined || (listType !== 'set' && listType !== 'map')) return;
  if (items.nullable === true)
    errors.push(forbidden(`${path}.items.nullable`, `cannot be nullable when x-kubernetes-list-type is ${listType}`));
  if (listType === 'map') for (const key of keys) mapKey(items, key, `${path}.items.properties[${key}]`, errors);
}

function mapItems(
  schema: Props,
  items: Props | undefined,
  keys: readonly string[],
  path: string,
  errors: FieldError[],
): void {
  const at = `${path}.items`;
  const field = `${path}.x-kubernetes-list-map-keys`;
  if (keys.length === 0) errors.push(required(field, 'must not be empty if x-kubernetes-list-type is map'));
  if (schema.items === undefined) errors.push(required(at, 'must have a schema if x-kubernetes-list-type is map'));
  else if (items === undefined)
    errors.push(invalid(at, schema.items, 'must only have a single schema if x-kubernetes-list-type is map'));
  if (items === undefined) return;
  if (items.type !== 'object') {
    errors.push(
      invalid(`${at}.type`, items.type ?? '', "must be object if parent array's x-kubernetes-list-type is map"),
    );
    return;
  }
  keys.forEach((key, i) => {
    const inner = Object.hasOwn(items.properties ?? {}, key) ? items.properties![key] : undefined;
    if (inner === undefined) errors.push(invalid(field, keys, 'entries must all be names of item properties'));
    else if (inner.type === 'array' || inner.type === 'object')
      errors.push(
        invalid(
          `${at}.properties[${key}].type`,
          inner.type,
          "must be a scalar type if parent array's x-kubernetes-list-type is map",
        ),
      );
    if (keys.indexOf(key) < i) errors.push(invalid(field, keys, 'must not contain duplicate entries'));
  });
}

function mapKey(items: Props, key: string, path: string, errors: FieldError[]): void {
  const inner = Object.hasOwn(items.properties ?? {}, key) ? items.properties![key] : undefined;
  if (inner === undefined) return;
  const what = 'this property is in x-kubernetes-list-map-keys, so it';
  if (!(items.required ?? []).includes(key) && (inner.default ?? undefined) === undefined)
    errors.push(required(`${path}.default`, `${what} must have a default or be a required property`));
  if (inner.nullable === true) errors.push(forbidden(`${path}.nullable`, `${what} cannot be nullable`));
}

function setItems(items: Props, path: string, errors: FieldError[]): void {
  const detail = 'must be atomic as item of a list with x-kubernetes-list-type=set';
  const refuse = (field: 'x-kubernetes-list-type' | 'x-kubernetes-map-type'): number =>
    errors.push(invalid(`${path}.items.${field}`, items[field] ?? null, detail));
  if (items.type === 'array' && (items['x-kubernetes-list-type'] ?? 'atomic') !== 'atomic')
    refuse('x-kubernetes-list-type');
  if (items.type === 'object' && items['x-kubernetes-map-type'] !== 'atomic') refuse('x-kubernetes-map-type');
}
