// Owns the proof that custom kinds take the path of built-in ones: each thing a cluster does with objects is done to one of either, alike.
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { type Cluster, startCluster } from '../../src/main/cluster.ts';
import { ask } from '../../src/server/http/ask.suite.ts';
import { adminToken } from '../../src/server/start.suite.ts';
import { selfSigned } from '../../src/testing/self-signed.ts';

interface Subject {
  readonly group: string;
  readonly plural: string;
  readonly kind: string;
  readonly apiVersion: string;
  /** Where an object has its `size` and `color`. */
  readonly field: 'spec' | 'data';
  readonly columns: readonly string[];
  /** Code of the answer to a strategic merge patch. */
  readonly strategic: number;
}

const subjects: readonly Subject[] = [
  {
    group: 'example.com',
    plural: 'widgets',
    kind: 'Widget',
    apiVersion: 'example.com/v1',
    field: 'spec',
    columns: ['Name', 'Size', 'Age'],
    strategic: 415,
  },
  {
    group: '',
    plural: 'configmaps',
    kind: 'ConfigMap',
    apiVersion: 'v1',
    field: 'data',
    columns: ['Name', 'Data', 'Age'],
    strategic: 200,
  },
];

type Fields = Readonly<Record<string, unknown>>;

interface Answer {
  readonly code: number;
  readonly body: Fields;
  readonly text: string;
}

/** What stands at a path: "details.causes.*.field"; a star stands for every item of a list. */
function at(value: unknown, path: string): unknown {
  const [first = '', ...rest] = path.split('.');
  if (first === '') return value;
  const inner = rest.join('.');
  if (first === '*') return Array.isArray(value) ? value.map((item) => at(item, inner)) : undefined;
  return at((value as Fields | undefined)?.[first], inner);
}

let cluster: Cluster;

async function send(
  method: string,
  path: string,
  body?: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  const sent = body === undefined ? '' : JSON.stringify(body);
  const { status, text } = await ask(cluster.port, {
    method,
    path,
    // Node leaves the length away where a body is unusual.
    headers: { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(sent)), ...headers },
    body: sent,
  });
  const isStream = path.includes('watch=') || !text.startsWith('{');
  return { code: status, text, body: isStream ? {} : (JSON.parse(text) as Fields) };
}

async function make(path: string, body: object): Promise<Fields> {
  const answer = await send('POST', path, body);
  assert.equal(answer.code, 201, answer.text);
  return answer.body;
}

async function until(look: () => Promise<boolean>): Promise<void> {
  for (let attempt = 0; attempt < 600; attempt++) {
    if (await look()) return;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  assert.fail('it did not come to be');
}

const types = {
  merge: { 'content-type': 'application/merge-patch+json' },
  json: { 'content-type': 'application/json-patch+json' },
  strategic: { 'content-type': 'application/strategic-merge-patch+json' },
  apply: { 'content-type': 'application/apply-patch+yaml' },
};
const admissionApi = '/apis/admissionregistration.k8s.io/v1';
const mine = { 'impersonate-user': 'mallory' };

/** A subject in a namespace of its own. */
interface Place extends Subject {
  readonly namespace: string;
  readonly root: string;
  readonly all: string;
  object(name: string, values: Fields, metadata?: Fields): object;
  create(name: string, values?: Fields, metadata?: Fields): Promise<Fields>;
  /** Of webhooks and policies: only what is created here. */
  readonly here: { readonly rules: object[]; readonly namespaceSelector: object };
}

function placeOf(subject: Subject, namespace: string): Place {
  const { group, apiVersion, kind, plural, field } = subject;
  const root = group === '' ? '/api/v1' : `/apis/${apiVersion}`;
  const all = `${root}/namespaces/${namespace}/${plural}`;
  const object = (name: string, values: Fields, metadata: Fields = {}): object => ({
    apiVersion,
    kind,
    metadata: { name, ...metadata },
    [field]: values,
  });
  return {
    ...subject,
    namespace,
    root,
    all,
    object,
    create: (name, values = { size: '1' }, metadata = {}) => make(all, object(name, values, metadata)),
    here: {
      rules: [{ apiGroups: [group], apiVersions: ['v1'], operations: ['CREATE'], resources: [plural] }],
      namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } },
    },
  };
}

