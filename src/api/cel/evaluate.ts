// Owns evaluation: a checked expression compiled once into closures, run under a budget of work. Knows no library.
import type { Expr } from './ast.ts';
import { type Checked, typeNames, wrappers } from './checker.ts';
import { callCost, listCost, mapCost, structCost } from './costs.ts';
import type { Overload } from './functions.ts';
import { checkedDuration, checkedTimestamp } from './library/operators.ts';
import { type CelType, typeText } from './types.ts';
import {
  ArrayList,
  CelError,
  CelOptional,
  CelTypeValue,
  CelUint,
  type CelValue,
  EntryMap,
  isList,
  isMap,
  typeNameOf,
} from './values.ts';

const conversions: ReadonlySet<string> = new Set(
  'bool bytes double duration dyn int string timestamp type uint'.split(' '),
);

/** Known before it is run, as upstream knows it: what it costs to make is not counted. */
function isConstant(expr: Expr, checked: Checked, scope: Scope | undefined): boolean {
  switch (expr.kind) {
    case 'literal':
      return true;
    case 'ident':
      return isTypeName(expr, checked, scope);
    case 'select':
      return isTypeName(expr, checked, scope);
    case 'list':
      return expr.items.every(({ value, isOptional }) => !isOptional && isConstant(value, checked, scope));
    case 'map':
      return expr.entries.every(
        ({ key, value, isOptional }) =>
          !isOptional && isConstant(key, checked, scope) && isConstant(value, checked, scope),
      );
    case 'call':
      return (
        expr.target === undefined &&
        expr.args.length === 1 &&
        conversions.has(expr.name) &&
        isConstant(expr.args[0]!, checked, scope)
      );
    default:
      return false;
  }
}

function isTypeName(expr: Expr, checked: Checked, scope: Scope | undefined): boolean {
  const name = checked.variables.get(expr) ?? (expr.kind === 'ident' ? expr.name : undefined);
  if (name === undefined || !typeNames.has(name)) return false;
  for (let at = scope; at !== undefined; at = at.outer) if (at.name === name) return false;
  return checked.typeOf.get(expr)?.kind === 'type';
}

/** Membership in a list that is written down is looked up. */
function isConstantList(expr: Extract<Expr, { kind: 'call' }>, checked: Checked, scope: Scope | undefined): boolean {
  return expr.name === '@in' && expr.args[1]!.kind === 'list' && isConstant(expr.args[1]!, checked, scope);
}

const nowhere: Frame = { variable: () => undefined, locals: [], cost: 0, budget: Number.POSITIVE_INFINITY };

/** Made once. What fails is tried again each time, to fail where it stands. */
function constant(run: Run): Run {
  let value: CelValue | undefined;
  return () => {
    value ??= run({ ...nowhere, locals: [] });
    return value;
  };
}

/** Names, fields, elements, and choices among such: what upstream calls an attribute. */
function isPath(expr: Expr): boolean {
  if (expr.kind === 'ident') return true;
  if (expr.kind === 'select') return !expr.isTest;
  return expr.kind === 'call' && (expr.name === '_[_]' || expr.name === '_[?_]' || expr.name === '_?_:_');
}

/** Where a path is a part of another, only its steps count. */
function branch(expr: Expr, run: Run): Run {
  if (!isPath(expr) || (expr.kind === 'call' && expr.name === '_?_:_')) return run;
  return (frame) => {
    frame.cost -= accessCost;
    return run(frame);
  };
}

function conditional(condition: Run, yes: Run, no: Run): Run {
  return (frame) => {
    const value = condition(frame);
    if (typeof value !== 'boolean') throw noOverload('_?_:_', [value]);
    return value ? yes(frame) : no(frame);
  };
}

/** The budget is used up: no operator may absorb this. */
export class CelBudgetExceeded extends Error {
  override readonly name = 'CelBudgetExceeded';
}

/** What one evaluation runs in: its variables, its loops' variables, and the work done so far. */
export interface Frame {
  readonly variable: (name: string) => CelValue | undefined;
  readonly locals: (CelValue | Failed | Later)[];
  cost: number;
  readonly budget: number;
}

