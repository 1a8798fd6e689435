// Proves label and field selectors: parsing, matching, texts, refusals.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  FieldSelectorError,
  fieldSelectorText,
  matchesFields,
  parseFieldSelector,
  requiredValue,
} from './field-selector.ts';
import * as selector from './selector.ts';

test('text selectors: canonical form', () => {
  const forms: [string, string][] = [
    ['', ''],
    ['a=b', 'a=b'],
    ['b = c , a', 'a,b=c'],
    ['a==b', 'a==b'],
    ['a!=b', 'a!=b'],
    ['!a', '!a'],
    ['a in (z,y)', 'a in (y,z)'],
    ['a notin (x)', 'a notin (x)'],
    ['a in (,x)', 'a in (,x)'],
    ['a=', 'a='],
    ['a>5,b<6', 'a>5,b<6'],
    ['example.com/a,in in (in)', 'example.com/a,in in (in)'],
  ];
  for (const [text, canonical] of forms)
    assert.equal(selector.selectorText(selector.parseSelectorText(text)), canonical, text);
});

test('malformed text selectors are refused', () => {
  for (const text of [
    'a b',
    'a in',
    'a in (',
    'a in ()x',
    '=a',
    'a=b,',
    ',a',
    'a=b c',
    '!',
    'a>x',
    '-a=b',
    'a=-',
    'a in (b',
    '(a)',
  ])
    assert.throws(() => selector.parseSelectorText(text), selector.SelectorError, text);
});

test('matching', () => {
  const labels = { app: 'web', n: '7' };
  const cases: [string, boolean][] = [
    ['app=web', true],
    ['app!=web', false],
    ['x!=y', true],
    ['app in (a,web)', true],
    ['app notin (web)', false],
    ['x notin (web)', true],
    ['app', true],
    ['!app', false],
    ['!x', true],
    ['n>6', true],
    ['n<7', false],
    ['app>1', false],
    ['__proto__', false],
  ];
  for (const [text, wanted] of cases)
    if (text === '__proto__') assert.throws(() => selector.parseSelectorText(text));
    else assert.equal(selector.matches(selector.parseSelectorText(text), labels), wanted, text);
  assert.equal(selector.matches(selector.parseLabelSelector(undefined), labels), false);
  assert.equal(selector.matches(selector.parseLabelSelector({}), undefined), true);
  assert.equal(selector.matches(selector.parseLabelSelector({ matchLabels: { app: 'web' } }), labels), true);
});

test('the object form is validated', () => {
  const errors = selector.validateLabelSelector(
    {
      matchLabels: { '-': 'a' },
      matchExpressions: [
        { key: 'a', operator: 'In' },
        { key: 'b', operator: 'Near' },
      ],
    },
    'spec.selector',
  );
  assert.deepEqual(
    errors.map(({ reason, field }) => [reason, field]),
    [
      ['FieldValueInvalid', 'spec.selector.matchLabels'],
      ['FieldValueRequired', 'spec.selector.matchExpressions[0].values'],
      ['FieldValueInvalid', 'spec.selector.matchExpressions[1].operator'],
    ],
  );
});

test('any text parses or is refused, and canonical text stands still', () => {
  const word = fc.constantFrom('a', 'b', 'in', 'notin', '(', ')', ',', '=', '!=', '==', '!', '>', '1', ' ', '<');
  fc.assert(
    fc.property(fc.array(word, { maxLength: 12 }), (words) => {
      try {
        const text = selector.selectorText(selector.parseSelectorText(words.join('')));
        assert.equal(selector.selectorText(selector.parseSelectorText(text)), text);
      } catch (error) {
        assert.ok(error instanceof selector.SelectorError, String(error));
      }
    }),
    { numRuns: 2000 },
  );
});

test('field selectors', () => {
  const parsed = parseFieldSelector('metadata.name=a\\,b,status.phase!=Running,spec.x==y');
  assert.equal(fieldSelectorText(parsed), 'metadata.name=a\\,b,status.phase!=Running,spec.x=y');
  assert.equal(requiredValue(parsed, 'metadata.name'), 'a,b');
  const values = new Map([
    ['metadata.name', 'a,b'],
    ['status.phase', 'Failed'],
    ['spec.x', 'y'],
  ]);
  assert.equal(
    matchesFields(parsed, (field) => values.get(field) ?? ''),
    true,
  );
  values.set('status.phase', 'Running');
  assert.equal(
    matchesFields(parsed, (field) => values.get(field) ?? ''),
    false,
  );
  for (const bad of ['a', 'a=b=c', 'a=\\x', 'a=\\'])
    assert.throws(() => parseFieldSelector(bad), FieldSelectorError, bad);
});
