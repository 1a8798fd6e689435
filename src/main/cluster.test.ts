import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { configMaps, deployments, jobs, namespaces, pods } from '../api/generated/resources.ts';
import type { Deployment } from '../api/generated/apps.v1.ts';
import type { Frozen, New } from '../api/meta.ts';
import { isNotFound } from '../api/status-error.ts';
import { type Cluster, startCluster } from './cluster.ts';

const web: New<Deployment> = {
  metadata: { name: 'web', namespace: 'default' },
  spec: {
    replicas: 3,
    selector: { matchLabels: { app: 'web' } },
    template: { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'c', image: 'any' }] } },
  },
};

/** Watches until an object satisfies `holds`. */
async function until<T>(
  events: AsyncIterable<{ readonly object: Frozen<T> }>,
  holds: (obj: Frozen<T>) => boolean,
): Promise<Frozen<T>> {
  for await (const { object } of events) if (holds(object)) return object;
  throw new Error('the watch ended first');
}

function deploymentReady(cluster: Cluster, replicas: number) {
  const events = cluster.client.resource(deployments).watch({
    namespace: 'default',
    sendInitialEvents: true,
    allowWatchBookmarks: true,
    resourceVersionMatch: 'NotOlderThan',
  });
  return until(
    events,
    ({ status, metadata, spec }) =>
      metadata.name === 'web' && spec?.replicas === replicas && status?.readyReplicas === replicas,
  );
}

test('a Deployment becomes ready on simulated nodes, a Job completes, a namespace goes with its content', async (t) => {
  const cluster = await startCluster({ nodes: 3 });
  t.after(() => cluster.stop());
  await cluster.client.resource(deployments).create(web);
  await deploymentReady(cluster, 3);
  const { items } = await cluster.client.resource(pods).list({ namespace: 'default', labelSelector: 'app=web' });
  assert.equal(new Set(items.map((pod) => pod.spec.nodeName)).size, 3, 'spread over the nodes');

  await cluster.client.resource(namespaces).create({ metadata: { name: 'team' }, spec: {} });
  await cluster.client.resource(jobs).create({
    metadata: { name: 'sum', namespace: 'team' },
    spec: { template: { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'any' }] } } },
  });
  await until(cluster.client.resource(jobs).watch({ namespace: 'team' }), ({ status }) => status?.succeeded === 1);
  await cluster.client.resource(namespaces).delete({ namespace: '', name: 'team' });
  const gone = cluster.client.resource(namespaces).watch({ fieldSelector: 'metadata.name=team' });
  for await (const { type } of gone) if (type === 'DELETED') break;
  assert.equal((await cluster.client.resource(pods).list({ namespace: 'team' })).items.length, 0);
});

test('several clusters live in one process and share nothing', async (t) => {
  const clusters = await Promise.all(Array.from({ length: 3 }, () => startCluster({ node: 'none', controllers: [] })));
  t.after(() => Promise.all(clusters.map((cluster) => cluster.stop())));
  await clusters[0]!.client.resource(configMaps).create({ metadata: { name: 'mine', namespace: 'default' } });
  await assert.rejects(
    clusters[1]!.client.resource(configMaps).get({ namespace: 'default', name: 'mine' }),
    isNotFound,
  );
  assert.equal(new Set(clusters.map(({ port }) => port)).size, 3);
});

test('a cluster on disk goes on where it stopped', async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'k8ts-cluster-'));
  t.after(() => rmSync(dataDir, { recursive: true }));
  const first = await startCluster({ dataDir, nodes: 2 });
  await first.client.resource(deployments).create(web);
  const ready = await deploymentReady(first, 3);
  await first.stop();
  const second = await startCluster({ dataDir, nodes: 2 });
  t.after(() => second.stop());
  assert.equal(
    (await second.client.resource(deployments).get({ namespace: 'default', name: 'web' })).metadata.uid,
    ready.metadata.uid,
  );
  await second.client
    .resource(deployments)
    .patch({ namespace: 'default', name: 'web' }, { type: 'merge', body: { spec: { replicas: 5 } } });
  await deploymentReady(second, 5);
});

test('stop ends open watches at once and frees the port', async () => {
  const cluster = await startCluster({ node: 'none' });
  const watch = cluster.client.resource(pods).watch()[Symbol.asyncIterator]();
  const next = watch.next();
  await cluster.stop();
  await next.catch(() => undefined);
  await cluster.stop();
  const refused = await new Promise<NodeJS.ErrnoException>((resolve) => {
    request({ host: '127.0.0.1', port: cluster.port, path: '/' }).on('error', resolve).end();
  });
  assert.equal(refused.code, 'ECONNREFUSED');
});
