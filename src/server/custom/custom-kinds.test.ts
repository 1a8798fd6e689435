// Proves the life of a custom kind in a whole server: definition, objects, another version, a restart's worth of state, deletion.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Transport } from '../../client/transport.ts';
import { memoryStore } from '../../store/memory.ts';
import { systemClock } from '../../base/clock.ts';
import { silentLogger } from '../../base/log.ts';
import { systemRandom } from '../../base/random.ts';
import { startTestServer } from '../start.suite.ts';

/** What is read of the answers. */
interface Answer {
  readonly apiVersion: string;
  readonly spec: unknown;
  readonly status?: { readonly conditions?: readonly { readonly status: string }[] };
  readonly resources: readonly { readonly name: string }[];
}

const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const definition = (spec: object) => ({
  type: 'object',
  properties: {
    spec: { type: 'object', ...spec },
    status: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
  },
});
const widgets = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'widgets.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { plural: 'widgets', kind: 'Widget', shortNames: ['wd'] },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: definition({
            properties: { size: { type: 'integer', minimum: 1, default: 3 } },
            'x-kubernetes-validations': [{ rule: 'self.size < 10', message: 'too big' }],
          }),
        },
      },
      {
        name: 'v2',
        served: true,
        storage: false,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: definition({
            properties: { size: { type: 'integer' }, color: { type: 'string', default: 'red' } },
          }),
        },
      },
    ],
  },
};

const call = async (transport: Transport, method: string, path: string, body?: unknown): Promise<Answer> =>
  (await transport.call({ method, path, ...(body !== undefined && { body }) } as never)) as Answer;

/** Asks again until it is so: definitions are taken up by a loop. */
async function until(check: () => Promise<boolean>): Promise<void> {
  for (let attempt = 0; attempt < 50_000; attempt++) {
    if (await check().catch(() => false)) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.fail('it did not come to be');
}

const status = async (work: Promise<unknown>): Promise<number> =>
  work.then(
    () => 200,
    (error: { code?: number }) => error.code ?? 0,
  );

test('a custom kind from definition to deletion, across a restart', async () => {
  const store = memoryStore({ clock: systemClock, random: systemRandom, log: silentLogger });
  let { admin, stop } = await startTestServer({}, store);
  const root = '/apis/example.com/v1/namespaces/default/widgets';
  try {
    await call(admin, 'POST', definitions, widgets);
    const established = async (): Promise<boolean> =>
      (await call(admin, 'GET', `${definitions}/widgets.example.com`)).status?.conditions?.[1]?.status === 'True';
    await until(established);

    const widget = {
      apiVersion: 'example.com/v1',
      kind: 'Widget',
      metadata: { name: 'a' },
      spec: { nope: 1 },
      status: { x: 1 },
    };
    const made = await call(admin, 'POST', root, widget);
    assert.deepEqual(made.spec, { size: 3 });
    assert.equal(made.status, undefined);
    const strictly = { ...widget, metadata: { name: 'b' } };
    const query = new URLSearchParams({ fieldValidation: 'Strict' });
    assert.equal(await status(admin.call({ method: 'POST', path: root, query, body: strictly })), 400);
    assert.equal(
      await status(call(admin, 'POST', root, { ...widget, metadata: { name: 'b' }, spec: { size: 0 } })),
      422,
    );
    assert.equal(
      await status(call(admin, 'POST', root, { ...widget, metadata: { name: 'b' }, spec: { size: 11 } })),
      422,
    );

    const seen = await call(admin, 'GET', root.replace('/v1/', '/v2/') + '/a');
    assert.equal(seen.apiVersion, 'example.com/v2');
    // Defaults are those of the version in which it is stored.
    assert.deepEqual(seen.spec, { size: 3 });
    const list = await call(admin, 'GET', '/apis/example.com/v1');
    assert.deepEqual(
      list.resources.map(({ name }) => name),
      ['widgets', 'widgets/status'],
    );

    await stop();
    ({ admin, stop } = await startTestServer({}, store));
    assert.deepEqual((await call(admin, 'GET', `${root}/a`)).spec, { size: 3 });

    await call(admin, 'DELETE', `${definitions}/widgets.example.com`);
    await until(async () => (await status(call(admin, 'GET', `${definitions}/widgets.example.com`))) === 404);
    assert.equal(await status(call(admin, 'GET', `${root}/a`)), 404);
  } finally {
    await stop();
    await store.close();
  }
});

test('a conversion that is not supported is refused, not guessed', async () => {
  const { admin, stop } = await startTestServer();
  try {
    const spec = {
      ...widgets.spec,
      conversion: {
        strategy: 'Webhook',
        webhook: { clientConfig: { url: 'https://127.0.0.1:1/convert' }, conversionReviewVersions: ['v1'] },
      },
    };
    await call(admin, 'POST', definitions, { ...widgets, spec });
    const root = '/apis/example.com/v1/namespaces/default/widgets';
    const body = { apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'a' }, spec: {} };
    await until(async () => (await status(call(admin, 'POST', root, body))) === 200);
    assert.equal(await status(call(admin, 'GET', `${root.replace('/v1/', '/v2/')}/a`)), 500);
  } finally {
    await stop();
  }
});

test('who watches a definition sees each step of its life', async () => {
  const { admin, stop } = await startTestServer();
  try {
    const path = `${definitions}/widgets.example.com`;
    const abort = new AbortController();
    const query = new URLSearchParams({ watch: '1', resourceVersion: '1', timeoutSeconds: '20' });
    const watching = (async (): Promise<string[]> => {
      const steps: string[] = [];
      for await (const { type, object } of admin.watch({
        method: 'GET',
        path: definitions,
        query,
        signal: abort.signal,
      })) {
        const { conditions } = (object as { status: { conditions?: { type: string; reason: string }[] } }).status;
        steps.push(`${type} ${conditions?.at(-1)?.reason ?? ''}`);
        if (type === 'DELETED') return steps;
      }
      return steps;
    })();
    await call(admin, 'POST', definitions, widgets);
    await until(async () => (await call(admin, 'GET', path)).status?.conditions?.[1]?.status === 'True');
    await call(admin, 'DELETE', path);
    assert.deepEqual(await watching, [
      'ADDED ',
      'MODIFIED Installing',
      'MODIFIED InitialNamesAccepted',
      'MODIFIED InstanceDeletionPending',
      'MODIFIED InstanceDeletionInProgress',
      'DELETED InstanceDeletionInProgress',
    ]);
    abort.abort();
  } finally {
    await stop();
  }
});
