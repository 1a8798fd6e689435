// Upstream's components and ours in one control plane: each in turn on the other's API server, over protobuf, with RBAC.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import {
  configMaps,
  daemonSets,
  deployments,
  endpointSlices,
  jobs,
  namespaces,
  nodes,
  podDisruptionBudgets,
  pods,
  resourceQuotas,
  serviceAccounts,
  services,
  statefulSets,
} from '../../src/api/generated/resources.ts';
import { isNotFound } from '../../src/api/status-error.ts';
import { eventually } from '../interop/running-cluster.ts';
import {
  buildUpstream,
  type Component,
  type Maker,
  startWorld,
  upstreamMissing,
  type World,
} from './upstream-world.ts';

const skip = upstreamMissing ?? false;

before(() => {
  if (skip === false) buildUpstream();
});

const worlds: Readonly<Record<string, Readonly<Record<Component, Maker>>>> = {
  "upstream's scheduler and controllers on our API server": {
    'kube-apiserver': 'ours',
    'kube-scheduler': 'upstream',
    'kube-controller-manager': 'upstream',
  },
  "our scheduler and controllers on upstream's API server and our etcd": {
    'kube-apiserver': 'upstream',
    'kube-scheduler': 'ours',
    'kube-controller-manager': 'ours',
  },
};

const template = (app: string, restartPolicy: 'Always' | 'Never' = 'Always') => ({
  metadata: { labels: { app } },
  spec: { restartPolicy, containers: [{ name: 'c', image: 'nginx', resources: { requests: { cpu: '100m' } } }] },
});
const namespace = 'work';

for (const [name, makers] of Object.entries(worlds)) {
  test(name, { skip, timeout: 600_000 }, async (t) => {
    const world = await startWorld(t, makers, ['node-0', 'node-1']);
    const step = (what: string, work: () => Promise<void>) =>
      t.test(what, async () => {
        try {
          await work();
        } catch (error) {
          for (const component of Object.keys(makers))
            t.diagnostic(`${component}: ${world.output(component).slice(-3000)}`);
          throw error;
        }
      });
    await step('nodes get address ranges and become schedulable', () => nodesReady(world));
    await step('a namespace gets its account and the authority', () => namespaceIsFilled(world));
    await step('a deployment becomes ready, behind a service, within its quota and budget', () => deployed(world));
    await step('a rollout, a scaling, a pod that is lost', () => changed(world));
    await step('jobs, stateful sets and daemon sets', () => others(world));
    await step('why a pod does not fit', () => unschedulable(world));
    await step('dependents go with their owner, and all with the namespace', () => removed(world));
  });
}

async function nodesReady({ api }: World): Promise<void> {
  await eventually('two ready nodes', async () => {
    const { items } = await api.resource(nodes).list();
    return (
      items.length === 2 &&
      items.every(
        ({ spec, status }) =>
          spec?.podCIDR?.startsWith('10.244.') === true &&
          (spec.taints ?? []).length === 0 &&
          status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True'),
      )
    );
  });
}

async function namespaceIsFilled({ api }: World): Promise<void> {
  await api.resource(namespaces).create({ metadata: { name: namespace }, spec: {} });
  await eventually('the account', async () => api.resource(serviceAccounts).get({ namespace, name: 'default' }));
  const root = await eventually('the authority', () =>
    api.resource(configMaps).get({ namespace, name: 'kube-root-ca.crt' }),
  );
  assert.match(root.data?.['ca.crt'] ?? '', /BEGIN CERTIFICATE/);
}

async function ready({ api }: World, replicas: number): Promise<void> {
  await eventually(`${replicas} ready`, async () => {
    const { metadata, status } = await api.resource(deployments).get({ namespace, name: 'web' });
    return (
      status?.observedGeneration === metadata.generation &&
      status.replicas === replicas &&
      status.updatedReplicas === replicas &&
      status.availableReplicas === replicas
    );
  });
}

