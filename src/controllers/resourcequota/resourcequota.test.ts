import assert from 'node:assert/strict';
import test from 'node:test';
import { configMaps, pods, resourceQuotas } from '../../api/generated/resources.ts';
import { countedBy, quotaMatches, quotaUsage } from '../../api/judge/quota-usage.ts';
import type { Frozen, KubeObject } from '../../api/meta.ts';
import type { ResourceQuota } from '../../api/generated/core.v1.ts';
import { formatQuantity } from '../../api/quantity.ts';
import { withControllers } from '../../testing/controller-world.ts';

const core = (plural: string) => ({ group: '', plural });
const of = (obj: object) => obj as Frozen<KubeObject>;

test('what pods, services and claims use', () => {
  const usage = (plural: string, obj: object) =>
    Object.fromEntries([...quotaUsage(core(plural), of(obj))].map(([name, amount]) => [name, formatQuantity(amount)]));
  const resources = { requests: { cpu: '250m', 'x.example/gpu': '1' }, limits: { memory: '1Gi' } };
  const pod = { spec: { containers: [{ resources }, { resources }] } };
  assert.deepEqual(usage('pods', pod), {
    'count/pods': '1',
    pods: '1',
    cpu: '500m',
    'requests.cpu': '500m',
    'requests.x.example/gpu': '2',
    'limits.memory': '2Gi',
  });
  assert.deepEqual(usage('pods', { ...pod, status: { phase: 'Failed' } }), { 'count/pods': '1' });
  assert.deepEqual(usage('services', { spec: { type: 'LoadBalancer', ports: [{}, {}] } }), {
    'count/services': '1',
    services: '1',
    'services.nodeports': '2',
    'services.loadbalancers': '1',
  });
  const claim = {
    metadata: { name: 'c' },
    spec: { storageClassName: 'fast', resources: { requests: { storage: '1Gi' } } },
  };
  assert.deepEqual(usage('persistentvolumeclaims', claim), {
    'count/persistentvolumeclaims': '1',
    persistentvolumeclaims: '1',
    'requests.storage': '1Gi',
    'fast.storageclass.storage.k8s.io/persistentvolumeclaims': '1',
    'fast.storageclass.storage.k8s.io/requests.storage': '1Gi',
  });
});

test('names and what counts them', () => {
  assert.deepEqual(countedBy('count/deployments.apps'), { group: 'apps', plural: 'deployments' });
  assert.deepEqual(countedBy('requests.cpu'), core('pods'));
  assert.deepEqual(countedBy('services.nodeports'), core('services'));
  assert.deepEqual(countedBy('fast.storageclass.storage.k8s.io/requests.storage'), core('persistentvolumeclaims'));
});

const scoped = (...scopes: string[]) => ({ spec: { scopes } }) as unknown as Frozen<ResourceQuota>;
const cases: [Frozen<ResourceQuota>, object, boolean][] = [
  [scoped(), { containers: [] }, true],
  [scoped('BestEffort'), { containers: [{}] }, true],
  [scoped('NotBestEffort'), { containers: [{}] }, false],
  [scoped('Terminating'), { containers: [], activeDeadlineSeconds: 5 }, true],
  [scoped('NotTerminating'), { containers: [], activeDeadlineSeconds: 5 }, false],
  [scoped('PriorityClass'), { containers: [], priorityClassName: 'p' }, true],
];
for (const [at, [quota, spec, expected]] of cases.entries())
  test(`scope ${at}`, () => assert.equal(quotaMatches(quota, core('pods'), of({ spec })), expected));

test('a quota shows what is used, and less when it goes', () =>
  withControllers({ controllers: ['resourcequota-controller'] }, async (world) => {
    const metadata = (name: string) => ({ name, namespace: 'default' });
    for (const name of ['a', 'b']) {
      await world.create(configMaps, { metadata: metadata(name) });
      await world.create(pods, { metadata: metadata(name), spec: { nodeName: 'n', containers: [] } });
    }
    const hard = { pods: '5', configmaps: '10', 'count/configmaps': '10', 'requests.cpu': '1' };
    await world.create(resourceQuotas, { metadata: metadata('q'), spec: { hard } });
    await world.settle();
    const used = async () => (await world.get(resourceQuotas, 'q')).status?.used;
    assert.deepEqual(await used(), { pods: '2', configmaps: '2', 'count/configmaps': '2', 'requests.cpu': '0' });
    await world.client.resource(configMaps).delete(metadata('a'));
    await world.pod(await world.get(pods, 'a'), 'Succeeded', false);
    await world.settle();
    assert.deepEqual(await used(), { pods: '1', configmaps: '1', 'count/configmaps': '1', 'requests.cpu': '0' });
  }));
