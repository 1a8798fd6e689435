// Proves that autoscalers survive the way to autoscaling/v1 and back.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HorizontalPodAutoscaler } from '../../../api/generated/autoscaling.v2.ts';
import type { Frozen } from '../../../api/meta.ts';
import { fromV1, toV1 } from './hpa-convert.ts';

const hpa = {
  apiVersion: 'autoscaling/v2',
  kind: 'HorizontalPodAutoscaler',
  metadata: { name: 'a', namespace: 'n' },
  spec: {
    scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'd' },
    minReplicas: 1,
    maxReplicas: 5,
    metrics: [
      { type: 'Resource', resource: { name: 'memory', target: { type: 'AverageValue', averageValue: '1Gi' } } },
      { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 60 } } },
    ],
    behavior: { scaleDown: { stabilizationWindowSeconds: 60, selectPolicy: 'Max', policies: [] } },
  },
  status: { desiredReplicas: 2, currentReplicas: 2 },
} as unknown as Frozen<HorizontalPodAutoscaler>;

test('cpu has a field, the rest travels in annotations', () => {
  const old = toV1(hpa);
  assert.equal(old.spec?.targetCPUUtilizationPercentage, 60);
  assert.ok(old.metadata.annotations?.['autoscaling.alpha.kubernetes.io/metrics']?.includes('memory'));
  assert.ok(old.metadata.annotations?.['autoscaling.alpha.kubernetes.io/behavior']?.includes('60'));
});

test('there and back', () => {
  const back = fromV1(toV1(hpa) as never);
  const names = back.spec?.metrics?.map(({ resource }) => resource?.name).sort();
  assert.deepEqual(names, ['cpu', 'memory']);
  assert.equal(back.spec?.behavior?.scaleDown?.stabilizationWindowSeconds, 60);
  assert.equal(back.metadata.annotations, undefined);
});

test('what was measured travels in an annotation, which wins over the field', () => {
  const currentMetrics = [
    { type: 'Resource', resource: { name: 'cpu', current: { averageUtilization: 12 } } },
    { type: 'Pods', pods: { metric: { name: 'p' }, current: { averageValue: '3' } } },
    { type: 'External', external: { metric: { name: 'e' }, current: { averageValue: '2' } } },
  ];
  const old = toV1({ ...hpa, status: { ...hpa.status, currentMetrics } } as never);
  assert.equal(old.status.currentCPUUtilizationPercentage, 12);
  old.status.currentCPUUtilizationPercentage = 50;
  assert.deepEqual(fromV1(old as never).status.currentMetrics, [
    { type: 'Resource', resource: { name: 'cpu', current: { averageUtilization: 12, averageValue: '0' } } },
    { type: 'Pods', pods: { metric: { name: 'p' }, current: { averageValue: '3' } } },
    { type: 'External', external: { metric: { name: 'e' }, current: { value: '0', averageValue: '2' } } },
  ]);
  old.metadata.annotations = { 'autoscaling.alpha.kubernetes.io/current-metrics': '[1]' };
  assert.deepEqual(fromV1(old as never).status.currentMetrics, [
    { type: 'Resource', resource: { name: 'cpu', current: { averageUtilization: 50 } } },
  ]);
});
