import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { isStatusError } from '../../api/status-error.ts';
import type { KubeObject } from '../../api/meta.ts';
import type { Transport } from '../../client/transport.ts';
import { startTestServer } from '../start.suite.ts';
import type { TestServer } from '../start.suite.ts';
import { eventLimits } from './optional-others.ts';
import { admissionPlugins } from './plugins.ts';

let running: TestServer;
let node: Transport;

before(async () => {
  running = await startTestServer({
    enableAdmissionPlugins: [
      'AlwaysPullImages',
      'DenyServiceExternalIPs',
      'EventRateLimit',
      'ExtendedResourceToleration',
      'LimitPodHardAntiAffinityTopology',
      'NamespaceAutoProvision',
      'OwnerReferencesPermissionEnforcement',
      'PodNodeSelector',
      'PodTolerationRestriction',
    ],
    defaultTolerationSeconds: { notReady: 7, unreachable: 8 },
    admissionConfig: {
      PodTolerationRestriction: { default: [{ key: 'cluster', operator: 'Exists', effect: 'NoExecute' }] },
      ResourceQuota: {
        limitedResources: [
          { resource: 'secrets', matchContains: ['secrets'] },
          { resource: 'pods', matchScopes: [{ scopeName: 'PriorityClass', operator: 'In', values: ['dear'] }] },
        ],
      },
      EventRateLimit: { limits: [{ type: 'User', qps: 0.001, burst: 2 }] },
      PodNodeSelector: { podNodeSelectorPluginConfig: { clusterDefaultNodeSelector: 'pool=default' } },
    },
  });
  node = running.server.inProcess({ name: 'alice', groups: [] });
  await post('/api/v1/namespaces/made/serviceaccounts', { kind: 'ServiceAccount', metadata: { name: 'default' } });
});
after(() => running.stop());

type Obj = KubeObject & {
  spec: {
    nodeSelector?: object;
    tolerations?: { key?: string; tolerationSeconds?: number }[];
    containers: { imagePullPolicy?: string }[];
  };
};
const post = (path: string, body: object, as = running.admin): Promise<Obj> =>
  as.call({
    method: 'POST',
    path,
    query: new URLSearchParams(),
    body: { apiVersion: 'v1', ...body },
  }) as unknown as Promise<Obj>;
const forbidden = (work: Promise<unknown>): Promise<void> =>
  assert.rejects(work, (error) => isStatusError(error, 'Forbidden'));
const pod = (name: string, more: object = {}, resources: object = {}): object => ({
  kind: 'Pod',
  metadata: { name },
  spec: { containers: [{ name: 'c', image: 'x:1', resources }], ...more },
});
const pods = '/api/v1/namespaces/made/pods';

test('pods: images always pulled, the namespace’s node selector, tolerations of extended resources', async () => {
  const limits = { limits: { 'example.com/gpu': '1' } };
  const { spec } = await post(pods, pod('a', {}, limits));
  assert.equal(spec.containers[0]!.imagePullPolicy, 'Always');
  assert.deepEqual(spec.nodeSelector, { pool: 'default' });
  assert.ok(spec.tolerations?.some(({ key }) => key === 'example.com/gpu'));
  const of = (key: string) => spec.tolerations?.filter((known) => known.key === key);
  assert.deepEqual(of('example.com/gpu'), [{ key: 'example.com/gpu', operator: 'Exists', effect: 'NoSchedule' }]);
  assert.deepEqual(
    ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable'].map((key) => of(key)?.[0]?.tolerationSeconds),
    [7, 8],
  );
  assert.equal(of('cluster')?.length, 1, 'the cluster’s default tolerations');
  assert.equal(of('node.kubernetes.io/memory-pressure')?.length ?? 0, 0, 'a pod that asks for nothing goes first');
  const asking = await post(pods, pod('asks', {}, { requests: { cpu: '1m' } }));
  assert.ok(asking.spec.tolerations?.some(({ key }) => key === 'node.kubernetes.io/memory-pressure'));
  await forbidden(post(pods, pod('b', { nodeSelector: { pool: 'other' } })));
});

test('pods: anti-affinity by other than the node is refused', () => {
  const terms = [{ topologyKey: 'topology.kubernetes.io/zone', labelSelector: { matchLabels: { a: 'b' } } }];
  return forbidden(
    post(pods, pod('c', { affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: terms } } })),
  );
});

