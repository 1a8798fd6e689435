// Proves which families services get, on clusters of one family and of two, and what is refused.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ServiceSpec } from '../../api/generated/core.v1.ts';
import type { Frozen } from '../../api/meta.ts';
import { assignFamilies, type Family } from './ip-families.ts';

interface Case {
  readonly name: string;
  readonly spec: Partial<ServiceSpec>;
  readonly prev?: Partial<ServiceSpec>;
  readonly families?: readonly Family[];
  /** "policy families" or the fields that are wrong. */
  readonly want: string;
}

const two = ['IPv4', 'IPv6'] as const;
const selector = { app: 'x' };

const cases: readonly Case[] = [
  { name: 'nothing said', spec: { selector }, want: 'SingleStack IPv4' },
  {
    name: 'the primary family is the first configured',
    spec: { selector },
    families: ['IPv6'],
    want: 'SingleStack IPv6',
  },
  {
    name: 'an address says its family',
    spec: { selector, clusterIP: 'fd00::1', clusterIPs: ['fd00::1'] },
    families: two,
    want: 'SingleStack IPv6',
  },
  {
    name: 'an address of a family that is not there',
    spec: { selector, clusterIP: 'fd00::1', clusterIPs: ['fd00::1'] },
    want: 'spec.clusterIPs[0]',
  },
  { name: 'a family that is not there', spec: { selector, ipFamilies: ['IPv6'] }, want: 'spec.ipFamilies[0]' },
  {
    name: 'two wanted, one there',
    spec: { selector, ipFamilyPolicy: 'RequireDualStack' },
    want: 'spec.ipFamilyPolicy',
  },
  {
    name: 'two preferred, one there',
    spec: { selector, ipFamilyPolicy: 'PreferDualStack' },
    want: 'PreferDualStack IPv4',
  },
  {
    name: 'two preferred, two there',
    spec: { selector, ipFamilyPolicy: 'PreferDualStack' },
    families: two,
    want: 'PreferDualStack IPv4 IPv6',
  },
  {
    name: 'two preferred, the second first',
    spec: { selector, ipFamilyPolicy: 'PreferDualStack', ipFamilies: ['IPv6'] },
    families: two,
    want: 'PreferDualStack IPv6 IPv4',
  },
  {
    name: 'two families of a single stack',
    spec: { selector, ipFamilies: ['IPv4', 'IPv6'] },
    families: two,
    want: 'spec.ipFamilyPolicy',
  },
  {
    name: 'headless without a selector has both',
    spec: { clusterIP: 'None', clusterIPs: ['None'] },
    want: 'RequireDualStack IPv4 IPv6',
  },
  {
    name: 'headless with a selector',
    spec: { selector, clusterIP: 'None', clusterIPs: ['None'] },
    want: 'SingleStack IPv4',
  },
  { name: 'no address at all', spec: { selector, clusterIP: 'x', clusterIPs: ['x'] }, want: 'spec.clusterIPs[0]' },
  { name: 'external names have none', spec: { type: 'ExternalName' }, want: 'undefined ' },
  {
    name: 'going back to one',
    spec: {
      selector,
      ipFamilyPolicy: 'SingleStack',
      clusterIP: '10.0.0.1',
      clusterIPs: ['10.0.0.1', 'fd00::1'],
      ipFamilies: ['IPv4', 'IPv6'],
    },
    prev: {
      ipFamilyPolicy: 'RequireDualStack',
      clusterIP: '10.0.0.1',
      clusterIPs: ['10.0.0.1', 'fd00::1'],
      ipFamilies: ['IPv4', 'IPv6'],
    },
    families: two,
    want: 'SingleStack IPv4',
  },
  {
    name: 'giving up the second without saying so',
    spec: { selector, clusterIP: '10.0.0.1', clusterIPs: ['10.0.0.1'], ipFamilies: ['IPv4'] },
    prev: {
      ipFamilyPolicy: 'RequireDualStack',
      clusterIP: '10.0.0.1',
      clusterIPs: ['10.0.0.1', 'fd00::1'],
      ipFamilies: ['IPv4', 'IPv6'],
    },
    families: two,
    want: 'spec.ipFamilyPolicy spec.ipFamilyPolicy',
  },
];

for (const { name, spec, prev, families = two.slice(0, 1), want } of cases)
  test(name, () => {
    const next = { type: 'ClusterIP', ...structuredClone(spec) } as ServiceSpec;
    const before = prev && ({ type: 'ClusterIP', ...prev } as unknown as Frozen<ServiceSpec>);
    const wrong = assignFamilies(next, before, families);
    const got =
      wrong.length > 0
        ? wrong.map(({ field }) => field).join(' ')
        : [String(next.ipFamilyPolicy), ...(next.ipFamilies ?? [])].join(' ');
    assert.equal(got.trim(), want.trim());
  });
