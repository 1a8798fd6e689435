// Proves when a pod may be evicted.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../../api/generated/core.v1.ts';
import type { PodDisruptionBudget } from '../../../api/generated/policy.v1.ts';
import type { Frozen } from '../../../api/meta.ts';
import { planEviction } from './plan-eviction.ts';

const pod = (phase: string, ready: boolean): Frozen<Pod> =>
  ({
    metadata: { name: 'p', namespace: 'n' },
    spec: { containers: [] },
    status: { phase, conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }] },
  }) as unknown as Frozen<Pod>;

const budget = (status: object, spec: object = {}): Frozen<PodDisruptionBudget> =>
  ({ metadata: { name: 'b', namespace: 'n', generation: 1 }, spec, status }) as unknown as Frozen<PodDisruptionBudget>;

const now = '2026-01-01T00:00:00Z';
const some = { observedGeneration: 1, disruptionsAllowed: 1, currentHealthy: 2, desiredHealthy: 1, expectedPods: 2 };
const verdict = (...args: [Frozen<Pod>, Frozen<PodDisruptionBudget>[]]): string => planEviction(...args, now).verdict;

test('pods that serve nobody, or have no budget, go', () => {
  const none = budget({ ...some, disruptionsAllowed: 0 });
  for (const phase of ['Pending', 'Succeeded', 'Failed']) assert.equal(verdict(pod(phase, false), [none]), 'delete');
  assert.equal(verdict(pod('Running', true), []), 'delete');
});

test('a budget lets go of as many as it allows', () => {
  const plan = planEviction(pod('Running', true), [budget(some)], now);
  assert.equal(plan.verdict, 'delete');
  assert.ok(plan.verdict === 'delete' && plan.budget?.status.disruptionsAllowed === 0);
  assert.ok(plan.verdict === 'delete' && plan.budget?.status.disruptedPods?.['p'] !== undefined);
  assert.equal(verdict(pod('Running', true), [budget({ ...some, disruptionsAllowed: 0 })]), 'later');
  assert.equal(verdict(pod('Running', true), [budget({ ...some, observedGeneration: 0 })]), 'later');
  assert.equal(verdict(pod('Running', true), [budget(some), budget(some)]), 'ambiguous');
});

test('unready pods go while the rest is healthy, or always where the budget says so', () => {
  const tight = { ...some, disruptionsAllowed: 0 };
  assert.equal(verdict(pod('Running', false), [budget(tight)]), 'delete');
  assert.equal(verdict(pod('Running', false), [budget({ ...tight, currentHealthy: 0 })]), 'later');
  const lenient = budget({ ...tight, currentHealthy: 0 }, { unhealthyPodEvictionPolicy: 'AlwaysAllow' });
  assert.equal(verdict(pod('Running', false), [lenient]), 'delete');
});
