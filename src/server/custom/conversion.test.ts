// Proves conversion by webhook in a whole server: every verb through a version that is not stored, what is refused of an answer, what becomes of old objects.
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { after, before, beforeEach, test } from 'node:test';
import type { KubeObject } from '../../api/meta.ts';
import { StatusError } from '../../api/status-error.ts';
import { selfSigned } from '../../testing/self-signed.ts';
import { startTestServer } from '../start.suite.ts';
import type { TestServer } from '../start.suite.ts';

type Thing = KubeObject & {
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly status?: unknown;
  readonly items?: readonly Thing[];
};

interface Review {
  readonly request: { readonly uid: string; readonly desiredAPIVersion: string; readonly objects: readonly Thing[] };
}

/** v1 says `size` where v2 says `width` and `height`. */
function converted(object: Thing, desired: string): Thing {
  const spec = object.spec ?? {};
  const { size, width, height: _, ...rest } = spec;
  const version = desired.split('/')[1];
  const next =
    version === 'v2'
      ? { ...rest, width: size, height: size }
      : { ...rest, ...(width !== undefined && { size: width }) };
  return { ...object, apiVersion: desired, ...(object.spec !== undefined && { spec: next }) };
}

const good = ({ request }: Review): object => ({
  convertedObjects: request.objects.map((object) => converted(object, request.desiredAPIVersion)),
});

let answer: (review: Review) => object = good;
let asked: Review[] = [];
const { key, certificate } = selfSigned(generateKeyPairSync('ec', { namedCurve: 'prime256v1' }));
const hook = createServer({ key, cert: certificate }, (request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const review = JSON.parse(Buffer.concat(chunks).toString()) as Review;
    asked.push(review);
    const body = {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'ConversionReview',
      response: { uid: review.request.uid, result: { status: 'Success' }, ...answer(review) },
    };
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
});

let running: TestServer;
const call = async (method: string, path: string, body?: unknown, contentType?: string, query = ''): Promise<Thing> =>
  (await running.admin.call({
    method,
    path,
    query: new URLSearchParams(query),
    ...(body !== undefined && { body }),
    ...(contentType !== undefined && { contentType }),
  } as never)) as Thing;

const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const version = (name: string, properties: object, storage: boolean): object => ({
  name,
  served: true,
  storage,
  subresources: { status: {}, scale: { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' } },
  additionalPrinterColumns: [{ name: 'W', type: 'integer', jsonPath: name === 'v1' ? '.spec.size' : '.spec.width' }],
  selectableFields: [{ jsonPath: name === 'v1' ? '.spec.size' : '.spec.width' }],
  schema: {
    openAPIV3Schema: {
      type: 'object',
      properties: {
        spec: {
          type: 'object',
          properties: { ...properties, replicas: { type: 'integer' }, color: { type: 'string', default: 'red' } },
        },
        status: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
      },
    },
  },
});
const integer = { type: 'integer' };
const versions = (stored: 'v1' | 'v2'): object[] => [
  version('v1', { size: integer }, stored === 'v1'),
  version('v2', { width: { ...integer, maximum: 100 }, height: integer }, stored === 'v2'),
];

async function until<T>(look: () => Promise<T>, holds: (found: T) => boolean): Promise<T> {
  for (let attempt = 0; attempt < 50_000; attempt++) {
    const found = await look().catch(() => undefined);
    if (found !== undefined && holds(found)) return found;
    await new Promise((resolve) => setImmediate(resolve));
  }
  return assert.fail('it did not come to be');
}

const v1 = '/apis/example.com/v1/boxes';
const v2 = '/apis/example.com/v2/boxes';
const box = (name: string, apiVersion: string, spec: object): object => ({
  apiVersion: `example.com/${apiVersion}`,
  kind: 'Box',
  metadata: { name },
  spec,
});

before(async () => {
  await new Promise<void>((resolve) => hook.listen(0, '127.0.0.1', resolve));
  running = await startTestServer();
  const { port } = hook.address() as AddressInfo;
  await call('POST', definitions, {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'boxes.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Cluster',
      names: { plural: 'boxes', kind: 'Box' },
      versions: versions('v1'),
      conversion: {
        strategy: 'Webhook',
        webhook: {
          conversionReviewVersions: ['v2', 'v1', 'v1beta1'],
          clientConfig: {
            url: `https://127.0.0.1:${port}/convert`,
            caBundle: Buffer.from(certificate).toString('base64'),
          },
        },
      },
    },
  });
  await until(
    () => call('GET', v1),
    ({ kind }) => kind === 'BoxList',
  );
});

beforeEach(() => {
  answer = good;
  asked = [];
});

after(async () => {
  hook.closeAllConnections();
  hook.close();
  await running.stop();
});

const failure = async (work: Promise<unknown>): Promise<StatusError> => {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof StatusError, String(error));
  return error;
};

