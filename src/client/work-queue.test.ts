import assert from 'node:assert/strict';
import test from 'node:test';
import { metricsRegistry } from '../base/metrics.ts';
import { VirtualClock } from '../base/virtual-clock.ts';
import { workQueue } from './work-queue.ts';

function setUp() {
  const clock = new VirtualClock();
  const metrics = metricsRegistry();
  return { clock, metrics, queue: workQueue({ name: 'test', clock, metrics }) };
}

test('a key waits once and is never given to two workers', async () => {
  const { queue } = setUp();
  queue.add('a');
  queue.add('a');
  queue.add('b');
  assert.equal(await queue.take(), 'a');
  queue.add('a');
  queue.add('a');
  assert.equal(await queue.take(), 'b');
  assert.equal(queue.size, 0);
  queue.done('a');
  assert.equal(await queue.take(), 'a');
  queue.done('a');
  assert.equal(queue.size, 0);
});

test('failures wait 5, 10, 20 ms … and forget starts again', async () => {
  const { clock, queue } = setUp();
  assert.deepEqual([queue.retry('a'), queue.failures('a')], [5, 1]);
  await clock.advance(3);
  assert.equal(queue.size, 0);
  await clock.advance(2);
  assert.equal(await queue.take(), 'a');
  assert.equal(queue.retry('a'), 10);
  queue.done('a');
  for (let i = 0; i < 30; i++) queue.retry('b');
  assert.equal(queue.retry('b'), 1_000_000);
  queue.forget('a');
  assert.equal(queue.retry('a'), 5);
});

test('of several delays the earliest counts, and the key comes once', async () => {
  const { clock, queue } = setUp();
  queue.addAfter('a', 100);
  queue.addAfter('a', 10);
  queue.addAfter('a', 50);
  await clock.advance(10);
  assert.equal(await queue.take(), 'a');
  queue.done('a');
  await clock.advance(1000);
  assert.equal(queue.size, 0);
});

test('closing wakes the workers', async () => {
  const { queue } = setUp();
  const waiting = queue.take();
  queue.close();
  assert.equal(await waiting, undefined);
  queue.add('late');
  assert.equal(await queue.take(), undefined);
});

test('metrics count', async () => {
  const { queue, metrics } = setUp();
  queue.add('a');
  queue.add('b');
  await queue.take();
  assert.match(metrics.text(), /workqueue_adds_total\{name="test"\} 2/);
  assert.match(metrics.text(), /workqueue_depth\{name="test"\} 1/);
});
