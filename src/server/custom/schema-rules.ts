// Owns the judgement of a definition's schema: structural rules, what is forbidden, lists and maps, defaults. Rules in CEL are judged next door.
import { forbidden, invalid, notSupported, required } from '../../api/field-error.ts';
import type { FieldError } from '../../api/status-error.ts';
import { ruleErrors } from './rule-errors.ts';
import { defaultErrors } from './default-errors.ts';
import { isPattern } from './patterns.ts';
import { isProps, structural } from './structural.ts';
import type { Props } from './structural.ts';
import { same } from '../verbs/equal.ts';

/** `before`: the schema this version had; what was accepted and did not change is not judged again. */
export function validateSchema(schema: Props, before: Props | undefined, path: string): FieldError[] {
  if (before !== undefined && same(schema, before)) return [];
  const errors: FieldError[] = [];
  if (schema.type === undefined || schema.type === '')
    errors.push(required(`${path}.type`, 'must not be empty at the root'));
  else if (schema.type !== 'object') errors.push(invalid(`${path}.type`, schema.type, 'must be object at the root'));
  if (schema.nullable === true) errors.push(forbidden(`${path}.nullable`, 'nullable cannot be true at the root'));
  if (schema.additionalProperties !== undefined)
    errors.push(forbidden(`${path}.additionalProperties`, 'must not be used at the root'));
  node(schema, path, true, errors);
  if (errors.length > 0) return errors;
  const root = structural(schema);
  errors.push(...defaultErrors(root, path));
  if (errors.length === 0) errors.push(...ruleErrors(root, path));
  return errors;
}

const types = ['array', 'boolean', 'integer', 'number', 'object', 'string'];

function node(schema: Props, path: string, isRoot: boolean, errors: FieldError[]): void {
  general(schema, path, errors);
  if (!isRoot && schema.$ref === undefined) typed(schema, path, errors);
  if (isRoot || schema['x-kubernetes-embedded-resource'] === true) metadata(schema, path, errors);
  if (schema['x-kubernetes-embedded-resource'] === true) embedded(schema, path, errors);
  lists(schema, path, errors);
  for (const [name, inner] of Object.entries(schema.properties ?? {}))
    node(inner, `${path}.properties[${name}]`, false, errors);
  const { items, additionalProperties } = schema;
  if (Array.isArray(items)) errors.push(forbidden(`${path}.items`, 'items must be a schema object and not an array'));
  else if (isProps(items)) node(items, `${path}.items`, false, errors);
  if (isProps(additionalProperties)) node(additionalProperties, `${path}.additionalProperties`, false, errors);
  junctors(schema, path, errors);
}

/** Fields that custom kinds may not use anywhere in a schema. */
function general(schema: Props, path: string, errors: FieldError[]): void {
  if (schema.$ref !== undefined) errors.push(forbidden(`${path}.$ref`, '$ref is not supported'));
  for (const field of ['id', 'definitions', 'dependencies', 'patternProperties', 'additionalItems'] as const) {
    const value = schema[field];
    if (value !== undefined && !(typeof value === 'object' && Object.keys(value).length === 0) && value !== '')
      errors.push(forbidden(`${path}.${field}`, `${field} is not supported`));
  }
  if (schema.uniqueItems === true)
    errors.push(
      forbidden(
        `${path}.uniqueItems`,
        'uniqueItems cannot be set to true since the runtime complexity becomes quadratic',
      ),
    );
  if (schema.additionalProperties === false)
    errors.push(forbidden(`${path}.additionalProperties`, 'additionalProperties cannot be set to false'));
  if (
    schema.additionalProperties !== undefined &&
    schema.additionalProperties !== false &&
    Object.keys(schema.properties ?? {}).length > 0
  )
    errors.push(forbidden(`${path}.additionalProperties`, 'additionalProperties is mutual exclusive with properties'));
  if (schema['x-kubernetes-preserve-unknown-fields'] === false)
    errors.push(invalid(`${path}.x-kubernetes-preserve-unknown-fields`, false, 'must be true or undefined'));
  if (schema.pattern && !isPattern(schema.pattern))
    errors.push(invalid(`${path}.pattern`, schema.pattern, "must be a valid regular expression, but isn't"));
  const mapType = schema['x-kubernetes-map-type'];
  if (mapType !== undefined) {
    if (schema.type !== 'object')
      errors.push(invalid(`${path}.type`, schema.type ?? '', 'must be object if x-kubernetes-map-type is specified'));
    if (mapType !== 'atomic' && mapType !== 'granular')
      errors.push(notSupported(`${path}.x-kubernetes-map-type`, mapType, ['atomic', 'granular']));
  }
}