/** Labels what it is shown at /label; refuses what is red at /judge. */
const { key, certificate } = selfSigned(generateKeyPairSync('ec', { namedCurve: 'prime256v1' }));
const hook = createServer({ key, cert: certificate }, (asked, response) => {
  const chunks: Buffer[] = [];
  asked.on('data', (chunk: Buffer) => chunks.push(chunk));
  asked.on('end', () => {
    const review: unknown = JSON.parse(Buffer.concat(chunks).toString());
    const isRed = [at(review, 'request.object.spec.color'), at(review, 'request.object.data.color')].includes('red');
    const change = [{ op: 'add', path: '/metadata/labels', value: { kind: at(review, 'request.kind.kind') } }];
    const patch = Buffer.from(JSON.stringify(change)).toString('base64');
    const verdict = asked.url === '/judge' ? { allowed: !isRed } : { allowed: true, patchType: 'JSONPatch', patch };
    response.setHeader('content-type', 'application/json').end(
      JSON.stringify({
        apiVersion: 'admission.k8s.io/v1',
        kind: 'AdmissionReview',
        response: { uid: at(review, 'request.uid'), ...verdict },
      }),
    );
  });
});

async function webhook(
  { plural, here }: Place,
  configurations: 'mutatingwebhookconfigurations' | 'validatingwebhookconfigurations',
  path: string,
): Promise<void> {
  const { port } = hook.address() as AddressInfo;
  await make(`${admissionApi}/${configurations}`, {
    metadata: { name: plural },
    webhooks: [
      {
        name: `${path}.${plural}.example.com`,
        admissionReviewVersions: ['v1'],
        sideEffects: 'None',
        clientConfig: {
          url: `https://127.0.0.1:${port}/${path}`,
          caBundle: Buffer.from(certificate).toString('base64'),
        },
        ...here,
      },
    ],
  });
}

async function policy(
  { plural, here: { rules, namespaceSelector } }: Place,
  kind: 'Validating' | 'Mutating',
  spec: object,
): Promise<void> {
  const path = `${admissionApi}/${kind.toLowerCase()}admissionpolic`;
  await make(`${path}ies`, {
    metadata: { name: plural },
    spec: { matchConstraints: { resourceRules: rules, namespaceSelector }, failurePolicy: 'Fail', ...spec },
  });
  await make(`${path}ybindings`, {
    metadata: { name: plural },
    spec: { policyName: plural, ...(kind === 'Validating' && { validationActions: ['Deny'] }) },
  });
}

