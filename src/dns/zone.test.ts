import assert from 'node:assert/strict';
import test from 'node:test';
import type { Frozen } from '../api/meta.ts';
import type { Service } from '../api/generated/core.v1.ts';
import type { EndpointSlice } from '../api/generated/discovery.v1.ts';
import { type DnsRecord, recordTypes } from '../wire/dns-message.ts';
import { Zone, type ZoneSource } from './zone.ts';

function service(namespace: string, name: string, spec: object): Frozen<Service> {
  return { metadata: { namespace, name }, spec } as unknown as Frozen<Service>;
}

const http = { name: 'http', protocol: 'TCP', port: 80 };
const services = [
  service('default', 'web', {
    clusterIP: '10.96.0.1',
    clusterIPs: ['10.96.0.1', 'fd00::1'],
    ports: [http, { name: 'dns', protocol: 'UDP', port: 53 }],
  }),
  service('default', 'db', { clusterIP: 'None', ports: [http] }),
  service('default', 'nobody', { clusterIP: 'None', ports: [http] }),
  service('default', 'out', { type: 'ExternalName', externalName: 'example.com.' }),
];

const slices = [
  {
    metadata: { namespace: 'default', name: 'db-1', labels: { 'kubernetes.io/service-name': 'db' } },
    addressType: 'IPv4',
    endpoints: [
      { addresses: ['10.244.0.5'], hostname: 'db-0' },
      { addresses: ['10.244.0.6'] },
      { addresses: ['10.244.0.7'], conditions: { ready: false } },
    ],
    ports: [{ name: 'http', protocol: 'TCP', port: 8080 }],
  },
] as unknown as Frozen<EndpointSlice>[];

const source: ZoneSource = {
  service: (namespace, name) =>
    services.find(({ metadata }) => metadata.namespace === namespace && metadata.name === name),
  slices: (namespace, name) =>
    slices.filter(
      ({ metadata }) => metadata.namespace === namespace && metadata.labels!['kubernetes.io/service-name'] === name,
    ),
  hasNamespace: (name) => name === 'default' || name === 'bare',
  servicesByIP: (ip) => services.filter(({ spec }) => spec.clusterIPs?.includes(ip)),
  slicesByIP: (ip) => slices.filter(({ endpoints }) => endpoints.some(({ addresses }) => addresses.includes(ip))),
};
const zone = new Zone(source, { domain: 'cluster.local', ttlSeconds: 30, serverIP: '10.96.0.10' });

function text(record: DnsRecord): string {
  switch (record.type) {
    case 'A':
    case 'AAAA':
      return record.address;
    case 'SRV':
      return `${record.priority} ${record.weight} ${record.port} ${record.target}`;
    case 'TXT':
      return record.text;
    case 'SOA':
      return record.primary;
    default:
      return record.target;
  }
}

const cases: readonly (readonly [type: keyof typeof recordTypes, name: string, expected: string])[] = [
  ['A', 'web.default.svc.cluster.local', '10.96.0.1'],
  ['A', 'WEB.Default.svc.Cluster.Local', '10.96.0.1'],
  ['AAAA', 'web.default.svc.cluster.local', 'fd00::1'],
  ['TXT', 'web.default.svc.cluster.local', 'NOERROR'],
  ['SRV', '_http._tcp.web.default.svc.cluster.local', '0 100 80 web.default.svc.cluster.local'],
  ['SRV', '_http._udp.web.default.svc.cluster.local', 'NXDOMAIN'],
  [
    'SRV',
    'web.default.svc.cluster.local',
    '0 50 80 web.default.svc.cluster.local, 0 50 53 web.default.svc.cluster.local',
  ],
  ['A', 'db.default.svc.cluster.local', '10.244.0.5, 10.244.0.6'],
  ['A', 'db-0.db.default.svc.cluster.local', '10.244.0.5'],
  ['A', '10-244-0-6.db.default.svc.cluster.local', '10.244.0.6'],
  ['A', 'db-1.db.default.svc.cluster.local', 'NXDOMAIN'],
  ['AAAA', 'db-0.db.default.svc.cluster.local', 'NOERROR'],
  [
    'SRV',
    '_http._tcp.db.default.svc.cluster.local',
    '0 50 8080 db-0.db.default.svc.cluster.local, 0 50 8080 10-244-0-6.db.default.svc.cluster.local',
  ],
  ['A', 'nobody.default.svc.cluster.local', 'NXDOMAIN'],
  ['A', 'x.web.default.svc.cluster.local', 'NXDOMAIN'],
  ['A', 'out.default.svc.cluster.local', 'alias example.com: example.com'],
  ['CNAME', 'out.default.svc.cluster.local', 'example.com'],
  ['A', '1-2-3-4.default.pod.cluster.local', '1.2.3.4'],
  ['AAAA', 'fd00--7.default.pod.cluster.local', 'fd00::7'],
  ['A', '1-2-3-400.default.pod.cluster.local', 'NXDOMAIN'],
  ['A', '1-2-3-4.nowhere.pod.cluster.local', 'NXDOMAIN'],
  ['A', 'bare.svc.cluster.local', 'NOERROR'],
  ['A', 'nowhere.svc.cluster.local', 'NXDOMAIN'],
  ['A', 'svc.cluster.local', 'NOERROR'],
  ['A', 'cluster.local', 'NOERROR'],
  ['SOA', 'cluster.local', 'ns.dns.cluster.local'],
  ['NS', 'cluster.local', 'ns.dns.cluster.local'],
  ['A', 'ns.dns.cluster.local', '10.96.0.10'],
  ['TXT', 'dns-version.cluster.local', '1.1.0'],
  ['A', 'web.default.svc.cluster.local.default.svc.cluster.local', 'NXDOMAIN'],
  ['A', 'example.com', 'elsewhere'],
  ['A', 'notcluster.local', 'elsewhere'],
  ['PTR', '1.0.96.10.in-addr.arpa', 'web.default.svc.cluster.local'],
  ['PTR', '5.0.244.10.in-addr.arpa', 'db-0.db.default.svc.cluster.local'],
  ['PTR', '7.0.244.10.in-addr.arpa', 'elsewhere'],
  ['PTR', '1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.d.f.ip6.arpa', 'web.default.svc.cluster.local'],
  ['PTR', '8.8.8.8.in-addr.arpa', 'elsewhere'],
];

for (const [type, name, expected] of cases)
  test(`${type} ${name}`, () => {
    const found = zone.lookup({ name, type: recordTypes[type], class: 1 });
    const actual =
      found === 'elsewhere'
        ? found
        : 'alias' in found
          ? `alias ${found.alias}: ${found.answers.map(text).join(', ')}`
          : found.answers.map(text).join(', ') || found.code;
    assert.equal(actual, expected);
  });