export type Run = (frame: Frame) => CelValue;

export interface Program {
  /** Throws CelError for failures of the expression, CelBudgetExceeded when `budget` units of work do not suffice. */
  evaluate(variable: Frame['variable'], budget?: number): { readonly value: CelValue; readonly cost: number };
}

/** Throws CelError when a conversion of what is written down fails: upstream makes no program of such. */
export function compile(checked: Checked): Program {
  const run = new Compiler(checked).compile(checked.expr, undefined);
  return {
    evaluate(variable, budget = Number.POSITIVE_INFINITY) {
      const frame: Frame = { variable, locals: [], cost: 0, budget };
      return { value: run(frame), cost: frame.cost };
    },
  };
}

function spend(frame: Frame, cost: number): void {
  frame.cost += cost;
  if (frame.cost > frame.budget) throw new CelBudgetExceeded('operation cancelled: actual cost limit exceeded');
}

interface Scope {
  readonly name: string;
  readonly index: number;
  readonly outer: Scope | undefined;
}

const accessCost = 1;

class Compiler {
  readonly #checked: Checked;

  constructor(checked: Checked) {
    this.#checked = checked;
  }

  compile(expr: Expr, scope: Scope | undefined): Run {
    if (isConstant(expr, this.#checked, scope)) {
      const run = constant(this.#run(expr, scope));
      if (expr.kind === 'call') run(nowhere);
      return run;
    }
    return this.#run(expr, scope);
  }

  #run(expr: Expr, scope: Scope | undefined): Run {
    const qualified = this.#checked.variables.get(expr);
    if (qualified !== undefined) return variableRun(qualified);
    switch (expr.kind) {
      case 'literal': {
        const { literal } = expr;
        const value = literal.type === 'uint' ? new CelUint(literal.value) : literal.value;
        return () => value;
      }
      case 'ident':
        return local(expr.name, scope) ?? variableRun(expr.name);
      case 'select':
        return this.#select(expr, scope);
      case 'call':
        return this.#call(expr, scope);
      case 'list':
        return this.#list(expr, scope);
      case 'map':
        return this.#map(expr, scope);
      case 'struct':
        return this.#struct(expr, scope);
      case 'comprehension':
        return this.#comprehension(expr, scope);
      case 'let': {
        const value = this.compile(expr.value, scope);
        const index = nextIndex(scope);
        const body = this.compile(expr.body, { name: expr.variable, index, outer: scope });
        return (frame) => {
          // Worked out when it is first asked for.
          frame.locals[index] = new Later(value);
          return body(frame);
        };
      }
    }
  }

  #select(expr: Extract<Expr, { kind: 'select' }>, scope: Scope | undefined): Run {
    const operand = this.compile(expr.operand, scope);
    const { field, isTest, isOptional } = expr;
    // What is no path itself begins one.
    const base = isPath(expr.operand) ? 0 : accessCost;
    return (frame) => {
      const whole = operand(frame);
      spend(frame, base);
      const value = whole instanceof CelOptional ? whole.value : whole;
      const found = value === undefined ? undefined : fieldOf(value, field, isTest || isOptional);
      if (isTest) return found !== undefined;
      if (isOptional || whole instanceof CelOptional) {
        if (found !== undefined) spend(frame, accessCost);
        return found instanceof CelOptional ? found : optionalOf(found);
      }
      spend(frame, accessCost);
      if (found === undefined) throw new CelError(`no such key: ${field}`);
      return found;
    };
  }

