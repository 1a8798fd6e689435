// Owns CEL's macros (language definition "Macros", extensions "TwoVarComprehensions" and "OptionalTypes"): calls that become loops and tests.
import type { CelSyntaxError, ComprehensionExpr, Expr } from './ast.ts';

export interface MacroCall {
  readonly at: number;
  readonly name: string;
  readonly target?: Expr;
  readonly args: readonly Expr[];
}

type Refuse = (at: number, message: string) => CelSyntaxError;
type Expander = (call: Required<MacroCall>, refuse: Refuse) => Expr;

/** Cannot be written as an identifier, so it hides nothing of the author's. */
export const accumulator = '@result';

/** The expanded form, or undefined when the call is no macro. Throws what `refuse` makes for a macro used wrongly. */
export function expandMacro(call: MacroCall, refuse: Refuse): Expr | undefined {
  const { at, name, target, args } = call;
  if (target === undefined) return name === 'has' && args.length === 1 ? test(at, args[0]!, refuse) : undefined;
  const expander = Object.hasOwn(macros, `${name}/${args.length}`) ? macros[`${name}/${args.length}`] : undefined;
  return expander?.({ at, name, target, args }, refuse);
}

function test(at: number, operand: Expr, refuse: Refuse): Expr {
  if (operand.kind !== 'select' || operand.isOptional) throw refuse(operand.at, 'invalid argument to has() macro');
  return { ...operand, at, isTest: true };
}

const literal = (at: number, value: boolean): Expr => ({ kind: 'literal', at, literal: { type: 'bool', value } });
const int = (at: number, value: bigint): Expr => ({ kind: 'literal', at, literal: { type: 'int', value } });
const result = (at: number): Expr => ({ kind: 'ident', at, name: accumulator });
const call = (at: number, name: string, ...args: Expr[]): Expr => ({ kind: 'call', at, name, args });
const listOf = (at: number, ...values: Expr[]): Expr => ({
  kind: 'list',
  at,
  items: values.map((value) => ({ value, isOptional: false })),
});

function variable(expr: Expr, refuse: Refuse): string {
  if (expr.kind !== 'ident' || expr.name.startsWith('.')) throw refuse(expr.at, 'argument must be a simple name');
  return expr.name;
}

/** The loop variables are the first `count` arguments. */
function variables(args: readonly Expr[], count: 1 | 2, refuse: Refuse): readonly [string] | readonly [string, string] {
  const first = variable(args[0]!, refuse);
  if (count === 1) return [first];
  const second = variable(args[1]!, refuse);
  if (first === second) throw refuse(args[1]!.at, `duplicate variable name: ${second}`);
  return [first, second];
}

type Loop = Pick<ComprehensionExpr, 'initial' | 'condition' | 'step'> & { readonly result?: Expr };

/** A macro over `count` variables; `loop` gets the arguments after them. */
function looping(count: 1 | 2, loop: (at: number, ...rest: Expr[]) => Loop): Expander {
  return ({ at, target, args }, refuse) => ({
    kind: 'comprehension',
    at,
    range: target,
    variables: variables(args, count, refuse),
    accumulator,
    result: result(at),
    ...loop(at, ...args.slice(count)),
  });
}

const all = (at: number, predicate: Expr): Loop => ({
  initial: literal(at, true),
  condition: call(at, '@not_strictly_false', result(at)),
  step: call(at, '_&&_', result(at), predicate),
});

const exists = (at: number, predicate: Expr): Loop => ({
  initial: literal(at, false),
  condition: call(at, '@not_strictly_false', call(at, '!_', result(at))),
  step: call(at, '_||_', result(at), predicate),
});

const existsOne = (at: number, predicate: Expr): Loop => ({
  initial: int(at, 0n),
  condition: literal(at, true),
  step: call(at, '_?_:_', predicate, call(at, '_+_', result(at), int(at, 1n)), result(at)),
  result: call(at, '_==_', result(at), int(at, 1n)),
});

/** Appends `value` to the result, where `predicate` (if any) holds. */
const collect = (at: number, value: Expr, predicate?: Expr): Loop => {
  const appended = call(at, '_+_', result(at), listOf(at, value));
  const step = predicate === undefined ? appended : call(at, '_?_:_', predicate, appended, result(at));
  return { initial: listOf(at), condition: literal(at, true), step };
};

const filter: Expander = ({ at, target, args: [name, predicate] }, refuse) => ({
  kind: 'comprehension',
  at,
  range: target,
  variables: [variable(name!, refuse)],
  accumulator,
  result: result(at),
  ...collect(at, name!, predicate),
});

/** transformMap keeps the key; transformMapEntry merges the map that the expression gives. */
function transformMap(insert: '@map_insert' | '@map_merge', hasPredicate: boolean): Expander {
  return ({ at, target, args }, refuse) => {
    const names = variables(args, 2, refuse);
    const value = args.at(-1)!;
    const inserted =
      insert === '@map_insert' ? call(at, insert, result(at), args[0]!, value) : call(at, insert, result(at), value);
    return {
      kind: 'comprehension',
      at,
      range: target,
      variables: names,
      accumulator,
      initial: { kind: 'map', at, entries: [] },
      condition: literal(at, true),
      step: hasPredicate ? call(at, '_?_:_', args[2]!, inserted, result(at)) : inserted,
      result: result(at),
    };
  };
}

/** optMap(x, e): e of the value inside, or none; optFlatMap: e is itself an optional. */
function optional(isFlat: boolean): Expander {
  return ({ at, target, args: [name, body] }, refuse) => {
    const inner: Expr = {
      kind: 'let',
      at,
      variable: variable(name!, refuse),
      value: { kind: 'call', at, name: 'value', target, args: [] },
      body: body!,
    };
    // The target stands twice, and counts twice, as upstream writes it.
    const has: Expr = { kind: 'call', at, name: 'hasValue', target, args: [] };
    return call(at, '_?_:_', has, isFlat ? inner : call(at, 'optional.of', inner), call(at, 'optional.none'));
  };
}

/** Sorts by what the expression gives for each element. */
const sortBy: Expander = ({ at, name, target, args }, refuse) => {
  const input: Expr = { kind: 'ident', at, name: '@sortBy' };
  const keys = looping(1, (inner, value) => collect(inner, value))({ at, name, target: input, args }, refuse);
  return {
    kind: 'let',
    at,
    variable: input.name,
    value: target,
    body: { kind: 'call', at, name: '@sortByKeys', target: input, args: [keys] },
  };
};

/** By name and count of arguments. */
const macros: Readonly<Record<string, Expander>> = {
  'all/2': looping(1, all),
  'exists/2': looping(1, exists),
  'exists_one/2': looping(1, existsOne),
  'map/2': looping(1, (at, value) => collect(at, value)),
  'map/3': looping(1, (at, predicate, value) => collect(at, value!, predicate)),
  'filter/2': filter,
  'sortBy/2': sortBy,
  'all/3': looping(2, all),
  'exists/3': looping(2, exists),
  'existsOne/3': looping(2, existsOne),
  'exists_one/3': looping(2, existsOne),
  'transformList/3': looping(2, (at, value) => collect(at, value)),
  'transformList/4': looping(2, (at, predicate, value) => collect(at, value!, predicate)),
  'transformMap/3': transformMap('@map_insert', false),
  'transformMap/4': transformMap('@map_insert', true),
  'transformMapEntry/3': transformMap('@map_merge', false),
  'transformMapEntry/4': transformMap('@map_merge', true),
  'optMap/2': optional(false),
  'optFlatMap/2': optional(true),
};
