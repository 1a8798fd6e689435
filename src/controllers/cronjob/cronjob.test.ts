import assert from 'node:assert/strict';
import test from 'node:test';
import { cronJobs, jobs } from '../../api/generated/resources.ts';
import { type ControllerWorld, withControllers } from '../../testing/controller-world.ts';
import { parseSchedule } from './schedule.ts';

const only = { controllers: ['cronjob-controller'] };

const times: [schedule: string, zone: string | undefined, after: string, next: string | undefined][] = [
  ['*/5 * * * *', undefined, '2026-01-01T00:01:30Z', '2026-01-01T00:05:00Z'],
  ['0 0 1 1 *', undefined, '2020-06-01T00:00:00Z', '2021-01-01T00:00:00Z'],
  ['30 9 * * mon-fri', undefined, '2026-01-02T10:00:00Z', '2026-01-05T09:30:00Z'],
  ['0 0 13 * 5', undefined, '2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z'],
  ['0 0 30 2 *', undefined, '2026-01-01T00:00:00Z', undefined],
  ['3/20 * * * *', undefined, '2026-01-01T00:04:00Z', '2026-01-01T00:23:00Z'],
  ['@hourly', undefined, '2026-01-01T00:00:00Z', '2026-01-01T01:00:00Z'],
  ['@every 90s', undefined, '2026-01-01T00:00:00Z', '2026-01-01T00:01:30Z'],
  ['0 12 * * *', 'Asia/Kolkata', '2026-01-01T00:00:00Z', '2026-01-01T06:30:00Z'],
  ['30 2 * * *', 'Europe/Berlin', '2026-03-28T12:00:00Z', '2026-03-30T00:30:00Z'],
  ['0 0 29 feb ?', 'UTC', '2026-01-01T00:00:00Z', '2028-02-29T00:00:00Z'],
];
for (const [schedule, zone, after, next] of times)
  test(`${schedule} ${zone ?? ''} after ${after}`, () => {
    const ms = parseSchedule(schedule, zone).next(Date.parse(after));
    assert.equal(ms === undefined ? undefined : new Date(ms).toISOString().replace('.000', ''), next);
  });

for (const [schedule, zone] of [
  ['* * * *'],
  ['60 * * * *'],
  ['5-1 * * * *'],
  ['* * * * *', 'Mars/Base'],
  ['@now'],
] as const)
  test(`refused: ${schedule} ${zone ?? ''}`, () => assert.throws(() => parseSchedule(schedule, zone)));

const everyMinute = (spec: object = {}) => ({
  metadata: { name: 'cj', namespace: 'default' },
  spec: { schedule: '* * * * *', jobTemplate: { metadata: { labels: { a: 'b' } }, spec: { template: {} } }, ...spec },
});

const names = async (world: ControllerWorld) =>
  (await world.list(jobs)).map(({ metadata }) => metadata.name).sort((a, b) => (a < b ? -1 : 1));

async function finish(world: ControllerWorld, type: string): Promise<void> {
  for (const job of await world.list(jobs))
    if (!job.status?.conditions) {
      const completionTime = '2026-01-01T00:10:00Z';
      await world.merge(
        jobs,
        job,
        {
          status: { startTime: job.metadata.creationTimestamp, completionTime, conditions: [{ type, status: 'True' }] },
        },
        'status',
      );
    }
  await world.settle();
}

test('a job a minute, named after its time; the history is cut', () =>
  withControllers(only, async (world) => {
    await world.create(cronJobs, everyMinute({ successfulJobsHistoryLimit: 2, failedJobsHistoryLimit: 1 }));
    for (let minute = 0; minute < 4; minute++) {
      await world.settle(60_000);
      await finish(world, 'Complete');
    }
    const first = Date.UTC(2026, 0, 1) / 60_000;
    assert.deepEqual(await names(world), [`cj-${first + 3}`, `cj-${first + 4}`]);
    const [job] = await world.list(jobs);
    assert.equal(
      job?.metadata.annotations?.['batch.kubernetes.io/cronjob-scheduled-timestamp'],
      '2026-01-01T00:03:00Z',
    );
    const { status } = await world.get(cronJobs, 'cj');
    assert.deepEqual(status, { lastScheduleTime: '2026-01-01T00:04:00Z', lastSuccessfulTime: '2026-01-01T00:10:00Z' });
  }));

const policies: [string, number, number][] = [
  ['Allow', 3, 3],
  ['Forbid', 1, 1],
  ['Replace', 1, 1],
];
for (const [concurrencyPolicy, count, active] of policies)
  test(`concurrency ${concurrencyPolicy}`, () =>
    withControllers(only, async (world) => {
      await world.create(cronJobs, everyMinute({ concurrencyPolicy }));
      for (let minute = 0; minute < 3; minute++) await world.settle(60_000);
      assert.deepEqual(
        [(await names(world)).length, (await world.get(cronJobs, 'cj')).status.active?.length],
        [count, active],
      );
    }));

test('suspended ones do not start; of many missed starts the last is made up for', () =>
  withControllers(only, async (world) => {
    const cj = await world.create(cronJobs, everyMinute({ suspend: true }));
    await world.settle(1000 * 60_000);
    assert.deepEqual(await names(world), []);
    await world.merge(cronJobs, cj, { spec: { suspend: false } });
    await world.settle();
    assert.deepEqual(await names(world), [`cj-${Math.floor(world.clock.now() / 60_000)}`]);
  }));

test('too late for the starting deadline', () =>
  withControllers(only, async (world) => {
    const cj = await world.create(cronJobs, {
      ...everyMinute({ suspend: true, schedule: '@daily', startingDeadlineSeconds: 10 }),
    });
    await world.settle(86_400_000 + 3_600_000);
    await world.merge(cronJobs, cj, { spec: { suspend: false } });
    await world.settle();
    assert.deepEqual(await names(world), []);
  }));