  #call(expr: Extract<Expr, { kind: 'call' }>, scope: Scope | undefined): Run {
    const overloads = this.#checked.overloads.get(expr) ?? [];
    const operands =
      expr.target === undefined || overloads[0]?.isMember === false ? expr.args : [expr.target, ...expr.args];
    const runs = operands.map((operand) => this.compile(operand, scope));
    if (expr.name === '_?_:_')
      return conditional(runs[0]!, branch(expr.args[1]!, runs[1]!), branch(expr.args[2]!, runs[2]!));
    const special = Object.hasOwn(lazyOperators, expr.name) ? lazyOperators[expr.name] : undefined;
    if (special !== undefined) return special(runs);
    if (expr.name === '_[_]' || expr.name === '_[?_]') return this.#index(expr, runs, overloads);
    const free = isConstantList(expr, this.#checked, scope);
    const [only] = overloads;
    const choose =
      overloads.length === 1 && only !== undefined
        ? () => only
        : (args: readonly CelValue[]) => chosen(expr.name, overloads, args);
    const charges = new Map(overloads.map((overload) => [overload, callCost(overload)]));
    const exact = overloads.length === 1 && !operands.some((operand) => isLoose(this.#checked.typeOf.get(operand)));
    return (frame) => {
      const args: CelValue[] = [];
      let failed: CelError | undefined;
      let charge: ReturnType<typeof callCost>;
      let result: CelValue = null;
      for (const run of runs) {
        try {
          args.push(run(frame));
        } catch (error) {
          // All are looked at, and the call counts, whatever becomes of them.
          failed ??= celErrorOf(error);
          args.push(null);
        }
      }
      if (failed === undefined) {
        try {
          const overload = choose(args);
          charge = charges.get(overload);
          if (!exact && !overload.params.every((type, at) => fits(type, args[at]!))) throw noOverload(expr.name, args);
          result = overload.call(args);
        } catch (error) {
          failed = celErrorOf(error);
        }
      }
      if (!free) spend(frame, failed === undefined ? (charge?.(args, result) ?? 1) : 1);
      if (failed !== undefined) throw failed;
      return result;
    };
  }

  /** A step of a path: what it costs depends on what comes before it. */
  #index(expr: Extract<Expr, { kind: 'call' }>, [whole, key]: readonly Run[], overloads: readonly Overload[]): Run {
    const base = isPath(expr.args[0]!) ? 0 : accessCost;
    const at = branch(expr.args[1]!, key!);
    const isOptional = expr.name === '_[?_]';
    return (frame) => {
      const value = whole!(frame);
      spend(frame, base);
      const args = [value, at(frame)];
      if (!isOptional) spend(frame, accessCost);
      const found = chosen(expr.name, overloads, args).call(args);
      if (isOptional && (found as CelOptional).value !== undefined) spend(frame, accessCost);
      return found;
    };
  }

  #list(expr: Extract<Expr, { kind: 'list' }>, scope: Scope | undefined): Run {
    const runs = expr.items.map(({ value, isOptional }) => ({ run: this.compile(value, scope), isOptional }));
    return (frame) => {
      spend(frame, listCost);
      const items: CelValue[] = [];
      for (const { run, isOptional } of runs) {
        const value = run(frame);
        if (!isOptional) items.push(value);
        else if (!(value instanceof CelOptional)) throw new CelError('optional list element is not an optional value');
        else if (value.value !== undefined) items.push(value.value);
      }
      return new ArrayList(items);
    };
  }

  #map(expr: Extract<Expr, { kind: 'map' }>, scope: Scope | undefined): Run {
    const runs = expr.entries.map(({ key, value, isOptional }) => ({
      key: this.compile(key, scope),
      value: this.compile(value, scope),
      isOptional,
    }));
    // Where all is written down the last one counts, as upstream has it.
    const mayRepeat = isConstant(expr, this.#checked, scope);
    return (frame) => {
      spend(frame, mapCost);
      const entries: [CelValue, CelValue][] = [];
      for (const { key, value, isOptional } of runs) {
        const at = key(frame);
        const found = optionalEntry(value(frame), isOptional);
        if (found !== undefined) entries.push([at, found]);
      }
      const made = new EntryMap(entries);
      if (!mayRepeat && made.size !== entries.length) throw new CelError('Failed with repeated key');
      return made;
    };
  }

