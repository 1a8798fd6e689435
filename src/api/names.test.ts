// Proves the forms of names and labels.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as names from './names.ts';

const table: [names.TextValidator, string[], string[]][] = [
  [names.isDNS1123Label, ['a', 'a-b', '0'], ['', '-a', 'a-', 'A', 'a.b', 'a'.repeat(64), 'a\n']],
  [names.isDNS1123Subdomain, ['a.b', 'a'], ['', '.a', 'a..b', 'a_b', 'a'.repeat(254)]],
  [names.isDNS1035Label, ['a', 'a1'], ['1a', '', 'a.b']],
  [names.isQualifiedName, ['a', 'A.b_c', 'example.com/x'], ['', '/a', 'a/', 'a/b/c', 'UP.com/x', '-a', 'a'.repeat(64)]],
  [names.isLabelValue, ['', 'a', 'A_b.c'], ['-', 'a b', 'a'.repeat(64)]],
  [names.isEnvVarName, ['A', 'a.b', '1x'], ['', 'a=b', 'é']],
  [names.isConfigMapKey, ['a', '.a', 'A_b'], ['', '.', '..', '..a', 'a/b']],
  [names.isPortName, ['http', 'a-1'], ['', 'A', '1', 'a--b', '-a', 'a'.repeat(16)]],
  [names.isWildcardDNS1123Subdomain, ['*.a.b'], ['*', 'a.b', '*.', '*a.b']],
  [names.isPathSegmentName, ['a:b', 'A'], ['.', '..', 'a/b', 'a%b']],
  [names.isFullyQualifiedName, ['a.b.c'], ['', 'a.b']],
  [names.isDomainPrefixedPath, ['acme.io/foo'], ['acme.io', 'acme.io/', '/x']],
  [names.isPercent, ['1%'], ['1', '%', '1.5%']],
];

test('accepts and refuses', () => {
  for (const [validate, good, bad] of table) {
    for (const value of good) assert.deepEqual(validate(value), [], value);
    for (const value of bad) assert.notDeepEqual(validate(value), [], `${validate.name} ${value}`);
  }
});

test('texts that clients show', () => {
  assert.deepEqual(names.isDNS1123Subdomain('A'), [
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
  ]);
  assert.deepEqual(names.isDNS1123Label('A'), [
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
  ]);
});

test('a prefix may end with a dash', () => {
  assert.deepEqual(names.nameIsDNSSubdomain('web-', true), []);
  assert.notDeepEqual(names.nameIsDNSSubdomain('web-', false), []);
});
