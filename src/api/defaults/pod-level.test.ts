import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PodSpec } from '../generated/core.v1.ts';
import { applyPodLevelResources } from './pod-spec.ts';

type Amounts = Readonly<Record<string, string>>;

test('resources of the pod as a whole follow from its containers, as far as it says any', () => {
  const both = { requests: { memory: '64Mi' }, limits: { cpu: '1', memory: '128Mi', 'hugepages-2Mi': '4Mi' } };
  const table: readonly (readonly [
    why: string,
    pod: { requests?: Amounts; limits?: Amounts },
    containers: readonly { requests?: Amounts; limits?: Amounts }[],
    wanted: { requests?: Amounts; limits?: Amounts },
  ])[] = [
    ['nothing said', {}, [both], {}],
    [
      'limits where each container has one',
      { requests: { cpu: '1' } },
      [{ limits: { cpu: '1' } }, { limits: { cpu: '2' } }],
      { requests: { cpu: '1' }, limits: { cpu: '3' } },
    ],
    [
      'no less than the request',
      { requests: { cpu: '5' } },
      [{ limits: { cpu: '1' } }],
      { requests: { cpu: '5' }, limits: { cpu: '5' } },
    ],
    ['not where one has none', { requests: { cpu: '1' } }, [{ limits: { cpu: '1' } }, {}], { requests: { cpu: '1' } }],
    [
      'requests of the containers before the own limit',
      { limits: { memory: '4Gi' } },
      [{ requests: { memory: '64Mi', cpu: '500m' } }, { requests: { memory: '64Mi' } }],
      { requests: { memory: '128Mi', cpu: '500m' }, limits: { memory: '4Gi' } },
    ],
    ['the own limit else', { limits: { cpu: '2' } }, [{}], { requests: { cpu: '2' }, limits: { cpu: '2' } }],
    [
      'huge pages of the containers',
      { requests: { memory: '1Gi' } },
      [both],
      {
        requests: { memory: '1Gi', 'hugepages-2Mi': '4Mi' },
        limits: { memory: '1Gi', 'hugepages-2Mi': '4Mi' },
      },
    ],
    [
      'others are no matter of the pod',
      { limits: { cpu: '1' } },
      [{ requests: { 'ephemeral-storage': '1Gi' } }],
      {
        requests: { cpu: '1' },
        limits: { cpu: '1' },
      },
    ],
  ];
  for (const [why, pod, containers, wanted] of table) {
    const spec = {
      resources: structuredClone(pod),
      containers: containers.map((resources, at) => ({ name: `c${at}`, resources })),
    } as unknown as PodSpec;
    applyPodLevelResources(spec);
    assert.deepEqual(spec.resources, wanted, why);
  }
});
