// Proves the forms of names and labels.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as names from './names.ts';

const table: [name: string, names.TextValidator, string[], string[]][] = [
  ['dnsLabel', names.dnsLabel, ['a', 'a-b', '0'], ['', '-a', 'a-', 'A', 'a.b', 'a'.repeat(64), 'a\n']],
  ['dnsSubdomain', names.dnsSubdomain, ['a.b', 'a'], ['', '.a', 'a..b', 'a_b', 'a'.repeat(254)]],
  ['dns1035Label', names.dns1035Label, ['a', 'a1'], ['1a', '', 'a.b']],
  [
    'qualifiedName',
    names.qualifiedName,
    ['a', 'A.b_c', 'example.com/x'],
    ['', '/a', 'a/', 'a/b/c', 'UP.com/x', '-a', 'a'.repeat(64)],
  ],
  ['labelValue', names.labelValue, ['', 'a', 'A_b.c'], ['-', 'a b', 'a'.repeat(64)]],
  ['envName', names.envName, ['A', 'a.b', '1x'], ['', 'a=b', 'é']],
  ['dataKey', names.dataKey, ['a', '.a', 'A_b'], ['', '.', '..', '..a', 'a/b']],
  ['portName', names.portName, ['http', 'a-1'], ['', 'A', '1', 'a--b', '-a', 'a'.repeat(16)]],
  ['wildcardDnsSubdomain', names.wildcardDnsSubdomain, ['*.a.b'], ['*', 'a.b', '*.', '*a.b']],
  ['pathSegmentName', names.pathSegmentName, ['a:b', 'A'], ['.', '..', 'a/b', 'a%b']],
  ['fullyQualifiedName', names.fullyQualifiedName, ['a.b.c'], ['', 'a.b']],
  ['dnsSubdomainWithUnderscore', names.dnsSubdomainWithUnderscore, ['_a.b', 'a_b'], ['', '.a', '-a', 'A']],
  ['httpHeaderName', names.httpHeaderName, ['X-A'], ['', 'a b', 'a_b']],
];

test('accepts and refuses', () => {
  for (const [name, validate, good, bad] of table) {
    for (const value of good) assert.deepEqual(validate(value), [], value);
    for (const value of bad) assert.notDeepEqual(validate(value), [], `${name} ${value}`);
  }
});

test('texts that clients show', () => {
  assert.deepEqual(names.dnsSubdomain('A'), [
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
  ]);
  assert.deepEqual(names.dnsLabel('A'), [
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
  ]);
});

test('a prefix may end with a dash', () => {
  assert.deepEqual(names.subdomainName('web-', true), []);
  // Upstream looks at neither the dash nor the character before it.
  for (const prefix of ['A-', 'web_-', 'é-']) assert.deepEqual(names.subdomainName(prefix, true), [], prefix);
  for (const prefix of ['-', 'A', 'Ab-', 'a--b_']) assert.notDeepEqual(names.subdomainName(prefix, true), [], prefix);
  assert.notDeepEqual(names.subdomainName('web-', false), []);
});
