// Owns the judgement of x-kubernetes-validations in a schema: that they compile, fit their place and cost little enough.
import { CelSyntaxError } from '../../api/cel/ast.ts';
import { estimateCost } from '../../api/cel/estimate.ts';
import type { CompiledExpression } from '../../api/cel/environment.ts';
import { forbidden, invalid, notSupported, required } from '../../api/field-error.ts';
import type { FieldError } from '../../api/status-error.ts';
import { celSchema, maxRequestBytes, type CelSchema } from './cel-types.ts';
import { compileExpressions, mentions, type Rule } from './compile-rules.ts';
import { findPath } from './rule-path.ts';
import type { Structural } from './structural.ts';

/** Limits of upstream: one expression, and all expressions of one schema. */
const ruleLimit = 10_000_000;
const schemaLimit = 100_000_000;
/** How many of the dearest rules are told of; those below a hundredth of the schema's limit never are. */
const toldOf = 4;
/** What no bound holds costs this, as upstream counts in 64 bits. */
const boundless = 2 ** 64;

interface Run {
  /** What is wrong with the schema otherwise; undefined: too much to read its expressions. */
  readonly known: readonly FieldError[] | undefined;
  /** Errors of form, and those of expressions, which come behind them. */
  readonly form: FieldError[];
  readonly expressions: FieldError[];
  total: number;
  readonly dear: { readonly path: string; readonly cost: number }[];
}

/** `known`: what is wrong with the schema otherwise, where it can be read at all: expressions around that are not compiled. */
export function ruleErrors(root: Structural, path: string, known: readonly FieldError[] | undefined): FieldError[] {
  const run: Run = { known, form: [], expressions: [], total: 0, dear: [] };
  walk(root, { path, name: 'self', isRoot: true, times: 1, correlated: true }, run);
  const errors = [...run.form, ...run.expressions];
  if (run.total <= schemaLimit) return errors;
  const dearest = run.dear.filter(({ cost }) => cost >= schemaLimit / 100).sort((a, b) => b.cost - a.cost);
  for (const { path: at } of dearest.slice(0, toldOf))
    errors.push(
      forbidden(at, 'contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema'),
    );
  const what = 'x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema';
  errors.push(forbidden(path, exceeded(what, run.total, schemaLimit)));
  return errors;
}

function exceeded(what: string, cost: number, limit: number): string {
  const factor = cost / limit;
  const by = factor > 100 ? 'more than 100x' : factor < 1.5 ? `${factor.toFixed(6)}x` : `${factor.toFixed(1)}x`;
  return `${what} exceeds budget by factor of ${by} (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)`;
}

interface Place {
  readonly path: string;
  readonly name: string;
  readonly isRoot: boolean;
  /** How many of such values one object may hold; undefined: nothing around them bounds it. */
  readonly times: number | undefined;
  /** Values here can be found in the object as it was. */
  readonly correlated: boolean;
}

/** Answers with false when something here or below is wrong in form: expressions around it are then not compiled. */
function walk(node: Structural, place: Place, run: Run): boolean {
  let isWell = true;
  const inner = { ...place, isRoot: false };
  const correlated = place.correlated && !node.atomicMap;
  for (const [name, property] of node.properties) {
    const below = { ...inner, correlated, path: `${place.path}.properties[${name}]`, name: `${place.name}.${name}` };
    isWell = walk(property, below, run) && isWell;
  }
  const within = (limit: number | undefined): number | undefined =>
    place.times === undefined || limit === undefined ? undefined : place.times * Math.max(0, limit);
  if (typeof node.additional === 'object') {
    const times = within(node.props.maxProperties);
    const below = { ...inner, times, path: `${place.path}.additionalProperties`, name: `${place.name}.@values` };
    isWell = walk(node.additional, below, run) && isWell;
  }
  if (node.items !== undefined) {
    const below = {
      ...inner,
      times: within(node.props.maxItems),
      correlated: place.correlated && node.listType === 'map',
      path: `${place.path}.items`,
      name: `${place.name}.@items`,
    };
    isWell = walk(node.items, below, run) && isWell;
  }
  const rules = node.props['x-kubernetes-validations'] ?? [];
  const before = run.form.length;
  rules.forEach((rule, at) => judgeForm(rule, node, `${place.path}.x-kubernetes-validations[${at}]`, run.form));
  if (run.form.length > before) return false;
  if (!isWell || run.known === undefined || rules.length === 0) return isWell;
  if (run.known.some(({ field }) => field.startsWith(place.path))) return isWell;
  const schema = celSchema(node, place.name, place.isRoot || node.embedded);
  if (schema === undefined) {
    run.expressions.push({
      reason: 'InternalError',
      field: `${place.path}.x-kubernetes-validations`,
      message: 'Internal error: values without a type have no rules',
    });
    return isWell;
  }
  rules.forEach((rule, at) =>
    compile(rule, schema, { ...place, path: `${place.path}.x-kubernetes-validations[${at}]` }, run),
  );
  return isWell;
}

