import assert from 'node:assert/strict';
import test from 'node:test';
import { silentLogger } from '../base/log.ts';
import { seededRandom } from '../base/random.ts';
import { taskGroup } from '../base/task-group.ts';
import { VirtualClock } from '../base/virtual-clock.ts';
import { events, eventsV1Events } from '../api/generated/resources.ts';
import { memoryApi } from '../testing/memory-api.ts';
import { eventBroadcaster } from './events.ts';
import { client } from './rest.ts';

function setUp() {
  const clock = new VirtualClock(Date.UTC(2026, 0, 1));
  const random = seededRandom(1);
  const api = memoryApi({ clock, random });
  const broadcaster = eventBroadcaster({ client: client(api), clock, random, logger: silentLogger });
  const group = taskGroup();
  group.run('events', (signal) => broadcaster.run(signal));
  const list = async () => (await client(api).resource(events).list()).items;
  return { clock, api, broadcaster, group, list };
}

const pod = { apiVersion: 'v1', kind: 'Pod', name: 'web', namespace: 'shop', uid: 'u1' };

test('an event is written as upstream writes it, and repeated ones are counted', async () => {
  const { clock, broadcaster, group, list } = setUp();
  const recorder = broadcaster.recorder('replicaset-controller');
  recorder.event(pod, 'Normal', 'SuccessfulCreate', 'Created pod: web-1');
  await clock.advance(5000);
  recorder.event(pod, 'Normal', 'SuccessfulCreate', 'Created pod: web-1');
  await clock.advance(1000);
  const [event, ...rest] = await list();
  assert.equal(rest.length, 0);
  assert.match(event!.metadata.name, /^web\.[0-9a-f]{16}$/);
  assert.deepEqual(
    [event!.count, event!.firstTimestamp, event!.lastTimestamp, event!.source, event!.reportingComponent],
    [
      2,
      '2026-01-01T00:00:00Z',
      '2026-01-01T00:00:05Z',
      { component: 'replicaset-controller' },
      'replicaset-controller',
    ],
  );
  await group.stop();
});

test('more than ten different messages are combined, and one object gets no more than a burst of 25', async () => {
  const { clock, broadcaster, group, list } = setUp();
  const recorder = broadcaster.recorder('x');
  for (let i = 0; i < 40; i++) recorder.event(pod, 'Warning', 'Failed', `message ${i}`);
  await clock.advance(100);
  const all = await list();
  assert.equal(all.length, 11);
  const combined = all.find((event) => event.message?.startsWith('(combined from similar events): '));
  assert.equal(combined?.count, 15);
  await group.stop();
});

test('a counted event that is gone is created again', async () => {
  const { clock, api, broadcaster, group, list } = setUp();
  const recorder = broadcaster.recorder('x');
  recorder.event(pod, 'Normal', 'A', 'm');
  await clock.advance(1);
  await client(api)
    .resource(events)
    .delete({ namespace: 'shop', name: (await list())[0]!.metadata.name });
  recorder.event(pod, 'Normal', 'A', 'm');
  await clock.advance(1);
  assert.deepEqual(
    (await list()).map((event) => event.count),
    [2],
  );
  await group.stop();
});

test('the queue is bounded', async () => {
  const { clock, broadcaster, group, list } = setUp();
  const recorder = broadcaster.recorder('x');
  for (let i = 0; i < 3000; i++) recorder.event({ ...pod, uid: `u${i}` }, 'Normal', 'A', 'm');
  for (let i = 0; i < 3000; i++) await Promise.resolve();
  await clock.advance(1000);
  for (let i = 0; i < 500; i++) await clock.advance(1);
  assert.ok((await list()).length <= 1001);
  await group.stop();
});

test('events.k8s.io events start a series at the second time', async () => {
  const { clock, api, broadcaster, group } = setUp();
  const recorder = broadcaster.seriesRecorder('default-scheduler', 'default-scheduler-host');
  for (let i = 0; i < 3; i++) {
    recorder.event(pod, undefined, 'Warning', 'FailedScheduling', 'Scheduling', 'no nodes');
    await clock.advance(1000);
  }
  const all = (await client(api).resource(eventsV1Events).list()).items;
  assert.equal(all.length, 1);
  assert.equal(all[0]!.series?.count, 2);
  assert.equal(all[0]!.eventTime, '2026-01-01T00:00:00.000000Z');
  await group.stop();
});
