// Spreading, affinity and preemption, through the whole scheduler.
import assert from 'node:assert/strict';
import test from 'node:test';
import { namespaces, podDisruptionBudgets, services } from '../api/generated/resources.ts';
import { inWorld, type World } from './scenario.suite.ts';

const zone = (name: string) => ({ labels: { 'topology.kubernetes.io/zone': name } });
const app = (name: string) => ({ labelSelector: { matchLabels: { app: name } } });

async function add(world: World, names: string, make: (name: string) => Parameters<World['pod']>): Promise<string> {
  for (const name of names.split(' ')) {
    await world.pod(...make(name));
    await world.settle();
  }
  return world.placed();
}

test('hard spreading keeps the skew and counts a node without the label out', () =>
  inWorld(async (world) => {
    await world.node('a1', {}, zone('a'));
    await world.node('b1', {}, zone('b'));
    await world.node('bare');
    const spread = (more: object = {}) => ({
      labels: { app: 'x' },
      spec: {
        topologySpreadConstraints: [
          {
            maxSkew: 1,
            topologyKey: 'topology.kubernetes.io/zone',
            whenUnsatisfiable: 'DoNotSchedule',
            ...app('x'),
            ...more,
          },
        ],
      },
    });
    assert.equal(await add(world, 'p1 p2 p3', (name) => [name, {}, spread()]), 'p1=a1 p2=b1 p3=a1');
    await world.patch('nodes', 'b1', { spec: { unschedulable: true } });
    assert.match(await add(world, 'p4', (name) => [name, {}, spread()]), /p4=-/);
    assert.match(
      await world.why('p4'),
      /^0\/3 nodes are available: 1 node\(s\) didn't match pod topology spread constraints, 1 node\(s\) didn't match pod topology spread constraints \(missing required label\), 1 node\(s\) were unschedulable\./,
    );
    await world.remove('pods', 'p1');
    await world.settle(1000);
    assert.match(await world.placed(), /p4=a1/);
    assert.match(await add(world, 'p5', (name) => [name, {}, spread({ minDomains: 3 })]), /p5=-/);
  }));

test('soft spreading, own or by the service, evens hosts out', () =>
  inWorld(async (world) => {
    for (const name of ['n1', 'n2', 'n3']) await world.node(name, { cpu: '100', memory: '100Gi' });
    await world.pod(
      'load',
      { cpu: '10m' },
      { labels: { app: 'x' }, spec: { nodeSelector: { 'kubernetes.io/hostname': 'n1' } } },
    );
    await world.create(services, { metadata: { name: 's', namespace: 'default' }, spec: { selector: { app: 'x' } } });
    await world.settle();
    assert.equal(
      await add(world, 'p1 p2 p3', (name) => [name, {}, { labels: { app: 'x' } }]),
      'load=n1 p1=n2 p2=n3 p3=n1',
    );
  }));

const near = (kind: string, term: object) => ({
  affinity: {
    [kind]: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: 'kubernetes.io/hostname', ...term }] },
  },
});

test('affinity: the first of a group starts anywhere, others follow; anti-affinity works both ways', () =>
  inWorld(async (world) => {
    await world.node('n1');
    await world.node('n2');
    assert.equal(
      await add(world, 'p1 p2 p3', (name) => [name, {}, { labels: { app: 'x' }, spec: near('podAffinity', app('x')) }]),
      'p1=n1 p2=n1 p3=n1',
    );
    await add(world, 'lonely', (name) => [name, {}, { spec: near('podAffinity', app('nobody')) }]);
    assert.match(await world.why('lonely'), /^0\/2 nodes are available: 2 node\(s\) didn't match pod affinity rules\./);
    assert.match(
      await add(world, 'away', (name) => [name, {}, { labels: { app: 'y' }, spec: near('podAntiAffinity', app('x')) }]),
      /away=n2/,
    );
    await add(world, 'x4', (name) => [
      name,
      {},
      { labels: { app: 'x' }, spec: { nodeSelector: { 'kubernetes.io/hostname': 'n2' } } },
    ]);
    assert.match(
      await world.why('x4'),
      /1 node\(s\) didn't match Pod's node affinity\/selector, 1 node\(s\) didn't satisfy existing pods anti-affinity rules\./,
    );
    await world.pod(
      'nobody',
      {},
      { labels: { app: 'nobody' }, spec: { nodeSelector: { 'kubernetes.io/hostname': 'n2' } } },
    );
    await world.settle(1000);
    assert.match(await world.placed(), /lonely=n2/);
  }));

test('two affinity terms must be met by one pod, and namespaces are chosen by their labels', () =>
  inWorld(async (world) => {
    await world.node('n1');
    await world.create(namespaces, { metadata: { name: 'team', labels: { team: 'a' } } });
    await world.pod('l', {}, { labels: { app: 'x' } });
    await world.pod('m', {}, { labels: { tier: 'y' } });
    await world.pod('other', {}, { labels: { app: 'z' }, namespace: 'team' });
    const both = {
      affinity: {
        podAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [
            { topologyKey: 'kubernetes.io/hostname', ...app('x') },
            { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: { tier: 'y' } } },
          ],
        },
      },
    };
    assert.match(await add(world, 'both', (name) => [name, {}, { spec: both }]), /both=-/);
    const byLabel = near('podAffinity', { ...app('z'), namespaceSelector: { matchLabels: { team: 'a' } } });
    assert.match(await add(world, 'ns', (name) => [name, {}, { spec: byLabel }]), /ns=n1/);
    assert.match(await add(world, 'own', (name) => [name, {}, { spec: near('podAffinity', app('z')) }]), /own=-/);
  }));

