// Owns the shape of a parsed CEL expression, macros already expanded, and the walk through its parts. Judges nothing.

/** `at` is the offset of the expression's own token in the source, for error messages. */
interface Node {
  readonly at: number;
}

export type Literal =
  | { readonly type: 'int'; readonly value: bigint }
  | { readonly type: 'uint'; readonly value: bigint }
  | { readonly type: 'double'; readonly value: number }
  | { readonly type: 'string'; readonly value: string }
  | { readonly type: 'bytes'; readonly value: Uint8Array }
  | { readonly type: 'bool'; readonly value: boolean }
  | { readonly type: 'null'; readonly value: null };

export interface LiteralExpr extends Node {
  readonly kind: 'literal';
  readonly literal: Literal;
}

export interface IdentExpr extends Node {
  readonly kind: 'ident';
  /** A leading dot (".x") asks for the outermost scope and is kept. */
  readonly name: string;
}

export interface SelectExpr extends Node {
  readonly kind: 'select';
  readonly operand: Expr;
  readonly field: string;
  /** From has(): whether the field is set, not its value. */
  readonly isTest: boolean;
  /** From `.?`: the field as an optional value. */
  readonly isOptional: boolean;
}

export interface CallExpr extends Node {
  readonly kind: 'call';
  /** Operators are functions with the names of the CEL specification ("_+_", "!_", "_?_:_", "_[_]", "_[?_]"). */
  readonly name: string;
  readonly target?: Expr;
  readonly args: readonly Expr[];
}

export interface ListExpr extends Node {
  readonly kind: 'list';
  readonly items: readonly { readonly value: Expr; readonly isOptional: boolean }[];
}

export interface MapExpr extends Node {
  readonly kind: 'map';
  readonly entries: readonly { readonly key: Expr; readonly value: Expr; readonly isOptional: boolean }[];
}

export interface StructExpr extends Node {
  readonly kind: 'struct';
  /** "Object.spec.template" */
  readonly typeName: string;
  readonly fields: readonly { readonly name: string; readonly value: Expr; readonly isOptional: boolean }[];
}

/** A loop over a list or map, which all macros become (CEL specification, "Macros"). */
export interface ComprehensionExpr extends Node {
  readonly kind: 'comprehension';
  readonly range: Expr;
  /** One variable: an element, or a map's key. Two: index and element, or key and value. */
  readonly variables: readonly [string] | readonly [string, string];
  readonly accumulator: string;
  readonly initial: Expr;
  /** The loop ends when this is false. */
  readonly condition: Expr;
  readonly step: Expr;
  readonly result: Expr;
}

/** A value computed once under a name (optMap and optFlatMap become this). */
export interface LetExpr extends Node {
  readonly kind: 'let';
  readonly variable: string;
  readonly value: Expr;
  readonly body: Expr;
}

export type Expr =
  | LiteralExpr
  | IdentExpr
  | SelectExpr
  | CallExpr
  | ListExpr
  | MapExpr
  | StructExpr
  | ComprehensionExpr
  | LetExpr;

/** The expression itself, then all that it is made of, in the order of the source. */
export function* partsOf(expr: Expr): Generator<Expr> {
  yield expr;
  for (const part of Object.values(expr)) yield* partsWithin(part);
}

function* partsWithin(part: unknown): Generator<Expr> {
  if (Array.isArray(part)) for (const inner of part) yield* partsWithin(inner);
  else if (typeof part === 'object' && part !== null) {
    if ('kind' in part && 'at' in part) yield* partsOf(part as Expr);
    else if (!(part instanceof Uint8Array)) for (const inner of Object.values(part)) yield* partsWithin(inner);
  }
}

export interface CelProblem {
  /** Offset in the source, in UTF-16 units. */
  readonly at: number;
  readonly message: string;
}

/** What is wrong with an expression's text or types. */
export class CelSyntaxError extends Error {
  override readonly name = 'CelSyntaxError';
  readonly problems: readonly CelProblem[];

  constructor(source: string, problems: readonly CelProblem[]) {
    super(problems.map((problem) => describe(source, problem)).join('\n'));
    this.problems = problems;
  }
}

/** "ERROR: <input>:1:7: …", then the line, then a caret below the place. */
function describe(source: string, { at, message }: CelProblem): string {
  const before = source.slice(0, at).split('\n');
  const column = Array.from(before.at(-1)!).length;
  const line = source.split('\n')[before.length - 1] ?? '';
  return `ERROR: <input>:${before.length}:${column + 1}: ${message}\n | ${line}\n | ${'.'.repeat(column)}^`;
}
