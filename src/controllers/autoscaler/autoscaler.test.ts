// Tests what an autoscaler decides: tables of pods and metrics, windows and policies; and its looks at a target without metrics.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Frozen } from '../../api/meta.ts';
import type { Pod } from '../../api/generated/core.v1.ts';
import { timeOf } from '../../api/time.ts';
import { limitReplicas, type History } from './limits.ts';
import { type PodMetrics, proposeByPods, proposeByTotal } from './replicas.ts';

const nowMs = Date.UTC(2026, 0, 1, 1);
const times = { nowMs, cpuInitializationPeriodMs: 300_000, initialReadinessDelayMs: 30_000 };
const tolerances = { down: 0.1, up: 0.1 };

const pod = (name: string, { phase = 'Running', ready = 'True', startedMs = nowMs - 3_600_000 } = {}) =>
  ({
    metadata: { name },
    status: {
      phase,
      startTime: timeOf(startedMs),
      conditions: [{ type: 'Ready', status: ready, lastTransitionTime: timeOf(startedMs + 5000) }],
    },
  }) as unknown as Frozen<Pod>;

const metrics = (values: Readonly<Record<string, number>>): PodMetrics =>
  new Map(Object.entries(values).map(([name, value]) => [name, { value, timestampMs: nowMs, windowMs: 30_000 }]));

const three = ['a', 'b', 'c'].map((name) => pod(name));

for (const [what, pods, used, current, want] of [
  ['twice the target doubles', three, { a: 200, b: 200, c: 200 }, 3, 6],
  ['half the target halves', three, { a: 50, b: 50, c: 50 }, 3, 2],
  ['within the tolerance nothing moves', three, { a: 105, b: 105, c: 105 }, 3, 3],
  ['a pod without metrics counts as idle when it is too much', three, { a: 150, b: 150 }, 3, 3],
  ['and as full when it is too little', three, { a: 20, b: 20 }, 3, 2],
  [
    'a pod that only starts does not count as busy',
    [...three.slice(0, 2), pod('n', { ready: 'False', startedMs: nowMs - 10_000 })],
    { a: 150, b: 150, n: 900 },
    3,
    3,
  ],
  ['pods that failed are ignored', [...three, pod('f', { phase: 'Failed' })], { a: 200, b: 200, c: 200 }, 4, 6],
] as const)
  test(what, () => {
    const question = { current, pods, metrics: metrics(used), resource: 'cpu', target: 100, tolerances, times };
    assert.equal(proposeByPods(question).replicas, want);
  });

test('utilization is a share of what is requested', () => {
  const requests = new Map([
    ['a', 500],
    ['b', 500],
    ['c', 500],
  ]);
  const question = {
    current: 3,
    pods: three,
    metrics: metrics({ a: 400, b: 400, c: 400 }),
    resource: 'cpu',
    target: 50,
    requests,
    tolerances,
    times,
  };
  assert.deepEqual(proposeByPods(question), { replicas: 5, average: 400, utilization: 80 });
});

test('without any metric nothing can be said', () => {
  const question = { current: 3, pods: three, metrics: metrics({}), resource: 'cpu', target: 100, tolerances, times };
  assert.throws(() => proposeByPods(question), /did not receive metrics/);
});

test('one number for all pods, as a whole or shared', () => {
  const about = { current: 3, ready: 3, tolerances };
  assert.equal(proposeByTotal(2000, 1000, false, about).replicas, 6);
  assert.equal(proposeByTotal(9000, 1000, true, about).replicas, 9);
  assert.equal(proposeByTotal(3050, 1000, true, about).replicas, 3);
});

const none: History = { recommendations: [], ups: [], downs: [] };
const spec = { scaleTargetRef: { kind: 'Deployment', name: 'web' }, minReplicas: 2, maxReplicas: 50 };

for (const [what, more, history, current, desired, want, reason] of [
  ['up: four pods or double within 15 seconds', {}, none, 3, 40, 7, 'ScaleUpLimit'],
  [
    'up: what was added in the period counts',
    {},
    { ...none, ups: [{ atMs: nowMs - 5000, change: 4 }] },
    7,
    40,
    7,
    'ScaleUpLimit',
  ],
  ['the maximum', { maxReplicas: 5 }, none, 4, 40, 5, 'TooManyReplicas'],
  ['the minimum', {}, none, 3, 0, 2, 'TooFewReplicas'],
  [
    'down: the highest of five minutes holds',
    {},
    { ...none, recommendations: [{ atMs: nowMs - 60_000, replicas: 9 }] },
    10,
    3,
    9,
    'DesiredWithinRange',
  ],
  [
    'down: policies',
    {
      behavior: {
        scaleDown: { stabilizationWindowSeconds: 0, policies: [{ type: 'Pods', value: 2, periodSeconds: 60 }] },
      },
    },
    none,
    10,
    3,
    8,
    'ScaleDownLimit',
  ],
  [
    'down: switched off',
    { behavior: { scaleDown: { stabilizationWindowSeconds: 0, selectPolicy: 'Disabled' } } },
    none,
    10,
    3,
    10,
    'ScaleDownLimit',
  ],
] as const)
  test(what, () => {
    const question = { current, desired, nowMs, defaultDownWindowMs: 300_000 };
    const got = limitReplicas({ ...spec, ...more } as never, history, question);
    assert.deepEqual([got.replicas, got.limited.reason], [want, reason]);
  });
