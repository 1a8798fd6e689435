import assert from 'node:assert/strict';
import test from 'node:test';
import type { Frozen } from '../../api/meta.ts';
import type { Pod } from '../../api/generated/core.v1.ts';
import type { PodDisruptionBudget } from '../../api/generated/policy.v1.ts';
import { deployments, persistentVolumeClaims, podDisruptionBudgets, pods } from '../../api/generated/resources.ts';
import { isNotFound } from '../../api/status-error.ts';
import { withControllers } from '../../testing/controller-world.ts';
import { planBudget } from './plan.ts';

const nowMs = Date.UTC(2026, 0, 1);
const pod = (name: string, ready = true) =>
  ({
    metadata: { name },
    status: { conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }] },
  }) as unknown as Frozen<Pod>;
const budget = (spec: object, status: object = {}) =>
  ({ metadata: { generation: 1 }, spec, status }) as unknown as Frozen<PodDisruptionBudget>;
const all = ['a', 'b', 'c', 'd', 'e'].map((name) => pod(name));

const table: [spec: object, expected: number, pods: readonly Frozen<Pod>[], desired: number, allowed: number][] = [
  [{ minAvailable: 2 }, 5, all, 2, 3],
  [{ minAvailable: '50%' }, 5, all, 3, 2],
  [{ maxUnavailable: '50%' }, 5, all, 2, 3],
  [{ maxUnavailable: 1 }, 5, [...all.slice(1), pod('a', false)], 4, 0],
  [{ maxUnavailable: 1 }, 0, [], 0, 0],
  [{ maxUnavailable: 9 }, 5, all, 0, 5],
];
for (const [spec, expected, given, desired, allowed] of table)
  test(`budget ${JSON.stringify(spec)} of ${given.length}`, () => {
    const { status } = planBudget({ budget: budget(spec), pods: given, expected, nowMs });
    assert.deepEqual([status.desiredHealthy, status.disruptionsAllowed], [desired, allowed]);
    assert.equal(status.conditions?.[0]?.reason, allowed > 0 ? 'SufficientPods' : 'InsufficientPods');
  });

test('allowed evictions count as gone for two minutes', () => {
  const disruptedPods = { a: '2026-01-01T00:00:00Z', gone: '2026-01-01T00:00:00Z', b: '2025-12-31T23:00:00Z' };
  const plan = planBudget({ budget: budget({ minAvailable: 2 }, { disruptedPods }), pods: all, expected: 5, nowMs });
  assert.deepEqual([plan.status.currentHealthy, plan.status.disruptedPods], [4, { a: '2026-01-01T00:00:00Z' }]);
  assert.equal(plan.recheckMs, 120_000);
});

test('percentages are of what the deployment wants', () =>
  withControllers(
    { controllers: ['disruption-controller', 'deployment-controller', 'replicaset-controller'] },
    async (world) => {
      const spec = {
        replicas: 4,
        selector: { matchLabels: { app: 'a' } },
        template: { metadata: { labels: { app: 'a' } }, spec: { containers: [] } },
      };
      await world.create(podDisruptionBudgets, {
        metadata: { name: 'b', namespace: 'default' },
        spec: { maxUnavailable: '25%', selector: { matchLabels: { app: 'a' } } },
      });
      await world.create(deployments, { metadata: { name: 'd', namespace: 'default' }, spec });
      await world.settle();
      for (const one of (await world.list(pods)).slice(1)) await world.pod(one, 'Running');
      await world.settle();
      const { status } = await world.get(podDisruptionBudgets, 'b');
      assert.deepEqual(
        [status.expectedPods, status.currentHealthy, status.desiredHealthy, status.disruptionsAllowed],
        [4, 3, 3, 0],
      );
    },
  ));

test('a claim stays while a scheduled pod is there', () =>
  withControllers({ controllers: ['persistentvolumeclaim-protection-controller'] }, async (world) => {
    const metadata = { name: 'c', namespace: 'default' };
    await world.create(persistentVolumeClaims, { metadata, spec: {} });
    const volumes = [{ name: 'v', persistentVolumeClaim: { claimName: 'c' } }];
    await world.create(pods, { metadata, spec: { nodeName: 'n', containers: [], volumes } });
    await world.settle();
    await world.client.resource(persistentVolumeClaims).delete(metadata);
    await world.settle();
    assert.ok((await world.get(persistentVolumeClaims, 'c')).metadata.deletionTimestamp);
    await world.client.resource(pods).delete(metadata, { gracePeriodSeconds: 0 });
    await world.settle();
    await assert.rejects(world.get(persistentVolumeClaims, 'c'), isNotFound);
  }));
