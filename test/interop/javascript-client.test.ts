// The official JavaScript client's ordinary calls, with the kubeconfig that `k8ts up` writes, on simulated nodes.
import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { after, before, test } from 'node:test';
import {
  ApiException,
  AppsV1Api,
  AuthorizationV1Api,
  BatchV1Api,
  CoreV1Api,
  CustomObjectsApi,
  Exec,
  Health,
  KubeConfig,
  KubernetesObjectApi,
  Log,
  makeInformer,
  Metrics,
  PatchStrategy,
  PolicyV1Api,
  PortForward,
  setHeaderOptions,
  type V1ConfigMap,
  type V1CustomResourceDefinition,
  type V1Deployment,
  type V1Status,
  VersionApi,
  Watch,
} from '@kubernetes/client-node';
import { eventually, RunningCluster } from './running-cluster.ts';

const cluster = new RunningCluster(['--node', 'simulated', '--nodes', '2', '--port', '0']);
const config = new KubeConfig();
let core: CoreV1Api;
let apps: AppsV1Api;

before(async () => {
  await cluster.start();
  config.loadFromFile(cluster.kubeconfig);
  core = config.makeApiClient(CoreV1Api);
  apps = config.makeApiClient(AppsV1Api);
});

after(() => cluster.remove());

const namespace = 'default';
const map = (name: string, data: Record<string, string> = { a: 'b' }) => ({
  metadata: { name, labels: { test: 'yes' } },
  data,
});
const failsWith = (code: number, says: RegExp) => (error: unknown) => {
  assert.ok(error instanceof ApiException, String(error));
  assert.equal(error.code, code);
  assert.match(String(error.body), says);
  return true;
};

test('the kubeconfig is understood, and the server is who it says', async () => {
  assert.ok(config.getCurrentCluster()?.server.startsWith('https://'));
  const { major, minor } = await config.makeApiClient(VersionApi).getCode();
  assert.deepEqual([major, minor], ['1', '37']);
  assert.equal(await new Health(config).readyz({}), true);
  assert.equal(await new Health(config).livez({}), true);
});

test('create, read, replace, patch in each form, list, delete', async () => {
  const made = await core.createNamespacedConfigMap({ namespace, body: map('crud') });
  assert.ok(made.metadata?.creationTimestamp instanceof Date);
  const read = await core.readNamespacedConfigMap({ namespace, name: 'crud' });
  assert.deepEqual(read.data, { a: 'b' });
  const next = { metadata: read.metadata!, data: { ...read.data, c: 'd' } };
  const replaced = await core.replaceNamespacedConfigMap({ namespace, name: 'crud', body: next });
  assert.deepEqual(replaced.data, { a: 'b', c: 'd' });
  await assert.rejects(
    core.replaceNamespacedConfigMap({ namespace, name: 'crud', body: made }),
    failsWith(409, /the object has been modified/),
  );
  const bodies: readonly (readonly [string, unknown])[] = [
    [PatchStrategy.JsonPatch, [{ op: 'add', path: '/data/json', value: '1' }]],
    [PatchStrategy.MergePatch, { data: { merge: '2' } }],
    [PatchStrategy.StrategicMergePatch, { data: { strategic: '3', a: null } }],
    [
      PatchStrategy.ServerSideApply,
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'crud' }, data: { applied: '4' } },
    ],
  ];
  for (const [type, body] of bodies)
    await core.patchNamespacedConfigMap(
      { namespace, name: 'crud', body, fieldManager: 'javascript' },
      setHeaderOptions('Content-Type', type),
    );
  const { items } = await core.listNamespacedConfigMap({ namespace, labelSelector: 'test=yes' });
  assert.deepEqual(
    items.map(({ data }) => data),
    [{ c: 'd', json: '1', merge: '2', strategic: '3', applied: '4' }],
  );
  const status = await core.deleteNamespacedConfigMap({ namespace, name: 'crud' });
  assert.equal(status.status, 'Success');
  await assert.rejects(core.readNamespacedConfigMap({ namespace, name: 'crud' }), failsWith(404, /"NotFound"/));
  await assert.rejects(
    core.createNamespacedConfigMap({ namespace, body: map('Bad_Name') }),
    failsWith(422, /RFC 1123 subdomain/),
  );
});

