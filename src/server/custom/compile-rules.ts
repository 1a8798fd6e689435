// Owns the way from a schema to its rules, and their run on objects: correlation with what was there, messages, places, budget.
import { writeJson } from '../../api/codec/json-write.ts';
import { type Expr, partsOf } from '../../api/cel/ast.ts';
import { environment, type CompiledExpression } from '../../api/cel/environment.ts';
import { CelBudgetExceeded } from '../../api/cel/evaluate.ts';
import { optional } from '../../api/cel/types.ts';
import { CelError, CelOptional, fromJson, type CelValue } from '../../api/cel/values.ts';
import type { ValidationRule } from '../../api/generated/apiextensions.v1.ts';
import type { Frozen } from '../../api/meta.ts';
import type { FieldError, FieldErrorReason } from '../../api/status-error.ts';
import { celSchema, type CelSchema } from './cel-types.ts';
import { findPath } from './rule-path.ts';
import type { Rules, RuleTimes } from './rules.ts';
import { isObject, under } from './structural.ts';
import type { Structural } from './structural.ts';
import { byKeys, keyOf, unchanged } from './validate.ts';

export type Rule = Frozen<ValidationRule>;

export interface CompiledRule {
  readonly rule: Rule;
  readonly program: CompiledExpression;
  readonly message: CompiledExpression | undefined;
  readonly usesOldSelf: boolean;
  /** What is appended to the place of the value. */
  readonly place: string;
}

/** Throws CelSyntaxError. */
export function compileExpressions(rule: Rule, schema: CelSchema) {
  const old = rule.optionalOldSelf === true ? optional(schema.type) : schema.type;
  const env = environment({ variables: { self: schema.type, oldSelf: old } });
  return { program: () => env.compile(rule.rule), message: () => env.compile(rule.messageExpression!) };
}

/** Whether an expression speaks of the variable. */
export function mentions(expr: Expr, name: string): boolean {
  for (const part of partsOf(expr)) if (part.kind === 'ident' && part.name === name) return true;
  return false;
}

interface Node {
  readonly schema: CelSchema;
  readonly rules: readonly CompiledRule[];
  readonly structural: Structural;
  readonly properties: ReadonlyMap<string, Node>;
  readonly additional: Node | undefined;
  readonly items: Node | undefined;
}

/**
 * Undefined where there are no rules at all. A rule that does not compile was refused with its definition. `timed`: wraps the
 * compilation, and each run.
 */
export function compileRules(root: Structural, timed?: RuleTimes): Rules | undefined {
  if (!hasRules(root)) return undefined;
  let node: Node | undefined;
  const compileAll = (): Node | undefined => compileNode(root, 'self', true);
  const nodeOf = (): Node | undefined => (node ??= timed === undefined ? compileAll() : timed.compiled(compileAll));
  // Judgement and warnings of one write are one run.
  let last: { readonly next: object; readonly prev: object | undefined; readonly run: RuleRun } | undefined;
  const runOn = (next: object, prev: object | undefined): RuleRun => {
    if (last !== undefined && last.next === next && last.prev === prev) {
      const { run } = last;
      last = undefined;
      return run;
    }
    const run = new RuleRun();
    const compiled = nodeOf();
    const walk = (): void => run.walk(compiled, next, prev === undefined ? undefined : { value: prev }, '');
    if (timed === undefined) walk();
    else timed.evaluated(walk);
    last = { next, prev, run };
    return run;
  };
  return {
    judge(next, prev) {
      return runOn(next, prev).errors;
    },
    warnings(next, prev) {
      if (prev === undefined) return [];
      return runOn(next, prev).forgiven;
    },
  };
}

function hasRules(node: Structural): boolean {
  if ((node.props['x-kubernetes-validations'] ?? []).length > 0) return true;
  for (const inner of node.properties.values()) if (hasRules(inner)) return true;
  if (node.items !== undefined && hasRules(node.items)) return true;
  return typeof node.additional === 'object' && hasRules(node.additional);
}

function compileNode(structural: Structural, path: string, isRoot: boolean): Node | undefined {
  if (!hasRules(structural)) return undefined;
  const schema = celSchema(structural, path, isRoot || structural.embedded);
  if (schema === undefined) return undefined;
  const properties = new Map<string, Node>();
  for (const [name, inner] of structural.properties) {
    const node = compileNode(inner, `${path}.${name}`, false);
    if (node !== undefined) properties.set(name, node);
  }
  return {
    schema,
    structural,
    rules: (structural.props['x-kubernetes-validations'] ?? []).map((rule) => compileRule(rule, schema, structural)),
    properties,
    additional:
      typeof structural.additional === 'object'
        ? compileNode(structural.additional, `${path}.@values`, false)
        : undefined,
    items: structural.items === undefined ? undefined : compileNode(structural.items, `${path}.@items`, false),
  };
}

function compileRule(rule: Rule, schema: CelSchema, structural: Structural): CompiledRule {
  const expressions = compileExpressions(rule, schema);
  const program = expressions.program();
  return {
    rule,
    program,
    message: rule.messageExpression ? expressions.message() : undefined,
    usesOldSelf: mentions(program.expr, 'oldSelf'),
    place: rule.fieldPath ? (findPath(rule.fieldPath, structural, true)?.text ?? '') : '',
  };
}