test('preemption takes the least important pods, says so, and waits for them to leave', () =>
  inWorld(async (world) => {
    await world.node('n1', { cpu: '2' });
    await world.node('n2', { cpu: '2' });
    const onto = (node: string, priority: number) => ({
      spec: { priority, nodeSelector: { 'kubernetes.io/hostname': node } },
    });
    await world.pod('mid', { cpu: '2' }, onto('n1', 10));
    await world.pod('low', { cpu: '2' }, onto('n2', 1));
    await world.settle();
    await world.pod('high', { cpu: '1' }, { spec: { priority: 100 } });
    assert.equal(
      await world.why('high'),
      '0/2 nodes are available: 2 Insufficient cpu. preemption: found a potential placement for pod on node n2, preempting 1 victims',
    );
    assert.equal(await world.nominated('high'), 'n2');
    assert.equal(await world.placed(), 'high=- low=n2 mid=n1');
    assert.ok(world.events.some((event) => event.startsWith('Normal Preempted low: Preempted by pod ')));
    const deleted = world.api.requests.filter((request) => request.startsWith('DELETE'));
    assert.deepEqual(deleted, ['DELETE /api/v1/namespaces/default/pods/low']);
    // A less important pod does not take what was promised.
    await world.pod('cheeky', { cpu: '1' }, { spec: { priority: 50, preemptionPolicy: 'Never' } });
    assert.match(await world.why('cheeky'), /preemption: not eligible due to preemptionPolicy=Never\.$/);
    await world.remove('pods', 'low');
    await world.settle(1000);
    assert.equal(await world.placed(), 'cheeky=n2 high=n2 mid=n1');
  }));

test('preemption heeds budgets and helps nobody whom it cannot help', () =>
  inWorld(async (world) => {
    await world.node('n1', { cpu: '1' });
    await world.node('n2', { cpu: '1' });
    const onto = (node: string, labels: Record<string, string>, priority: number) => ({
      labels,
      spec: { priority, nodeSelector: { 'kubernetes.io/hostname': node } },
    });
    await world.create(podDisruptionBudgets, {
      metadata: { name: 'b', namespace: 'default' },
      spec: { selector: { matchLabels: { app: 'kept' } } },
      status: { disruptionsAllowed: 0 },
    });
    await world.pod('kept', { cpu: '1' }, onto('n1', { app: 'kept' }, 1));
    await world.pod('free', { cpu: '1' }, onto('n2', { app: 'free' }, 5));
    await world.settle();
    await world.pod('p', { cpu: '1' }, { spec: { priority: 10 } });
    assert.match(await world.why('p'), /potential placement for pod on node n2/);
    await world.pod('huge', { cpu: '5' }, { spec: { priority: 10 } });
    assert.match(
      await world.why('huge'),
      /preemption: 0\/2 nodes are available: 2 Preemption is not helpful for scheduling\.$/,
    );
    await world.pod('zero', { cpu: '1' }, { spec: { priority: 0 } });
    assert.match(
      await world.why('zero'),
      /preemption: 0\/2 nodes are available: 2 No preemption victims found for incoming pod\.$/,
    );
  }));