test('bytes, whole numbers or texts, and times survive', async () => {
  const secret = await core.createNamespacedSecret({
    namespace,
    body: { metadata: { name: 'bytes' }, stringData: { p: 'pässword' } },
  });
  assert.equal(Buffer.from(secret.data!['p']!, 'base64').toString(), 'pässword');
  const service = await core.createNamespacedService({
    namespace,
    body: {
      metadata: { name: 'ports' },
      spec: {
        selector: { app: 'x' },
        ports: [
          { name: 'a', port: 80, targetPort: 'http' },
          { name: 'b', port: 81, targetPort: 8081 },
        ],
      },
    },
  });
  assert.deepEqual(
    service.spec?.ports?.map(({ targetPort }) => targetPort),
    ['http', 8081],
  );
});

test('pages of a list', async () => {
  for (let at = 0; at < 5; at++) await core.createNamespacedConfigMap({ namespace, body: map(`page-${at}`) });
  const names: string[] = [];
  let next: string | undefined;
  let pages = 0;
  do {
    const page = await core.listNamespacedConfigMap({
      namespace,
      labelSelector: 'test=yes',
      limit: 2,
      ...(next !== undefined && { _continue: next }),
    });
    names.push(...page.items.map(({ metadata }) => metadata!.name!));
    next = page.metadata?._continue;
    pages++;
  } while (next !== undefined && next !== '');
  assert.deepEqual([pages, names.length], [3, 5]);
  await core.deleteCollectionNamespacedConfigMap({ namespace, labelSelector: 'test=yes' });
  assert.equal((await core.listNamespacedConfigMap({ namespace, labelSelector: 'test=yes' })).items.length, 0);
});

test('watch: changes in order, bookmarks, an end by its timeout', async () => {
  const { metadata } = await core.listNamespacedConfigMap({ namespace });
  const seen: string[] = [];
  let ended: unknown = 'not yet';
  const abort = await new Watch(config).watch(
    `/api/v1/namespaces/${namespace}/configmaps`,
    { resourceVersion: metadata!.resourceVersion, labelSelector: 'test=yes', timeoutSeconds: 2 },
    (phase, object: V1ConfigMap) => seen.push(`${phase} ${object.metadata?.name}`),
    (error: unknown) => (ended = error),
  );
  await core.createNamespacedConfigMap({ namespace, body: map('watched') });
  await core.replaceNamespacedConfigMap({ namespace, name: 'watched', body: map('watched', { a: 'c' }) });
  await core.deleteNamespacedConfigMap({ namespace, name: 'watched' });
  await eventually('three events', async () => seen.length >= 3);
  assert.deepEqual(seen, ['ADDED watched', 'MODIFIED watched', 'DELETED watched']);
  await eventually('the end', async () => ended !== 'not yet');
  abort.abort();
});

test('informer: what is there, what comes, what goes', async () => {
  await core.createNamespacedConfigMap({ namespace, body: map('first') });
  const path = `/api/v1/namespaces/${namespace}/configmaps`;
  const labelSelector = 'test=yes';
  const informer = makeInformer(
    config,
    path,
    () => core.listNamespacedConfigMap({ namespace, labelSelector }),
    labelSelector,
  );
  const seen: string[] = [];
  for (const verb of ['add', 'update', 'delete'] as const)
    informer.on(verb, (object: V1ConfigMap) => seen.push(`${verb} ${object.metadata?.name}`));
  await informer.start();
  try {
    await core.createNamespacedConfigMap({ namespace, body: map('second') });
    await eventually('the second', async () => informer.get('second', namespace) !== undefined);
    await core.replaceNamespacedConfigMap({ namespace, name: 'second', body: map('second', { x: 'y' }) });
    await core.deleteNamespacedConfigMap({ namespace, name: 'first' });
    await eventually('the end of the first', async () => informer.get('first', namespace) === undefined);
    assert.deepEqual(seen, ['add first', 'add second', 'update second', 'delete first']);
    assert.deepEqual(informer.get('second', namespace)?.data, { x: 'y' });
  } finally {
    await informer.stop();
  }
});

