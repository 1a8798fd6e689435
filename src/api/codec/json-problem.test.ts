// Owns the tests of what is said of wrong JSON: a table recorded of a 1.37 server, and agreement with JSON.parse.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { jsonProblem } from './json-problem.ts';

const bytes = (text: string): Uint8Array => Buffer.from(text);

test('the first wrong character, and where it stands', () => {
  const end = 'unexpected end of JSON input';
  const cases: [string, string | undefined][] = [
    ['', end],
    [' ', end],
    ['{', end],
    ['[', end],
    ['{"a":"b', end],
    ['{"a"', end],
    ['{"a":', end],
    ['{"a":1', end],
    ['[1,', end],
    ['{"a":}', "invalid character '}' looking for beginning of value"],
    ['{"a" 1}', "invalid character '1' after object key"],
    ['{"a":1,}', "invalid character '}' looking for beginning of object key string"],
    ["{'a':1}", "invalid character '\\'' looking for beginning of object key string"],
    ['[1,]', "invalid character ']' looking for beginning of value"],
    ['[1 2]', "invalid character '2' after array element"],
    ['nul', "invalid character ' ' in literal null (expecting 'l')"],
    ['tru}', "invalid character '}' in literal true (expecting 'e')"],
    ['{"a":"\\x"}', "invalid character 'x' in string escape code"],
    ['{"a":"\\u12g4"}', "invalid character 'g' in \\u hexadecimal character escape"],
    ['"a\nb"', "invalid character '\\n' in string literal"],
    ['{"a":01}', "invalid character '1' after object key:value pair"],
    ['{"a":1.}', "invalid character '}' after decimal point in numeric literal"],
    ['{"a":1e}', "invalid character '}' in exponent of numeric literal"],
    ['{"a":-}', "invalid character '}' in numeric literal"],
    ['1.', "invalid character ' ' after decimal point in numeric literal"],
    ['{} x', "invalid character 'x' after top-level value"],
    ['{}{}', "invalid character '{' after top-level value"],
    ['\ufeff{}', "invalid character 'ï' looking for beginning of value"],
    ['\u001f', "invalid character '\\x1f' looking for beginning of value"],
    ['hello', "invalid character 'h' looking for beginning of value"],
    ['{}', undefined],
    [' [ ] ', undefined],
    ['{"a":[{},[],{"b":[1,2.5e-3,-0]}],"c":null}', undefined],
    ['-1', undefined],
  ];
  for (const [text, problem] of cases) assert.equal(jsonProblem(bytes(text)), problem, text);
});

test('there is a problem exactly where JSON.parse finds one', () => {
  const parses = (text: string): boolean => {
    try {
      JSON.parse(text);
      return true;
    } catch {
      return false;
    }
  };
  const pieces = fc.constantFrom(
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    '"a"',
    '1',
    '-2.5e3',
    'true',
    'null',
    ' ',
    '"',
    '\\',
    'x',
  );
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 12 }), (parts) => {
      const text = parts.join('');
      assert.equal(jsonProblem(bytes(text)) === undefined, parses(text), text);
    }),
    { numRuns: 3000 },
  );
  fc.assert(fc.property(fc.json(), (text) => assert.equal(jsonProblem(bytes(text)), undefined, text)));
});
