import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Frozen, KubeList, KubeObject } from '../../api/meta.ts';
import { isStatusError } from '../../api/status-error.ts';
import type { StatusReason } from '../../api/status-error.ts';
import type { Transport, TransportRequest } from '../../client/transport.ts';
import { startTestServer } from '../start.suite.ts';
import type { TestServer } from '../start.suite.ts';

let running: TestServer;
let admin: Transport;

before(async () => {
  running = await startTestServer();
  ({ admin } = running);
  await create('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'a' } });
  await create('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'b' } });
});

after(() => running.stop());

type Obj = Frozen<KubeObject & { data?: Record<string, string>; spec?: { replicas?: number }; status?: unknown }>;

async function call(
  method: TransportRequest['method'],
  url: string,
  body?: unknown,
  contentType?: string,
): Promise<Obj> {
  const [path, query = ''] = url.split('?') as [string, string | undefined];
  return (await admin.call({
    method,
    path,
    query: new URLSearchParams(query),
    ...(body !== undefined && { body }),
    ...(contentType !== undefined && { contentType }),
  })) as Obj;
}

const create = (path: string, body: unknown): Promise<Obj> => call('POST', path, body);
const list = async (url: string): Promise<Frozen<KubeList<KubeObject>>> =>
  (await call('GET', url)) as unknown as Frozen<KubeList<KubeObject>>;
const names = async (url: string): Promise<string[]> => (await list(url)).items.map(({ metadata }) => metadata.name);

async function refused(reason: StatusReason, work: Promise<unknown>): Promise<void> {
  await assert.rejects(work, (error) => isStatusError(error, reason) || assert.fail(String(error)));
}

const maps = '/api/v1/namespaces/a/configmaps';
const configMap = (name: string, labels?: Record<string, string>): object => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, ...(labels && { labels }) },
  data: { k: 'v' },
});

