// Owns the judgement of x-kubernetes-validations in a schema: that they compile, fit their place and cost little enough.
import { CelSyntaxError } from '../../api/cel/ast.ts';
import { estimateCost } from '../../api/cel/estimate.ts';
import type { CompiledExpression } from '../../api/cel/environment.ts';
import { forbidden, invalid, notSupported, required } from '../../api/field-error.ts';
import type { FieldError } from '../../api/status-error.ts';
import { celSchema, type CelSchema } from './cel-types.ts';
import { compileExpressions, mentions, type Rule } from './compile-rules.ts';
import { fieldPathText } from './rule-path.ts';
import type { Structural } from './structural.ts';

/** Limits of upstream: one expression, and all expressions of one schema. */
const ruleLimit = 10_000_000;
const schemaLimit = 100_000_000;
/** How many of the dearest rules are told of. */
const toldOf = 4;

interface Costs {
  total: number;
  readonly dear: { readonly path: string; readonly cost: number }[];
}

export function ruleErrors(root: Structural, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const costs: Costs = { total: 0, dear: [] };
  walk(root, { path, name: 'self', isRoot: true, times: 1, correlated: true }, costs, errors);
  if (costs.total > schemaLimit) {
    const dearest = [...costs.dear].sort((a, b) => b.cost - a.cost).slice(0, toldOf);
    for (const { path: at } of dearest)
      errors.push(
        forbidden(at, 'contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema'),
      );
    errors.push(
      forbidden(
        path,
        exceeded(
          'x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema',
          costs.total,
          schemaLimit,
        ),
      ),
    );
  }
  return errors;
}

function exceeded(what: string, cost: number, limit: number): string {
  const factor = cost / limit;
  const by = factor > 100 ? 'more than 100x' : `${factor.toFixed(1)}x`;
  return `${what} exceeds budget by factor of ${by} (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)`;
}

interface Place {
  readonly path: string;
  readonly name: string;
  readonly isRoot: boolean;
  /** How many of such values one object may hold. */
  readonly times: number;
  /** Values here can be found in the object as it was. */
  readonly correlated: boolean;
}

function walk(node: Structural, place: Place, costs: Costs, errors: FieldError[]): void {
  const schema = celSchema(node, place.name, place.isRoot || node.embedded);
  const rules = node.props['x-kubernetes-validations'] ?? [];
  rules.forEach((rule, at) =>
    judge(rule, node, schema, { ...place, path: `${place.path}.x-kubernetes-validations[${at}]` }, costs, errors),
  );
  const inner = { ...place, isRoot: false };
  for (const [name, property] of node.properties)
    walk(
      property,
      { ...inner, path: `${place.path}.properties[${name}]`, name: `${place.name}.${name}` },
      costs,
      errors,
    );
  const times = place.times * (schema?.maxElements ?? Number.POSITIVE_INFINITY);
  if (typeof node.additional === 'object')
    walk(
      node.additional,
      { ...inner, path: `${place.path}.additionalProperties`, name: `${place.name}.@values`, times },
      costs,
      errors,
    );
  if (node.items !== undefined) {
    const correlated = place.correlated && node.listType === 'map';
    walk(
      node.items,
      { ...inner, path: `${place.path}.items`, name: `${place.name}.@items`, times, correlated },
      costs,
      errors,
    );
  }
}

const reasons = ['FieldValueRequired', 'FieldValueForbidden', 'FieldValueInvalid', 'FieldValueDuplicate'];

