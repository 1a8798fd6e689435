// Owns what an expression may cost before it is run: bounds from the sizes that declarations promise. Evaluates nothing.
import type { Expr } from './ast.ts';
import { type Argument, add, callEstimate, fixed, multiply, union, unknown } from './cost-estimates.ts';
import { listCost, mapCost, structCost } from './costs.ts';
import type { CompiledExpression } from './environment.ts';
import type { SizeRange } from './functions.ts';
import { type CelType, dyn } from './types.ts';

/** What is known of the values that a variable may have. */
export interface Declared {
  /** Characters, bytes or elements at most; Infinity where nothing bounds it, 0 for what has none (numbers, objects). */
  readonly maxElements: number;
  readonly element?: Declared;
  readonly fields?: ReadonlyMap<string, Declared>;
}

/** The most and the least that one evaluation costs. `root`: what is known of the variables. */
export function estimateCost(compiled: CompiledExpression, root: Declared): SizeRange {
  return new Estimator(compiled, root).cost(compiled.expr, undefined);
}

/** Where a value stands below a variable, the variable's name first. Loops over what stands nowhere have no such name. */
type Path = readonly string[];

/** Sizes of a list's or map's keys (of lists: nothing) and values. */
interface Entries {
  readonly isList: boolean;
  readonly key: SizeRange;
  readonly value: SizeRange;
}

interface Local {
  readonly name: string;
  readonly path: Path;
  readonly size: SizeRange | undefined;
  readonly entries: Entries | undefined;
  readonly outer: Scope;
}

type Scope = Local | undefined;

const one = fixed(1);
const nothing = fixed(0);
const noEntry: SizeRange = { min: Number.POSITIVE_INFINITY, max: 0 };

class Estimator {
  readonly #compiled: CompiledExpression;
  readonly #root: Declared;
  readonly #paths = new Map<Expr, Path>();
  readonly #sizes = new Map<Expr, SizeRange>();
  readonly #entries = new Map<Expr, Entries>();

  constructor(compiled: CompiledExpression, root: Declared) {
    this.#compiled = compiled;
    this.#root = root;
  }

  cost(expr: Expr, scope: Scope): SizeRange {
    const qualified = expr.kind === 'select' ? this.#compiled.checked.variables.get(expr) : undefined;
    if (qualified !== undefined) {
      this.#paths.set(expr, [qualified]);
      return one;
    }
    switch (expr.kind) {
      case 'literal':
        return nothing;
      case 'ident':
        this.#paths.set(expr, localOf(expr.name, scope)?.path ?? [expr.name]);
        return one;
      case 'select':
        return this.#select(expr, scope);
      case 'call':
        return expr.name === 'dyn' ? this.#dyn(expr, scope) : this.#call(expr, scope);
      case 'list':
        return this.#list(expr, scope);
      case 'map':
        return this.#map(expr, scope);
      case 'struct':
        return add(fixed(structCost), ...expr.fields.map(({ value }) => this.cost(value, scope)));
      case 'comprehension':
        return this.#comprehension(expr, scope);
      case 'let': {
        // Upstream writes it as a loop over an empty list.
        const value = this.cost(expr.value, scope);
        const body = this.cost(expr.body, this.#bound(expr.variable, expr.value, scope));
        this.#copySizes(expr, expr.body, scope);
        return add(fixed(listCost), value, body);
      }
    }
  }

  #type(expr: Expr): CelType {
    return this.#compiled.checked.typeOf.get(expr) ?? dyn;
  }