const deployment: V1Deployment = {
  metadata: { name: 'web' },
  spec: {
    replicas: 2,
    selector: { matchLabels: { app: 'web' } },
    template: {
      metadata: { labels: { app: 'web' } },
      spec: { containers: [{ name: 'c', image: 'nginx', ports: [{ containerPort: 80 }] }] },
    },
  },
};

test('a deployment comes up, is scaled, and a pod of it is evicted', async () => {
  await apps.createNamespacedDeployment({ namespace, body: deployment });
  const ready = (count: number) =>
    eventually(`${count} ready`, async () => {
      const { status } = await apps.readNamespacedDeploymentStatus({ namespace, name: 'web' });
      return status?.readyReplicas === count && status.replicas === count;
    });
  await ready(2);
  const scale = await apps.readNamespacedDeploymentScale({ namespace, name: 'web' });
  scale.spec = { replicas: 3 };
  await apps.replaceNamespacedDeploymentScale({ namespace, name: 'web', body: scale });
  await ready(3);
  const { items } = await core.listNamespacedPod({ namespace, labelSelector: 'app=web' });
  const name = items[0]!.metadata!.name!;
  await config.makeApiClient(PolicyV1Api).createNamespacedPodDisruptionBudget({
    namespace,
    body: { metadata: { name: 'web' }, spec: { minAvailable: '100%', selector: { matchLabels: { app: 'web' } } } },
  });
  const evict = () => core.createNamespacedPodEviction({ namespace, name, body: { metadata: { name, namespace } } });
  await eventually('the budget is counted', async () => {
    const { status } = await config
      .makeApiClient(PolicyV1Api)
      .readNamespacedPodDisruptionBudgetStatus({ namespace, name: 'web' });
    return status?.currentHealthy === 3;
  });
  await assert.rejects(evict(), failsWith(429, /DisruptionBudget/));
  await config.makeApiClient(PolicyV1Api).deleteNamespacedPodDisruptionBudget({ namespace, name: 'web' });
  await evict();
  await ready(3);
});

test('a job and a token', async () => {
  const batch = config.makeApiClient(BatchV1Api);
  await batch.createNamespacedJob({
    namespace,
    body: {
      metadata: { name: 'once' },
      spec: { template: { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'busybox' }] } } },
    },
  });
  await eventually('its end', async () => {
    const { status } = await batch.readNamespacedJob({ namespace, name: 'once' });
    return status?.completionTime instanceof Date;
  });
  const { status } = await core.createNamespacedServiceAccountToken({
    namespace,
    name: 'default',
    body: { spec: { audiences: [], expirationSeconds: 600 } },
  });
  const robot = new KubeConfig();
  robot.loadFromClusterAndUser(config.getCurrentCluster()!, { name: 'robot', token: status!.token });
  await assert.rejects(
    robot.makeApiClient(CoreV1Api).listNamespacedSecret({ namespace }),
    failsWith(403, /system:serviceaccount:default:default/),
  );
  const review = await robot.makeApiClient(AuthorizationV1Api).createSelfSubjectAccessReview({
    body: { spec: { resourceAttributes: { verb: 'list', resource: 'secrets', namespace } } },
  });
  assert.equal(review.status?.allowed, false);
});