function typed(schema: Props, path: string, errors: FieldError[]): void {
  const { type = '' } = schema;
  const intOrString = schema['x-kubernetes-int-or-string'] === true;
  if (intOrString) {
    if (type !== '') errors.push(invalid(`${path}.type`, type, 'must be empty if x-kubernetes-int-or-string is true'));
    if (schema['x-kubernetes-preserve-unknown-fields'] === true)
      errors.push(
        invalid(
          `${path}.x-kubernetes-preserve-unknown-fields`,
          true,
          'must be false if x-kubernetes-int-or-string is true',
        ),
      );
    if (schema['x-kubernetes-embedded-resource'] === true)
      errors.push(
        invalid(`${path}.x-kubernetes-embedded-resource`, true, 'must be false if x-kubernetes-int-or-string is true'),
      );
    return;
  }
  if (type === '') {
    if (schema['x-kubernetes-preserve-unknown-fields'] !== true)
      errors.push(required(`${path}.type`, 'must not be empty for specified fields'));
  } else if (type === 'null')
    errors.push(forbidden(`${path}.type`, 'type cannot be set to null, use nullable as an alternative'));
  else if (!types.includes(type)) errors.push(notSupported(`${path}.type`, type, types));
  if (type === 'array' && schema.items === undefined) errors.push(required(`${path}.items`, 'must be specified'));
}

/** apiVersion, kind and metadata are there by themselves: the schema may only narrow the names. */
function metadata(schema: Props, path: string, errors: FieldError[]): void {
  const { apiVersion, kind, metadata: meta } = schema.properties ?? {};
  for (const [name, inner] of [
    ['apiVersion', apiVersion],
    ['kind', kind],
  ] as const)
    if (inner !== undefined && inner.type !== 'string')
      errors.push(invalid(`${path}.properties[${name}].type`, inner.type ?? '', 'must be string'));
  if (meta === undefined) return;
  const at = `${path}.properties[metadata]`;
  if (meta.type !== 'object') errors.push(invalid(`${at}.type`, meta.type ?? '', 'must be object'));
  const { type: _, description: __, properties, ...rest } = meta;
  const others = Object.keys(properties ?? {}).some((name) => name !== 'name' && name !== 'generateName');
  if (path.includes('.properties[') ? false : others || Object.values(rest).some((value) => value !== undefined))
    errors.push(
      forbidden(at, 'must not specify anything other than name and generateName, but metadata is implicitly specified'),
    );
}

function embedded(schema: Props, path: string, errors: FieldError[]): void {
  if (schema.type !== undefined && schema.type !== 'object')
    errors.push(invalid(`${path}.type`, schema.type, 'must be object if x-kubernetes-embedded-resource is true'));
  if (schema['x-kubernetes-preserve-unknown-fields'] !== true && Object.keys(schema.properties ?? {}).length === 0)
    errors.push(
      required(
        `${path}.properties`,
        'must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields',
      ),
    );
  if (schema.additionalProperties !== undefined)
    errors.push(forbidden(`${path}.additionalProperties`, 'must not be used if x-kubernetes-embedded-resource is set'));
}

const listTypes = ['atomic', 'map', 'set'];

function lists(schema: Props, path: string, errors: FieldError[]): void {
  const listType = schema['x-kubernetes-list-type'];
  const keys = schema['x-kubernetes-list-map-keys'] ?? [];
  if (listType === undefined) {
    if (keys.length > 0)
      errors.push(required(`${path}.x-kubernetes-list-type`, 'must be map if x-kubernetes-list-map-keys is non-empty'));
    return;
  }
  if (schema.type !== 'array') {
    errors.push(invalid(`${path}.type`, schema.type ?? '', 'must be array if x-kubernetes-list-type is specified'));
    return;
  }
  if (!listTypes.includes(listType)) errors.push(notSupported(`${path}.x-kubernetes-list-type`, listType, listTypes));
  if (keys.length > 0 && listType !== 'map')
    errors.push(
      invalid(`${path}.x-kubernetes-list-type`, listType, 'must be map if x-kubernetes-list-map-keys is non-empty'),
    );
  const items = isProps(schema.items) ? schema.items : undefined;
  if (listType === 'map') {
    if (keys.length === 0)
      errors.push(required(`${path}.x-kubernetes-list-map-keys`, 'must not be empty if x-kubernetes-list-type is map'));
    if (items !== undefined) mapItems(items, keys, path, errors);
  }
  if (listType === 'set' && items !== undefined) setItems(items, path, errors);
}