async function deployed(world: World): Promise<void> {
  const { api } = world;
  await api.resource(resourceQuotas).create({
    metadata: { name: 'limit', namespace },
    spec: { hard: { pods: '30', 'requests.cpu': '10' } },
  });
  await eventually('the quota is counted', async () => {
    const { status } = await api.resource(resourceQuotas).get({ namespace, name: 'limit' });
    return status?.hard?.['pods'] !== undefined;
  });
  const selector = { matchLabels: { app: 'web' } };
  await api.resource(podDisruptionBudgets).create({
    metadata: { name: 'keep', namespace },
    spec: { minAvailable: 1, selector },
  });
  await api.resource(services).create({
    metadata: { name: 'web', namespace },
    spec: { selector: selector.matchLabels, ports: [{ port: 80 }] },
  });
  await api.resource(deployments).create({
    metadata: { name: 'web', namespace },
    spec: { replicas: 2, selector, template: template('web') },
  });
  await ready(world, 2);
  const { items } = await api.resource(pods).list({ namespace, labelSelector: 'app=web' });
  assert.deepEqual(items.map(({ spec }) => String(spec.nodeName)).toSorted(), ['node-0', 'node-1'], 'they are spread');
  await eventually('both behind the service', async () => {
    const slices = await api
      .resource(endpointSlices)
      .list({ namespace, labelSelector: 'kubernetes.io/service-name=web' });
    const addresses = slices.items.flatMap(({ endpoints }) => endpoints ?? []);
    return addresses.length === 2 && addresses.every(({ conditions }) => conditions?.ready === true);
  });
  await eventually('the quota and the budget know of them', async () => {
    const quota = await api.resource(resourceQuotas).get({ namespace, name: 'limit' });
    const budget = await api.resource(podDisruptionBudgets).get({ namespace, name: 'keep' });
    return (
      quota.status?.used?.['pods'] === '2' &&
      quota.status.used['requests.cpu'] === '200m' &&
      budget.status?.disruptionsAllowed === 1
    );
  });
}

async function changed(world: World): Promise<void> {
  const { api } = world;
  const key = { namespace, name: 'web' };
  const body = { spec: { template: { spec: { containers: [{ name: 'c', image: 'nginx:2' }] } } } };
  await api.resource(deployments).patch(key, { type: 'strategic', body });
  await ready(world, 2);
  await api.resource(deployments).patch(key, { type: 'merge', body: { spec: { replicas: 4 } } });
  await ready(world, 4);
  const { items } = await api.resource(pods).list({ namespace, labelSelector: 'app=web' });
  await api.resource(pods).delete({ namespace, name: items[0]!.metadata.name });
  await eventually('another in its place', async () => {
    const now = await api.resource(pods).list({ namespace, labelSelector: 'app=web' });
    return (
      now.items.length === 4 &&
      now.items.every(
        ({ metadata, status }) => metadata.name !== items[0]!.metadata.name && status?.phase === 'Running',
      )
    );
  });
}

async function others({ api }: World): Promise<void> {
  await api.resource(jobs).create({
    metadata: { name: 'once', namespace },
    spec: { completions: 3, parallelism: 2, completionMode: 'Indexed', template: template('once', 'Never') },
  });
  await api.resource(statefulSets).create({
    metadata: { name: 'db', namespace },
    spec: { serviceName: 'db', replicas: 2, selector: { matchLabels: { app: 'db' } }, template: template('db') },
  });
  await api.resource(daemonSets).create({
    metadata: { name: 'agent', namespace },
    spec: { selector: { matchLabels: { app: 'agent' } }, template: template('agent') },
  });
  await eventually('the job', async () => {
    const { status } = await api.resource(jobs).get({ namespace, name: 'once' });
    return status?.succeeded === 3 && status.completedIndexes === '0-2' && status.completionTime !== undefined;
  });
  await eventually('the stateful set', async () => {
    const { status } = await api.resource(statefulSets).get({ namespace, name: 'db' });
    return status?.readyReplicas === 2;
  });
  await eventually('the daemon set', async () => {
    const { status } = await api.resource(daemonSets).get({ namespace, name: 'agent' });
    return status?.numberReady === 2 && status.desiredNumberScheduled === 2;
  });
}

async function unschedulable({ api }: World): Promise<void> {
  const { spec } = template('picky');
  await api.resource(pods).create({
    metadata: { name: 'picky', namespace },
    spec: { ...spec, nodeSelector: { 'no-such': 'node' } },
  });
  const condition = await eventually('a condition', async () => {
    const { status } = await api.resource(pods).get({ namespace, name: 'picky' });
    return status?.conditions?.find(({ type }) => type === 'PodScheduled');
  });
  assert.equal(condition.reason, 'Unschedulable');
  assert.match(
    condition.message ?? '',
    /^0\/2 nodes are available: 2 node\(s\) didn't match Pod's node affinity\/selector\./,
  );
}

async function removed({ api }: World): Promise<void> {
  await api.resource(deployments).delete({ namespace, name: 'web' }, { propagationPolicy: 'Foreground' });
  await eventually('the deployment and its pods are gone', async () => {
    const { items } = await api.resource(pods).list({ namespace, labelSelector: 'app=web' });
    const left = await api
      .resource(deployments)
      .get({ namespace, name: 'web' })
      .catch((error: unknown) => {
        if (isNotFound(error)) return undefined;
        throw error;
      });
    return items.length === 0 && left === undefined;
  });
  await api.resource(namespaces).delete({ namespace: '', name: namespace });
  await eventually('the namespace is gone', async () => {
    try {
      await api.resource(namespaces).get({ namespace: '', name: namespace });
      return false;
    } catch (error) {
      if (isNotFound(error)) return true;
      throw error;
    }
  });
}
