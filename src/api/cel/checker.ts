// Owns the type check of CEL: which overload a call means and what type each part has. Evaluates nothing.
import { type CelProblem, CelSyntaxError, type Expr } from './ast.ts';
import type { FunctionTable, Overload } from './functions.ts';
import { qualifiedName } from './parser.ts';
import { CelUint, type CelValue } from './values.ts';
import {
  Bindings,
  bool,
  bytes,
  type CelType,
  double,
  dyn,
  int,
  joined,
  list,
  map,
  nullType,
  optional,
  string,
  typeText,
  uint,
} from './types.ts';

export interface Declarations {
  readonly variables: ReadonlyMap<string, CelType>;
  readonly functions: FunctionTable;
  /** Lists and maps of mixed types may be written down, as the language allows; Kubernetes does not. */
  readonly mixedLiterals?: boolean;
  /** Types that expressions may build ("Object.spec"), by name. */
  structType?(name: string): CelType | undefined;
}

export interface Checked {
  readonly expr: Expr;
  readonly type: CelType;
  readonly typeOf: ReadonlyMap<Expr, CelType>;
  /** The overloads that a call may mean: one unless arguments are dyn. */
  readonly overloads: ReadonlyMap<Expr, readonly Overload[]>;
  /** Selections that are a qualified variable's name ("a.b" declared as such). */
  readonly variables: ReadonlyMap<Expr, string>;
}

/** Checks all of it and throws CelSyntaxError with everything that is wrong. */
export function check(source: string, expr: Expr, declarations: Declarations): Checked {
  const checker = new Checker(declarations);
  const type = checker.check(expr, undefined);
  if (checker.problems.length > 0) throw new CelSyntaxError(source, checker.problems);
  return {
    expr,
    type: checker.bindings.resolve(type, true),
    typeOf: checker.types,
    overloads: checker.chosen,
    variables: checker.qualified,
  };
}

interface Scope {
  readonly name: string;
  readonly type: CelType;
  readonly outer: Scope | undefined;
}

class Checker {
  readonly problems: CelProblem[] = [];
  readonly types = new Map<Expr, CelType>();
  readonly chosen = new Map<Expr, readonly Overload[]>();
  readonly qualified = new Map<Expr, string>();
  readonly bindings = new Bindings();
  /** Literals that may be mixed: the arguments of format. */
  readonly #free = new Set<Expr>();
  readonly #declarations: Declarations;
  #fresh = 0;

  constructor(declarations: Declarations) {
    this.#declarations = declarations;
  }

  check(expr: Expr, scope: Scope | undefined): CelType {
    const type = this.#infer(expr, scope);
    this.types.set(expr, type);
    return type;
  }