/** A table of kinds: each goes through the whole life of an object. */
const kinds: readonly { readonly path: string; readonly object: Record<string, unknown> }[] = [
  { path: maps, object: { apiVersion: 'v1', kind: 'ConfigMap' } },
  { path: '/api/v1/namespaces/a/secrets', object: { apiVersion: 'v1', kind: 'Secret' } },
  {
    path: '/apis/coordination.k8s.io/v1/namespaces/a/leases',
    object: {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      spec: { holderIdentity: 'x', leaseDurationSeconds: 1 },
    },
  },
  {
    path: '/apis/rbac.authorization.k8s.io/v1/clusterroles',
    object: { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', rules: [] },
  },
  {
    path: '/apis/apps/v1/namespaces/a/deployments',
    object: {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      spec: {
        selector: { matchLabels: { app: 'x' } },
        template: { metadata: { labels: { app: 'x' } }, spec: { containers: [{ name: 'c', image: 'i' }] } },
      },
    },
  },
];

for (const { path, object } of kinds)
  test(`the life of a ${String(object['kind'])}`, async () => {
    const made = await create(path, { ...object, metadata: { generateName: 'life-' } });
    const self = `${path}/${made.metadata.name}`;
    assert.match(made.metadata.name, /^life-[a-z0-9]{5}$/);
    assert.ok(made.metadata.uid);
    assert.ok(Object.isFrozen(made.metadata));
    await refused('AlreadyExists', create(path, { ...object, metadata: { name: made.metadata.name } }));
    assert.deepEqual(await call('GET', self), made);
    const same = await call('PUT', self, made);
    assert.equal(same.metadata.resourceVersion, made.metadata.resourceVersion, 'a write that changes nothing is none');
    const labelled = await call('PATCH', self, { metadata: { labels: { l: '1' } } }, 'application/merge-patch+json');
    assert.equal(labelled.metadata.labels?.['l'], '1');
    await refused('Conflict', call('PUT', self, { ...made, metadata: { ...made.metadata, labels: { l: '2' } } }));
    assert.deepEqual(await names(`${path}?labelSelector=l%3D1`), [made.metadata.name]);
    await refused('Conflict', call('DELETE', self, { preconditions: { uid: 'other' } }));
    await call('DELETE', self);
    await refused('NotFound', call('GET', self));
    await refused('NotFound', call('DELETE', self));
  });

test('lists come in pages that hold together while others write', async () => {
  const pages = '/api/v1/namespaces/b/configmaps';
  for (const name of ['c1', 'c2', 'c3', 'c4', 'c5']) await create(pages, configMap(name));
  const first = await list(`${pages}?limit=2`);
  assert.deepEqual(
    first.items.map(({ metadata }) => metadata.name),
    ['c1', 'c2'],
  );
  assert.equal(first.metadata.remainingItemCount, 3);
  await call('DELETE', `${pages}/c4`);
  await create(pages, configMap('c2b'));
  const next = await list(`${pages}?limit=2&continue=${first.metadata.continue}`);
  assert.deepEqual(
    next.items.map(({ metadata }) => metadata.name),
    ['c3', 'c4'],
  );
  assert.equal(next.metadata.resourceVersion, first.metadata.resourceVersion);
  const last = await list(`${pages}?limit=2&continue=${next.metadata.continue}`);
  assert.deepEqual(
    last.items.map(({ metadata }) => metadata.name),
    ['c5'],
  );
  assert.equal(last.metadata.continue, undefined);
  await refused('BadRequest', list(`${pages}?continue=rubbish`));
  assert.deepEqual(await names(pages), ['c1', 'c2', 'c2b', 'c3', 'c5']);
});

test('selectors by label and field', async () => {
  await create(maps, configMap('s1', { app: 'x', tier: 'web' }));
  await create(maps, configMap('s2', { app: 'x' }));
  await create(maps, configMap('s3', { app: 'y' }));
  const table: readonly (readonly [string, readonly string[]])[] = [
    ['labelSelector=app%3Dx', ['s1', 's2']],
    ['labelSelector=app%3Dx,!tier', ['s2']],
    ['labelSelector=app+in+(x,y),tier', ['s1']],
    ['labelSelector=app,app!%3Dx', ['s3']],
    ['fieldSelector=metadata.name%3Ds2', ['s2']],
    ['fieldSelector=metadata.name%3Ds2&labelSelector=app%3Dy', []],
  ];
  for (const [query, want] of table) assert.deepEqual(await names(`${maps}?${query}`), want, query);
  await refused('BadRequest', list(`${maps}?labelSelector=%3D%3D`));
  await refused('BadRequest', list(`${maps}?fieldSelector=data.k%3Dv`));
});

test('a watch shows entering and leaving the selection, then ends with its signal', async () => {
  const abort = new AbortController();
  const { metadata } = await list(maps);
  const query = new URLSearchParams({
    watch: 'true',
    labelSelector: 'w=1',
    resourceVersion: metadata.resourceVersion!,
  });
  const events = admin.watch({ method: 'GET', path: maps, query, signal: abort.signal });
  await create(maps, configMap('w'));
  await call('PATCH', `${maps}/w`, { metadata: { labels: { w: '1' } } }, 'application/merge-patch+json');
  await call('PATCH', `${maps}/w`, { data: { k: '2' } }, 'application/merge-patch+json');
  await call('PATCH', `${maps}/w`, { metadata: { labels: { w: null } } }, 'application/merge-patch+json');
  const seen: string[] = [];
  await assert.rejects(
    async () => {
      for await (const { type } of events) {
        seen.push(type);
        if (seen.length === 3) abort.abort();
      }
    },
    { name: 'AbortError' },
  );
  assert.deepEqual(seen, ['ADDED', 'MODIFIED', 'DELETED']);
});

test('initial events end with a marked bookmark', async () => {
  const query = new URLSearchParams({
    watch: 'true',
    sendInitialEvents: 'true',
    resourceVersionMatch: 'NotOlderThan',
    allowWatchBookmarks: 'true',
    fieldSelector: 'metadata.name=s1',
  });
  for await (const { type, object } of admin.watch({ method: 'GET', path: maps, query })) {
    if (type === 'ADDED') continue;
    assert.equal(type, 'BOOKMARK');
    assert.equal((object as KubeObject).metadata.annotations?.['k8s.io/initial-events-end'], 'true');
    break;
  }
});

test('finalizers keep an object until the last is gone', async () => {
  await create(maps, { ...configMap('f'), metadata: { name: 'f', finalizers: ['example.com/x'] } });
  const marked = await call('DELETE', `${maps}/f`);
  assert.ok(marked.metadata.deletionTimestamp);
  await call('PATCH', `${maps}/f`, { metadata: { finalizers: null } }, 'application/merge-patch+json');
  await refused('NotFound', call('GET', `${maps}/f`));
});

test('a dry run changes nothing', async () => {
  const shown = await create(`${maps}?dryRun=All`, configMap('dry'));
  assert.equal(shown.metadata.name, 'dry');
  assert.equal(shown.metadata.resourceVersion, undefined);
  await refused('NotFound', call('GET', `${maps}/dry`));
});

test('apply makes, merges, and conflicts', async () => {
  const apply = (manager: string, data: object, force = ''): Promise<Obj> =>
    call(
      'PATCH',
      `${maps}/applied?fieldManager=${manager}${force}`,
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'applied' }, data },
      'application/apply-patch+yaml',
    );
  await apply('one', { a: '1' });
  await apply('two', { b: '2' });
  await refused('Conflict', apply('two', { a: '9' }));
  const forced = await apply('two', { a: '9' }, '&force=true');
  assert.deepEqual(forced.data, { a: '9' });
});

test('many writers of one object lose nothing', async () => {
  await create(maps, configMap('busy'));
  await Promise.all(
    Array.from({ length: 20 }, (_, at) =>
      call('PATCH', `${maps}/busy`, { data: { [`k${at}`]: 'v' } }, 'application/merge-patch+json'),
    ),
  );
  assert.equal(Object.keys((await call('GET', `${maps}/busy`)).data ?? {}).length, 21);
});

test('scale is a view of the object', async () => {
  const path = '/apis/apps/v1/namespaces/a/deployments';
  await create(path, { ...kinds.at(-1)!.object, metadata: { name: 'scaled' } });
  const scale = await call('GET', `${path}/scaled/scale`);
  assert.equal(scale.kind, 'Scale');
  await call('PUT', `${path}/scaled/scale`, { ...scale, spec: { replicas: 3 } });
  assert.equal((await call('GET', `${path}/scaled`)).spec?.replicas, 3);
});

test('strangers get clear answers', async () => {
  await refused('NotFound', create('/api/v1/namespaces/none/configmaps', configMap('x')));
  await refused('NotFound', call('GET', '/api/v1/namespaces/a/nothings/x'));
  await refused('BadRequest', create(maps, { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'x' } }));
  await refused('Invalid', create(maps, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'Not A Name' } }));
  await refused('MethodNotAllowed', call('PUT', maps, configMap('x')));
  await refused('UnsupportedMediaType', call('PATCH', `${maps}/s1`, {}, 'text/plain'));
});
