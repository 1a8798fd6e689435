import assert from 'node:assert/strict';
import test from 'node:test';
import { VirtualClock } from '../base/virtual-clock.ts';
import type { Frozen } from '../api/meta.ts';
import type { Pod } from '../api/generated/core.v1.ts';
import { wakes } from './framework/cluster-event.ts';
import { unresolvable } from './framework/plugin.ts';
import { Profile } from './framework/profile.ts';
import { prioritySort } from './plugins/priority-sort.ts';
import { schedulingGates } from './plugins/scheduling-gates.ts';
import { SchedulingQueue } from './queue.ts';

function pod(name: string, spec: object = {}, status: object = {}): Frozen<Pod> {
  return {
    metadata: { name, namespace: 'ns', uid: name },
    spec: { containers: [], ...spec },
    status,
  } as unknown as Frozen<Pod>;
}

function setUp() {
  const clock = new VirtualClock();
  const profile = new Profile('p', [
    { plugin: prioritySort() },
    { plugin: schedulingGates() },
    { plugin: { name: 'Picky', wakesOn: [{ on: 'NodeAdd', helps: ({ name }) => name !== 'stubborn' }] } },
    { plugin: { name: 'Other', wakesOn: wakes('NodeTaint') } },
    { plugin: { name: 'Binder', bind: () => Promise.resolve(true) } },
  ]);
  let woken = 0;
  const queue = new SchedulingQueue({ clock, wake: () => void woken++ }, [profile]);
  const popName = () => queue.pop()?.info.name;
  const refuse = (plugin: string) => {
    const queued = queue.pop()!;
    queue.refused(queued, new Set([plugin]));
    return queued;
  };
  return { clock, profile, queue, popName, refuse, woken: () => woken };
}

test('by priority, then by age', () => {
  const { profile, queue, popName } = setUp();
  queue.add(pod('old'), profile);
  queue.add(pod('high', { priority: 5 }), profile);
  queue.add(pod('new'), profile);
  assert.deepEqual([popName(), popName(), popName(), popName()], ['high', 'old', 'new', undefined]);
});

test('a refused pod is woken only by what its plugin wants, and not when the hint says no', () => {
  const { profile, queue, refuse, popName } = setUp();
  queue.add(pod('stubborn'), profile);
  refuse('Picky');
  queue.add(pod('a'), profile);
  refuse('Picky');
  queue.happened({ name: 'NodeTaint' });
  assert.equal(queue.unschedulable, 2);
  queue.happened({ name: 'NodeAdd' });
  assert.equal(queue.unschedulable, 1);
  assert.equal(popName(), 'a', 'an idle scheduler does not make it wait');
});

test('back-off doubles up to ten seconds and holds behind ready pods', async () => {
  const { clock, profile, queue, refuse } = setUp();
  queue.add(pod('a'), profile);
  for (const waitMs of [1000, 2000, 4000, 8000, 10_000, 10_000]) {
    refuse('Other');
    queue.happened({ name: 'NodeTaint' });
    assert.equal(queue.sizes.backoff, 1);
    assert.equal(queue.nextReadyInMs(), waitMs);
    await clock.advance(waitMs);
  }
});

test('an error waits out its back-off even when nothing else is to be done', async () => {
  const { clock, profile, queue, popName } = setUp();
  queue.add(pod('a'), profile);
  queue.failed(queue.pop()!);
  assert.equal(popName(), undefined);
  await clock.advance(1000);
  assert.equal(popName(), 'a');
});

test('gated pods wait for their gates, whatever happens', () => {
  const { profile, queue, popName } = setUp();
  const gated = pod('a', { schedulingGates: [{ name: 'g' }] });
  queue.add(gated, profile);
  queue.happened({ name: 'NodeAdd' });
  assert.equal(queue.gated, 1);
  queue.update(pod('a'), gated);
  assert.equal(popName(), 'a');
});

test('a gate that depends on other objects is looked at again when its plugin hears of them', () => {
  const { profile: base, clock } = setUp();
  let open = false;
  const gate = {
    name: 'Gate',
    wakesOn: wakes('ResourceClaim'),
    preEnqueue: () => (open ? undefined : unresolvable('shut')),
  };
  const profile = new Profile('p', [...base.plugins.map((plugin) => ({ plugin })), { plugin: gate }]);
  const queue = new SchedulingQueue({ clock, wake: () => undefined }, [profile]);
  queue.add(pod('a'), profile);
  queue.happened({ name: 'ResourceClaim' });
  assert.equal(queue.gated, 1);
  open = true;
  queue.happened({ name: 'NodeAdd' });
  assert.equal(queue.gated, 1);
  queue.happened({ name: 'ResourceClaim' });
  assert.equal(queue.pop()?.info.name, 'a');
});

test('own status updates do not wake a refused pod, nor does time below five minutes', async () => {
  const { clock, profile, queue, refuse, popName } = setUp();
  queue.add(pod('a'), profile);
  refuse('Other');
  queue.update(pod('a', {}, { conditions: [{ type: 'PodScheduled', status: 'False' }] }), pod('a'));
  assert.equal(queue.unschedulable, 1);
  await clock.advance(299_000);
  queue.flushUnschedulable();
  assert.equal(popName(), undefined);
  await clock.advance(2000);
  queue.flushUnschedulable();
  assert.equal(popName(), 'a');
});

test('a removed pod does not come back, and a busy queue does not grow', () => {
  const { profile, queue, popName } = setUp();
  queue.add(pod('a'), profile);
  for (let i = 0; i < 20_000; i++) queue.update(pod('a', { priority: i }), pod('a'));
  queue.remove('a');
  assert.equal(popName(), undefined);
  assert.deepEqual(queue.sizes, { active: 0, backoff: 0 });
});