test('an object through every verb of a version that is not stored', async () => {
  const made = await call('POST', v2, box('a', 'v2', { width: 3, height: 3 }));
  assert.deepEqual(made.spec, { color: 'red', height: 3, width: 3 });
  assert.equal(made.apiVersion, 'example.com/v2');
  assert.deepEqual((await call('GET', `${v1}/a`)).spec, { size: 3, color: 'red' });
  const merged = await call('PATCH', `${v2}/a`, { spec: { width: 5 } }, 'application/merge-patch+json');
  assert.equal(merged.spec?.['width'], 5);
  assert.equal((await call('GET', `${v1}/a`)).spec?.['size'], 5);
  const put = await call('PUT', `${v2}/a`, { ...merged, spec: { width: 6, height: 6 } });
  assert.equal(put.spec?.['height'], 6);
  const status = await call('PATCH', `${v2}/a/status`, { status: { replicas: 2 } }, 'application/merge-patch+json');
  assert.deepEqual(status.status, { replicas: 2 });
  await call('PATCH', `${v2}/a/scale`, { spec: { replicas: 4 } }, 'application/merge-patch+json');
  assert.equal((await call('GET', `${v2}/a`)).spec?.['replicas'], 4);
  // The rules of the version that is asked for hold.
  const refused = await failure(call('PATCH', `${v2}/a`, { spec: { width: 101 } }, 'application/merge-patch+json'));
  assert.equal(refused.code, 422);
  assert.equal(refused.status.details?.causes?.[0]?.field, 'spec.width');
  const listed = await call('GET', v2, undefined, undefined, 'fieldSelector=spec.width=6');
  assert.deepEqual(
    listed.items?.map(({ apiVersion, spec }) => [apiVersion, spec?.['width']]),
    [['example.com/v2', 6]],
  );
  await call('DELETE', `${v2}/a`);
  assert.equal((await failure(call('GET', `${v2}/a`))).code, 404);
});

test('owners of fields are known across versions', async () => {
  await call('PATCH', `${v1}/s`, box('s', 'v1', { size: 1 }), 'application/apply-patch+yaml', 'fieldManager=one');
  const conflict = await failure(
    call(
      'PATCH',
      `${v2}/s`,
      box('s', 'v2', { width: 2, height: 2 }),
      'application/apply-patch+yaml',
      'fieldManager=two',
    ),
  );
  assert.equal(conflict.code, 409);
  const forced = await call(
    'PATCH',
    `${v2}/s`,
    box('s', 'v2', { width: 2, height: 2 }),
    'application/apply-patch+yaml',
    'fieldManager=two&force=true',
  );
  assert.deepEqual(
    (forced.metadata.managedFields ?? []).map(({ manager, apiVersion }) => `${manager} ${apiVersion}`),
    ['two example.com/v2'],
  );
  await call('DELETE', `${v1}/s`);
});

test('lists and watches ask once for each object, together', async () => {
  for (const name of ['x', 'y', 'z']) await call('POST', v1, box(name, 'v1', { size: 7 }));
  asked = [];
  const list = await call('GET', v2);
  assert.deepEqual(
    list.items?.map(({ metadata, spec }) => [metadata.name, spec?.['width']]),
    [
      ['x', 7],
      ['y', 7],
      ['z', 7],
    ],
  );
  assert.deepEqual(
    asked.map(({ request }) => request.objects.length),
    [3],
  );
  await call('GET', v2);
  assert.equal(asked.length, 1);
  const stop = new AbortController();
  const seen: string[] = [];
  for await (const { type, object } of running.admin.watch({
    method: 'GET',
    path: v2,
    query: new URLSearchParams('watch=true'),
    signal: stop.signal,
  } as never)) {
    const { metadata, spec, apiVersion } = object as Thing;
    seen.push(`${type} ${metadata.name} ${String(spec?.['width'])} ${apiVersion}`);
    if (seen.length === 3) await call('PATCH', `${v1}/y`, { spec: { size: 8 } }, 'application/merge-patch+json');
    if (seen.length === 4) await call('DELETE', `${v1}/z`);
    if (seen.length === 5) break;
  }
  stop.abort();
  assert.deepEqual(seen, [
    'ADDED x 7 example.com/v2',
    'ADDED y 7 example.com/v2',
    'ADDED z 7 example.com/v2',
    'MODIFIED y 8 example.com/v2',
    'DELETED z 7 example.com/v2',
  ]);
  for (const name of ['x', 'y']) await call('DELETE', `${v1}/${name}`);
});