function judge(
  rule: Rule,
  node: Structural,
  schema: CelSchema | undefined,
  place: Place,
  costs: Costs,
  errors: FieldError[],
): void {
  const { path } = place;
  const text = (rule.rule ?? '').trim();
  if (text === '') errors.push(required(`${path}.rule`, 'rule is not specified'));
  if (rule.message !== undefined && rule.message !== '' && rule.message.trim() === '')
    errors.push(invalid(`${path}.message`, rule.message, 'message must be non-empty if specified'));
  else if ((rule.message ?? '').trim().includes('\n'))
    errors.push(invalid(`${path}.message`, rule.message, 'message must not contain line breaks'));
  else if (text.includes('\n') && !rule.message)
    errors.push(required(`${path}.message`, 'message must be specified if rule contains line breaks'));
  if (rule.messageExpression !== undefined && rule.messageExpression !== '' && rule.messageExpression.trim() === '')
    errors.push(required(`${path}.messageExpression`, 'messageExpression must be non-empty if specified'));
  if (rule.reason !== undefined && !reasons.includes(rule.reason))
    errors.push(notSupported(`${path}.reason`, rule.reason, reasons));
  if (rule.fieldPath !== undefined && rule.fieldPath !== '') {
    const isClean = rule.fieldPath.trim() !== '' && !rule.fieldPath.includes('\n');
    if (!isClean || fieldPathText(rule.fieldPath, node) === undefined)
      errors.push(invalid(`${path}.fieldPath`, rule.fieldPath, 'fieldPath must be a valid path'));
  }
  if (text === '') return;
  if (schema === undefined) {
    errors.push(invalid(`${path}.rule`, rule, 'rules are not supported on values without a type'));
    return;
  }
  compile(rule, schema, place, costs, errors);
}

function compile(rule: Rule, schema: CelSchema, place: Place, costs: Costs, errors: FieldError[]): void {
  const { path, correlated } = place;
  const expressions = compileExpressions(rule, schema);
  const program = attempt(expressions.program, `${path}.rule`, rule.rule, errors);
  if (program !== undefined) {
    if (program.type.kind !== 'bool') {
      errors.push(invalid(`${path}.rule`, rule.rule, 'must evaluate to a bool'));
      return;
    }
    const usesOld = mentions(program.expr, 'oldSelf');
    if (usesOld && !correlated)
      errors.push(
        invalid(`${path}.rule`, rule.rule, 'oldSelf cannot be used on the uncorrelatable portion of the schema'),
      );
    if (rule.optionalOldSelf !== undefined && (!usesOld || !correlated))
      errors.push(
        invalid(
          `${path}.optionalOldSelf`,
          rule.optionalOldSelf,
          usesOld
            ? 'may not be set within the uncorrelatable portion of the schema'
            : 'may not be set if oldSelf is not used in rule',
        ),
      );
    count(program, schema, `${path}.rule`, place.times, 'estimated rule cost', costs, errors);
  }
  if (rule.messageExpression === undefined || rule.messageExpression.trim() === '') return;
  const message = attempt(expressions.message, `${path}.messageExpression`, rule.messageExpression, errors);
  if (message === undefined) return;
  if (message.type.kind !== 'string')
    errors.push(invalid(`${path}.messageExpression`, rule.messageExpression, 'must evaluate to a string'));
  else
    count(message, schema, `${path}.messageExpression`, place.times, 'estimated messageExpression cost', costs, errors);
}

function attempt(
  make: () => CompiledExpression,
  field: string,
  source: string,
  errors: FieldError[],
): CompiledExpression | undefined {
  try {
    return make();
  } catch (error) {
    if (!(error instanceof CelSyntaxError)) throw error;
    errors.push(invalid(field, source, `compilation failed: ${error.message}`));
    return undefined;
  }
}

function count(
  program: CompiledExpression,
  schema: CelSchema,
  path: string,
  times: number,
  what: string,
  costs: Costs,
  errors: FieldError[],
): void {
  const each = estimateCost(program, (name) => (name === 'self' || name === 'oldSelf' ? schema : undefined)).max;
  const cost = each === 0 || times === 0 ? 0 : each * times;
  costs.total += cost;
  costs.dear.push({ path, cost });
  if (cost > ruleLimit) errors.push(forbidden(path, exceeded(what, cost, ruleLimit)));
}