const reasons = ['FieldValueRequired', 'FieldValueForbidden', 'FieldValueInvalid', 'FieldValueDuplicate'];
const hasBreaks = (text: string): boolean => /[\n\r]/.test(text);

function judgeForm(rule: Rule, node: Structural, path: string, errors: FieldError[]): void {
  const { message = '', messageExpression = '', fieldPath = '' } = rule;
  const text = (rule.rule ?? '').trim();
  if (text === '') errors.push(required(`${path}.rule`, 'rule is not specified'));
  else if (message !== '' && message.trim() === '')
    errors.push(invalid(`${path}.message`, message, 'must be non-empty if specified'));
  else if (hasBreaks(message.trim())) errors.push(invalid(`${path}.message`, message, 'must not contain line breaks'));
  else if (hasBreaks(text) && message.trim() === '')
    errors.push(required(`${path}.message`, 'message must be specified if rule contains line breaks'));
  if (messageExpression !== '' && messageExpression.trim() === '')
    errors.push(required(`${path}.messageExpression`, 'messageExpression must be non-empty if specified'));
  if (rule.reason !== undefined && !reasons.includes(rule.reason))
    errors.push(notSupported(`${path}.reason`, rule.reason, reasons));
  if (fieldPath === '') return;
  if (fieldPath.trim() === '') errors.push(invalid(`${path}.fieldPath`, fieldPath, 'must be non-empty if specified'));
  if (hasBreaks(fieldPath)) errors.push(invalid(`${path}.fieldPath`, fieldPath, 'must not contain line breaks'));
  if (findPath(fieldPath, node, true) === undefined)
    errors.push(invalid(`${path}.fieldPath`, fieldPath, 'must be a valid path'));
}

function compile(rule: Rule, schema: CelSchema, { path, correlated, times }: Place, run: Run): void {
  const errors = run.expressions;
  const expressions = compileExpressions(rule, schema);
  const program = attempt(expressions.program, `${path}.rule`, rule.rule, 'bool', errors);
  if (program === undefined) return;
  const usesOld = mentions(program.expr, 'oldSelf');
  // Where nothing around bounds them, the smallest such values that fill a request do.
  const most = times ?? Math.floor(maxRequestBytes / (schema.minSize + 1));
  count(costOf(program, schema), most, `${path}.rule`, 'estimated rule cost', run);
  if (rule.messageExpression !== undefined && rule.messageExpression !== '') {
    const at = `${path}.messageExpression`;
    const message = attempt(expressions.message, at, rule.messageExpression, 'string', errors);
    if (message !== undefined) count(costOf(message, schema), 1, at, 'estimated messageExpression cost', run);
  }
  if (usesOld && !correlated)
    errors.push(
      invalid(`${path}.rule`, rule.rule, 'oldSelf cannot be used on the uncorrelatable portion of the schema'),
    );
  else if (!usesOld && rule.optionalOldSelf !== undefined)
    errors.push(
      invalid(`${path}.optionalOldSelf`, rule.optionalOldSelf, 'may not be set if oldSelf is not used in rule'),
    );
}

/** Undefined, and told of, when it does not compile or is of another type than asked for. */
function attempt(
  make: () => CompiledExpression,
  field: string,
  source: string,
  type: 'bool' | 'string',
  errors: FieldError[],
): CompiledExpression | undefined {
  try {
    const made = make();
    if (made.type.kind === type) return made;
    errors.push(invalid(field, source, `must evaluate to a ${type}`));
  } catch (error) {
    if (!(error instanceof CelSyntaxError)) throw error;
    errors.push(invalid(field, source, `compilation failed: ${error.message}`));
  }
  return undefined;
}

const costOf = (program: CompiledExpression, schema: CelSchema): number => estimateCost(program, schema).max;

function count(each: number, times: number, path: string, what: string, run: Run): void {
  const cost = each === 0 || times === 0 ? 0 : Math.min(boundless, each * times);
  run.total = Math.min(boundless, run.total + cost);
  run.dear.push({ path, cost });
  if (cost > ruleLimit) run.expressions.push(forbidden(path, exceeded(what, cost, ruleLimit)));
}