const rows: Readonly<Record<string, (place: Place) => Promise<void>>> = {
  async 'server-side apply: owners, conflicts, force, what is given up'({ all, object, field }) {
    const apply = (manager: string, values: Fields, force = false): Promise<Answer> =>
      send('PATCH', `${all}/one?fieldManager=${manager}&force=${force}`, object('one', values), types.apply);
    assert.equal((await apply('a', { size: '1', color: 'blue' })).code, 201);
    const refused = await apply('b', { size: '2' });
    assert.equal(refused.code, 409);
    assert.deepEqual(at(refused.body, 'details.causes.*.field'), [`.${field}.size`]);
    assert.equal(at((await apply('b', { size: '2' }, true)).body, `${field}.size`), '2');
    const { body } = await apply('a', {});
    assert.deepEqual(at(body, field), { size: '2' });
  },
  async 'patches: merge, JSON, strategic only where lists have keys'({ all, create, field, strategic }) {
    await create('one', { size: '1', color: 'blue' });
    const merged = await send('PATCH', `${all}/one`, { [field]: { size: '2', color: null } }, types.merge);
    assert.deepEqual(at(merged.body, field), { size: '2' });
    const change = [
      { op: 'test', path: `/${field}/size`, value: '2' },
      { op: 'add', path: `/${field}/color`, value: 'c' },
    ];
    assert.equal(at((await send('PATCH', `${all}/one`, change, types.json)).body, `${field}.color`), 'c');
    assert.equal((await send('PATCH', `${all}/one`, change, types.json)).code, 200);
    assert.equal((await send('PATCH', `${all}/one`, [{ ...change[0], value: '3' }], types.json)).code, 422);
    assert.equal((await send('PATCH', `${all}/one`, { [field]: { size: '4' } }, types.strategic)).code, strategic);
  },
  async 'watch: from a version on, with bookmarks, by label'({ all, create }) {
    const { body } = await send('GET', all);
    await create('one', {}, { labels: { seen: 'yes' } });
    await create('two');
    await send('PATCH', `${all}/one`, { metadata: { annotations: { a: 'b' } } }, types.merge);
    await send('DELETE', `${all}/one`);
    const from = `resourceVersion=${String(at(body, 'metadata.resourceVersion'))}`;
    const events = async (query: string): Promise<unknown[]> => {
      const { text } = await send('GET', `${all}?watch=true&timeoutSeconds=1&${from}&${query}`);
      return text
        .trim()
        .split('\n')
        .map((line): unknown => JSON.parse(line))
        .map((event) => `${String(at(event, 'type'))} ${String(at(event, 'object.metadata.name'))}`);
    };
    assert.deepEqual(await events('labelSelector=seen%3Dyes'), ['ADDED one', 'MODIFIED one', 'DELETED one']);
    assert.deepEqual(await events('fieldSelector=metadata.name%3Dtwo'), ['ADDED two']);
    const listed = await send(
      'GET',
      `${all}?watch=true&timeoutSeconds=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan`,
    );
    assert.match(listed.text, /"type":"ADDED".*"name":"two"[^]*"k8s.io\/initial-events-end":"true"/);
  },
  async 'Tables, and metadata alone'({ all, create, columns }) {
    await create('one');
    const as = (what: string): Readonly<Record<string, string>> => ({
      accept: `application/json;as=${what};v=v1;g=meta.k8s.io`,
    });
    const table = await send('GET', `${all}?fieldSelector=metadata.name%3Done`, undefined, as('Table'));
    assert.deepEqual(at(table.body, 'columnDefinitions.*.name'), columns);
    assert.deepEqual(at(table.body, 'rows.0.cells.0'), 'one');
    const partial = await send('GET', `${all}/one`, undefined, as('PartialObjectMetadata'));
    assert.deepEqual(Object.keys(partial.body).toSorted(), ['apiVersion', 'kind', 'metadata']);
  },
  async 'lists: pages, selectors, and what no page is left of'({ all, create }) {
    for (const name of ['a', 'b', 'c']) await create(name, {}, { labels: { name } });
    const first = await send('GET', `${all}?limit=2&labelSelector=name`);
    assert.deepEqual(at(first.body, 'items.*.metadata.name'), ['a', 'b']);
    const next = String(at(first.body, 'metadata.continue'));
    const second = await send('GET', `${all}?limit=2&labelSelector=name&continue=${encodeURIComponent(next)}`);
    assert.deepEqual(at(second.body, 'items.*.metadata.name'), ['c']);
    assert.ok(!at(second.body, 'metadata.continue'));
  },
  async 'what is tried only, preconditions, finalizers, all at once'({ all, object, create }) {
    assert.equal((await send('POST', `${all}?dryRun=All`, object('dry', {}))).code, 201);
    assert.equal((await send('GET', `${all}/dry`)).code, 404);
    await create('one', {}, { finalizers: ['example.com/wait'] });
    assert.equal((await send('POST', all, object('one', {}))).code, 409);
    assert.equal(
      (await send('DELETE', `${all}/one`, { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid: 'x' } }))
        .code,
      409,
    );
    await send('DELETE', `${all}?labelSelector=`);
    const waiting = await send('GET', `${all}/one`);
    assert.equal(typeof at(waiting.body, 'metadata.deletionTimestamp'), 'string');
    await send('PATCH', `${all}/one`, { metadata: { finalizers: null } }, types.merge);
    assert.equal((await send('GET', `${all}/one`)).code, 404);
  },
  async 'fields nobody knows'({ all, object }) {
    const body = { ...object('one', {}), extra: 1 };
    assert.equal((await send('POST', `${all}?fieldValidation=Strict`, body)).code, 400);
    const { code, body: made } = await send('POST', `${all}?fieldValidation=Ignore`, body);
    assert.deepEqual([code, made['extra']], [201, undefined]);
  },
  async discovery({ root, plural, kind, group }) {
    const { body } = await send('GET', root);
    const resources = at(body, 'resources') as Fields[];
    const found = resources.find(({ name }) => name === plural);
    assert.equal(found?.['kind'], kind);
    assert.deepEqual(
      (at(found, 'verbs') as string[]).toSorted(),
      'create delete deletecollection get list patch update watch'.split(' ').toSorted(),
    );
    const accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
    const { text } = await send('GET', group === '' ? '/api' : '/apis', undefined, { accept });
    assert.match(text, new RegExp(`"resource":"${plural}"`));
  },
  async 'OpenAPI, both versions'({ root, plural, group, kind, field }) {
    const isOwn = (one: unknown): boolean =>
      isDeepStrictEqual(at(one, 'x-kubernetes-group-version-kind'), [{ group, kind, version: 'v1' }]);
    const documents = [
      ['/openapi/v2', 'definitions'],
      [`/openapi/v3${root}`, 'components.schemas'],
    ] as const;
    for (const [path, where] of documents) {
      const { body } = await send('GET', path);
      const schemas = Object.values(at(body, where) as Fields);
      const own = schemas.find(isOwn);
      assert.equal(at(own, `properties.${field}.type`), 'object', path);
      const item = at(body, 'paths') as Fields;
      assert.ok(`${root}/namespaces/{namespace}/${plural}/{name}` in item, path);
    }
  },
  async 'quotas count it'({ namespace, plural, group, all, object, create }) {
    const counted = group === '' ? `count/${plural}` : `count/${plural}.${group}`;
    const quotas = `/api/v1/namespaces/${namespace}/resourcequotas`;
    const { body } = await send('GET', all);
    const hard = { [counted]: String((at(body, 'items') as unknown[]).length + 1) };
    await make(quotas, { metadata: { name: 'count' }, spec: { hard } });
    await until(async () => at((await send('GET', `${quotas}/count`)).body, 'status.hard') !== undefined);
    await create('one');
    const refused = await send('POST', all, object('two', {}));
    assert.equal(refused.code, 403, refused.text);
    assert.match(refused.text, /exceeded quota/);
  },
  async 'what is owned goes with its owner'({ all, create, apiVersion, kind }) {
    const owner = await create('owner');
    const ownerReferences = [{ apiVersion, kind, name: 'owner', uid: at(owner, 'metadata.uid') }];
    await create('owned', {}, { ownerReferences });
    await send('DELETE', `${all}/owner?propagationPolicy=Background`);
    await until(async () => (await send('GET', `${all}/owned`)).code === 404);
    const again = await create('owner');
    await create('kept', {}, { ownerReferences: [{ ...ownerReferences[0], uid: at(again, 'metadata.uid') }] });
    await send('DELETE', `${all}/owner?propagationPolicy=Orphan`);
    await until(async () => (await send('GET', `${all}/owner`)).code === 404);
    const { body } = await send('GET', `${all}/kept`);
    assert.equal(at(body, 'metadata.ownerReferences'), undefined);
  },
  async 'who may'({ namespace, all, group, plural, create }) {
    await create('one');
    assert.equal((await send('GET', `${all}/one`, undefined, mine)).code, 403);
    const rbac = `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}`;
    await make(`${rbac}/roles`, {
      metadata: { name: 'reader' },
      rules: [{ apiGroups: [group], resources: [plural], verbs: ['get'], resourceNames: ['one'] }],
    });
    await make(`${rbac}/rolebindings`, {
      metadata: { name: 'reader' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'reader' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: mine['impersonate-user'] }],
    });
    await until(async () => (await send('GET', `${all}/one`, undefined, mine)).code === 200);
    assert.equal((await send('DELETE', `${all}/one`, undefined, mine)).code, 403);
  },
  async 'policies that judge'(place) {
    const expression = `object.${place.field}.size != '9' && request.resource.resource == '${place.plural}'`;
    await policy(place, 'Validating', { validations: [{ expression, message: 'nine is too much' }] });
    const dry = `${place.all}?dryRun=All`;
    await until(async () => (await send('POST', dry, place.object('one', { size: '9' }))).code === 422);
    assert.equal((await send('POST', place.all, place.object('one', { size: '1' }))).code, 201);
  },
  async 'policies that change'(place) {
    const { kind } = place;
    const value = `Object{metadata: Object.metadata{labels: {"by": "policy"}}, ${place.field}: ${kind === 'ConfigMap' ? '{"color": "blue"}' : 'Object.spec{color: "blue"}'}}`;
    await policy(place, 'Mutating', {
      reinvocationPolicy: 'Never',
      mutations: [{ patchType: 'ApplyConfiguration', applyConfiguration: { expression: value } }],
    });
    const dry = `${place.all}?dryRun=All`;
    await until(async () => {
      const { body } = await send('POST', dry, place.object('one', { size: '1' }));
      return at(body, 'metadata.labels.by') === 'policy' && at(body, `${place.field}.color`) === 'blue';
    });
  },
  async 'webhooks that change'(place) {
    await webhook(place, 'mutatingwebhookconfigurations', 'label');
    const dry = `${place.all}?dryRun=All`;
    const tried = (): Promise<Answer> => send('POST', dry, place.object('one', { size: '1' }));
    await until(async () => at((await tried()).body, 'metadata.labels.kind') === place.kind);
  },
  async 'webhooks that judge'(place) {
    await webhook(place, 'validatingwebhookconfigurations', 'judge');
    const dry = `${place.all}?dryRun=All`;
    await until(async () => (await send('POST', dry, place.object('one', { color: 'red' }))).code === 403);
    assert.equal((await send('POST', place.all, place.object('one', { color: 'blue' }))).code, 201);
  },
  async 'goes with its namespace'({ namespace, all, create }) {
    await create('one');
    await send('DELETE', `/api/v1/namespaces/${namespace}`);
    await until(async () => (await send('GET', `/api/v1/namespaces/${namespace}`)).code === 404);
    assert.equal((await send('GET', `${all}/one`)).code, 404);
  },
};