test('tolerations beyond the namespace’s list are refused', async () => {
  const annotations = {
    'scheduler.alpha.kubernetes.io/tolerationsWhitelist':
      '[{"key":"ok","operator":"Exists"},{"operator":"Exists","effect":"NoExecute"}]',
  };
  await post('/api/v1/namespaces', { kind: 'Namespace', metadata: { name: 'listed', annotations } });
  await post('/api/v1/namespaces/listed/serviceaccounts', { kind: 'ServiceAccount', metadata: { name: 'default' } });
  await post('/api/v1/namespaces/listed/pods', pod('a', { tolerations: [{ key: 'ok', operator: 'Exists' }] }));
  await forbidden(
    post('/api/v1/namespaces/listed/pods', pod('b', { tolerations: [{ key: 'no', operator: 'Exists' }] })),
  );
});

test('external IPs of services are refused', () =>
  forbidden(
    post('/api/v1/namespaces/made/services', {
      kind: 'Service',
      metadata: { name: 's' },
      spec: { ports: [{ port: 80 }], externalIPs: ['1.2.3.4'] },
    }),
  ));

test('events beyond a user’s rate are refused', async () => {
  const event = (name: string): object => ({
    kind: 'Event',
    metadata: { name, namespace: 'made' },
    involvedObject: { kind: 'Pod', namespace: 'made', name: 'a' },
  });
  await post('/api/v1/namespaces/made/events', event('1'));
  await post('/api/v1/namespaces/made/events', event('2'));
  await assert.rejects(post('/api/v1/namespaces/made/events', event('3')), (error) =>
    isStatusError(error, 'TooManyRequests'),
  );
});

test('who may not set finalizers of an owner cannot hold up its deletion', async () => {
  const rbac = 'rbac.authorization.k8s.io';
  const role = {
    apiVersion: `${rbac}/v1`,
    kind: 'Role',
    metadata: { name: 'r' },
    rules: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['create'] }],
  };
  await post(`/apis/${rbac}/v1/namespaces/made/roles`, role);
  await post(`/apis/${rbac}/v1/namespaces/made/rolebindings`, {
    apiVersion: `${rbac}/v1`,
    kind: 'RoleBinding',
    metadata: { name: 'r' },
    roleRef: { apiGroup: rbac, kind: 'Role', name: 'r' },
    subjects: [{ kind: 'User', apiGroup: rbac, name: 'alice' }],
  });
  const owned = (name: string, block: boolean): object => ({
    kind: 'ConfigMap',
    metadata: {
      name,
      ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'a', uid: 'u', blockOwnerDeletion: block }],
    },
  });
  await post('/api/v1/namespaces/made/configmaps', owned('x', false), node);
  await forbidden(post('/api/v1/namespaces/made/configmaps', owned('y', true), node));
});

test('what is limited can only be used where a quota covers it', async () => {
  const map = (name: string): object => ({ kind: 'Secret', metadata: { name } });
  const maps = '/api/v1/namespaces/covered/secrets';
  await post('/api/v1/namespaces', { kind: 'Namespace', metadata: { name: 'covered' } });
  await forbidden(post(maps, map('a')));
  const quota = {
    kind: 'ResourceQuota',
    metadata: { name: 'q' },
    spec: { hard: { secrets: '2', 'count/secrets': '2' } },
  };
  await post('/api/v1/namespaces/covered/resourcequotas', quota);
  await running.admin.call({
    method: 'PATCH',
    path: '/api/v1/namespaces/covered/resourcequotas/q/status',
    query: new URLSearchParams(),
    contentType: 'application/merge-patch+json',
    body: { status: { hard: { secrets: '2', 'count/secrets': '2' }, used: { secrets: '0', 'count/secrets': '0' } } },
  });
  await post(maps, map('b'));
  const scheduling = 'scheduling.k8s.io/v1';
  for (const name of ['dear', 'cheap'])
    await post(`/apis/${scheduling}/priorityclasses`, {
      apiVersion: scheduling,
      kind: 'PriorityClass',
      metadata: { name },
      value: 5,
    });
  await post(pods, pod('cheap', { priorityClassName: 'cheap' }));
  await forbidden(post(pods, pod('dear', { priorityClassName: 'dear' })));
});

test('limits of events that are none end the start', () => {
  for (const limits of [undefined, [], [{ type: 'Nobody', qps: 1, burst: 1 }], [{ type: 'User', qps: 0, burst: 1 }]])
    assert.throws(() => eventLimits({ limits }), /EventRateLimit/);
});

test('a plugin that does not exist ends the start', () => {
  assert.throws(() => admissionPlugins({} as never, ['Nonsense']), /Nonsense/);
});
