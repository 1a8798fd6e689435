import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CelSyntaxError } from './ast.ts';
import { environment } from './environment.ts';
import { CelBudgetExceeded } from './evaluate.ts';
import { dyn, int, list, string } from './types.ts';
import { CelError, fromJson } from './values.ts';

const json = {
  name: 'web',
  replicas: 3,
  labels: { app: 'web', tier: 'front' },
  ports: [
    { name: 'http', port: 80 },
    { name: 'https', port: 443 },
  ],
  empty: [],
  nothing: null,
};

const env = environment({ variables: { self: dyn, names: list(string), count: int } });
const variables = new Map<string, unknown>([
  ['self', json],
  ['names', ['a', 'b']],
  ['count', 3],
]);

function evaluate(source: string, budget?: number) {
  return env
    .compile(source)
    .evaluate((name) => (variables.has(name) ? fromJson(variables.get(name)) : undefined), budget);
}

/** Each is true. */
const truths = [
  '1 + 2 * 3 == 7',
  '7 / 2 == 3 && -7 / 2 == -3 && 7 % -4 == 3',
  'dyn(1) == 1.0 && dyn(1u) == 1 && 2 > 1.5',
  '"a" + "b" == "ab" && "b" > "a"',
  'self.replicas == 3 && self.name.startsWith("w")',
  'has(self.labels.app) && !has(self.labels.none)',
  '"app" in self.labels && !("x" in self.labels)',
  'self.ports.all(p, p.port > 0) && self.ports.exists(p, p.name == "https")',
  'self.ports.exists_one(p, p.port == 80)',
  'self.ports.map(p, p.name) == ["http", "https"]',
  'self.ports.filter(p, p.port > 100).size() == 1',
  'self.ports.map(p, p.port > 100, p.port) == [443]',
  'self.labels.all(k, v, k.size() > 0 && v != "")',
  'self.ports.transformMap(i, p, p.port)[1] == 443',
  'self.ports.transformList(i, p, i) == [0, 1]',
  'self.labels.transformMapEntry(k, v, {v: k}) == {"web": "app", "front": "tier"}',
  'self.?labels.?app.orValue("none") == "web" && self.?a.?b.orValue("none") == "none"',
  'self.labels[?"app"].hasValue() && !names[?5].hasValue()',
  'optional.of(1).optMap(x, x + 1).value() == 2',
  '[1, ?optional.none(), ?optional.of(2)] == [1, 2]',
  '{"a": 1}.a == 1 && {1: "x"}[1] == "x"',
  'false && (1 / 0 == 1) == false || true',
  '(1 / 0 == 1) || true',
  '!((1 / 0 == 1) && false)',
  'true ? true : (1 / 0 == 1)',
  'size("é𝒳") == 2 && "é𝒳z".charAt(1) == "𝒳" && "é𝒳z".indexOf("z") == 2',
  '"a,b,c".split(",") == ["a", "b", "c"] && "a,b,c".split(",", 2) == ["a", "b,c"]',
  '["a", "b"].join("-") == "a-b" && "abc".substring(1, 2) == "b" && "aXa".lowerAscii() == "axa"',
  '"foo bar".replace("o", "0", 1) == "f0o bar" && " x ".trim() == "x"',
  '"abc".matches("^a.c$") && matches("xay", "a")',
  '"abc 123".find("[0-9]+") == "123" && "a1b2".findAll("[0-9]") == ["1", "2"]',
  '"%s is %d, %.2f, %x, %b".format(["a", 5, 1.5, 255, 5]) == "a is 5, 1.50, ff, 101"',
  '"%e".format([1234.5]) == "1.234500×10⁰³"',
  '[1, 3, 2].max() == 3 && [1, 2].sum() == 3 && ["a", "b"].isSorted() && [1, 2, 1].lastIndexOf(1) == 2',
  'sets.contains([1, 2], [2]) && sets.equivalent([1, 2, 2], [2, 1]) && !sets.intersects([1], [2])',
  'duration("1h30m") == duration("90m") && duration("1m").getSeconds() == 60',
  'timestamp("2020-02-29T12:30:00Z").getMonth() == 1 && timestamp("2020-01-01T00:00:00Z").getFullYear("-08:00") == 2019',
  'timestamp("2021-01-01T00:00:00Z") - timestamp("2020-12-31T00:00:00Z") == duration("24h")',
  'string(timestamp("2020-01-01T00:00:00.5Z")) == "2020-01-01T00:00:00.5Z" && string(duration("1.5s")) == "1.5s"',
  'int("42") == 42 && double("1.5") == 1.5 && string(1.0) == "1" && bool("true") && uint(3) == 3u',
  'type(1) == int && type("") == string && type([]) == list && type(self.nothing) == null_type',
  'quantity("1.5Gi").isGreaterThan(quantity("1G")) && quantity("2").asInteger() == 2 && isQuantity("1Mi") && !isQuantity("x")',
  'quantity("1").add(quantity("500m")) == quantity("1500m") && sign(quantity("-1")) == -1',
  'ip("10.0.0.1").family() == 4 && isIP("::1") && ip("::1").isLoopback() && !isIP("1.2.3")',
  'cidr("10.0.0.0/8").containsIP("10.1.2.3") && cidr("10.1.2.3/8").masked() == cidr("10.0.0.0/8") && cidr("10.0.0.0/8").prefixLength() == 8',
  'cidr("fd00::/8").containsCIDR("fd00:1::/32") && string(cidr("10.0.0.0/8").ip()) == "10.0.0.0"',
  'url("https://u@h:8080/a%20b?x=1&x=2").getHost() == "h:8080" && url("https://h/p?x=1&x=2").getQuery()["x"] == ["1", "2"]',
  'isURL("https://example.com") && !isURL("example.com") && url("https://[::1]:80/").getHostname() == "::1"',
  'format.dns1123Label().validate("a-b") == optional.none() && format.named("uuid").value().validate("x").hasValue()',
  'semver("1.2.3").isLessThan(semver("1.10.0")) && isSemver("1.2.3-a.1") && !isSemver("1.2") && semver("v1.2", true).minor() == 2',
  'b"abc" == bytes("abc") && size(b"abc") == 3',
  '"\\u00e9" == "é" && r"\\n" == "\\\\n"',
  'dyn(1) == dyn(1.0) && dyn("1") != dyn(1)',
  'names + ["c"] == ["a", "b", "c"] && "a" in names',
  '-count == -3 && count - 5 < 0',
];

