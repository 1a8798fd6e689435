// Owns what an expression may cost before it is run: bounds from the sizes that declarations promise. Evaluates nothing.
import type { Expr } from './ast.ts';
import type { CompiledExpression } from './environment.ts';
import type { Overload, SizeRange } from './functions.ts';
import type { CelType } from './types.ts';

/** What is known of the values that a variable may have. */
export interface Declared {
  /** Characters, bytes or elements at most; Infinity where nothing bounds it. */
  readonly maxElements: number;
  readonly element?: Declared;
  readonly fields?: ReadonlyMap<string, Declared>;
}

interface Estimate {
  readonly cost: SizeRange;
  /** undefined: nothing is known. */
  readonly size: SizeRange | undefined;
  readonly declared: Declared | undefined;
}

interface Scope {
  readonly name: string;
  readonly estimate: Pick<Estimate, 'size' | 'declared'>;
  readonly outer: Scope | undefined;
}

const fixed = (value: number): SizeRange => ({ min: value, max: value });
const nothing = fixed(0);
const unknown: SizeRange = { min: 0, max: Number.POSITIVE_INFINITY };
const one = fixed(1);

const add = (...ranges: readonly SizeRange[]): SizeRange => ({
  min: ranges.reduce((sum, { min }) => sum + min, 0),
  max: ranges.reduce((sum, { max }) => sum + max, 0),
});
/** Nothing times anything is nothing, also without bound. */
const times = (a: number, b: number): number => (a === 0 || b === 0 ? 0 : a * b);
const multiply = (a: SizeRange, b: SizeRange): SizeRange => ({ min: times(a.min, b.min), max: times(a.max, b.max) });
const union = (a: SizeRange, b: SizeRange): SizeRange => ({ min: Math.min(a.min, b.min), max: Math.max(a.max, b.max) });

/** The most and the least that one evaluation costs. `declared`: what is known of the variables. */
export function estimateCost(
  compiled: CompiledExpression,
  declared: (variable: string) => Declared | undefined,
): SizeRange {
  return new Estimator(compiled, declared).estimate(compiled.expr, undefined).cost;
}

const scalarKinds: ReadonlySet<string> = new Set(['bool', 'int', 'uint', 'double', 'timestamp', 'duration', 'null']);

class Estimator {
  readonly #compiled: CompiledExpression;
  readonly #declared: (variable: string) => Declared | undefined;

  constructor(compiled: CompiledExpression, declared: (variable: string) => Declared | undefined) {
    this.#compiled = compiled;
    this.#declared = declared;
  }

  estimate(expr: Expr, scope: Scope | undefined): Estimate {
    switch (expr.kind) {
      case 'literal':
        return { cost: nothing, size: literalSize(expr.literal.value), declared: undefined };
      case 'ident':
        return this.#ident(expr.name, scope);
      case 'select': {
        const operand = this.estimate(expr.operand, scope);
        const declared = operand.declared?.fields?.get(expr.field) ?? operand.declared?.element;
        const cost = expr.isTest ? operand.cost : add(operand.cost, one);
        return { cost, size: expr.isTest ? one : sizeOf(declared), declared };
      }
      case 'call':
        return this.#call(expr, scope);
      case 'list': {
        const parts = expr.items.map(({ value }) => this.estimate(value, scope));
        return {
          cost: add(fixed(10), ...parts.map(({ cost }) => cost)),
          size: fixed(parts.length),
          declared: undefined,
        };
      }
      case 'map': {
        const parts = expr.entries.flatMap(({ key, value }) => [
          this.estimate(key, scope),
          this.estimate(value, scope),
        ]);
        return {
          cost: add(fixed(30), ...parts.map(({ cost }) => cost)),
          size: fixed(expr.entries.length),
          declared: undefined,
        };
      }
      case 'struct': {
        const parts = expr.fields.map(({ value }) => this.estimate(value, scope));
        return { cost: add(fixed(40), ...parts.map(({ cost }) => cost)), size: undefined, declared: undefined };
      }
      case 'comprehension':
        return this.#comprehension(expr, scope);
      case 'let': {
        const value = this.estimate(expr.value, scope);
        const body = this.estimate(expr.body, { name: expr.variable, estimate: value, outer: scope });
        return { ...body, cost: add(value.cost, body.cost) };
      }
    }
  }