function mapItems(items: Props, keys: readonly string[], path: string, errors: FieldError[]): void {
  const at = `${path}.items`;
  if (items.nullable === true)
    errors.push(forbidden(`${at}.nullable`, 'cannot be nullable when x-kubernetes-list-type is map'));
  if (items.type !== 'object') {
    errors.push(
      invalid(`${at}.type`, items.type ?? '', 'must be object if the parent array has x-kubernetes-list-type map'),
    );
    return;
  }
  if (new Set(keys).size < keys.length)
    errors.push(invalid(`${path}.x-kubernetes-list-map-keys`, keys, 'must not contain duplicate entries'));
  if (keys.some((key) => !Object.hasOwn(items.properties ?? {}, key)))
    errors.push(invalid(`${path}.x-kubernetes-list-map-keys`, keys, 'entries must all be names of item properties'));
  for (const key of new Set(keys)) {
    const inner = Object.hasOwn(items.properties ?? {}, key) ? items.properties![key] : undefined;
    if (inner === undefined) continue;
    const place = `${at}.properties[${key}]`;
    if (inner.type === 'array' || inner.type === 'object')
      errors.push(
        invalid(`${place}.type`, inner.type, 'must be a scalar type if parent array has x-kubernetes-list-type map'),
      );
    if (inner.nullable === true)
      errors.push(
        forbidden(`${place}.nullable`, 'this property is in x-kubernetes-list-map-keys, so it cannot be nullable'),
      );
    if (!(items.required ?? []).includes(key) && (inner.default ?? undefined) === undefined)
      errors.push(
        required(
          `${place}.default`,
          'this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property',
        ),
      );
  }
}

function setItems(items: Props, path: string, errors: FieldError[]): void {
  const at = `${path}.items`;
  if (items.nullable === true)
    errors.push(forbidden(`${at}.nullable`, 'cannot be nullable when x-kubernetes-list-type is set'));
  if (items.type === 'array' && (items['x-kubernetes-list-type'] ?? 'atomic') !== 'atomic')
    errors.push(
      invalid(
        `${at}.x-kubernetes-list-type`,
        items['x-kubernetes-list-type'],
        'must be atomic as item of a list with x-kubernetes-list-type=set',
      ),
    );
  if (items.type === 'object' && items['x-kubernetes-map-type'] !== 'atomic')
    errors.push(
      invalid(
        `${at}.x-kubernetes-map-type`,
        items['x-kubernetes-map-type'] ?? null,
        'must be atomic as item of a list with x-kubernetes-list-type=set',
      ),
    );
}

const structuralOnly = [
  'description',
  'type',
  'default',
  'nullable',
  'title',
  'additionalProperties',
  'x-kubernetes-embedded-resource',
  'x-kubernetes-preserve-unknown-fields',
  'x-kubernetes-int-or-string',
  'x-kubernetes-list-map-keys',
  'x-kubernetes-list-type',
  'x-kubernetes-map-type',
  'x-kubernetes-validations',
] as const;

/** Within junctors there are value validations only, of fields that are specified outside, too. */
function junctors(schema: Props, path: string, errors: FieldError[]): void {
  for (const field of ['allOf', 'anyOf', 'oneOf'] as const) {
    const given = schema[field] ?? [];
    if (schema['x-kubernetes-int-or-string'] === true && isTypePair(field, given, schema)) continue;
    given.forEach((inner, at) => nested(inner, schema, `${path}.${field}[${at}]`, errors));
  }
  if (isProps(schema.not)) nested(schema.not, schema, `${path}.not`, errors);
}

/** anyOf integer or string, alone or first in allOf: the old way to say int-or-string. */
function isTypePair(field: string, given: readonly Props[], schema: Props): boolean {
  const isPair = (list: readonly Props[] | undefined): boolean =>
    list?.length === 2 && list[0]!.type === 'integer' && list[1]!.type === 'string';
  if (field === 'anyOf') return isPair(given);
  return field === 'allOf' && isPair(given[0]?.anyOf) && schema.anyOf === undefined;
}

function nested(schema: Props, outside: Props | undefined, path: string, errors: FieldError[]): void {
  for (const field of structuralOnly) {
    const value = schema[field];
    if (value !== undefined && value !== '' && value !== false)
      errors.push(forbidden(`${path}.${field}`, 'must be empty to be structural'));
  }
  general(
    { ...schema, additionalProperties: undefined as never, 'x-kubernetes-map-type': undefined as never },
    path,
    errors,
  );
  for (const [name, inner] of Object.entries(schema.properties ?? {})) {
    const found = outside?.properties?.[name];
    if (found === undefined)
      errors.push(
        required(
          `${path.replace(/\.(?:(?:allOf|anyOf|oneOf)\[\d+\]|not)/g, '')}.properties[${name}]`,
          `because it is defined in ${path}.properties[${name}]`,
        ),
      );
    nested(inner, found, `${path}.properties[${name}]`, errors);
  }
  if (isProps(schema.items)) {
    const found = isProps(outside?.items) ? outside.items : undefined;
    if (found === undefined)
      errors.push(
        required(
          `${path.replace(/\.(?:(?:allOf|anyOf|oneOf)\[\d+\]|not)/g, '')}.items`,
          `because it is defined in ${path}.items`,
        ),
      );
    nested(schema.items, found, `${path}.items`, errors);
  }
  for (const field of ['allOf', 'anyOf', 'oneOf'] as const)
    schema[field]?.forEach((inner, at) => nested(inner, outside, `${path}.${field}[${at}]`, errors));
  if (isProps(schema.not)) nested(schema.not, outside, `${path}.not`, errors);
}
