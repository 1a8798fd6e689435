import assert from 'node:assert/strict';
import test from 'node:test';
import type { Frozen } from '../api/meta.ts';
import type { Pod } from '../api/generated/core.v1.ts';
import { milli, nonZeroRequests, podRequests, whole } from './resources.ts';

for (const [text, inMilli, inWhole] of [
  ['1', 1000, 1],
  ['100m', 100, 1],
  ['0.5', 500, 1],
  ['1500m', 1500, 2],
  ['100u', 1, 1],
  ['1n', 1, 1],
  ['1.1', 1100, 2],
  ['2.3', 2300, 3],
  ['1Ki', 1024_000, 1024],
  ['1.5Gi', 1610612736_000, 1610612736],
  ['1e3', 1000_000, 1000],
  ['1E', 1e21, 1e18],
  ['12e-1', 1200, 2],
  ['.5', 500, 1],
  ['0', 0, 0],
  ['x', 0, 0],
] as const)
  test(`quantity ${text}`, () => {
    assert.equal(milli(text), inMilli);
    assert.equal(whole(text), inWhole);
  });

const container = (cpu: string | undefined, more: object = {}) => ({
  name: 'c',
  resources: cpu === undefined ? {} : { requests: { cpu } },
  ...more,
});
const pod = (spec: object, status: object = {}): Frozen<Pod> => ({ spec, status }) as unknown as Frozen<Pod>;

const cases: readonly (readonly [name: string, pod: Frozen<Pod>, cpuMilli: number])[] = [
  ['containers add up', pod({ containers: [container('100m'), container('200m')] }), 300],
  [
    'a larger init container counts instead',
    pod({ containers: [container('100m')], initContainers: [container('1')] }),
    1000,
  ],
  [
    'sidecars run beside later init containers and with the rest',
    pod({
      containers: [container('100m')],
      initContainers: [
        container('50m', { restartPolicy: 'Always' }),
        container('200m'),
        container('10m', { restartPolicy: 'Always' }),
      ],
    }),
    250,
  ],
  ['overhead comes on top', pod({ containers: [container('100m')], overhead: { cpu: '50m' } }), 150],
  [
    'pod-level requests stand in',
    pod({ containers: [container('100m')], resources: { requests: { cpu: '1' } } }),
    1000,
  ],
  [
    'a resize counts the larger of wanted and held',
    pod(
      { containers: [container('100m')] },
      { containerStatuses: [{ name: 'c', allocatedResources: { cpu: '300m' } }] },
    ),
    300,
  ],
  [
    'an infeasible resize counts what is held',
    pod(
      { containers: [container('900m')] },
      {
        conditions: [{ type: 'PodResizePending', reason: 'Infeasible' }],
        containerStatuses: [{ name: 'c', allocatedResources: { cpu: '300m' } }],
      },
    ),
    300,
  ],
];

for (const [name, of, cpuMilli] of cases) test(name, () => assert.equal(podRequests(of).cpuMilli, cpuMilli));

test('scoring gives containers without requests a little', () => {
  const both = nonZeroRequests(pod({ containers: [container(undefined), container('0')] }));
  assert.equal(both.cpuMilli, 100);
  assert.equal(both.memoryBytes, 2 * 200 * 1024 * 1024);
});
