import assert from 'node:assert/strict';
import test from 'node:test';
import { statusError } from '../api/status-error.ts';
import { inWorld } from './scenario.suite.ts';

test('equal nodes are taken in turn, an unfitting pod says why and goes ahead when room appears', () =>
  inWorld(async (world) => {
    for (const name of ['n1', 'n2', 'n3']) await world.node(name, { cpu: '2', memory: '4Gi' });
    for (const name of ['a', 'b', 'c']) {
      await world.pod(name, { cpu: '1500m', memory: '1Gi' });
      await world.settle();
    }
    assert.equal(await world.placed(), 'a=n1 b=n2 c=n3');
    await world.pod('d', { cpu: '501m' });
    assert.equal(await world.placed(), 'a=n1 b=n2 c=n3 d=-');
    assert.match(await world.why('d'), /^0\/3 nodes are available: 3 Insufficient cpu\./);
    assert.ok(world.events.includes('Normal Scheduled a: Successfully assigned default/a to n1'));
    assert.match(world.events.at(-1)!, /^Warning FailedScheduling d: 0\/3 nodes/);
    await world.remove('pods', 'b');
    await world.settle(1000);
    assert.equal(await world.placed(), 'a=n1 c=n3 d=n2');
    const text = world.metrics.text();
    assert.match(text, /scheduler_schedule_attempts_total\{profile="default-scheduler",result="scheduled"\} 4/);
    assert.match(text, /scheduler_pods_unschedulable 0/);
  }));

test('no nodes, then one', () =>
  inWorld(async (world) => {
    await world.pod('a');
    assert.equal(await world.why('a'), 'no nodes available to schedule pods');
    await world.node('n1');
    await world.settle(1000);
    assert.equal(await world.placed(), 'a=n1');
  }));

test('each filter refuses with its own words', () =>
  inWorld(async (world) => {
    await world.node('cordoned', {}, { spec: { unschedulable: true } });
    await world.node('tainted', {}, { spec: { taints: [{ key: 'k', value: 'v', effect: 'NoSchedule' }] } });
    await world.node('full', { cpu: '1', pods: '0' });
    await world.node('small', { cpu: '1' });
    await world.pod('a', { cpu: '2', memory: '1Ki' });
    assert.match(
      await world.why('a'),
      /^0\/4 nodes are available: 1 Too many pods, 1 node\(s\) had untolerated taint\(s\), 1 node\(s\) were unschedulable, 2 Insufficient cpu, 2 Insufficient memory\./,
    );
    await world.pod('b', {}, { spec: { nodeSelector: { x: 'y' } } });
    assert.match(await world.why('b'), /2 node\(s\) didn't match Pod's node affinity\/selector/);
    await world.pod(
      'c',
      {},
      { spec: { tolerations: [{ operator: 'Exists' }], nodeSelector: { 'kubernetes.io/hostname': 'tainted' } } },
    );
    assert.match(await world.placed(), /c=tainted/);
  }));