  #struct(expr: Extract<Expr, { kind: 'struct' }>, scope: Scope | undefined): Run {
    const runs = expr.fields.map(({ name, value, isOptional }) => ({
      name,
      value: this.compile(value, scope),
      isOptional,
    }));
    return (frame) => {
      spend(frame, structCost);
      const entries: [CelValue, CelValue][] = [];
      for (const { name, value, isOptional } of runs) {
        const found = optionalEntry(value(frame), isOptional);
        if (found !== undefined) entries.push([name, found]);
      }
      return wellKnownValue(expr.typeName, entries) ?? new EntryMap(entries, expr.typeName);
    };
  }

  #comprehension(expr: Extract<Expr, { kind: 'comprehension' }>, scope: Scope | undefined): Run {
    const range = this.compile(expr.range, scope);
    const initial = this.compile(expr.initial, scope);
    const first = nextIndex(scope);
    const withResult: Scope = { name: expr.accumulator, index: first, outer: scope };
    let inner: Scope = { name: expr.variables[0], index: first + 1, outer: withResult };
    if (expr.variables[1] !== undefined) inner = { name: expr.variables[1], index: first + 2, outer: inner };
    const condition = this.compile(expr.condition, inner);
    const step = this.compile(expr.step, inner);
    const result = this.compile(expr.result, withResult);
    const isPair = expr.variables.length === 2;
    return (frame) => {
      const over = range(frame);
      frame.locals[first] = initial(frame);
      for (const [key, value] of isPair ? pairs(over) : singles(over)) {
        frame.locals[first + 1] = key;
        if (value !== undefined) frame.locals[first + 2] = value;
        if (condition(frame) !== true) break;
        frame.locals[first] = turn(step, frame);
      }
      return result(frame);
    };
  }
}

/** A failure of one turn is the loop's result so far: a later turn may decide what comes of it. */
class Failed {
  readonly error: CelError;
  constructor(error: CelError) {
    this.error = error;
  }
}

class Later {
  readonly run: Run;
  constructor(run: Run) {
    this.run = run;
  }
}

function celErrorOf(error: unknown): CelError {
  if (error instanceof CelError) return error;
  throw error;
}

function turn(step: Run, frame: Frame): CelValue | Failed {
  try {
    return step(frame);
  } catch (error) {
    if (error instanceof CelError) return new Failed(error);
    throw error;
  }
}

/** Timestamps and durations by their parts, wrappers by what they wrap. */
function wellKnownValue(typeName: string, entries: readonly (readonly [CelValue, CelValue])[]): CelValue | undefined {
  const wrapped = wrappers.get(typeName);
  if (wrapped !== undefined) return entries.length === 0 ? wrapped.zero : entries[0]![1];
  if (typeName !== 'google.protobuf.Timestamp' && typeName !== 'google.protobuf.Duration') return undefined;
  const part = (name: string): bigint => (entries.find(([key]) => key === name)?.[1] as bigint | undefined) ?? 0n;
  const nanos = part('seconds') * 1_000_000_000n + part('nanos');
  return typeName === 'google.protobuf.Timestamp' ? checkedTimestamp(nanos) : checkedDuration(nanos);
}

function nextIndex(scope: Scope | undefined): number {
  return scope === undefined ? 0 : scope.index + 1;
}

function local(name: string, scope: Scope | undefined): Run | undefined {
  for (let at = scope; at !== undefined; at = at.outer) {
    if (at.name !== name) continue;
    const { index } = at;
    return (frame) => {
      spend(frame, accessCost);
      const value = frame.locals[index]!;
      if (value instanceof Failed) throw value.error;
      if (!(value instanceof Later)) return value;
      const found = value.run(frame);
      frame.locals[index] = found;
      return found;
    };
  }
  return undefined;
}

