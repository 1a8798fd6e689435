// Tests that load scales: simulated pods say what they use, the metrics server tells it, the autoscaler acts on it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deployments, horizontalPodAutoscalers } from '../../src/api/generated/resources.ts';
import { seededRandom } from '../../src/base/random.ts';
import { VirtualClock } from '../../src/base/virtual-clock.ts';
import { cpuUsageAnnotation } from '../../src/kubelet/simulated/usage.ts';
import { startCluster } from '../../src/main/cluster.ts';

const name = 'web';
const key = { namespace: 'default', name };

test('pods under load become more, and fewer when it ends', { timeout: 120_000 }, async () => {
  const clock = new VirtualClock(Date.UTC(2026, 0, 1));
  const cluster = await startCluster({ clock, random: seededRandom(3), node: 'simulated', nodes: 2 });
  try {
    const { client } = cluster;
    await client.resource(deployments).create({
      metadata: key,
      spec: {
        replicas: 1,
        selector: { matchLabels: { app: name } },
        template: {
          metadata: { labels: { app: name }, annotations: { [cpuUsageAnnotation]: '150m' } },
          spec: { containers: [{ name: 'c', image: 'any', resources: { requests: { cpu: '100m' } } }] },
        },
      },
    });
    await client.resource(horizontalPodAutoscalers).create({
      metadata: key,
      spec: {
        scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name },
        minReplicas: 1,
        maxReplicas: 4,
        metrics: [
          { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 50 } } },
        ],
      },
    });
    const replicas = async (): Promise<number | undefined> =>
      (await client.resource(deployments).get(key)).spec?.replicas ?? undefined;
    const pass = async (seconds: number, until: number): Promise<void> => {
      for (let second = 0; second < seconds && (await replicas()) !== until; second++) await clock.advance(1000);
      const { status } = await client.resource(horizontalPodAutoscalers).get(key);
      assert.equal(await replicas(), until, JSON.stringify(status?.conditions));
    };
    // 150 % of what is requested on each pod, whatever their number: as many as are allowed.
    await pass(400, 4);
    const { status } = await client.resource(horizontalPodAutoscalers).get(key);
    assert.equal(status?.currentMetrics?.[0]?.resource?.current.averageUtilization, 150);
    await client.resource(deployments).patch(key, {
      type: 'merge',
      body: { spec: { template: { metadata: { annotations: { [cpuUsageAnnotation]: '10m' } } } } },
    });
    await pass(1200, 1);
  } finally {
    await cluster.stop();
  }
});
