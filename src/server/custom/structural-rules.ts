// Owns what makes a schema structural: types said outside of junctors, metadata left alone, extensions that fit together. Judges nothing else.
import { forbidden, invalid, required } from '../../api/field-error.ts';
import type { FieldError } from '../../api/status-error.ts';
import { isPattern } from './patterns.ts';
import { isProps, schemasIn } from './structural.ts';
import type { Props } from './structural.ts';

type Level = 'root' | 'item' | 'field';

/** In the order of their texts, as upstream sorts them. */
export function structuralErrors(schema: Props, path: string): FieldError[] {
  const errors: FieldError[] = [];
  node(schema, 'root', path, errors);
  complete(schema, schema, path, path, errors);
  const text = ({ field, message }: FieldError): string => `${field}: ${message}`;
  return errors.sort((a, b) => (text(a) < text(b) ? -1 : 1));
}

/** A schema with such parts cannot be made structural at all: those parts alone are told of. */
export function isUnsupported(schema: Props): boolean {
  const filled = (value: unknown): boolean =>
    value !== undefined && value !== '' && !(typeof value === 'object' && Object.keys(value as object).length === 0);
  if (['id', 'patternProperties', 'definitions'].some((field) => filled(schema[field as 'id']))) return true;
  if (schema.additionalItems !== undefined || schema.dependencies !== undefined || schema.$ref !== undefined)
    return true;
  if (schema.type === 'null' || Array.isArray(schema.items)) return true;
  if (schema['x-kubernetes-preserve-unknown-fields'] === false) return true;
  return schemasIn(schema).some(isUnsupported);
}

function node(schema: Props, level: Level, path: string, errors: FieldError[]): void {
  const { type = '', items, properties = {}, additionalProperties } = schema;
  if (type === 'array' && items === undefined) errors.push(required(`${path}.items`, 'must be specified'));
  if (isProps(items)) node(items, 'item', `${path}.items`, errors);
  for (const [name, inner] of Object.entries(properties)) node(inner, 'field', `${path}.properties[${name}]`, errors);
  if (additionalProperties !== undefined && level === 'root')
    errors.push(forbidden(`${path}.additionalProperties`, 'must not be used at the root'));
  if (isProps(additionalProperties)) node(additionalProperties, 'field', `${path}.additionalProperties`, errors);
  const preserves = schema['x-kubernetes-preserve-unknown-fields'] === true;
  const isEmbedded = schema['x-kubernetes-embedded-resource'] === true;
  const intOrString = schema['x-kubernetes-int-or-string'] === true;
  if (intOrString && preserves)
    errors.push(
      invalid(
        `${path}.x-kubernetes-preserve-unknown-fields`,
        true,
        'must be false if x-kubernetes-int-or-string is true',
      ),
    );
  if (intOrString && isEmbedded)
    errors.push(
      invalid(`${path}.x-kubernetes-embedded-resource`, true, 'must be false if x-kubernetes-int-or-string is true'),
    );
  validations(schema, isTypePair(schema.anyOf), isTypePair(schema.allOf?.[0]?.anyOf), path, errors);
  if (isEmbedded) embedded(schema, path, errors);
  else if (type === '' && !intOrString && !preserves)
    errors.push(required(`${path}.type`, `must not be empty ${untyped[level]}`));
  if (level === 'root' && type !== '' && type !== 'object')
    errors.push(invalid(`${path}.type`, type, 'must be object at the root'));
  metadata(schema, level, level === 'root' || isEmbedded, path, errors);
}

const untyped = { root: 'at the root', item: 'for specified array items', field: 'for specified object fields' };

function embedded(schema: Props, path: string, errors: FieldError[]): void {
  const { type = '', properties = {} } = schema;
  const detail = 'must be object if x-kubernetes-embedded-resource is true';
  if (type === '') errors.push(required(`${path}.type`, detail));
  else if (type !== 'object') errors.push(invalid(`${path}.type`, type, detail));
  if (schema.additionalProperties !== undefined)
    errors.push(forbidden(`${path}.additionalProperties`, 'must not be used if x-kubernetes-embedded-resource is set'));
  if (schema['x-kubernetes-preserve-unknown-fields'] !== true && Object.keys(properties).length === 0)
    errors.push(
      required(
        `${path}.properties`,
        'must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields',
      ),
    );
}

/** apiVersion, kind and metadata are there by themselves: the schema may only narrow the names. */
function metadata(schema: Props, level: Level, isResource: boolean, path: string, errors: FieldError[]): void {
  const properties = schema.properties ?? {};
  const at = (name: string): string => `${path}.properties[${name}]`;
  if (isResource)
    for (const name of ['kind', 'apiVersion'])
      if (Object.hasOwn(properties, name) && properties[name]!.type !== 'string')
        errors.push(invalid(`${at(name)}.type`, properties[name]!.type ?? '', 'must be string'));
  const meta = Object.hasOwn(properties, 'metadata') ? properties['metadata'] : undefined;
  if (meta === undefined) return;
  if (isResource && meta.type !== 'object')
    errors.push(invalid(`${at('metadata')}.type`, meta.type ?? '', 'must be object'));
  if (level !== 'root') return;
  const { type: _, default: __, properties: named = {}, ...rest } = meta;
  const others = Object.keys(named).some((name) => name !== 'name' && name !== 'generateName');
  if (others || Object.values(rest).some((value) => value !== undefined))
    errors.push(
      forbidden(
        at('metadata'),
        'must not specify anything other than name and generateName, but metadata is implicitly specified',
      ),
    );
}

