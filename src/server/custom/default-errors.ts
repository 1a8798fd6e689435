// Owns the judgement of defaults in schemas: each must survive pruning and its own validation. Places are those of the schema.
import { invalid } from '../../api/field-error.ts';
import { CelSyntaxError } from '../../api/cel/ast.ts';
import { thaw } from '../../api/meta.ts';
import type { Frozen } from '../../api/meta.ts';
import type { FieldError } from '../../api/status-error.ts';
import { same } from '../verbs/equal.ts';
import { compileRules } from './compile-rules.ts';
import { eachEmbedded, prune } from './prune.ts';
import { dotted } from './pathing.ts';
import { judgeEmbedded } from './embedded.ts';
import type { Structural } from './structural.ts';
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
    // The walk of all schemas forbids these (schema-rules.ts).
    if (isResource && (name === 'apiVersion' || name === 'kind' || name === 'metadata')) continue;
    one(inner, at, errors);
  }
  if (typeof node.additional === 'object') one(node.additional, `${path}.additionalProperties`, errors);
  if (node.items !== undefined) one(node.items, `${path}.items`, errors);
}

function one(node: Structural, path: string, errors: FieldError[]): void {
  if (!node.hasDefaults) return;
  if (node.default !== undefined) errors.push(...judge(node, `${path}.default`));
  walk(node, path, node.embedded, errors);
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
  const found = validateValue(compileJudge(node.props), node.default);
  if (found.length === 0) found.push(...judgeByRules(node));
  return [...errors, ...found.map((error) => ({ ...error, field: joined(path, error.field) }))];
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
