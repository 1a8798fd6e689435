// Tests a whole cluster on a virtual clock: hours of a CronJob in seconds.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cronJobs, jobs } from '../../src/api/generated/resources.ts';
import { millisOf } from '../../src/api/time.ts';
import { seededRandom } from '../../src/base/random.ts';
import { VirtualClock } from '../../src/base/virtual-clock.ts';
import { startCluster } from '../../src/main/cluster.ts';

test('an hour of a CronJob passes in seconds', { timeout: 60_000 }, async () => {
  const clock = new VirtualClock(Date.UTC(2026, 0, 1, 0, 0, 30));
  const cluster = await startCluster({ clock, random: seededRandom(7), node: 'simulated' });
  try {
    const { client } = cluster;
    await client.resource(cronJobs).create({
      metadata: { name: 'tick', namespace: 'default' },
      spec: {
        schedule: '*/5 * * * *',
        successfulJobsHistoryLimit: 100,
        jobTemplate: {
          spec: { template: { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'any' }] } } },
        },
      },
    });
    const began = clock.now();
    for (let second = 0; second < 3600; second++) await clock.advance(1000);
    assert.equal(clock.now() - began, 3_600_000);
    const made = (await client.resource(jobs).list({ namespace: 'default' })).items;
    assert.equal(made.length, 12);
    const minutes = made
      .map((job) => new Date(millisOf(job.metadata.annotations!['batch.kubernetes.io/cronjob-scheduled-timestamp']!)))
      .map((time) => time.getUTCMinutes())
      .toSorted((a, b) => a - b);
    assert.deepEqual(minutes, [0, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55]);
    const ended = made.filter(({ status }) => status?.conditions?.some(({ type }) => type === 'Complete'));
    assert.ok(ended.length >= 11, `${ended.length} of 12 jobs are complete`);
  } finally {
    await cluster.stop();
  }
});