  #problem(expr: Expr, message: string): CelType {
    this.problems.push({ at: expr.at, message });
    return dyn;
  }

  #infer(expr: Expr, scope: Scope | undefined): CelType {
    switch (expr.kind) {
      case 'literal':
        return { bool, int, uint, double, string, bytes, null: nullType }[expr.literal.type];
      case 'ident':
        return this.#variable(expr, expr.name, scope) ?? this.#undeclared(expr, expr.name);
      case 'select':
        return this.#select(expr, scope);
      case 'call':
        return this.#call(expr, scope);
      case 'list': {
        const elements = expr.items.map(({ value, isOptional }) => this.#inner(value, isOptional, scope));
        if (!this.#free.has(expr))
          this.#alike(
            expr.items.map(({ value }) => value),
            elements,
            'list',
          );
        return list(this.#join(elements));
      }
      case 'map': {
        const keys = expr.entries.map(({ key }) => this.check(key, scope));
        const values = expr.entries.map(({ value, isOptional }) => this.#inner(value, isOptional, scope));
        if (!this.#free.has(expr)) {
          this.#alike(
            expr.entries.map(({ key }) => key),
            keys,
            'map key',
          );
          this.#alike(
            expr.entries.map(({ value }) => value),
            values,
            'map value',
          );
        }
        return map(this.#join(keys), this.#join(values));
      }
      case 'struct':
        return this.#struct(expr, scope);
      case 'comprehension':
        return this.#comprehension(expr, scope);
      case 'let': {
        const value = this.check(expr.value, scope);
        return this.check(expr.body, { name: expr.variable, type: value, outer: scope });
      }
    }
  }

  /** Also the lists within. */
  #setFree(expr: Expr): void {
    if (expr.kind !== 'list' && expr.kind !== 'map') return;
    this.#free.add(expr);
    for (const { value } of expr.kind === 'list' ? expr.items : expr.entries) this.#setFree(value);
  }

  /** Kubernetes takes no literals of mixed types, unless they say dyn(). */
  #alike(exprs: readonly Expr[], types: readonly CelType[], what: string): void {
    if (this.#declarations.mixedLiterals === true) return;
    const shown = types.map((type) => this.bindings.resolve(type)).filter(isConcrete);
    const odd = shown.findIndex((type) => typeText(type) !== typeText(shown[0]!));
    if (odd > 0)
      this.#problem(
        exprs[odd]!,
        `expected type '${typeText(shown[0]!)}' in ${what} literal but found '${typeText(shown[odd]!)}'`,
      );
  }

  /** An empty list's element type is open until something is put beside it. */
  #join(types: readonly CelType[]): CelType {
    if (types.length === 0) return { kind: 'param', name: `_${this.#fresh++}` };
    return joined(types.map((type) => this.bindings.resolve(type)));
  }

  /** `?value` must be an optional; what is inside counts. */
  #inner(value: Expr, isOptional: boolean, scope: Scope | undefined): CelType {
    const type = this.check(value, scope);
    if (!isOptional) return type;
    if (type.kind === 'optional') return type.inner;
    return type.kind === 'dyn'
      ? dyn
      : this.#problem(value, `expected type 'optional_type(dyn)' but found '${typeText(type)}'`);
  }

  #variable(expr: Expr, name: string, scope: Scope | undefined): CelType | undefined {
    const plain = name.replace(/^\./, '');
    if (plain === name) {
      for (let at = scope; at !== undefined; at = at.outer) if (at.name === name) return at.type;
    }
    const type = this.#declarations.variables.get(plain) ?? typeNames.get(plain);
    if (type !== undefined) this.qualified.set(expr, plain);
    return type;
  }

  #undeclared(expr: Expr, name: string): CelType {
    return this.#problem(expr, `undeclared reference to '${name}' (in container '')`);
  }

  #select(expr: Extract<Expr, { kind: 'select' }>, scope: Scope | undefined): CelType {
    const whole = qualifiedName(expr);
    if (whole !== undefined && !this.#isLocal(whole, scope)) {
      const type = this.#variable(expr, whole, undefined);
      if (type !== undefined) return type;
    }
    const operand = this.bindings.resolve(this.check(expr.operand, scope));
    const inner = operand.kind === 'optional' ? operand.inner : operand;
    const field = this.#field(expr, inner);
    if (expr.isTest) return bool;
    return expr.isOptional || operand.kind === 'optional'
      ? field.kind === 'optional'
        ? field
        : optional(field)
      : field;
  }

  #isLocal(qualified: string, scope: Scope | undefined): boolean {
    const first = qualified.split('.')[0]!;
    for (let at = scope; at !== undefined; at = at.outer) if (at.name === first) return true;
    return false;
  }

  #field(expr: Extract<Expr, { kind: 'select' }>, type: CelType): CelType {
    switch (type.kind) {
      case 'dyn':
      case 'param':
        return dyn;
      case 'map':
        return type.value;
      case 'struct':
        return type.field(expr.field) ?? this.#problem(expr, `undefined field '${expr.field}'`);
      default:
        return this.#problem(expr, `type '${typeText(type)}' does not support field selection`);
    }
  }

  #call(expr: Extract<Expr, { kind: 'call' }>, scope: Scope | undefined): CelType {
    const { name, target, args } = expr;
    if (name === 'format') for (const argument of args) this.#setFree(argument);
    const namespaced = target === undefined ? undefined : this.#namespacedCall(expr, target, scope);
    if (namespaced !== undefined) return namespaced;
    const operands = target === undefined ? args : [target, ...args];
    const types = operands.map((operand) => this.bindings.resolve(this.check(operand, scope)));
    const candidates = this.#declarations.functions.overloads(name, target !== undefined);
    if (candidates.length === 0) return this.#undeclared(expr, name);
    return this.#resolve(expr, candidates, types);
  }

  /** "optional.of(x)", "math.greatest(a)": a function whose name has dots, not a method of a variable. */
  #namespacedCall(expr: Extract<Expr, { kind: 'call' }>, target: Expr, scope: Scope | undefined): CelType | undefined {
    const prefix = qualifiedName(target);
    if (prefix === undefined || this.#isLocal(prefix, scope)) return undefined;
    const candidates = this.#declarations.functions.overloads(`${prefix}.${expr.name}`, false);
    if (candidates.length === 0) return undefined;
    return this.#resolve(
      expr,
      candidates,
      expr.args.map((argument) => this.bindings.resolve(this.check(argument, scope))),
    );
  }

  #resolve(expr: Extract<Expr, { kind: 'call' }>, candidates: readonly Overload[], types: readonly CelType[]): CelType {
    const matching: Overload[] = [];
    const results: CelType[] = [];
    for (const candidate of candidates) {
      if (candidate.params.length !== types.length) continue;
      const snapshot = this.bindings.snapshot();
      const renamed = this.#renamed(candidate);
      if (!renamed.params.every((wanted, at) => this.bindings.accepts(wanted, types[at]!))) {
        this.bindings.restore(snapshot);
        continue;
      }
      matching.push(candidate);
      results.push(this.bindings.resolve(renamed.result));
      // With no dyn among the arguments the first that fits is the one meant.
      if (!types.some(hasDyn)) break;
    }
    if (matching.length === 0) {
      const shown = types.map(typeText);
      const text =
        expr.target === undefined || candidates[0]?.isMember === false
          ? `(${shown.join(', ')})`
          : `${shown[0]}.(${shown.slice(1).join(', ')})`;
      return this.#problem(expr, `found no matching overload for '${expr.name}' applied to '${text}'`);
    }
    this.chosen.set(expr, matching);
    return joined(results);
  }

  /** Each use of an overload has type parameters of its own. */
  #renamed({ params, result }: Overload): { params: CelType[]; result: CelType } {
    const suffix = `#${this.#fresh++}`;
    const rename = (type: CelType): CelType => {
      switch (type.kind) {
        case 'param':
          return { kind: 'param', name: type.name + suffix };
        case 'list':
          return list(rename(type.element));
        case 'map':
          return map(rename(type.key), rename(type.value));
        case 'optional':
          return optional(rename(type.inner));
        case 'type':
          return { kind: 'type', of: rename(type.of) };
        default:
          return type;
      }
    };
    return { params: params.map(rename), result: rename(result) };
  }

  #struct(expr: Extract<Expr, { kind: 'struct' }>, scope: Scope | undefined): CelType {
    const wrapper = wrappers.get(expr.typeName);
    const type =
      this.#declarations.structType?.(expr.typeName) ??
      wellKnown.get(expr.typeName) ??
      (wrapper && wrapperStruct(expr.typeName, wrapper.type));
    for (const { name, value, isOptional } of expr.fields) {
      const given = this.#inner(value, isOptional, scope);
      if (type?.kind !== 'struct') continue;
      const wanted = type.field(name);
      if (wanted === undefined) this.#problem(value, `undefined field '${name}'`);
      else if (!this.bindings.accepts(wanted, given))
        this.#problem(
          value,
          `expected type of field '${name}' is '${typeText(wanted)}' but provided type is '${typeText(given)}'`,
        );
    }
    if (type !== undefined) return wrapper?.type ?? wellKnownTypes.get(expr.typeName) ?? type;
    return this.#undeclared(expr, expr.typeName);
  }

  #comprehension(expr: Extract<Expr, { kind: 'comprehension' }>, scope: Scope | undefined): CelType {
    const range = this.bindings.resolve(this.check(expr.range, scope));
    const [first, second] = this.#loopTypes(expr, range);
    const initial = this.check(expr.initial, scope);
    let inner: Scope = { name: expr.accumulator, type: initial, outer: scope };
    inner = { name: expr.variables[0], type: first, outer: inner };
    if (expr.variables[1] !== undefined) inner = { name: expr.variables[1], type: second, outer: inner };
    this.#boolean(expr.condition, this.check(expr.condition, inner));
    const step = this.check(expr.step, inner);
    if (!this.bindings.accepts(initial, step))
      this.#problem(expr.step, `expected type '${typeText(initial)}' but found '${typeText(step)}'`);
    return this.bindings.resolve(
      this.check(expr.result, { name: expr.accumulator, type: this.bindings.resolve(initial), outer: scope }),
    );
  }

  #boolean(expr: Expr, type: CelType): void {
    if (!this.bindings.accepts(bool, type)) this.#problem(expr, `expected type 'bool' but found '${typeText(type)}'`);
  }

  #loopTypes(expr: Extract<Expr, { kind: 'comprehension' }>, range: CelType): [CelType, CelType] {
    const isPair = expr.variables.length === 2;
    switch (range.kind) {
      case 'list':
        return isPair ? [int, range.element] : [range.element, dyn];
      case 'map':
        return [range.key, range.value];
      case 'dyn':
      case 'param':
        return [dyn, dyn];
      default:
        this.#problem(
          expr.range,
          `expression of type '${typeText(range)}' cannot be range of a comprehension (must be list, map, or dynamic)`,
        );
        return [dyn, dyn];
    }
  }
}

