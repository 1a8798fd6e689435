// Proves what repair makes, removes and complains of, without a server.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Service } from '../../api/generated/core.v1.ts';
import type { IPAddress } from '../../api/generated/networking.v1.ts';
import type { Frozen } from '../../api/meta.ts';
import { ipRange } from './ip-range.ts';
import { addressObject, planRepair } from './plan-repair.ts';

const service = (name: string, ip: string, ...nodePorts: number[]): Frozen<Service> =>
  ({
    metadata: { namespace: 'a', name },
    spec: { clusterIPs: [ip], ports: nodePorts.map((nodePort) => ({ port: 80, nodePort })) },
  }) as unknown as Frozen<Service>;

const address = (ip: string, name: string, madeMs = 0): Frozen<IPAddress> => {
  const made = addressObject(ip, 'a', name) as { metadata: object };
  return {
    ...made,
    metadata: { ...made.metadata, creationTimestamp: new Date(madeMs).toISOString() },
  } as unknown as Frozen<IPAddress>;
};

const plan = (services: Frozen<Service>[], addresses: Frozen<IPAddress>[], nowMs = 3_600_000) => {
  const { create, remove, complaints } = planRepair({
    services,
    addresses,
    ranges: [ipRange('10.0.0.0/24')],
    nodePorts: { from: 30_000, to: 32_767 },
    nowMs,
  });
  return {
    create: create.map(({ ip, service: { metadata } }) => `${ip} ${metadata.name}`),
    remove: [...remove],
    complaints: complaints.map((found) => `${found.service.metadata.name} ${found.reason}`),
  };
};

const nothing = { create: [], remove: [], complaints: [] };

test('what is right is left alone', () => {
  assert.deepEqual(plan([service('s', '10.0.0.1', 30_001)], [address('10.0.0.1', 's')]), nothing);
  assert.deepEqual(plan([service('s', 'None')], []), nothing);
});

test('a missing address is made anew', () => {
  assert.deepEqual(plan([service('s', '10.0.0.1')], []), { ...nothing, create: ['10.0.0.1 s'] });
});

test('an address of no service goes, but not at once', () => {
  assert.deepEqual(plan([], [address('10.0.0.1', 's')]), { ...nothing, remove: ['10.0.0.1'] });
  assert.deepEqual(plan([], [address('10.0.0.1', 's', 3_599_000)]), nothing);
});

test('an address that names another service is replaced', () => {
  const wrong = plan([service('s', '10.0.0.1')], [address('10.0.0.1', 'other')]);
  assert.deepEqual(wrong, { ...nothing, create: ['10.0.0.1 s'], remove: ['10.0.0.1'] });
});

test('addresses of others are not ours to remove', () => {
  const theirs = structuredClone(address('10.0.0.1', 's')) as unknown as { metadata: { labels: object } };
  theirs.metadata.labels = {};
  assert.deepEqual(plan([], [theirs as unknown as Frozen<IPAddress>]), nothing);
});

test('what cannot be mended is told', () => {
  const found = plan(
    [service('a', '10.0.0.1', 30_001, 5), service('b', '10.0.0.1', 30_001), service('c', '10.9.9.9')],
    [address('10.0.0.1', 'a'), address('10.9.9.9', 'c')],
  );
  assert.deepEqual(found, {
    ...nothing,
    complaints: ['a PortOutOfRange', 'b ClusterIPAlreadyAllocated', 'b PortAlreadyAllocated', 'c ClusterIPOutOfRange'],
  });
});
