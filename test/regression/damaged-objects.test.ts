// Proves that no part of an object is missed by being absent, null or empty: each is left out in turn of the largest recorded objects of every kind.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Agent } from 'node:https';
import { after, before, test } from 'node:test';
import { ask, type Reply } from '../../src/server/http/ask.suite.ts';
import { placesOf } from '../../src/server/random-bodies.suite.ts';
import { startTestServer, type TestServer } from '../../src/server/start.suite.ts';

const recorded = new URL('../../../test/golden/recorded/', import.meta.url).pathname;
/** So many of a kind, the largest first. */
const most = 1;

/** Once answered with an error of ours. */
const found: Readonly<Record<string, readonly Sample[]>> = {
  'v1 Pod': [
    {
      path: '/api/v1/namespaces/default/pods',
      body: {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: 'p' },
        spec: { resources: { limits: { cpu: '1' } }, containers: [{ name: 'c', image: 'i' }] },
      },
    },
  ],
  'apiextensions.k8s.io/v1 CustomResourceDefinition': [
    {
      path: '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
      body: {
        apiVersion: 'apiextensions.k8s.io/v1',
        kind: 'CustomResourceDefinition',
        metadata: { name: 'as.e.com' },
        spec: {
          group: 'e.com',
          scope: 'Cluster',
          names: { plural: 'as', kind: 'A' },
          versions: [
            {
              name: 'v1',
              served: true,
              storage: true,
              schema: {
                openAPIV3Schema: {
                  type: 'object',
                  properties: {
                    a: { type: 'integer', default: 1, 'x-kubernetes-validations': [{ rule: 'self > 0' }] },
                  },
                },
              },
            },
          ],
        },
      },
    },
  ],
};

interface Step {
  readonly method?: string;
  readonly path?: string;
  readonly body?: { readonly kind?: string; readonly apiVersion?: string; readonly metadata?: object };
}

interface Sample {
  readonly path: string;
  readonly body: object;
}

function samples(): Map<string, Sample[]> {
  const byKind = new Map<string, Sample[]>();
  for (const area of ['objects-core', 'objects-groups', 'semantics', 'access', 'extension'])
    for (const file of readdirSync(join(recorded, area))) {
      const { steps } = JSON.parse(readFileSync(join(recorded, area, file), 'utf8')) as { steps: Step[] };
      for (const { method, path = '', body } of steps) {
        if (method !== 'POST' || body?.kind === undefined || body.apiVersion === undefined) continue;
        if (path.includes('example.com') || path.includes('?')) continue;
        const kind = `${body.apiVersion} ${body.kind}`;
        const place = path.replace(/\/namespaces\/[^/]+/, (all, at: number) =>
          at + all.length === path.length ? all : '/namespaces/default',
        );
        byKind.set(kind, [
          ...(byKind.get(kind) ?? []),
          { path: place, body: JSON.parse(JSON.stringify(body).replaceAll('{RUN}', 'run')) as object },
        ]);
      }
    }
  for (const [kind, all] of byKind)
    byKind.set(
      kind,
      all.toSorted((a, b) => JSON.stringify(b.body).length - JSON.stringify(a.body).length).slice(0, most),
    );
  return byKind;
}

const absent = Symbol('absent');
const instead: readonly unknown[] = [absent, null, {}, [], '', -1];

const agent = new Agent({ keepAlive: true, maxSockets: 4, rejectUnauthorized: false });
let running: TestServer;
before(async () => {
  running = await startTestServer();
  await running.admin.call({
    method: 'POST',
    path: '/api/v1/namespaces/default/serviceaccounts',
    body: { metadata: { name: 'default' } },
  });
});
after(async () => {
  agent.destroy();
  await running.stop();
});

/** Over the wire: what comes from outside is read in another way than what a component within the process sends. */
function answerTo({ path, body }: Sample): Promise<Reply> {
  return ask(running.port, {
    method: 'POST',
    path: `${path}?dryRun=All`,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    agent,
  });
}

for (const [kind, largest] of samples())
  test(kind, async () => {
    const all = [...largest, ...(found[kind] ?? [])];
    const faults: string[] = [];
    for (const { path, body } of all)
      for (const [holder, name] of placesOf(body)) {
        const was = holder[name];
        for (const value of instead) {
          if (value === absent) delete holder[name];
          else holder[name] = value;
          const { status, text } = await answerTo({ path, body });
          if (status >= 500)
            faults.push(
              `${name} ${value === absent ? 'left out' : `= ${JSON.stringify(value)}`}: ${status} ${text.slice(0, 300)}`,
            );
        }
        holder[name] = was;
      }
    assert.deepEqual([...new Set(faults)], []);
  });