  #path(expr: Expr, scope: Scope): Path {
    if (expr.kind === 'ident') {
      const local = localOf(expr.name, scope);
      if (local !== undefined) return local.path;
    }
    return this.#paths.get(expr) ?? [];
  }

  /** What is declared of the place; undefined when it is none. */
  #declared(path: Path): SizeRange | undefined {
    if (path.length === 0) return undefined;
    let node: Declared = this.#root;
    for (const name of path.slice(1)) {
      let next: Declared | undefined;
      if (name === '@items' || name === '@values') next = node.element;
      else if (name === '@keys') next = node.element === undefined ? undefined : { maxElements: 0 };
      else next = node.fields?.get(name);
      if (next === undefined) return undefined;
      node = next;
    }
    return { min: 0, max: node.maxElements };
  }

  #size(expr: Expr, scope: Scope): SizeRange | undefined {
    const known = this.#sizes.get(expr) ?? writtenSize(expr) ?? this.#declared(this.#path(expr, scope));
    if (known !== undefined) return known;
    if (isScalar(this.#type(expr))) return one;
    return expr.kind === 'ident' ? localOf(expr.name, scope)?.size : undefined;
  }

  #entriesOf(expr: Expr, scope: Scope): Entries | undefined {
    return this.#entries.get(expr) ?? (expr.kind === 'ident' ? localOf(expr.name, scope)?.entries : undefined);
  }

  #copySizes(to: Expr, from: Expr, scope: Scope): void {
    const size = this.#size(from, scope);
    if (size !== undefined) this.#sizes.set(to, size);
    const entries = this.#entriesOf(from, scope);
    if (entries !== undefined) this.#entries.set(to, entries);
  }

  #select(expr: Extract<Expr, { kind: 'select' }>, scope: Scope): SizeRange {
    const operand = this.cost(expr.operand, scope);
    if (expr.isTest) return operand;
    if (expr.isOptional) return add(operand, one);
    this.#paths.set(expr, [...this.#path(expr.operand, scope), expr.field]);
    const { kind } = this.#type(expr.operand);
    return kind === 'map' || kind === 'struct' || kind === 'param' ? add(operand, one) : operand;
  }

  #dyn(expr: Extract<Expr, { kind: 'call' }>, scope: Scope): SizeRange {
    const cost = this.cost(expr.args[0]!, scope);
    this.#copySizes(expr, expr.args[0]!, scope);
    return add(one, cost);
  }

  #list(expr: Extract<Expr, { kind: 'list' }>, scope: Scope): SizeRange {
    const costs = expr.items.map(({ value }) => this.cost(value, scope));
    const value = expr.items.map((item) => this.#size(item.value, scope) ?? unknown).reduce(union, noEntry);
    this.#entries.set(expr, { isList: true, key: one, value: expr.items.length === 0 ? nothing : value });
    return add(fixed(listCost), ...costs);
  }

  #map(expr: Extract<Expr, { kind: 'map' }>, scope: Scope): SizeRange {
    const costs = expr.entries.flatMap(({ key, value }) => [this.cost(key, scope), this.cost(value, scope)]);
    const sizes = (of: 'key' | 'value'): SizeRange =>
      expr.entries.length === 0
        ? nothing
        : expr.entries.map((entry) => this.#size(entry[of], scope) ?? unknown).reduce(union, noEntry);
    this.#entries.set(expr, { isList: false, key: sizes('key'), value: sizes('value') });
    return add(fixed(mapCost), ...costs);
  }

  #bound(name: string, value: Expr, outer: Scope): Local {
    return {
      name,
      path: this.#path(value, outer),
      size: this.#size(value, outer),
      entries: this.#entriesOf(value, outer),
      outer,
    };
  }

  /** A loop's variable. `first`: the only one, or that of indexes and keys. */
  #looped(name: string, range: Expr, part: 'only' | 'first' | 'second', scope: Scope, outer: Scope): Local {
    const entries = this.#entriesOf(range, scope);
    const isList = entries?.isList ?? this.#type(range).kind === 'list';
    const isValue = part === 'second' || (part === 'only' && isList);
    const step = isValue ? (isList ? '@items' : '@values') : isList ? '@indices' : '@keys';
    return {
      name,
      path: [...this.#path(range, scope), step],
      size: isValue ? entries?.value : entries?.key,
      entries: undefined,
      outer,
    };
  }

  #comprehension(expr: Extract<Expr, { kind: 'comprehension' }>, scope: Scope): SizeRange {
    const { range, initial, variables } = expr;
    const before = add(this.cost(range, scope), this.cost(initial, scope));
    const withResult = this.#bound(expr.accumulator, initial, scope);
    let inner: Scope = this.#looped(variables[0], range, variables.length === 2 ? 'first' : 'only', scope, withResult);
    if (variables[1] !== undefined) inner = this.#looped(variables[1], range, 'second', scope, inner);
    const turn = add(this.cost(expr.condition, inner), this.cost(expr.step, inner));
    const count = this.#size(range, scope) ?? unknown;
    const last = this.cost(expr.result, withResult);
    if (initial.kind === 'literal') this.#copySize(expr, initial, scope);
    else if (initial.kind === 'list' || initial.kind === 'map') {
      this.#sizes.set(expr, count);
      const entries = this.#entriesOf(expr.step, inner);
      if (entries !== undefined) this.#entries.set(expr, entries);
    }
    return add(before, multiply(count, turn), last);
  }

  #copySize(to: Expr, from: Expr, scope: Scope): void {
    const size = this.#size(from, scope);
    if (size !== undefined) this.#sizes.set(to, size);
  }

  #argument(expr: Expr, scope: Scope): Argument {
    const type = this.#type(expr);
    const path = this.#path(expr, scope);
    const isResult = path[0]?.startsWith('@result') === true;
    return {
      type,
      size: this.#size(expr, scope),
      element: path.length === 0 || isResult ? undefined : this.#declared([...path, '@items']),
      literal: expr.kind === 'literal' ? expr.literal : undefined,
    };
  }

  #call(expr: Extract<Expr, { kind: 'call' }>, scope: Scope): SizeRange {
    const overloads = this.#compiled.checked.overloads.get(expr) ?? [];
    const operands =
      expr.target === undefined || overloads[0]?.isMember === false ? expr.args : [expr.target, ...expr.args];
    const costs = operands.map((operand) => this.cost(operand, scope));
    if (expr.name === '_&&_' || expr.name === '_||_') {
      this.#sizes.set(expr, one);
      return { min: costs[0]!.min, max: costs[0]!.max + costs[1]!.max };
    }
    if (expr.name === '_?_:_') return this.#conditional(expr, costs, scope);
    const args = operands.map((operand) => this.#argument(operand, scope));
    const all = overloads.map((overload) => callEstimate(overload, args));
    const cost = all.length === 0 ? one : all.map((each) => each.cost).reduce(union);
    const sizes = all.flatMap(({ resultSize }) => (resultSize === undefined ? [] : [resultSize]));
    let size = sizes.length === 0 ? undefined : sizes.reduce(union);
    if (expr.name === '_[_]') {
      const isList = overloads.at(-1)?.params[0]?.kind === 'list';
      this.#paths.set(expr, [...this.#path(operands[0]!, scope), isList ? '@items' : '@values']);
      size = this.#entriesOf(operands[0]!, scope)?.value;
    } else if (expr.name === '_+_') this.#joinEntries(expr, operands, scope);
    size ??= this.#size(expr, scope);
    if (size !== undefined) this.#sizes.set(expr, size);
    return add(cost, ...costs);
  }

  #conditional(
    expr: Extract<Expr, { kind: 'call' }>,
    [condition, yes, no]: readonly SizeRange[],
    scope: Scope,
  ): SizeRange {
    const [, left, right] = expr.args;
    const known = (part: Expr): SizeRange => this.#size(part, scope) ?? unknown;
    this.#sizes.set(expr, union(known(left!), known(right!)));
    this.#joinEntries(expr, [left!, right!], scope);
    return add(condition!, union(yes!, no!));
  }

  /** What either part holds, the whole may hold. */
  #joinEntries(whole: Expr, [left, right]: readonly Expr[], scope: Scope): void {
    const [x, y] = [this.#entriesOf(left!, scope), this.#entriesOf(right!, scope)];
    if (x === undefined || y === undefined) return;
    this.#entries.set(whole, { isList: y.isList, key: union(x.key, y.key), value: union(x.value, y.value) });
  }
}

function localOf(name: string, scope: Scope): Local | undefined {
  for (let at = scope; at !== undefined; at = at.outer) if (at.name === name) return at;
  return undefined;
}

function isScalar(type: CelType): boolean {
  switch (type.kind) {
    case 'bool':
    case 'int':
    case 'uint':
    case 'double':
    case 'timestamp':
    case 'duration':
      return true;
    case 'optional':
      return isScalar(type.inner);
    default:
      return false;
  }
}

/** Of what is written down. */
function writtenSize(expr: Expr): SizeRange | undefined {
  if (expr.kind === 'list') return fixed(expr.items.length);
  if (expr.kind === 'map') return fixed(expr.entries.length);
  if (expr.kind !== 'literal') return undefined;
  const { value } = expr.literal;
  if (typeof value === 'string') return fixed(Array.from(value).length);
  return fixed(value instanceof Uint8Array ? value.length : 1);
}
