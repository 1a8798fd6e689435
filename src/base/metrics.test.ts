// Owns the tests of metrics' text form: order, numbers, summaries.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { metricsRegistry, numberText } from './metrics.ts';
import { RecentValues } from './recent-values.ts';

test('numbers are written as Prometheus’ own library writes them', () => {
  const cases: [number, string][] = [
    [0, '0'],
    [-1, '-1'],
    [999_999, '999999'],
    [1e6, '1e+06'],
    [1_048_576, '1.048576e+06'],
    [1234567.5, '1.2345675e+06'],
    [1e-4, '0.0001'],
    [1e-5, '1e-05'],
    [9.999999999999999e-6, '9.999999999999999e-06'],
    [1e21, '1e+21'],
    [1e100, '1e+100'],
    [0.1, '0.1'],
    [-2.5e-7, '-2.5e-07'],
    [Number.POSITIVE_INFINITY, '+Inf'],
    [Number.NEGATIVE_INFINITY, '-Inf'],
    [Number.NaN, 'NaN'],
  ];
  for (const [value, text] of cases) assert.equal(numberText(value), text);
});

test('families and their children come in the order of their names', () => {
  const registry = metricsRegistry();
  registry.collected('c', 'gauge', 'Help.', ['l'], () => [
    [['2'], 2],
    [['1'], 1],
  ]);
  registry.counters('b', 'Help.', ['l']).of('y').inc();
  registry.counters('b', 'Help.', ['l']).of('x').inc(2e6);
  registry.histogram('a', 'Help.', [1e6]).observe(3, 5);
  assert.deepEqual(
    registry
      .text()
      .split('\n')
      .filter((line) => !line.startsWith('# HELP')),
    [
      '# TYPE a histogram',
      'a_bucket{le="1e+06"} 5',
      'a_bucket{le="+Inf"} 5',
      'a_sum 15',
      'a_count 5',
      '# TYPE b counter',
      'b{l="x"} 2e+06',
      'b{l="y"} 1',
      '# TYPE c gauge',
      'c{l="1"} 1',
      'c{l="2"} 2',
      '',
    ],
  );
});

test('summaries tell shares of what is recent, and count all', () => {
  let now = 0;
  const registry = metricsRegistry();
  const summary = registry
    .summaries('s', 'Help.', ['l'], { quantiles: [0.5, 0.9], maxAgeMs: 1000, now: () => now })
    .of('x');
  for (let at = 1; at <= 100; at++) summary.observe(at);
  const told = (share: string): number => Number(new RegExp(`quantile="${share}"} (\\S+)`).exec(registry.text())![1]);
  assert.ok(Math.abs(told('0.5') - 50) < 1, String(told('0.5')));
  assert.ok(Math.abs(told('0.9') - 90) < 1.5, String(told('0.9')));
  now = 5000;
  assert.ok(Number.isNaN(told('0.5')));
  assert.match(registry.text(), /s_sum\{l="x"\} 5050\ns_count\{l="x"\} 100\n/);
});

test('recent values are within a hundredth of the exact ones, whatever their size', () => {
  const values = new RecentValues(1000, () => 0);
  const all = Array.from({ length: 1000 }, (_, at) => 1e-6 * 1.02 ** at);
  for (const value of all) values.add(value);
  for (const share of [0.01, 0.5, 0.99]) {
    const [found] = values.quantiles([share]);
    const exact = all[Math.ceil(share * all.length) - 1]!;
    assert.ok(Math.abs(found! - exact) / exact < 0.0101, `${share}: ${found} ${exact}`);
  }
  assert.deepEqual(new RecentValues(1000, () => 0).quantiles([0.5]), [Number.NaN]);
});
