// Proves the text forms of times, durations and int-or-string.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { intValue, percentOf, scaledValue } from './int-or-string.ts';
import * as time from './time.ts';

test('times are read in any zone and written in UTC', () => {
  assert.deepEqual(time.parseInstant('2026-11-30T23:11:38.25+02:00'), { seconds: 1796073098, nanos: 250_000_000 });
  assert.equal(time.formatTime(1796073098), '2026-11-30T21:11:38Z');
  assert.equal(time.formatMicroTime({ seconds: 0, nanos: 1999 }), '1970-01-01T00:00:00.000001Z');
  assert.equal(time.formatTime(time.parseInstant('0001-01-01T00:00:00Z')!.seconds), '0001-01-01T00:00:00Z');
  for (const bad of ['', '2026-02-30T00:00:00Z', '2026-01-01', '2026-01-01T25:00:00Z', '2026-01-01 00:00:00Z', 'x'])
    assert.equal(time.parseInstant(bad), undefined, bad);
  assert.equal(time.parseMicroTime('2026-01-01T00:00:00Z'), undefined);
  assert.equal(time.microTimeOf(1.5), '1970-01-01T00:00:00.001500Z');
});

test('durations', () => {
  const forms: [string, string][] = [
    ['0', '0s'],
    ['1h', '1h0m0s'],
    ['90m', '1h30m0s'],
    ['1.5s', '1.5s'],
    ['300ms', '300ms'],
    ['1500us', '1.5ms'],
    ['-2m', '-2m0s'],
    ['1ns', '1ns'],
  ];
  for (const [text, canonical] of forms) assert.equal(time.formatDuration(time.parseDuration(text)!), canonical);
  for (const bad of ['', '1', 's', '1x', '1h2', '-', '99999999999h'])
    assert.equal(time.parseDuration(bad), undefined, bad);
  fc.assert(
    fc.property(fc.bigInt({ min: -(2n ** 62n), max: 2n ** 62n }), (nanoseconds) => {
      assert.equal(time.parseDuration(time.formatDuration(nanoseconds)), nanoseconds);
    }),
  );
});

test('int-or-string', () => {
  assert.equal(percentOf('25%'), 25);
  assert.equal(percentOf(3), undefined);
  assert.equal(scaledValue('25%', 10, true), 3);
  assert.equal(scaledValue('25%', 10, false), 2);
  assert.equal(scaledValue(7, 10, false), 7);
  assert.equal(intValue('80'), 80);
  assert.throws(() => scaledValue('x', 1, true));
});