function hasDyn(type: CelType): boolean {
  switch (type.kind) {
    case 'dyn':
    case 'param':
      return true;
    case 'list':
      return hasDyn(type.element);
    case 'map':
      return hasDyn(type.key) || hasDyn(type.value);
    case 'optional':
      return hasDyn(type.inner);
    default:
      return false;
  }
}

/** Messages around one value, and what they are without. */
export const wrappers: ReadonlyMap<string, { readonly type: CelType; readonly zero: CelValue }> = new Map(
  Object.entries({
    BoolValue: { type: bool, zero: false },
    BytesValue: { type: bytes, zero: new Uint8Array() },
    DoubleValue: { type: double, zero: 0 },
    FloatValue: { type: double, zero: 0 },
    Int32Value: { type: int, zero: 0n },
    Int64Value: { type: int, zero: 0n },
    StringValue: { type: string, zero: '' },
    UInt32Value: { type: uint, zero: new CelUint(0n) },
    UInt64Value: { type: uint, zero: new CelUint(0n) },
  }).map(([name, wrapper]) => [`google.protobuf.${name}`, wrapper]),
);

/** Messages that every expression may build. */
const wellKnown: ReadonlyMap<string, CelType> = new Map(
  ['google.protobuf.Timestamp', 'google.protobuf.Duration'].map((name) => [
    name,
    { kind: 'struct', name, field: (field) => (field === 'seconds' || field === 'nanos' ? int : undefined) },
  ]),
);
function wrapperStruct(name: string, type: CelType): CelType {
  return { kind: 'struct', name, field: (field) => (field === 'value' ? type : undefined) };
}

const wellKnownTypes: ReadonlyMap<string, CelType> = new Map([
  ['google.protobuf.Timestamp', { kind: 'timestamp' }],
  ['google.protobuf.Duration', { kind: 'duration' }],
]);

/** Type names are values: `type(x) == int`. */
export const typeNames: ReadonlyMap<string, CelType> = new Map(
  [
    bool,
    int,
    uint,
    double,
    string,
    bytes,
    nullType,
    { kind: 'timestamp' } as const,
    { kind: 'duration' } as const,
    list(dyn),
    map(dyn, dyn),
    optional(dyn),
    { kind: 'type', of: dyn } as const,
  ].map((type) => [typeText(type).replace(/\(.*$/, ''), { kind: 'type', of: type }]),
);

/** Plain types can be told apart for certain; what holds others may be open inside. */
function isConcrete({ kind }: CelType): boolean {
  return (
    kind === 'bool' || kind === 'int' || kind === 'uint' || kind === 'double' || kind === 'string' || kind === 'bytes'
  );
}
