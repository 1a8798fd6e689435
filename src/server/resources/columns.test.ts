// Proves how tables write durations, selectors and maps.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { humanDuration, mapText, selectorText } from './columns.ts';

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

test('durations lose detail as they grow', () => {
  const table: [number, string][] = [
    [-2 * second, '<invalid>'],
    [-second, '0s'],
    [0, '0s'],
    [119 * second, '119s'],
    [2 * minute, '2m'],
    [9 * minute + 59 * second, '9m59s'],
    [10 * minute + 59 * second, '10m'],
    [179 * minute, '179m'],
    [3 * hour, '3h'],
    [7 * hour + 59 * minute, '7h59m'],
    [47 * hour, '47h'],
    [2 * day, '2d'],
    [7 * day + 23 * hour, '7d23h'],
    [729 * day, '729d'],
    [730 * day, '2y'],
    [3 * 365 * day + 10 * day, '3y10d'],
    [9 * 365 * day, '9y'],
  ];
  for (const [ms, text] of table) assert.equal(humanDuration(ms), text);
});

test('selectors and maps', () => {
  assert.equal(selectorText(undefined), '<none>');
  assert.equal(selectorText({ matchLabels: { b: '1', a: '2' } }), 'a=2,b=1');
  assert.equal(mapText(undefined), '<none>');
  assert.equal(mapText({ a: '1' }), 'a=1');
});
