// Owns the grammar of CEL (language definition, "Syntax"): text to tree, macros expanded on the way. Checks no types.
import { CelSyntaxError, type Expr } from './ast.ts';
import { type Token, tokenize } from './lexer.ts';
import { expandMacro } from './macros.ts';

/** As deep as parentheses, brackets and operators may nest. */
const maxDepth = 250;

/** Names that are kept for later and cannot be variables (they may be fields). */
const reserved: ReadonlySet<string> = new Set(
  'as break const continue else for function if import let loop package namespace return var void while'.split(' '),
);

const binaryLevels: readonly (readonly string[])[] = [
  ['||'],
  ['&&'],
  ['<', '<=', '>=', '>', '==', '!=', 'in'],
  ['+', '-'],
  ['*', '/', '%'],
];

/** Parses an expression. Throws CelSyntaxError. */
export function parse(source: string): Expr {
  return new Parser(source).whole();
}

class Parser {
  readonly #source: string;
  readonly #tokens: readonly Token[];
  #at = 0;
  #depth = 0;

  constructor(source: string) {
    this.#source = source;
    this.#tokens = tokenize(source);
  }

  whole(): Expr {
    const expr = this.#expression();
    if (this.#peek().type !== 'end') throw this.#unexpected();
    return expr;
  }

  #peek(): Token {
    return this.#tokens[this.#at]!;
  }