const changed = (change: (object: Thing) => object): ((review: Review) => object) => {
  return ({ request }) => ({
    convertedObjects: request.objects.map((object) => change(converted(object, request.desiredAPIVersion))),
  });
};

for (const [what, wrong, says] of [
  [
    'says that it failed',
    () => ({ result: { status: 'Failure', message: 'no way' } }),
    /conversion webhook for example\.com\/v1, Kind=Box failed: no way/,
  ],
  ['gives too few', () => ({ convertedObjects: [] }), /returned 0 objects, expected 1/],
  ['gives another version', changed((object) => ({ ...object, apiVersion: 'example.com/v9' })), /invalid groupVersion/],
  ['gives another kind', changed((object) => ({ ...object, kind: 'Bag' })), /invalid kind/],
  [
    'renames',
    changed((object) => ({ ...object, metadata: { ...object.metadata, name: 'other' } })),
    /must have the same name/,
  ],
  [
    'changes the uid',
    changed((object) => ({ ...object, metadata: { ...object.metadata, uid: 'u' } })),
    /must have the same UID/,
  ],
  [
    'writes bad labels',
    changed((object) => ({ ...object, metadata: { ...object.metadata, labels: { 'a b': 'c' } } })),
    /metadata\.labels/,
  ],
  ['answers another review', () => ({ uid: 'other', convertedObjects: [] }), /expected response\.uid/],
] as const)
  test(`a webhook that ${what} makes requests fail`, async () => {
    await call('POST', v1, box('f', 'v1', { size: 1 }));
    try {
      answer = wrong;
      const read = await failure(call('GET', `${v2}/f`));
      assert.equal(read.code, 500);
      assert.equal(read.reason, 'InternalError');
      assert.match(read.message, says);
      const listed = await failure(call('GET', v2));
      assert.equal(listed.reason, 'StorageReadError');
      const written = await failure(call('PATCH', `${v2}/f`, { spec: { width: 2 } }, 'application/merge-patch+json'));
      assert.equal(written.code, 500);
      // The stored version needs nobody.
      assert.equal((await call('GET', `${v1}/f`)).spec?.['size'], 1);
    } finally {
      answer = good;
      await call('DELETE', `${v1}/f`);
    }
  });

test('of the metadata only labels and annotations are taken over', async () => {
  await call('POST', v1, box('m', 'v1', { size: 1 }));
  answer = changed((object) => ({
    ...object,
    metadata: { ...object.metadata, labels: { l: '1' }, finalizers: ['example.com/x'], generation: 77 },
  }));
  const { metadata } = await call('GET', `${v2}/m`);
  assert.deepEqual([metadata.labels, metadata.finalizers, metadata.generation], [{ l: '1' }, undefined, 1]);
  answer = good;
  await call('DELETE', `${v1}/m`);
});

test('when another version is stored, old objects are read, and written anew by writes that change nothing', async () => {
  await call('POST', v1, box('old', 'v1', { size: 4 }));
  await call(
    'PATCH',
    `${definitions}/boxes.example.com`,
    { spec: { versions: versions('v2') } },
    'application/merge-patch+json',
  );
  const stored = await until(
    () => call('GET', `${definitions}/boxes.example.com`),
    ({ status }) => (status as { storedVersions: string[] }).storedVersions.length === 2,
  );
  assert.deepEqual((stored.status as { storedVersions: string[] }).storedVersions, ['v1', 'v2']);
  const before = await call('GET', `${v1}/old`);
  assert.equal(before.spec?.['size'], 4);
  const rewritten = await until(
    () => call('PATCH', `${v2}/old`, {}, 'application/merge-patch+json'),
    ({ metadata }) => metadata.resourceVersion !== before.metadata.resourceVersion,
  );
  assert.equal(rewritten.spec?.['width'], 4);
  const again = await call('PATCH', `${v2}/old`, {}, 'application/merge-patch+json');
  assert.equal(again.metadata.resourceVersion, rewritten.metadata.resourceVersion);
  await call('DELETE', `${v2}/old`);
});