/** The old way to say int-or-string: anyOf integer or string, and nothing more. */
function isTypePair(list: readonly Props[] | undefined): boolean {
  const isOnly = (schema: Props, type: string): boolean => schema.type === type && Object.keys(schema).length === 1;
  return list?.length === 2 && isOnly(list[0]!, 'integer') && isOnly(list[1]!, 'string');
}

function validations(schema: Props, skipAny: boolean, skipFirstAny: boolean, path: string, errors: FieldError[]): void {
  if (!skipAny) schema.anyOf?.forEach((inner, at) => nested(inner, false, `${path}.anyOf[${at}]`, errors));
  schema.allOf?.forEach((inner, at) => nested(inner, skipFirstAny && at === 0, `${path}.allOf[${at}]`, errors));
  schema.oneOf?.forEach((inner, at) => nested(inner, false, `${path}.oneOf[${at}]`, errors));
  if (isProps(schema.not)) nested(schema.not, false, `${path}.not`, errors);
  if (schema.pattern && !isPattern(schema.pattern))
    errors.push(invalid(`${path}.pattern`, schema.pattern, "must be a valid regular expression, but isn't"));
}

/** What only the outside of junctors may say, each with how it is left unsaid. */
const outsideOnly = [
  ['type', 'empty'],
  ['default', 'undefined'],
  ['title', 'empty'],
  ['description', 'empty'],
  ['nullable', 'false'],
  ['externalDocs', 'undefined'],
  ['x-kubernetes-preserve-unknown-fields', 'false'],
  ['x-kubernetes-embedded-resource', 'false'],
  ['x-kubernetes-int-or-string', 'false'],
  ['x-kubernetes-list-map-keys', 'empty'],
  ['x-kubernetes-list-type', 'undefined'],
  ['x-kubernetes-map-type', 'undefined'],
  ['x-kubernetes-validations', 'empty'],
] as const;

function nested(schema: Props, skipAny: boolean, path: string, errors: FieldError[]): void {
  validations(schema, skipAny, false, path, errors);
  if (isProps(schema.items)) nested(schema.items, false, `${path}.items`, errors);
  for (const [name, inner] of Object.entries(schema.properties ?? {}))
    nested(inner, false, `${path}.properties[${name}]`, errors);
  if (schema.additionalProperties !== undefined)
    errors.push(forbidden(`${path}.additionalProperties`, 'must be undefined to be structural'));
  for (const [field, unsaid] of outsideOnly) {
    const value = schema[field];
    if (value === undefined || (field !== 'default' && isUnsaid(value))) continue;
    errors.push(forbidden(`${path}.${field}`, `must be ${unsaid} to be structural`));
  }
  if (Object.hasOwn(schema.properties ?? {}, 'metadata'))
    errors.push(forbidden(`${path}.properties[metadata]`, 'must not be specified in a nested context'));
}

function isUnsaid(value: unknown): boolean {
  return value === '' || value === false || (Array.isArray(value) && value.length === 0);
}

/** What the root's junctors speak of must be specified outside of them, too. Upstream does not look into those further down. */
function complete(schema: Props, outside: Props, outsidePath: string, path: string, errors: FieldError[]): void {
  for (const name of ['allOf', 'anyOf', 'oneOf'] as const)
    schema[name]?.forEach((inner, at) => completeNested(inner, outside, outsidePath, `${path}.${name}[${at}]`, errors));
  if (isProps(schema.not)) completeNested(schema.not, outside, outsidePath, `${path}.not`, errors);
}

function completeNested(
  schema: Props,
  outside: Props | undefined,
  outsidePath: string,
  path: string,
  errors: FieldError[],
): void {
  if (outside === undefined) {
    errors.push(required(outsidePath, `because it is defined in ${path}`));
    return;
  }
  complete(schema, outside, outsidePath, path, errors);
  if (isProps(schema.items)) {
    const found = isProps(outside.items) ? outside.items : undefined;
    completeNested(schema.items, found, `${outsidePath}.items`, `${path}.items`, errors);
  }
  for (const [name, inner] of Object.entries(schema.properties ?? {})) {
    const found = Object.hasOwn(outside.properties ?? {}, name) ? outside.properties![name] : undefined;
    completeNested(inner, found, `${outsidePath}.properties[${name}]`, `${path}.properties[${name}]`, errors);
  }
}