test('host ports clash by address and protocol', () =>
  inWorld(async (world) => {
    await world.node('n1');
    const port = (hostPort: number, hostIP?: string, protocol?: string) => ({
      spec: { containers: [{ name: 'c', image: 'i', ports: [{ containerPort: 80, hostPort, hostIP, protocol }] }] },
    });
    await world.pod('a', {}, port(80, '10.0.0.1'));
    await world.pod('b', {}, port(80, '10.0.0.2'));
    await world.pod('c', {}, port(80, '10.0.0.1', 'UDP'));
    await world.pod('d', {}, port(80));
    assert.equal(await world.placed(), 'a=n1 b=n1 c=n1 d=-');
    assert.match(await world.why('d'), /1 node\(s\) didn't have free ports for the requested pod ports\./);
  }));

test('gates keep a pod out until the last is removed', () =>
  inWorld(async (world) => {
    await world.node('n1');
    await world.pod('a', {}, { spec: { schedulingGates: [{ name: 'g' }] } });
    assert.equal(await world.placed(), 'a=-');
    assert.match(world.metrics.text(), /scheduler_pods_gated 1/);
    await world.patch('pods', 'a', { spec: { schedulingGates: [{ $patch: 'delete', name: 'g' }] } });
    await world.patch('pods', 'a', { spec: { schedulingGates: null } });
    assert.equal(await world.placed(), 'a=n1');
  }));

test('the more important pod goes first', () =>
  inWorld(async (world) => {
    await world.node('n1', { cpu: '1' }, { spec: { unschedulable: true } });
    await world.pod('low', { cpu: '1' });
    await world.pod('high', { cpu: '1' }, { spec: { priority: 10, preemptionPolicy: 'Never' } });
    assert.equal(await world.placed(), 'high=- low=-');
    await world.patch('nodes', 'n1', { spec: { unschedulable: false } });
    await world.settle(1000);
    assert.equal(await world.placed(), 'high=n1 low=-');
  }));

test('a binding that fails is tried again after a back-off, one that conflicts is left alone', () =>
  inWorld(async (world) => {
    await world.node('n1');
    world.api.failOnce(({ path }) => path.endsWith('/binding'), statusError('ServiceUnavailable', 'down'));
    await world.pod('a');
    assert.equal(await world.placed(), 'a=-');
    assert.equal(await world.why('a'), 'down');
    await world.settle(1000);
    assert.equal(await world.placed(), 'a=n1');
    world.api.failOnce(({ path }) => path.endsWith('/binding'), statusError('Conflict', 'taken'));
    await world.pod('b');
    assert.equal(await world.why('b'), '');
  }));

test('pods of other schedulers are not touched, and ended pods hold no room', () =>
  inWorld(async (world) => {
    await world.node('n1', { cpu: '1' });
    await world.pod('other', {}, { spec: { schedulerName: 'mine' } });
    await world.pod('a', { cpu: '1' });
    assert.equal(await world.placed(), 'a=n1 other=-');
    await world.pod('b', { cpu: '1' });
    await world.settle();
    await world.patch('pods', 'a', { status: { phase: 'Succeeded' } }, 'status');
    await world.settle(1000);
    assert.equal(await world.placed(), 'a=n1 b=n1 other=-');
  }));

test('affinity outweighs a fuller node, a soft taint outweighs affinity', () =>
  inWorld(async (world) => {
    await world.node('n1', { cpu: '4', memory: '8Gi' }, { labels: { good: 'y' } });
    await world.node('n2', { cpu: '16', memory: '32Gi' });
    await world.node(
      'n3',
      { cpu: '16', memory: '32Gi' },
      { labels: { good: 'y' }, spec: { taints: [{ key: 't', effect: 'PreferNoSchedule' }] } },
    );
    await world.pod('w', { cpu: '3', memory: '6Gi' }, { spec: { nodeSelector: { 'kubernetes.io/hostname': 'n1' } } });
    const prefers = {
      affinity: {
        nodeAffinity: {
          preferredDuringSchedulingIgnoredDuringExecution: [
            { weight: 1, preference: { matchExpressions: [{ key: 'good', operator: 'Exists' }] } },
          ],
        },
      },
    };
    await world.settle();
    await world.pod('a', { cpu: '800m', memory: '1Gi' }, { spec: prefers });
    await world.settle();
    await world.pod('b', { cpu: '2', memory: '4Gi' }, { spec: prefers });
    await world.settle();
    await world.pod('c', { cpu: '2', memory: '4Gi' }, { spec: { tolerations: [{ key: 't', operator: 'Exists' }] } });
    assert.equal(await world.placed(), 'a=n1 b=n2 c=n3 w=n1');
  }));

test('profiles: weights, disabled plugins and arguments; what is unknown is refused at once', async () => {
  const mostAllocated = {
    profiles: [
      {
        schedulerName: 'packer',
        plugins: { score: { disabled: [{ name: '*' }], enabled: [{ name: 'NodeResourcesFit', weight: 5 }] } },
        pluginConfig: [{ name: 'NodeResourcesFit', args: { scoringStrategy: { type: 'MostAllocated' } } }],
      },
    ],
  };
  await inWorld(
    async (world) => {
      await world.node('n1');
      await world.node('n2');
      for (const name of ['a', 'b', 'c']) {
        await world.pod(name, { cpu: '1' }, { spec: { schedulerName: 'packer' } });
        await world.settle();
      }
      assert.equal(await world.placed(), 'a=n1 b=n1 c=n1');
    },
    { configuration: mostAllocated },
  );
  await assert.rejects(
    inWorld(async () => undefined, {
      configuration: { profiles: [{ plugins: { filter: { enabled: [{ name: 'Nope' }] } } }] },
    }),
    /profile default-scheduler: no plugin named Nope/,
  );
});
