// Owns the judgement of defaults in schemas: each must survive pruning and its own validation. Places are those of the schema.
import { invalid } from '../../api/field-error.ts';
import type { JSONSchemaProps } from '../../api/generated/apiextensions.v1.ts';
import { CelSyntaxError } from '../../api/cel/ast.ts';
import { thaw } from '../../api/meta.ts';
import type { Frozen } from '../../api/meta.ts';
import type { FieldError } from '../../api/status-error.ts';
import { same } from '../verbs/equal.ts';
import { compileRules } from './compile-rules.ts';
import { eachEmbedded, prune } from './prune.ts';
import { dotted } from './pathing.ts';
import { judgeEmbedded, knownMetadata } from './embedded.ts';
import { structural } from './structural.ts';
import type { JsonObject, Props, Structural } from './structural.ts';
import { compileJudge, validateValue } from './validate.ts';

export function defaultErrors(root: Structural, path: string): FieldError[] {
  const errors: FieldError[] = [];
  if (!root.hasDefaults) return errors;
  // The whole object is a resource, whatever its schema says.
  if (root.default !== undefined)
    errors.push(...judge({ ...root, embedded: true, hasEmbedded: true }, `${path}.default`));
  walk(root, path, true, errors);
  return errors;
}

function walk(node: Structural, path: string, isResource: boolean, errors: FieldError[]): void {
  for (const [name, inner] of node.properties) {
    const at = `${path}.properties[${name}]`;
    const isOwn = isResource && (name === 'apiVersion' || name === 'kind' || name === 'metadata');
    if (!isOwn) one(inner, at, errors);
    // The walk of all schemas forbids those of the root (schema-rules.ts).
    else if (node.embedded) inMetadata(inner, at, (value) => ({ ...typeOnly, [name]: value }), errors);
  }
  if (typeof node.additional === 'object') one(node.additional, `${path}.additionalProperties`, errors);
  if (node.items !== undefined) one(node.items, `${path}.items`, errors);
}

function one(node: Structural, path: string, errors: FieldError[]): void {
  if (!node.hasDefaults) return;
  if (node.default !== undefined) errors.push(...judge(node, `${path}.default`));
  walk(node, path, node.embedded, errors);
}

const typeOnly = { apiVersion: 'validation/v1', kind: 'Validation' };

/** Defaults within an embedded resource's own fields: `around` makes the resource of one. */
function inMetadata(
  node: Structural,
  path: string,
  around: (value: unknown) => JsonObject,
  errors: FieldError[],
): void {
  if (!node.hasDefaults) return;
  const field = `${path}.default`;
  if (node.default !== undefined) {
    const [wrong] = judgeEmbedded(around(node.default), '');
    if (wrong === undefined) errors.push(...judgeValue(node, field));
    else
      errors.push(
        invalid(field, node.default, `must result in valid metadata: ${wrong.field.slice(1)}: ${wrong.message}`),
      );
  }
  if (node.items !== undefined) inMetadata(node.items, `${path}.items`, (value) => around([value]), errors);
  for (const [name, inner] of node.properties)
    inMetadata(inner, `${path}.properties[${name}]`, (value) => around({ [name]: value }), errors);
}

/** What is unknown in the metadata of embedded resources goes from defaults, as it goes from objects. In place. */
export function coerceDefaults(schema: JSONSchemaProps): void {
  const root = structural(schema as Props);
  if (root.hasDefaults && root.hasEmbedded) coerce(root);
}

function coerce(node: Structural): void {
  if (!node.hasDefaults || !node.hasEmbedded) return;
  if (node.default !== undefined) eachEmbedded(node.default, node, knownMetadata);
  const { properties, additional, items } = node;
  for (const inner of properties.values()) coerce(inner);
  if (typeof additional === 'object') coerce(additional);
  if (items !== undefined) coerce(items);
}

function judge(node: Structural, path: string): FieldError[] {
  const pruned = thaw(node.default as Frozen<unknown>);
  prune(pruned, node, node.embedded);
  const errors: FieldError[] = [];
  if (!same(pruned, node.default)) errors.push(invalid(path, node.default, 'must not have unknown fields'));
  const resources: FieldError[] = [];
  eachEmbedded(node.default, node, (resource, place) =>
    resources.push(...judgeEmbedded(resource, place.length === 0 ? path : `${path}.${dotted(place)}`)),
  );
  if (resources.length > 0) return [...errors, ...resources];
  return [...errors, ...judgeValue(node, path)];
}

function judgeValue(node: Structural, path: string): FieldError[] {
  const found = validateValue(compileJudge(node.props), node.default);
  if (found.length === 0) found.push(...judgeByRules(node));
  return found.map((error) => ({ ...error, field: joined(path, error.field) }));
}

function joined(path: string, field: string): string {
  if (field === '<nil>') return path;
  // Upstream joins with a dot, also before an index.
  return `${path}.${field}`;
}

function judgeByRules(node: Structural): readonly FieldError[] {
  try {
    return compileRules(node)?.judge(node.default as never, undefined) ?? [];
  } catch (error) {
    // What is wrong with a rule is told where the rule is.
    if (error instanceof CelSyntaxError) return [];
    throw error;
  }
}
