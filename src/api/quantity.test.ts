// Proves quantity texts and arithmetic, with tables for upstream's forms and properties for the rest.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import * as q from './quantity.ts';

test('canonical forms', () => {
  const forms: [string, string][] = [
    ['1.5Gi', '1536Mi'],
    ['0.5k', '500'],
    ['1e-1', '100e-3'],
    ['1e3', '1e3'],
    ['12e2', '1200'],
    ['1000', '1k'],
    ['1500', '1500'],
    ['0', '0'],
    ['0.000', '0'],
    ['-0', '0'],
    ['100m', '100m'],
    ['1000m', '1'],
    ['0.1', '100m'],
    ['1024', '1024'],
    ['1024Ki', '1Mi'],
    ['512Ki', '512Ki'],
    ['0.5Ki', '512'],
    ['0.5Mi', '512Ki'],
    ['1.1Ki', '1126400m'],
    ['1n', '1n'],
    ['0.1n', '1n'],
    ['-0.1n', '-1n'],
    ['1E', '1E'],
    ['10E', '10E'],
    ['10Ei', '9223372036854775807'],
    ['10E', '10E'],
    ['1e100', '10e99'],
    ['12345678901234567890123', '12345678901234567890123'],
    ['9999999999999999999k', '9999999999999999999k'],
    ['1e-1000000', '1e-9'],
    ['+5', '5'],
    ['5.', '5'],
    ['.5', '500m'],
    ['007', '7'],
  ];
  for (const [text, canonical] of forms) assert.equal(q.canonicalQuantity(text), canonical, text);
});

test('what is no quantity is refused', () => {
  for (const text of ['', ' ', '1 ', 'a', '1.2.3', '--1', '1kk', '1Kib', '1e', '1ki', '1e1.5'])
    assert.throws(() => q.parseQuantity(text), q.QuantityError, text);
  for (const text of ['.', '-', '+', 'Ki', 'k', 'e5']) assert.equal(q.parseQuantity(text).nano, 0n, text);
  assert.equal(q.tryParseQuantity('x'), undefined);
  assert.equal(q.formatQuantity(q.parseQuantity('9'.repeat(1_000_000))), '9223372036854775807');
});

test('values round away from zero', () => {
  assert.equal(q.value('1500m'), 2);
  assert.equal(q.valueOf(q.parseQuantity('-1500m')), -2);
  assert.equal(q.milliValue('1'), 1000);
  assert.equal(q.milliValue('1u'), 1);
  assert.equal(q.value('1Gi'), 1024 ** 3);
});

const suffix = fc.constantFrom('', 'n', 'u', 'm', 'k', 'M', 'G', 'T', 'Ki', 'Mi', 'Gi', 'Ti', 'e2', 'e-3', 'E1');
const text = fc
  .tuple(fc.constantFrom('', '-', '+'), fc.nat(1_000_000), fc.option(fc.nat(9999)), suffix)
  .map(([sign, whole, fraction, end]) => `${sign}${whole}${fraction === null ? '' : `.${fraction}`}${end}`);

test('canonical texts stand still and keep the amount', () => {
  fc.assert(
    fc.property(text, (written) => {
      const parsed = q.parseQuantity(written);
      const canonical = q.canonicalQuantity(written);
      assert.equal(q.parseQuantity(canonical).nano, parsed.nano);
      assert.equal(q.formatQuantity(q.parseQuantity(canonical)), canonical);
      assert.equal(q.canonicalQuantity(canonical), canonical);
    }),
  );
});

test('arithmetic is exact; quick values agree with exact ones', () => {
  fc.assert(
    fc.property(text, text, (left, right) => {
      const [a, b] = [q.parseQuantity(left), q.parseQuantity(right)];
      assert.equal(q.compareQuantities(q.subtractQuantities(q.addQuantities(a, b), b), a), 0);
      assert.equal(q.compareQuantities(a, b), 0 - q.compareQuantities(b, a));
      assert.equal(q.value(left), q.valueOf(a));
      assert.equal(q.milliValue(left), q.milliValueOf(a));
    }),
  );
});