  #ident(name: string, scope: Scope | undefined): Estimate {
    for (let at = scope; at !== undefined; at = at.outer) if (at.name === name) return { ...at.estimate, cost: one };
    const declared = this.#declared(name);
    return { cost: one, size: sizeOf(declared), declared };
  }

  #comprehension(expr: Extract<Expr, { kind: 'comprehension' }>, scope: Scope | undefined): Estimate {
    const range = this.estimate(expr.range, scope);
    const initial = this.estimate(expr.initial, scope);
    const isMap = this.#compiled.checked.typeOf.get(expr.range)?.kind === 'map';
    const count = range.size ?? unknown;
    const element = { size: sizeOf(range.declared?.element), declared: range.declared?.element };
    const key = { size: one, declared: undefined };
    const isPair = expr.variables.length === 2;
    // What is collected grows to no more than what is walked.
    const growing =
      expr.initial.kind === 'list' && expr.initial.items.length === 0 ? { min: 0, max: count.max } : initial.size;
    const result: Scope = { name: expr.accumulator, estimate: { size: growing, declared: undefined }, outer: scope };
    let inner: Scope = { name: expr.variables[0], estimate: isPair || isMap ? key : element, outer: result };
    if (expr.variables[1] !== undefined) inner = { name: expr.variables[1], estimate: element, outer: inner };
    const condition = this.estimate(expr.condition, inner);
    const step = this.estimate(expr.step, inner);
    const last = this.estimate(expr.result, result);
    return {
      cost: add(range.cost, initial.cost, multiply(count, add(condition.cost, step.cost)), last.cost),
      size: last.size,
      declared: undefined,
    };
  }

  #call(expr: Extract<Expr, { kind: 'call' }>, scope: Scope | undefined): Estimate {
    const overloads = this.#compiled.checked.overloads.get(expr) ?? [];
    const operands =
      expr.target === undefined || overloads[0]?.isMember === false ? expr.args : [expr.target, ...expr.args];
    const parts = operands.map((operand) => this.estimate(operand, scope));
    const costs = parts.map(({ cost }) => cost);
    switch (expr.name) {
      case '_&&_':
      case '_||_':
        return { cost: { min: costs[0]!.min, max: costs[0]!.max + costs[1]!.max }, size: one, declared: undefined };
      case '_?_:_':
        return {
          cost: add(costs[0]!, union(costs[1]!, costs[2]!)),
          size: union(parts[1]!.size ?? unknown, parts[2]!.size ?? unknown),
          declared: parts[1]!.declared ?? parts[2]!.declared,
        };
      case '_[_]':
      case '_[?_]': {
        const declared = parts[0]!.declared?.element;
        return { cost: add(one, ...costs), size: sizeOf(declared) ?? one, declared };
      }
      case 'dyn':
        return { ...parts[0]!, cost: add(one, ...costs) };
      default: {
        const types = operands.map((operand) => this.#compiled.checked.typeOf.get(operand));
        const sizes = parts.map(({ size }, at) => (isScalar(types[at]) ? one : (size ?? unknown)));
        const own =
          overloads.length === 0
            ? [{ cost: one, size: undefined }]
            : overloads.map((overload) => callEstimate(overload, sizes, parts));
        const cost = own.map(({ cost: each }) => each).reduce(union);
        const size = own.some((each) => each.size === undefined)
          ? undefined
          : own.map((each) => each.size!).reduce(union);
        const [only] = operands;
        // A range whose length is written down is as long as it says.
        if (expr.name === 'range' && only?.kind === 'literal' && typeof only.literal.value === 'bigint')
          return {
            cost: add(cost, ...costs),
            size: fixed(Math.max(0, Number(only.literal.value))),
            declared: undefined,
          };
        return {
          cost: add(cost, ...costs),
          size,
          declared: expr.name === 'value' || expr.name === 'orValue' ? parts[0]!.declared : undefined,
        };
      }
    }
  }
}

function callEstimate(
  overload: Overload,
  sizes: readonly SizeRange[],
  parts: readonly Estimate[],
): { cost: SizeRange; size: SizeRange | undefined } {
  const elements = parts.map(({ declared }) => sizeOf(declared?.element));
  const given = overload.estimate?.(sizes, elements);
  const cost = given?.cost ?? one;
  return { cost, size: given?.resultSize ?? (isScalar(overload.result) ? one : undefined) };
}

/** Values of extension libraries whose comparison is known to be short. */
const shortOpaques: ReadonlySet<string> = new Set([
  'net.IP',
  'net.CIDR',
  'kubernetes.Quantity',
  'kubernetes.URL',
  'kubernetes.Semver',
]);

function isScalar(type: CelType | undefined): boolean {
  if (type === undefined) return false;
  if (type.kind === 'type') return type.of.kind !== 'opaque';
  return type.kind === 'opaque' ? shortOpaques.has(type.name) : scalarKinds.has(type.kind);
}

function sizeOf(declared: Declared | undefined): SizeRange | undefined {
  return declared === undefined ? undefined : { min: 0, max: declared.maxElements };
}

function literalSize(value: unknown): SizeRange {
  if (typeof value === 'string') return fixed(Array.from(value).length);
  return value instanceof Uint8Array ? fixed(value.length) : one;
}
