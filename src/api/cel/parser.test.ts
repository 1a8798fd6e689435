import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CelSyntaxError, type Expr } from './ast.ts';
import { parse } from './parser.ts';

/** A tree as text: operators and calls as name(args). */
function show(expr: Expr): string {
  switch (expr.kind) {
    case 'literal':
      return expr.literal.type === 'string'
        ? JSON.stringify(expr.literal.value)
        : `${String(expr.literal.value)}${expr.literal.type === 'uint' ? 'u' : ''}`;
    case 'ident':
      return expr.name;
    case 'select':
      return `${expr.isTest ? 'has ' : ''}${show(expr.operand)}${expr.isOptional ? '.?' : '.'}${expr.field}`;
    case 'call':
      return `${expr.target ? `${show(expr.target)}.` : ''}${expr.name}(${expr.args.map(show).join(', ')})`;
    case 'list':
      return `[${expr.items.map(({ value, isOptional }) => (isOptional ? '?' : '') + show(value)).join(', ')}]`;
    case 'map':
      return `{${expr.entries.map(({ key, value, isOptional }) => `${isOptional ? '?' : ''}${show(key)}: ${show(value)}`).join(', ')}}`;
    case 'struct':
      return `${expr.typeName}{${expr.fields.map(({ name, value }) => `${name}: ${show(value)}`).join(', ')}}`;
    case 'comprehension':
      return `loop(${expr.variables.join(', ')} in ${show(expr.range)}; ${show(expr.initial)}; ${show(expr.condition)}; ${show(expr.step)}; ${show(expr.result)})`;
    case 'let':
      return `let(${expr.variable} = ${show(expr.value)}; ${show(expr.body)})`;
  }
}

for (const [source, tree] of [
  ['1 + 2 * 3', '_+_(1, _*_(2, 3))'],
  ['a || b && !c', '_||_(a, _&&_(b, !_(c)))'],
  ['a ? b : c ? d : e', '_?_:_(a, b, _?_:_(c, d, e))'],
  ['-1 - -x', '_-_(-1, -_(x))'],
  ['-9223372036854775808', '-9223372036854775808'],
  ['0x1F + 3u', '_+_(31, 3u)'],
  ['1e3 == 1000.0', '_==_(1000, 1000)'],
  ['self.spec.if', 'self.spec.if'],
  ['self.?a[?0].orValue("x")', '_[?_](self.?a, 0).orValue("x")'],
  ['\'a\\n\\u00e9\' + r\'\\n\' + """q"r"""', '_+_(_+_("a\\né", "\\\\n"), "q\\"r")'],
  ['has(self.a.b)', 'has self.a.b'],
  ['x in [1, ?y,]', '@in(x, [1, ?y])'],
  ['{"a": 1, ?"b": o}', '{"a": 1, ?"b": o}'],
  ['Object.spec{replicas: 3}', 'Object.spec{replicas: 3}'],
  ['l.all(x, x > 0)', 'loop(x in l; true; @not_strictly_false(@result); _&&_(@result, _>_(x, 0)); @result)'],
  ['l.map(x, x > 0, x)', 'loop(x in l; []; true; _?_:_(_>_(x, 0), _+_(@result, [x]), @result); @result)'],
  [
    'm.exists(k, v, v == k)',
    'loop(k, v in m; false; @not_strictly_false(!_(@result)); _||_(@result, _==_(v, k)); @result)',
  ],
  ['o.optMap(x, x + 1)', '_?_:_(o.hasValue(), optional.of(let(x = o.value(); _+_(x, 1))), optional.none())'],
  ['a // comment\n + b', '_+_(a, b)'],
  ['size(x).size()', 'size(x).size()'],
] as const) {
  test(`parses ${source}`, () => assert.equal(show(parse(source)), tree));
}

for (const [source, says] of [
  ['', /Syntax error: mismatched input '<EOF>'/],
  ['1 +', /mismatched input '<EOF>'/],
  ['a b', /mismatched input 'b'/],
  ['f(a,)', /mismatched input '\)'/],
  ['"open', /token recognition error/],
  ['"\\q"', /token recognition error/],
  ['9223372036854775808', /invalid int literal/],
  ['if', /reserved identifier/],
  ['has(a)', /invalid argument to has/],
  ['l.all(a.b, true)', /argument must be a simple name/],
  ['l.all(a, a, true)', /duplicate variable name/],
  ['('.repeat(10_000), /recursion limit/],
  [`a${'[0]'.repeat(1000)}`, /recursion limit/],
  ['!'.repeat(10_000), /recursion limit/],
  ['x'.repeat(100_001), /size exceeds limit/],
] as const) {
  test(`refuses ${source.slice(0, 20)}`, () => {
    assert.throws(
      () => parse(source),
      (error) => error instanceof CelSyntaxError && says.test(error.message),
    );
  });
}