/** Units of work that all rules of one object, and one rule, may use (upstream's limits). */
const objectBudget = 10_000_000;
const callBudget = 1_000_000;

interface Old {
  readonly value: unknown;
}

class RuleRun {
  readonly errors: FieldError[] = [];
  readonly forgiven: string[] = [];
  #left = objectBudget;

  walk(node: Node | undefined, value: unknown, old: Old | undefined, place: string): void {
    if (node === undefined || value === null || value === undefined || this.#left < 0) return;
    for (const rule of node.rules) {
      this.#run(rule, node, value, old, place);
      if (this.#left < 0) return;
    }
    if (Array.isArray(value)) this.#list(node, value, old, place);
    else if (isObject(value)) this.#object(node, value, old, place);
  }

  #list(node: Node, items: readonly unknown[], old: Old | undefined, place: string): void {
    if (node.items === undefined) return;
    const { listType, mapKeys } = node.structural;
    const before = listType === 'map' && Array.isArray(old?.value) ? byKeys(old.value, mapKeys) : undefined;
    for (let at = 0; at < items.length; at++) {
      const found = before?.get(keyOf(items[at], mapKeys));
      this.walk(node.items, items[at], found === undefined ? undefined : { value: found }, `${place}[${at}]`);
    }
  }

  #object(node: Node, value: Readonly<Record<string, unknown>>, old: Old | undefined, place: string): void {
    const before = isObject(old?.value) ? old.value : undefined;
    for (const name of Object.keys(value)) {
      const property = node.properties.get(name);
      const inner =
        property ?? (under(node.structural, name) === node.structural.additional ? node.additional : undefined);
      if (inner === undefined) continue;
      const at = property === undefined ? `${place}[${name}]` : place === '' ? name : `${place}.${name}`;
      this.walk(
        inner,
        value[name],
        before !== undefined && Object.hasOwn(before, name) ? { value: before[name] } : undefined,
        at,
      );
    }
  }

  #run(compiled: CompiledRule, node: Node, value: unknown, old: Old | undefined, place: string): void {
    const { rule, program, usesOldSelf } = compiled;
    const { json } = node.schema;
    const hasOld = old !== undefined && old.value !== null && old.value !== undefined;
    if (usesOldSelf && !hasOld && rule.optionalOldSelf !== true) return;
    const variable = (name: string): CelValue | undefined => {
      if (name === 'self') return fromJson(value, json);
      if (name !== 'oldSelf') return undefined;
      if (rule.optionalOldSelf === true) return hasOld ? new CelOptional(fromJson(old.value, json)) : CelOptional.none;
      return hasOld ? fromJson(old.value, json) : undefined;
    };
    const report = (reason: FieldErrorReason, message: string, at: string): void => {
      const error: FieldError = { reason, field: at === '' ? '<nil>' : at, message };
      if (!usesOldSelf && hasOld && unchanged(value, old.value, node.structural.props))
        this.forgiven.push(`${error.field}: ${message}`);
      else this.errors.push(error);
    };
    try {
      const result = program.evaluate(variable, callBudget);
      this.#left -= result.cost;
      if (this.#left < 0) {
        this.errors.push({
          reason: 'FieldValueInvalid',
          field: place === '' ? '<nil>' : place,
          message:
            'Invalid value: validation failed due to running out of cost budget, no further validation rules will be run',
        });
        return;
      }
      if (result.value === true) return;
      const text = this.#message(compiled, variable);
      const reason = (rule.reason ?? 'FieldValueInvalid') as FieldErrorReason;
      report(reason, described(reason, value, text), joined(place, compiled.place));
    } catch (error) {
      if (error instanceof CelBudgetExceeded) this.#left -= callBudget;
      else if (!(error instanceof CelError)) throw error;
      report(
        'FieldValueInvalid',
        `Invalid value: ${shown(value)}: ${error.message} evaluating rule: ${rule.message ?? rule.rule}`,
        place,
      );
    }
  }

  #message({ rule, message }: CompiledRule, variable: (name: string) => CelValue | undefined): string {
    const plain = rule.message || `failed rule: ${rule.rule.trim()}`;
    if (message === undefined) return plain;
    try {
      const { value, cost } = message.evaluate(variable, callBudget);
      this.#left -= cost;
      const text = typeof value === 'string' ? value.trim() : '';
      return text === '' || text.includes('\n') || text.length > 5 * 1024 ? plain : text;
    } catch (error) {
      if (error instanceof CelError || error instanceof CelBudgetExceeded) return plain;
      throw error;
    }
  }
}

const joined = (place: string, rest: string): string => (place === '' ? rest.replace(/^\./, '') : `${place}${rest}`);

const shown = (value: unknown): string =>
  typeof value === 'object' ? writeJson(Array.isArray(value) ? 'array' : 'object') : writeJson(value);

function described(reason: FieldErrorReason, value: unknown, text: string): string {
  switch (reason) {
    case 'FieldValueRequired':
      return `Required value: ${text}`;
    case 'FieldValueForbidden':
      return `Forbidden: ${text}`;
    case 'FieldValueDuplicate':
      return `Duplicate value: ${shown(value)}: ${text}`;
    default:
      return `Invalid value: ${shown(value)}: ${text}`;
  }
}
