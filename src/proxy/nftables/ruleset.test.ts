import assert from 'node:assert/strict';
import test from 'node:test';
import type { PortPlan, ServicePlan } from '../service-plan.ts';
import { nftablesProxier } from './proxier.ts';
import { addPort, changeInput, emptyRuleset, fullInput } from './ruleset.ts';

const options = {
  family: 'IPv4',
  clusterCIDR: '10.1.0.0/16',
  masqueradeAll: false,
  masqueradeBit: 14,
  localhostNodePorts: true,
  nodePortAddresses: [],
} as const;

function port(more: Partial<PortPlan> = {}): PortPlan {
  const clusterBackends = more.clusterBackends ?? [{ ip: '10.1.0.1', port: 8080, local: true }];
  return {
    id: 'ns/svc:http',
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

function rules(...ports: PortPlan[]) {
  const set = emptyRuleset();
  for (const each of ports) addPort(set, each, options);
  return set;
}

test('lookups by map, refusals by map', () => {
  const set = rules(port({ nodePort: 30080 }), port({ id: 'ns/none', clusterIP: '10.96.0.10', clusterBackends: [] }));
  assert.match(set.maps['service-ips'].get('10.96.0.9 . tcp . 80')!, /^goto service-\w+-ns\/svc\/http\/tcp$/);
  assert.match(set.maps['service-nodeports'].get('tcp . 30080')!, /^goto external-/);
  assert.equal(set.maps['no-endpoint-services'].get('10.96.0.10 . tcp . 80'), 'goto reject-chain');
  const local = rules(port({ nodePort: 30080, externalLocal: true, internalLocal: true }));
  assert.equal(local.maps['no-endpoint-services'].get('10.96.0.9 . tcp . 80'), 'drop');
  assert.equal(local.maps['no-endpoint-nodeports'].get('tcp . 30080'), 'drop');
});

test('a change names only what differs, in an order that the kernel takes', () => {
  const before = rules(port({ affinitySeconds: 60 }));
  assert.equal(changeInput(before, rules(port({ affinitySeconds: 60 })), options), '');
  const input = changeInput(before, rules(), options);
  const order = ['delete element', 'flush chain', 'delete chain', 'delete set'].map((words) => input.indexOf(words));
  assert.deepEqual(
    order.toSorted((a, b) => a - b),
    order,
  );
  assert.ok(order.every((at) => at >= 0));
  assert.match(
    fullInput(before, options),
    /^add table ip kube-proxy\ndelete table ip kube-proxy\nadd table ip kube-proxy\n/,
  );
});

test('two services at one external address: the whole is written, and the one that stays is served', async () => {
  const inputs: string[] = [];
  const proxier = nftablesProxier(options, (_command, _args, { input = '' } = {}) => {
    inputs.push(input);
    return Promise.resolve({ code: 0, stdout: '', stderr: '' });
  });
  const plan = (name: string, clusterIP: string): ServicePlan => ({
    namespace: 'ns',
    name,
    healthCheckNodePort: 0,
    localReady: 0,
    ports: [port({ id: `ns/${name}`, clusterIP, externalIPs: ['1.2.3.4'] })],
  });
  const plans = new Map([['ns/a', plan('a', '10.96.0.1')]]);
  await proxier.sync(plans, new Set(['ns/a']));
  plans.set('ns/b', plan('b', '10.96.0.2'));
  await proxier.sync(plans, new Set(['ns/b']));
  assert.match(inputs[1]!, /^add table/);
  plans.delete('ns/b');
  await proxier.sync(plans, new Set(['ns/b']));
  assert.match(inputs[2]!, /^add table/);
  assert.match(inputs[2]!, /1\.2\.3\.4 \. tcp \. 80 : goto external-\w+-ns\/a\/tcp/);
  plans.set('ns/c', { ...plan('c', '10.96.0.3'), ports: [port({ id: 'ns/c', clusterIP: '10.96.0.3' })] });
  await proxier.sync(plans, new Set(['ns/c']));
  assert.doesNotMatch(inputs[3]!, /add table|ns\/a/);
});