test('objects of any kind: create, apply, patch, list, delete; also custom ones', async () => {
  const objects = KubernetesObjectApi.makeApiClient(config);
  const definition: V1CustomResourceDefinition = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'gears.interop.k8ts.test' },
    spec: {
      group: 'interop.k8ts.test',
      scope: 'Namespaced',
      names: { plural: 'gears', kind: 'Gear' },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: {
            openAPIV3Schema: {
              type: 'object',
              properties: { spec: { type: 'object', properties: { teeth: { type: 'integer' } } } },
            },
          },
        },
      ],
    },
  };
  await objects.create(definition);
  await eventually('established', async () => {
    const { status } = (await objects.read({
      apiVersion: definition.apiVersion!,
      kind: definition.kind!,
      metadata: { name: definition.metadata!.name! },
    })) as V1CustomResourceDefinition;
    return status?.conditions?.some(({ type, status: is }) => type === 'Established' && is === 'True');
  });
  const gear = {
    apiVersion: 'interop.k8ts.test/v1',
    kind: 'Gear',
    metadata: { name: 'g', namespace },
    spec: { teeth: 12 },
  };
  await objects.create(gear);
  const applied = await objects.patch(
    { ...gear, spec: { teeth: 13 } },
    undefined,
    undefined,
    'applier',
    true,
    PatchStrategy.ServerSideApply,
  );
  assert.equal(applied.spec.teeth, 13);
  const merged = await objects.patch(
    { ...gear, spec: { teeth: 14 } },
    undefined,
    undefined,
    undefined,
    undefined,
    PatchStrategy.MergePatch,
  );
  assert.equal(merged.spec.teeth, 14);
  assert.equal((await objects.list('interop.k8ts.test/v1', 'Gear', namespace)).items.length, 1);
  const custom = config.makeApiClient(CustomObjectsApi);
  const place = { group: 'interop.k8ts.test', version: 'v1', namespace, plural: 'gears' };
  const all = (await custom.listNamespacedCustomObject(place)) as { items: unknown[] };
  assert.equal(all.items.length, 1);
  await assert.rejects(
    custom.createNamespacedCustomObject({
      ...place,
      body: { ...gear, metadata: { name: 'x' }, spec: { teeth: 'many' } },
    }),
    failsWith(422, /spec\.teeth/),
  );
  await objects.delete(gear);
  await assert.rejects(custom.getNamespacedCustomObject({ ...place, name: 'g' }), failsWith(404, /NotFound/));
});

test('exec, logs and ports of a simulated pod are refused with a reason', async () => {
  const { items } = await core.listNamespacedPod({ namespace, labelSelector: 'app=web' });
  const name = items[0]!.metadata!.name!;
  const none = new PassThrough();
  const status = await new Promise<V1Status>((resolve, reject) => {
    new Exec(config).exec(namespace, name, 'c', ['true'], none, none, null, false, resolve).catch(reject);
  });
  assert.equal(status.status, 'Failure', JSON.stringify(status));
  assert.match(status.message ?? '', /simulated/);
  const told = /node node-\d is simulated, it runs no containers/;
  await assert.rejects(core.readNamespacedPodLog({ namespace, name }), failsWith(404, told));
  await assert.rejects(new Log(config).log(namespace, name, 'c', none), /404/);
  await assert.rejects(
    core.connectGetNamespacedPodProxyWithPath({ namespace, name, path: 'x' }),
    failsWith(503, /is simulated: nothing listens there/),
  );
  const forward = new PortForward(config);
  await assert.rejects(forward.portForward(namespace, name, [80], none, null, none));
  await assert.rejects(new Exec(config).exec(namespace, 'no-such-pod', 'c', ['true'], none, none, null, false));
});

test('metrics of nodes and pods', async () => {
  const metrics = new Metrics(config);
  const nodes = await eventually('both nodes', async () => {
    const { items } = await metrics.getNodeMetrics();
    return items.length === 2 && items;
  });
  assert.match(nodes[0]!.usage.cpu, /^\d+[nm]?$/);
  await eventually('the pods', async () => (await metrics.getPodMetrics(namespace)).items.length > 0);
});
