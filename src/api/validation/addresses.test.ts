import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addressWarnings, canonicalAddress, canonicalCidr, cidrWarnings, isStrictSubset } from './addresses.ts';
import { ipFamily } from './formats.ts';

test('addresses have one canonical form', () => {
  const forms = {
    '10.0.0.1': '10.0.0.1',
    '2001:DB8::0001': '2001:db8::1',
    '2001:db8:0:0:1:0:0:1': '2001:db8::1:0:0:1',
    '0:0:0:0:0:0:0:0': '::',
    '1:0:2:0:3:0:4:0': '1:0:2:0:3:0:4:0',
    'fe80::1%eth0': undefined,
    '10.0.0': undefined,
  };
  for (const [text, canonical] of Object.entries(forms)) assert.equal(canonicalAddress(text), canonical, text);
  assert.equal(canonicalCidr('2001:DB8::/32'), '2001:db8::/32');
  assert.equal(canonicalCidr('10.0.0.0'), undefined);
});

test('an address with a zone has no family: nothing counts its bits', () => {
  const families = { '10.0.0.1': 'IPv4', 'fd00::1': 'IPv6', 'fe80::1%eth0': undefined, '1': undefined };
  for (const [text, family] of Object.entries(families)) assert.equal(ipFamily(text), family, text);
});

test('subsets are smaller and of the same family', () => {
  const cases: readonly (readonly [inner: string, outer: string, is: boolean])[] = [
    ['10.1.0.0/16', '10.0.0.0/8', true],
    ['10.0.0.0/8', '10.0.0.0/8', false],
    ['11.0.0.0/16', '10.0.0.0/8', false],
    ['2001:db8:1::/48', '2001:db8::/32', true],
    ['::/0', '0.0.0.0/0', false],
  ];
  for (const [inner, outer, is] of cases) assert.equal(isStrictSubset(inner, outer), is, `${inner} in ${outer}`);
});

test('only valid forms that are not canonical are warned of', () => {
  assert.equal(addressWarnings('ip', '2001:db8::0:1').length, 1);
  assert.deepEqual(addressWarnings('ip', '2001:db8::1'), []);
  assert.deepEqual(addressWarnings('ip', 'nonsense'), []);
  assert.equal(cidrWarnings('cidr', '2001:DB8::/32').length, 1);
  assert.deepEqual(cidrWarnings('cidr', '10.0.0.0/8'), []);
});
