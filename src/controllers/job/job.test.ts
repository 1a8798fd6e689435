import assert from 'node:assert/strict';
import test from 'node:test';
import { jobs, pods } from '../../api/generated/resources.ts';
import { type ControllerWorld, withControllers } from '../../testing/controller-world.ts';
import { formatIndexes, parseIndexes } from './indexes.ts';
import { trackingFinalizer } from './plan.ts';

const only = { controllers: ['job-controller'] };

const job = (spec: object, template: object = {}) => ({
  metadata: { name: 'job', namespace: 'default' },
  spec: {
    selector: { matchLabels: { j: '1' } },
    backoffLimit: 6,
    ...spec,
    template: {
      metadata: { labels: { j: '1' } },
      spec: { restartPolicy: 'Never', containers: [{ name: 'c' }], ...template },
    },
  },
});

const running = async (world: ControllerWorld) =>
  (await world.list(pods)).filter((pod) => !['Succeeded', 'Failed'].includes(pod.status?.phase ?? ''));

async function end(world: ControllerWorld, phase: string, count = 1, exitCode = 1): Promise<void> {
  for (const pod of (await running(world)).slice(0, count)) {
    const containerStatuses = [{ name: 'c', restartCount: 0, state: { terminated: { exitCode } } }];
    await world.merge(pods, pod, { status: { phase, containerStatuses } }, 'status');
  }
  await world.settle();
}

const conditions = async (world: ControllerWorld) =>
  (await world.get(jobs, 'job')).status.conditions?.map(({ type, status, reason }) => `${type}=${status} ${reason}`);

test('completions are counted once, finalizers go, the job completes', () =>
  withControllers(only, async (world) => {
    await world.create(jobs, job({ completions: 3, parallelism: 2 }));
    await world.settle();
    const first = await running(world);
    assert.equal(first.length, 2);
    assert.deepEqual(first[0]?.metadata.finalizers, [trackingFinalizer]);
    assert.equal((await world.get(jobs, 'job')).status.active, 2);
    await end(world, 'Succeeded', 2);
    assert.equal((await running(world)).length, 1);
    await end(world, 'Succeeded');
    const { status } = await world.get(jobs, 'job');
    assert.deepEqual([status.succeeded, status.active, status.uncountedTerminatedPods], [3, undefined, {}]);
    assert.deepEqual(await conditions(world), [
      'SuccessCriteriaMet=True CompletionsReached',
      'Complete=True CompletionsReached',
    ]);
    assert.ok(status.completionTime);
    assert.ok((await world.list(pods)).every((pod) => !pod.metadata.finalizers?.length));
  }));

test('failures back off, and too many fail the job', () =>
  withControllers(only, async (world) => {
    await world.create(jobs, job({ completions: 1, backoffLimit: 1 }));
    await world.settle();
    await end(world, 'Failed');
    assert.equal((await running(world)).length, 0);
    await world.settle(10_000);
    assert.equal((await running(world)).length, 1);
    await end(world, 'Failed');
    assert.equal((await world.get(jobs, 'job')).status.failed, 2);
    assert.deepEqual(await conditions(world), [
      'FailureTarget=True BackoffLimitExceeded',
      'Failed=True BackoffLimitExceeded',
    ]);
  }));

test('the failure policy ends the job at once, and stops the other pods', () =>
  withControllers(only, async (world) => {
    const podFailurePolicy = {
      rules: [{ action: 'FailJob', onExitCodes: { operator: 'In', values: [42] } }],
    };
    await world.create(jobs, job({ completions: 3, parallelism: 3, podFailurePolicy }));
    await world.settle();
    await end(world, 'Failed', 1, 42);
    const { status } = await world.get(jobs, 'job');
    assert.match(
      status.conditions?.[0]?.message ?? '',
      /^Container c for pod default\/job-\w+ failed with exit code 42 matching FailJob rule at index 0$/,
    );
    assert.equal((await running(world)).filter((pod) => !pod.metadata.deletionTimestamp).length, 0);
  }));

test('indexed: each index once, names and text of indexes', () =>
  withControllers(only, async (world) => {
    await world.create(jobs, job({ completions: 4, parallelism: 4, completionMode: 'Indexed' }));
    await world.settle();
    const all = await running(world);
    assert.deepEqual(
      all.map((pod) => pod.spec.hostname).sort((a, b) => (a! < b! ? -1 : 1)),
      ['job-0', 'job-1', 'job-2', 'job-3'],
    );
    assert.match(all[0]!.metadata.name, /^job-0-/);
    assert.equal(all[0]!.spec.containers[0]?.env?.[0]?.name, 'JOB_COMPLETION_INDEX');
    for (const pod of all.slice(1)) await world.pod(pod, 'Succeeded', false);
    await world.settle();
    const { status } = await world.get(jobs, 'job');
    assert.deepEqual([status.completedIndexes, status.succeeded, status.active], ['1-3', 3, 1]);
    await end(world, 'Succeeded');
    assert.equal((await world.get(jobs, 'job')).status.completedIndexes, '0-3');
    assert.deepEqual(await conditions(world), [
      'SuccessCriteriaMet=True CompletionsReached',
      'Complete=True CompletionsReached',
    ]);
  }));

test('suspend takes the pods away, resume brings them back with a new start time', () =>
  withControllers(only, async (world) => {
    await world.create(jobs, job({ completions: 2, parallelism: 2, suspend: true }));
    await world.settle();
    assert.deepEqual([(await running(world)).length, await conditions(world)], [0, ['Suspended=True JobSuspended']]);
    const current = await world.get(jobs, 'job');
    assert.equal(current.status.startTime, undefined);
    await world.merge(jobs, current, { spec: { suspend: false } });
    await world.settle();
    assert.deepEqual([(await running(world)).length, await conditions(world)], [2, ['Suspended=False JobResumed']]);
    await world.merge(jobs, current, { spec: { suspend: true } });
    await world.settle();
    assert.equal((await running(world)).length, 0);
    assert.equal((await world.get(jobs, 'job')).status.failed, undefined);
  }));

test('the active deadline ends the job', () =>
  withControllers(only, async (world) => {
    await world.create(jobs, job({ completions: 1, activeDeadlineSeconds: 5 }));
    await world.settle(6000);
    assert.deepEqual((await conditions(world))?.[1], 'Failed=True DeadlineExceeded');
  }));

test('a deleted job lets its pods go', () =>
  withControllers(only, async (world) => {
    await world.create(jobs, job({ completions: 1 }));
    await world.settle();
    await world.client.resource(jobs).delete({ namespace: 'default', name: 'job' });
    await world.settle();
    assert.deepEqual(
      (await world.list(pods)).map((pod) => pod.metadata.finalizers ?? []),
      [[]],
    );
  }));

const texts: [number[], string][] = [
  [[], ''],
  [[3], '3'],
  [[1, 2], '1,2'],
  [[0, 1, 2, 5, 7, 8], '0-2,5,7,8'],
];
for (const [indexes, text] of texts)
  test(`indexes ${text}`, () => {
    assert.equal(formatIndexes(indexes), text);
    assert.deepEqual([...parseIndexes(text, 100)], indexes);
  });

test('indexes of a forged status are bounded', () => {
  assert.deepEqual([...parseIndexes('0-999999999,x,2-1', 3)], [0, 1, 2]);
});