const definition = {
  metadata: { name: 'widgets.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { plural: 'widgets', kind: 'Widget' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        additionalPrinterColumns: [
          { name: 'Size', type: 'string', jsonPath: '.spec.size' },
          { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
        ],
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: { type: 'object', properties: { size: { type: 'string' }, color: { type: 'string' } } },
            },
          },
        },
      },
    ],
  },
};

const folder = mkdtempSync(join(tmpdir(), 'k8ts-one-path-'));

before(async () => {
  await new Promise<void>((resolve) => hook.listen(0, '127.0.0.1', resolve));
  const tokens = join(folder, 'tokens');
  writeFileSync(tokens, `${adminToken},admin,1,"system:masters"\n`);
  cluster = await startCluster({ nodes: 0, componentArgs: { 'kube-apiserver': { 'token-auth-file': tokens } } });
  await make('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', definition);
  await until(async () => (await send('GET', '/openapi/v3/apis/example.com/v1')).code === 200);
});

after(async () => {
  await cluster.stop();
  hook.closeAllConnections();
  hook.close();
  rmSync(folder, { recursive: true });
});

for (const subject of subjects)
  describe(subject.kind, () => {
    for (const [at, [name, row]] of Object.entries(rows).entries())
      test(name, async () => {
        const namespace = `${subject.plural}-${at}`;
        await make('/api/v1/namespaces', { metadata: { name: namespace } });
        await row(placeOf(subject, namespace));
      });
  });
