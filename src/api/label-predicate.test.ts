import assert from 'node:assert/strict';
import test from 'node:test';
import type { LabelSelector } from './generated/meta.v1.ts';
import { labelPredicate, labelSelectorText, mapPredicate } from './selector.ts';

const table: { selector: LabelSelector | undefined; labels: Record<string, string>; matches: boolean }[] = [
  { selector: undefined, labels: { a: '1' }, matches: false },
  { selector: {}, labels: {}, matches: true },
  { selector: { matchLabels: { a: '1' } }, labels: { a: '1', b: '2' }, matches: true },
  { selector: { matchLabels: { a: '1' } }, labels: { a: '2' }, matches: false },
  { selector: { matchLabels: { constructor: '1' } }, labels: {}, matches: false },
  {
    selector: { matchExpressions: [{ key: 'a', operator: 'In', values: ['1', '2'] }] },
    labels: { a: '2' },
    matches: true,
  },
  { selector: { matchExpressions: [{ key: 'a', operator: 'In', values: ['1'] }] }, labels: {}, matches: false },
  { selector: { matchExpressions: [{ key: 'a', operator: 'NotIn', values: ['1'] }] }, labels: {}, matches: true },
  {
    selector: { matchExpressions: [{ key: 'a', operator: 'NotIn', values: ['1'] }] },
    labels: { a: '1' },
    matches: false,
  },
  { selector: { matchExpressions: [{ key: 'a', operator: 'Exists' }] }, labels: { a: '' }, matches: true },
  { selector: { matchExpressions: [{ key: 'toString', operator: 'Exists' }] }, labels: {}, matches: false },
  { selector: { matchExpressions: [{ key: 'a', operator: 'DoesNotExist' }] }, labels: { a: '' }, matches: false },
];

for (const [at, { selector, labels, matches }] of table.entries())
  test(`selector ${at}: ${JSON.stringify(selector)} on ${JSON.stringify(labels)}`, () => {
    assert.equal(labelPredicate(selector)(labels), matches);
  });

test('an unknown operator is refused', () => {
  assert.throws(() => labelPredicate({ matchExpressions: [{ key: 'a', operator: 'Like' }] }), /not a valid label/);
});

test('an empty map selects nothing', () => {
  assert.equal(mapPredicate({})({ a: '1' }), false);
  assert.equal(mapPredicate({ a: '1' })({ a: '1' }), true);
});

test('the text form is sorted by key', () => {
  const text = labelSelectorText({
    matchLabels: { tier: 'x', app: 'web' },
    matchExpressions: [
      { key: 'old', operator: 'DoesNotExist' },
      { key: 'b', operator: 'In', values: ['2', '1'] },
    ],
  });
  assert.equal(text, 'app=web,b in (1,2),!old,tier=x');
});
