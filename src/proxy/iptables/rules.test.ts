import assert from 'node:assert/strict';
import test from 'node:test';
import type { PortPlan } from '../service-plan.ts';
import { backendChain, portChains } from './names.ts';
import { portRules } from './port-rules.ts';
import { buildTables, cleanupInput, parseSave, restoreInput } from './tables.ts';

const options = { family: 'IPv4', clusterCIDR: '', masqueradeAll: false } as const;
const tableOptions = { masqueradeBit: 14, localhostNodePorts: true, family: 'IPv4', nodePortAddresses: [] } as const;
const backend = (ip: string, local = false) => ({ ip, port: 8080, local });

function plan(more: Partial<PortPlan> = {}): PortPlan {
  const clusterBackends = more.clusterBackends ?? [backend('10.1.0.1'), backend('10.1.0.2')];
  return {
    id: 'ns1/svc1:p80',
    protocol: 'tcp',
    clusterIP: '10.96.0.9',
    port: 80,
    nodePort: 0,
    externalIPs: [],
    loadBalancerIPs: [],
    sourceRanges: [],
    affinitySeconds: 0,
    internalLocal: false,
    externalLocal: false,
    localBackends: [],
    anyBackends: clusterBackends.length > 0,
    ...more,
    clusterBackends,
  };
}

test("chains are named as kube-proxy's", () => {
  assert.equal(portChains('ns1/svc1:p80', 'tcp').service, 'KUBE-SVC-XPGD46QRK7WJZT7O');
  assert.equal(backendChain('ns1/svc1:p80', 'tcp', '10.180.0.1:80'), 'KUBE-SEP-SXIVWICOYRO3J4NJ');
});

test('a cluster IP spreads over its backends, each masqueraded towards itself', () => {
  const rules = portRules(plan(), options);
  assert.deepEqual(rules.natServices, [
    '-m comment --comment "ns1/svc1:p80 cluster IP" -m tcp -p tcp -d 10.96.0.9/32 --dport 80 -j KUBE-SVC-XPGD46QRK7WJZT7O',
  ]);
  const [first, second] = rules.chains.get('KUBE-SVC-XPGD46QRK7WJZT7O')!;
  assert.match(first!, /--probability 0\.5000000000 -j KUBE-SEP-/);
  assert.doesNotMatch(second!, /statistic/);
  const chain = backendChain('ns1/svc1:p80', 'tcp', '10.1.0.1:8080');
  assert.deepEqual(rules.chains.get(chain), [
    '-m comment --comment "ns1/svc1:p80" -s 10.1.0.1/32 -j KUBE-MARK-MASQ',
    '-m comment --comment "ns1/svc1:p80" -m tcp -p tcp -j DNAT --to-destination 10.1.0.1:8080',
  ]);
});

test('nobody serves: refused; nobody here serves: dropped', () => {
  const none = portRules(plan({ clusterBackends: [], nodePort: 30080 }), options);
  assert.match(none.filterServices[0]!, /has no endpoints" .* -j REJECT --reject-with tcp-reset$/);
  assert.match(none.filterExternalServices[0]!, /--dst-type LOCAL .* --dport 30080 -j REJECT --reject-with tcp-reset$/);
  assert.equal(none.chains.size, 0);
  const elsewhere = portRules(plan({ internalLocal: true, externalLocal: true, nodePort: 30080 }), options);
  assert.match(elsewhere.filterServices[0]!, /has no local endpoints" .* -j DROP$/);
  assert.match(elsewhere.filterExternalServices[0]!, /-j DROP$/);
  const external = elsewhere.chains.get(portChains('ns1/svc1:p80', 'tcp').external)!;
  assert.ok(external.every((rule) => !rule.includes('KUBE-SVL-')));
});

test('affinity, source ranges and the external chain', () => {
  const names = portChains('ns1/svc1:p80', 'tcp');
  const rules = portRules(
    plan({ affinitySeconds: 60, loadBalancerIPs: ['5.6.7.8'], sourceRanges: ['10.0.0.0/8'], nodePort: 30080 }),
    { ...options, clusterCIDR: '10.1.0.0/16' },
  );
  const service = rules.chains.get(names.service)!;
  assert.match(service[0]!, /! -s 10\.1\.0\.0\/16 -j KUBE-MARK-MASQ$/);
  assert.match(service[1]!, /-m recent --name KUBE-SEP-\w+ --rcheck --seconds 60 --reap -j KUBE-SEP-/);
  assert.match(rules.natServices[1]!, new RegExp(`-d 5.6.7.8/32 .* -j ${names.firewall}$`));
  assert.match(rules.chains.get(names.firewall)![0]!, new RegExp(`-s 10.0.0.0/8 -j ${names.external}$`));
  assert.match(rules.filterFirewall[0]!, /-j DROP$/);
  assert.deepEqual(rules.chains.get(names.external)!.at(-1), `-j ${names.service}`);
});

test('a sync writes only what differs and removes what is left over', () => {
  const one = portRules(plan(), options);
  const two = portRules(plan({ id: 'ns1/svc2', clusterIP: '10.96.0.10' }), options);
  const empty = buildTables([], [], tableOptions);
  const both = buildTables([one, two], [], tableOptions);
  assert.equal(restoreInput(both, buildTables([one, two], [], tableOptions)), '');
  const removal = restoreInput(both, buildTables([one], [], tableOptions));
  assert.match(removal, /^\*nat\n/);
  assert.doesNotMatch(removal, /filter|KUBE-SVC-XPGD46QRK7WJZT7O -|POSTROUTING/);
  assert.match(removal, new RegExp(`-X ${portChains('ns1/svc2', 'tcp').service}`));
  const present = parseSave(
    [
      '*nat',
      ':PREROUTING ACCEPT [0:0]',
      ':KUBE-SVC-OLD - [0:0]',
      ':KUBE-SERVICES - [0:0]',
      '-A PREROUTING -m comment --comment "kubernetes service portals" -j KUBE-SERVICES',
      '-A KUBE-SERVICES -j KUBE-SVC-OLD',
      'COMMIT',
    ].join('\n'),
  );
  const first = restoreInput(undefined, empty, present);
  assert.match(first, /-X KUBE-SVC-OLD/);
  assert.doesNotMatch(first, /-I PREROUTING/);
  assert.match(first, /-I POSTROUTING 1 /);
  const gone = cleanupInput(present);
  assert.match(gone, /-D PREROUTING .* -j KUBE-SERVICES\n-X KUBE-SVC-OLD\n-X KUBE-SERVICES\nCOMMIT/);
});
