import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FrozenPod } from '../pod/pod-words.ts';
import { containerUsage, cpuUsageAnnotation, memoryUsageAnnotation, UsageMeters } from './usage.ts';

const pod = (annotations: Record<string, string>, requests: object = {}, names = ['c']): FrozenPod =>
  ({
    metadata: { name: 'p', namespace: 'n', uid: 'u', annotations },
    spec: { containers: names.map((name) => ({ name, resources: { requests } })) },
  }) as unknown as FrozenPod;

test('annotations say the usage of the pod, shared by its containers', () => {
  const said = pod({ [cpuUsageAnnotation]: '300m', [memoryUsageAnnotation]: '64Mi' }, {}, ['a', 'b']);
  assert.deepEqual(containerUsage(said, 'a'), { cores: 0.15, bytes: 32 * 1024 ** 2 });
});

test('without them a part of the requests, always the same, and something even where nothing is requested', () => {
  const asked = containerUsage(pod({}, { cpu: '2', memory: '1Gi' }), 'c');
  assert.ok(asked.cores > 0.7 && asked.cores < 1.3 && asked.bytes > 5e8 && asked.bytes < 1e9, JSON.stringify(asked));
  assert.deepEqual(containerUsage(pod({}, { cpu: '2', memory: '1Gi' }), 'c'), asked);
  const none = containerUsage(pod({ [cpuUsageAnnotation]: 'nonsense' }), 'c');
  assert.ok(none.cores > 0 && none.bytes > 0);
});

test('processor time is counted, through a change of the annotation as well, and never falls', () => {
  const meters = new UsageMeters(0);
  const read = (text: string): number => Number(/container_cpu_usage_seconds_total\{[^}]*\} (\S+)/.exec(text)?.[1]);
  const before = { pod: pod({ [cpuUsageAnnotation]: '1' }), startedMs: 1000 };
  assert.equal(read(meters.text([before], 3000)), 2);
  meters.settle(before, 5000);
  const later = { pod: pod({ [cpuUsageAnnotation]: '100m' }), startedMs: 1000 };
  const text = meters.text([later], 15_000);
  assert.equal(read(text), 5);
  assert.match(text, /container_start_time_seconds\{container="c",namespace="n",pod="p"\} 1\n/);
  assert.match(text, /node_memory_working_set_bytes \d+ 15000/);
});
