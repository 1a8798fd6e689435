// Owns the tests of written YAML: byte for byte as measured with kube-apiserver, and read again as the same value.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseYaml } from './yaml.ts';
import { parseExact } from './json-parse.ts';
import { writeJson } from './json-write.ts';
import { writeYaml } from './yaml-write.ts';

/** Texts as upstream writes them behind "k: ". */
const texts: readonly (readonly [string, string])[] = [
  ['', '""'],
  ['a b', 'a b'],
  ['yes', '"yes"'],
  ['No', '"No"'],
  ['tRue', 'tRue'],
  ['1', '"1"'],
  ['-.5', '"-.5"'],
  ['1_000', '"1_000"'],
  ['0x1f', '"0x1f"'],
  ['0o17', '"0o17"'],
  ['12:30:45', '"12:30:45"'],
  ['2026-01-01', '"2026-01-01"'],
  ['2026-01-01T00:00:00Z', '"2026-01-01T00:00:00Z"'],
  ['1.2.3', '1.2.3'],
  ['1Mi', '1Mi'],
  ['fe80::1', 'fe80::1'],
  ['<<', '<<'],
  ['- a', "'- a'"],
  ['-a', '-a'],
  ['#a', "'#a'"],
  ['a #b', "'a #b'"],
  ['a: b', "'a: b'"],
  ["it's", "it's"],
  ["'a'", "'''a'''"],
  [' a', "' a'"],
  ['{{ x }}', "'{{ x }}'"],
  ['a\tb', '"a\\tb"'],
  ['\u0007', '"\\a"'],
  ['日本', '日本'],
  ['😀', '"\\U0001F600"'],
  ['a\nb', '|-\n  a\n  b'],
  ['a\nb\n', '|\n  a\n  b'],
  ['a\n\n', '|+\n  a\n'],
  [' a\nb', '|2-\n   a\n  b'],
  ['a\tb\nc', '"a\\tb\\nc"'],
  ['a \nb', '"a \\nb"'],
  [`${'word '.repeat(20)}end`, `${'word '.repeat(16).trim()}\n  ${'word '.repeat(4)}end`],
];

for (const [text, want] of texts)
  test(`text ${JSON.stringify(text.slice(0, 30))}`, () => {
    assert.equal(writeYaml({ k: text }), `k: ${want}\n`);
    assert.deepEqual(parseYaml(writeYaml({ k: text })).value, { k: text });
  });

test('shapes', () => {
  const table: readonly (readonly [unknown, string])[] = [
    [{}, '{}\n'],
    [{ a: {}, b: [], c: null, d: true, e: 1.5, f: 1e21 }, 'a: {}\nb: []\nc: null\nd: true\ne: 1.5\nf: 1e+21\n'],
    [{ a: { b: { c: 1 } } }, 'a:\n  b:\n    c: 1\n'],
    [{ a: [1, { b: 2, c: [3] }, [4, [5]], {}, []] }, 'a:\n- 1\n- b: 2\n  c:\n  - 3\n- - 4\n  - - 5\n- {}\n- []\n'],
    [{ a10: 1, a2: 2, ab: 3, B: 4, 'a.b': 5 }, 'B: 4\na.b: 5\na2: 2\na10: 1\nab: 3\n'],
    [{ 'a b': { yes: 1 } }, 'a b:\n  "yes": 1\n'],
    [{ a: undefined, b: 1 }, 'b: 1\n'],
    [{ a: ['x\ny'] }, 'a:\n- |-\n  x\n  y\n'],
    [{ a: { ['k'.repeat(130)]: 1 } }, `a:\n  ? ${'k'.repeat(130)}\n  : 1\n`],
  ];
  for (const [value, want] of table) assert.equal(writeYaml(value), want);
});

test('whatever is written is read as the same', () => {
  const odd = fc.constantFrom(
    ...texts.map(([text]) => text),
    '\u0085',
    '\u2028',
    '\ufeff',
    '\r',
    ' ',
    ':',
    '-',
    '?',
    'é',
    "'",
    '"',
    '\\',
    '\0',
    '~',
    '=',
  );
  const text = fc.oneof(
    fc.string(),
    odd,
    fc
      .array(fc.oneof(odd, fc.string({ maxLength: 3 })), { maxLength: 30 })
      .map((all) => all.join(' ').replace(/[\ud800-\udfff]/g, '')),
  );
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      text,
      fc.integer(),
      fc
        .double({ noNaN: true, noDefaultInfinity: true })
        .map((number) => (Object.is(number, -0) ? 0 : (parseExact(JSON.stringify(number)) as number))),
      fc.boolean(),
      fc.constant(null),
      fc.array(tie('value'), { maxLength: 4 }),
      fc.dictionary(
        text.filter((key) => key !== '__proto__' && key !== '<<'),
        tie('value'),
        { maxKeys: 4 },
      ),
    ),
  }));
  fc.assert(
    fc.property(value, (inner) => {
      const object = { inner };
      assert.deepEqual(parseYaml(writeYaml(object)).value, parseExact(writeJson(object)));
    }),
    { numRuns: 1500 },
  );
});