function variableRun(name: string): Run {
  const type = typeNames.get(name);
  const typeValue = type?.kind === 'type' ? new CelTypeValue(typeText(type.of).replace(/\(.*$/, '')) : undefined;
  return (frame) => {
    spend(frame, accessCost);
    const given = frame.variable(name);
    const value = given === undefined ? typeValue : given;
    if (value === undefined) throw new CelError(`no such attribute(s): ${name}`);
    return value;
  };
}

function fieldOf(value: CelValue, field: string, isTest: boolean): CelValue | undefined {
  if (!isMap(value)) {
    if (isTest && value === null) return undefined;
    throw new CelError(`no such overload: field '${field}' of ${typeNameOf(value)}`);
  }
  return value.get(field);
}

function optionalOf(value: CelValue | undefined): CelOptional {
  return value === undefined ? CelOptional.none : new CelOptional(value);
}

function optionalEntry(value: CelValue, isOptional: boolean): CelValue | undefined {
  if (!isOptional) return value;
  if (!(value instanceof CelOptional)) throw new CelError('optional entry is not an optional value');
  return value.value;
}

function* pairs(over: CelValue): Iterable<[CelValue, CelValue]> {
  if (isList(over)) for (let at = 0; at < over.size; at++) yield [BigInt(at), over.at(at)];
  else if (isMap(over)) for (const key of over.keys()) yield [key, over.get(key)!];
  else throw noOverload('comprehension', [over]);
}

function* singles(over: CelValue): Iterable<[CelValue, undefined]> {
  if (isList(over)) for (let at = 0; at < over.size; at++) yield [over.at(at), undefined];
  else if (isMap(over)) for (const key of over.keys()) yield [key, undefined];
  else throw noOverload('comprehension', [over]);
}

function noOverload(name: string, args: readonly CelValue[]): CelError {
  return new CelError(`no such overload: ${name}(${args.map(typeNameOf).join(', ')})`);
}

function chosen(name: string, overloads: readonly Overload[], args: readonly CelValue[]): Overload {
  const found = overloads.find(({ params }) => params.every((type, at) => fits(type, args[at]!)));
  if (found === undefined) throw noOverload(name, args);
  return found;
}

function isLoose(type: CelType | undefined): boolean {
  return type === undefined || type.kind === 'dyn' || type.kind === 'param' || type.kind === 'optional';
}

/** Whether a value is of a declared type, as far as it shows without looking inside. */
function fits(type: CelType, value: CelValue): boolean {
  switch (type.kind) {
    case 'dyn':
    case 'param':
      return true;
    case 'list':
      return isList(value);
    case 'map':
      return isMap(value);
    case 'struct':
      return isMap(value) || value === null;
    case 'optional':
      return value instanceof CelOptional;
    case 'type':
      return value instanceof CelTypeValue;
    default:
      return typeNameOf(value) === typeText(type);
  }
}

/** Runs an operand of a logical operator: its value, or the failure to be thrown unless the other side decides. */
function attempt(run: Run, frame: Frame): boolean | CelError {
  try {
    const value = run(frame);
    return typeof value === 'boolean' ? value : noOverload('logical operator', [value]);
  } catch (error) {
    if (error instanceof CelError) return error;
    throw error;
  }
}

/** `decisive` decides alone, whatever the other side is, even a failure. */
function logical(decisive: boolean): (runs: readonly Run[]) => Run {
  return ([left, right]) =>
    (frame) => {
      const first = attempt(left!, frame);
      if (first === decisive) return decisive;
      const second = attempt(right!, frame);
      if (second === decisive) return decisive;
      if (first instanceof CelError) throw first;
      if (second instanceof CelError) throw second;
      return !decisive;
    };
}

const alternative =
  (isOptional: boolean) =>
  ([first, other]: readonly Run[]): Run =>
  (frame) => {
    const value = first!(frame);
    if (!(value instanceof CelOptional)) throw noOverload(isOptional ? 'or' : 'orValue', [value]);
    if (value.value === undefined) return other!(frame);
    return isOptional ? value : value.value;
  };

/** Operators that do not look at all their operands first. */
const lazyOperators: Readonly<Record<string, (runs: readonly Run[]) => Run>> = {
  '_&&_': logical(false),
  '_||_': logical(true),
  /** The other side is only looked at where there is nothing. */
  or: alternative(true),
  orValue: alternative(false),
  '@not_strictly_false':
    ([operand]) =>
    (frame) => {
      spend(frame, accessCost);
      return attempt(operand!, frame) !== false;
    },
};