test('policies of one version judge and change what is written in another', async () => {
  answer = good;
  const registration = '/apis/admissionregistration.k8s.io/v1';
  const rules = { apiGroups: ['example.com'], apiVersions: ['v1'], operations: ['CREATE'], resources: ['boxes'] };
  const matchConstraints = { resourceRules: [rules] };
  const expression = '[JSONPatch{op: "replace", path: "/spec/size", value: object.spec.size + 1}]';
  const policies: readonly (readonly [string, object])[] = [
    ['validatingadmissionpolicies', { validations: [{ expression: 'object.spec.size < 50', message: 'too big' }] }],
    [
      'mutatingadmissionpolicies',
      { mutations: [{ patchType: 'JSONPatch', jsonPatch: { expression } }], reinvocationPolicy: 'Never' },
    ],
  ];
  for (const [plural, spec] of policies) {
    const isMutating = plural.startsWith('mutating');
    await call('POST', `${registration}/${plural}`, {
      metadata: { name: 'of-v1' },
      spec: { matchConstraints, ...spec },
    });
    await call('POST', `${registration}/${plural.replace('policies', 'policybindings')}`, {
      metadata: { name: 'of-v1' },
      spec: { policyName: 'of-v1', ...(!isMutating && { validationActions: ['Deny'] }) },
    });
  }
  try {
    const make = (width: number) =>
      call('POST', v2, box('judged', 'v2', { width, height: width }), undefined, 'dryRun=All');
    const made = await until(
      () => make(7),
      ({ spec }) => spec?.['width'] === 8,
    );
    assert.deepEqual(made.spec, { width: 8, height: 8, color: 'red' });
    await until(
      () =>
        make(49).then(
          () => false,
          (error: unknown) => error instanceof StatusError && /too big/.test(error.message),
        ),
      (refused) => refused,
    );
    answer = () => ({ result: { status: 'Failure', message: 'broken' } });
    await assert.rejects(make(7), (error) => error instanceof StatusError && error.code === 500);
  } finally {
    answer = good;
    for (const [plural] of policies)
      for (const one of [plural, plural.replace('policies', 'policybindings')])
        await call('DELETE', `${registration}/${one}/of-v1`);
  }
});

test('parameters of a policy are seen in the version that it names', async () => {
  answer = good;
  const registration = '/apis/admissionregistration.k8s.io/v1';
  await call('POST', v2, box('limit', 'v2', { width: 5, height: 5 }));
  await call('POST', `${registration}/validatingadmissionpolicies`, {
    metadata: { name: 'of-params' },
    spec: {
      paramKind: { apiVersion: 'example.com/v2', kind: 'Box' },
      matchConstraints: {
        resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] }],
      },
      validations: [
        { expression: 'params.spec.width > 5', messageExpression: '"as wide as " + string(params.spec.width)' },
      ],
    },
  });
  await call('POST', `${registration}/validatingadmissionpolicybindings`, {
    metadata: { name: 'of-params' },
    spec: {
      policyName: 'of-params',
      paramRef: { name: 'limit', parameterNotFoundAction: 'Deny' },
      validationActions: ['Deny'],
    },
  });
  const refusal = (): Promise<unknown> =>
    call('POST', '/api/v1/namespaces/default/configmaps', { metadata: { name: 'c' } }, undefined, 'dryRun=All').then(
      () => 'accepted',
      (error: unknown) => error,
    );
  const told = (text: RegExp) => (error: unknown) => error instanceof StatusError && text.test(error.message);
  try {
    await until(refusal, told(/as wide as 5/));
    await call('PATCH', `${v2}/limit`, { spec: { width: 6 } }, 'application/merge-patch+json');
    await until(refusal, (outcome) => outcome === 'accepted');
  } finally {
    answer = good;
    await call('DELETE', `${registration}/validatingadmissionpolicybindings/of-params`);
    await call('DELETE', `${registration}/validatingadmissionpolicies/of-params`);
    await call('DELETE', `${v2}/limit`);
  }
});