for (const source of truths) {
  test(source, () => assert.equal(evaluate(source).value, true));
}

for (const [source, says] of [
  ['1 / 0', /division by zero/],
  ['9223372036854775807 + 1', /integer overflow/],
  ['self.none', /no such key: none/],
  ['names[9]', /index out of bounds/],
  ['int("x" + "")', /type conversion error/],
  ['timestamp("so" + "on")', /type conversion error/],
  ['quantity("x")', /quantities must match/],
  ['optional.none().value()', /dereference/],
  ['"abc".substring(2, 1)', /invalid substring range/],
  ['dyn(1) + dyn("a")', /no such overload/],
  ['{"a": count, "a": 2}', /repeated key/],
  ['"(".matches("(" + "")', /error parsing regexp/],
] as const) {
  test(`${source} fails`, () =>
    assert.throws(
      () => evaluate(source),
      (error) => error instanceof CelError && says.test(error.message),
    ));
}

for (const [source, says] of [
  ['1 + "a"', /found no matching overload for '_\+_' applied to '\(int, string\)'/],
  ['nobody', /undeclared reference to 'nobody'/],
  ['names.nothing()', /undeclared reference to 'nothing'/],
  ['count.startsWith("a")', /found no matching overload for 'startsWith' applied to 'int\.\(string\)'/],
  ['count ? 1 : 2', /found no matching overload/],
  ['count.all(x, true)', /cannot be range of a comprehension/],
  ['count == 1.0', /found no matching overload/],
  ['names.map(x, y)', /undeclared reference to 'y'/],
] as const) {
  test(`${source} does not compile`, () =>
    assert.throws(
      () => env.compile(source),
      (error) => error instanceof CelSyntaxError && says.test(error.message),
    ));
}

test('work beyond the budget is cut off, and no operator absorbs that', () => {
  const source = 'true || [1, 2, 3].all(x, [1, 2, 3].all(y, [1, 2, 3].all(z, x + y + z > 0)))';
  assert.equal(evaluate(source, 20).value, true);
  assert.throws(() => evaluate(source.replace('true || ', ''), 20), CelBudgetExceeded);
});