  #next(): Token {
    return this.#tokens[this.#at++]!;
  }

  /** Takes the symbol if it is next. */
  #take(text: string): boolean {
    const { type, text: found } = this.#peek();
    if (type !== 'symbol' || found !== text) return false;
    this.#at++;
    return true;
  }

  #expect(text: string): void {
    if (!this.#take(text)) throw this.#unexpected(text);
  }

  #unexpected(wanted?: string): CelSyntaxError {
    const token = this.#peek();
    const found = token.type === 'end' ? '<EOF>' : token.text;
    const message =
      wanted === undefined ? `mismatched input '${found}'` : `mismatched input '${found}' expecting '${wanted}'`;
    return this.#problem(token.at, `Syntax error: ${message}`);
  }

  #problem(at: number, message: string): CelSyntaxError {
    return new CelSyntaxError(this.#source, [{ at, message }]);
  }

  #nested<T>(read: () => T): T {
    if (++this.#depth > maxDepth)
      throw this.#problem(this.#peek().at, `expression recursion limit exceeded: ${maxDepth}`);
    try {
      return read();
    } finally {
      this.#depth--;
    }
  }

  #expression(): Expr {
    return this.#nested(() => {
      const condition = this.#binary(0);
      const { at } = this.#peek();
      if (!this.#take('?')) return condition;
      const yes = this.#binary(0);
      this.#expect(':');
      const no = this.#expression();
      return { kind: 'call', at, name: '_?_:_', args: [condition, yes, no] };
    });
  }

  #binary(level: number): Expr {
    const operators = binaryLevels[level];
    if (operators === undefined) return this.#unary();
    let left = this.#binary(level + 1);
    for (let count = 0; ; count++) {
      const { type, text, at } = this.#peek();
      if (type !== 'symbol' || !operators.includes(text)) return left;
      // A long chain makes a deep tree, which later passes walk recursively; && and || are balanced as they are associative.
      if (count > 10 * maxDepth) throw this.#problem(at, `expression recursion limit exceeded: ${maxDepth}`);
      this.#at++;
      const right = this.#binary(level + 1);
      const name = text === 'in' ? '@in' : `_${text}_`;
      left = { kind: 'call', at, name, args: [left, right] };
    }
  }

  #unary(): Expr {
    const { at, type, text } = this.#peek();
    if (type === 'symbol' && (text === '!' || text === '-')) {
      this.#at++;
      const following = this.#peek();
      if (
        text === '-' &&
        following.type === 'literal' &&
        (following.literal.type === 'int' || following.literal.type === 'double')
      ) {
        return this.#member(this.#negativeLiteral(at));
      }
      const operand = this.#nested(() => this.#unary());
      return { kind: 'call', at, name: text === '!' ? '!_' : '-_', args: [operand] };
    }
    return this.#member(this.#primary());
  }

  #negativeLiteral(at: number): Expr {
    const token = this.#next();
    if (token.type !== 'literal') throw this.#unexpected();
    const { literal } = token;
    if (literal.type === 'int') return { kind: 'literal', at, literal: { type: 'int', value: -literal.value } };
    return { kind: 'literal', at, literal: { type: 'double', value: -(literal.value as number) } };
  }

  #primary(): Expr {
    const token = this.#next();
    const { at } = token;
    if (token.type === 'literal') {
      const { literal } = token;
      if (literal.type === 'int' && literal.value >= 2n ** 63n) throw this.#problem(at, 'invalid int literal');
      return { kind: 'literal', at, literal };
    }
    if (token.type === 'ident') return this.#named(at, token.text);
    if (token.type === 'symbol') {
      switch (token.text) {
        case '(': {
          const inner = this.#expression();
          this.#expect(')');
          return inner;
        }
        case '[':
          return { kind: 'list', at, items: this.#list() };
        case '{':
          return { kind: 'map', at, entries: this.#mapEntries() };
        case '.':
          if (this.#peek().type === 'ident') return this.#named(at, `.${this.#next().text}`);
      }
    }
    this.#at--;
    throw this.#unexpected();
  }

  #named(at: number, name: string): Expr {
    if (reserved.has(name)) throw this.#problem(at, `Syntax error: reserved identifier: ${name}`);
    if (!this.#take('(')) return { kind: 'ident', at, name };
    const args = this.#arguments();
    return (
      expandMacro({ at, name, args }, (where, message) => this.#problem(where, message)) ?? {
        kind: 'call',
        at,
        name,
        args,
      }
    );
  }

  #member(start: Expr): Expr {
    let expr = start;
    for (let count = 0; ; count++) {
      if (count > maxDepth) throw this.#problem(this.#peek().at, `expression recursion limit exceeded: ${maxDepth}`);
      const { at } = this.#peek();
      if (this.#take('.')) expr = this.#dotted(expr, at);
      else if (this.#take('[')) {
        const isOptional = this.#take('?');
        const index = this.#expression();
        this.#expect(']');
        expr = { kind: 'call', at, name: isOptional ? '_[?_]' : '_[_]', args: [expr, index] };
      } else if (this.#peek().text === '{' && this.#peek().type === 'symbol') {
        const typeName = qualifiedName(expr);
        if (typeName === undefined) return expr;
        this.#at++;
        expr = { kind: 'struct', at, typeName, fields: this.#structFields() };
      } else return expr;
    }
  }

  #dotted(operand: Expr, at: number): Expr {
    const isOptional = this.#take('?');
    const field = this.#fieldName();
    if (isOptional || !this.#take('(')) return { kind: 'select', at, operand, field, isTest: false, isOptional };
    const args = this.#arguments();
    const call = { at, name: field, target: operand, args };
    return expandMacro(call, (where, message) => this.#problem(where, message)) ?? { kind: 'call', ...call };
  }

  #fieldName(): string {
    const token = this.#peek();
    if (token.type === 'ident') return this.#next().text;
    if (token.type === 'quoted') return this.#next().text.slice(1, -1);
    throw this.#unexpected('IDENTIFIER');
  }

  /** Items up to `close`, separated by commas; a comma may also stand at the end where `trailing` says so. */
  #separated<T>(close: string, trailing: boolean, read: () => T): T[] {
    const items: T[] = [];
    while (!this.#take(close)) {
      items.push(read());
      if (this.#take(close)) break;
      this.#expect(',');
      if (!trailing && this.#peek().text === close) throw this.#unexpected();
    }
    return items;
  }

  #arguments(): Expr[] {
    return this.#separated(')', false, () => this.#expression());
  }

  #list() {
    return this.#separated(']', true, () => {
      const isOptional = this.#take('?');
      return { isOptional, value: this.#expression() };
    });
  }

  #mapEntries() {
    return this.#separated('}', true, () => {
      const isOptional = this.#take('?');
      const key = this.#expression();
      this.#expect(':');
      return { isOptional, key, value: this.#expression() };
    });
  }

  #structFields() {
    return this.#separated('}', true, () => {
      const isOptional = this.#take('?');
      const name = this.#fieldName();
      this.#expect(':');
      return { isOptional, name, value: this.#expression() };
    });
  }
}

/** "a.b.c" of a chain of plain selections, which a struct's type is named by. */
export function qualifiedName(expr: Expr): string | undefined {
  if (expr.kind === 'ident') return expr.name;
  if (expr.kind !== 'select' || expr.isTest || expr.isOptional) return undefined;
  const operand = qualifiedName(expr.operand);
  return operand === undefined ? undefined : `${operand}.${expr.field}`;
}
