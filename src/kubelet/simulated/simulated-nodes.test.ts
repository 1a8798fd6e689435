// Tests simulated nodes against the in-memory API: registration, running, completing, deletion, adoption.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { leases, nodes, pods } from '../../api/generated/resources.ts';
import type { Pod } from '../../api/generated/core.v1.ts';
import type { New } from '../../api/meta.ts';
import { silentLogger } from '../../base/log.ts';
import { seededRandom } from '../../base/random.ts';
import { VirtualClock } from '../../base/virtual-clock.ts';
import { informerFactory } from '../../client/informer-factory.ts';
import { client } from '../../client/rest.ts';
import { memoryApi } from '../../testing/memory-api.ts';
import { durationAnnotation, exitCodeAnnotation } from './simulated-pod.ts';
import { simulatedNodes } from './simulated-nodes.ts';

async function cluster(names: string[], body: (c: Awaited<ReturnType<typeof open>>) => Promise<void>): Promise<void> {
  const opened = await open(names);
  try {
    await body(opened);
  } finally {
    opened.stop.abort();
    await opened.done;
  }
}

async function open(names: string[]) {
  const clock = new VirtualClock(Date.parse('2026-01-01T00:00:00Z'));
  const random = seededRandom(1);
  const api = memoryApi({ clock, random });
  const deps = { client: client(api), clock, random, logger: silentLogger };
  const informers = informerFactory(deps.client, deps);
  const stop = new AbortController();
  const start = (inner: AbortSignal): Promise<unknown> =>
    simulatedNodes({ names, startMs: 500, stopMs: 100, jobMs: 2000 }, { ...deps, informers }).run(inner);
  const done = Promise.all([informers.run(stop.signal), start(stop.signal)]);
  await clock.advance(1000);
  const createPod = (name: string, rest: object = {}, annotations: Record<string, string> = {}) =>
    deps.client.resource(pods).create({
      metadata: { name, namespace: 'default', annotations },
      spec: { nodeName: names[0]!, containers: [{ name: 'c', image: 'i:1' }], ...rest },
    } as New<Pod>);
  const pod = (name: string) => deps.client.resource(pods).get({ namespace: 'default', name });
  return { ...deps, api, stop, done, createPod, pod };
}

test('nodes register, are ready and keep their leases', async () => {
  await cluster(['sim-0', 'sim-1'], async ({ client: api, clock }) => {
    const { items } = await api.resource(nodes).list();
    assert.deepEqual(
      items.map(({ metadata }) => metadata.name),
      ['sim-0', 'sim-1'],
    );
    for (const { status } of items)
      assert.equal(status.conditions?.find(({ type }) => type === 'Ready')?.status, 'True');
    const lease = () => api.resource(leases).get({ namespace: 'kube-node-lease', name: 'sim-1' });
    const first = (await lease()).spec.renewTime;
    await clock.advance(15_000);
    assert.notEqual((await lease()).spec.renewTime, first);
  });
});

test('a pod runs after its start time, has an address, and goes when deleted', async () => {
  await cluster(['sim-0'], async ({ client: api, clock, createPod, pod }) => {
    await createPod('web');
    await clock.advance(300);
    assert.equal((await pod('web')).status?.phase, undefined);
    await clock.advance(400);
    const { status } = await pod('web');
    assert.equal(status.phase, 'Running');
    assert.match(status.podIP ?? '', /^100\.64\./);
    assert.equal(status.conditions?.find(({ type }) => type === 'Ready')?.status, 'True');
    assert.ok(status.containerStatuses?.[0]?.state?.running);
    await api.resource(pods).delete({ namespace: 'default', name: 'web' });
    await clock.advance(50);
    assert.ok((await pod('web')).metadata.deletionTimestamp);
    await clock.advance(300);
    await assert.rejects(pod('web'), /not found/);
  });
});

test('pods that do not restart come to their end', async () => {
  await cluster(['sim-0'], async ({ clock, createPod, pod }) => {
    await createPod('job', { restartPolicy: 'Never' });
    await createPod('bad', { restartPolicy: 'Never' }, { [durationAnnotation]: '5', [exitCodeAnnotation]: '3' });
    await clock.advance(3000);
    assert.equal((await pod('job')).status.phase, 'Succeeded');
    assert.equal((await pod('bad')).status.phase, 'Running');
    await clock.advance(3000);
    const { status } = await pod('bad');
    assert.equal(status.phase, 'Failed');
    assert.equal(status.containerStatuses?.[0]?.state?.terminated?.exitCode, 3);
  });
});

test('pods of other nodes are left alone', async () => {
  await cluster(['sim-0'], async ({ clock, createPod, pod }) => {
    await createPod('elsewhere', { nodeName: 'real' });
    await clock.advance(5000);
    assert.equal((await pod('elsewhere')).status?.phase, undefined);
  });
});
