// Upstream's API server and ours on one store at the same time, `k8ts etcd` or etcd: both serve the same bytes, neither gives out what the
// other has, and each goes on with what the other wrote.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { before, test, type TestContext } from 'node:test';
import { etcdMissing, startEtcd } from '../../src/store/etcd/etcd-process.suite.ts';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { isDeepStrictEqual } from 'node:util';
import { freePort } from '../../src/testing/free-port.ts';
import { ManyServers, ask, until } from '../interop/many-servers.ts';
import { built, buildUpstream, upstreamMissing } from './upstream-world.ts';

before(() => {
  if (upstreamMissing === undefined) buildUpstream();
});

const services = '/api/v1/namespaces/default/services';
const lists = [
  '/api/v1/services',
  '/api/v1/namespaces',
  '/api/v1/configmaps',
  '/apis/rbac.authorization.k8s.io/v1/clusterroles',
  '/apis/networking.k8s.io/v1/ipaddresses',
  '/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas',
  '/apis/apiregistration.k8s.io/v1/apiservices',
  '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
  '/apis/apps/v1/statefulsets',
];

const definition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'things.example.com' },
  spec: {
    group: 'example.com',
    names: { kind: 'Thing', plural: 'things' },
    scope: 'Namespaced',
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', properties: { a: { type: 'string' } } } },
        additionalPrinterColumns: [{ name: 'A', type: 'string', jsonPath: '.a' }],
      },
    ],
  },
};

async function bothOn(t: TestContext, endpoint: string): Promise<void> {
  const many = new ManyServers(['--etcd-servers', endpoint]);
  t.after(() => many.close());
  const ours = (await many.startServer('192.0.2.1')).port;
  const upstream = await freePort();
  const file = (name: string) => join(many.directory, name);
  const args = ['--etcd-servers', endpoint, '--secure-port', `${upstream}`, '--bind-address', '127.0.0.1'];
  args.push('--cert-dir', file('certs-upstream'), '--token-auth-file', file('tokens'));
  args.push('--authorization-mode', 'Node,RBAC', '--service-account-issuer', 'https://kubernetes.default.svc');
  args.push('--service-account-key-file', file('sa'), '--service-account-signing-key-file', file('sa'));
  // The range that ours has by default.
  args.push('--service-cluster-ip-range', '10.96.0.0/16', '--endpoint-reconciler-type', 'none');
  const child = spawn(join(built, 'kube-apiserver'), args, { stdio: 'ignore' });
  t.after(async () => {
    if (child.exitCode !== null) return;
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
  });
  const ready = (port: number) => ask(port, 'GET', '/api/v1/namespaces/kube-system').catch(() => undefined);
  await until("upstream's server serves", async () => (await ready(upstream))?.status === 200, 90_000);

  // Its allocator begins a moment after it serves.
  const first = { apiVersion: 'v1', kind: 'Service', metadata: { name: 'first' }, spec: { ports: [{ port: 80 }] } };
  await until(
    "upstream's server gives addresses",
    async () => (await ask(upstream, 'POST', services, first)).status === 201,
  );

  const made = await Promise.all(
    Array.from({ length: 60 }, (_, at) =>
      ask(at % 2 === 0 ? ours : upstream, 'POST', services, {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { name: `s${at}` },
        spec: { type: 'NodePort', ports: [{ port: 80 }] },
      }),
    ),
  );
  const failed = made.flatMap(({ status, body }, at) => (status === 201 ? [] : [`${at} ${status} ${body.message}`]));
  assert.deepEqual(failed, []);
  const specs = made.map(({ body }) => body.spec as { clusterIP: string; ports: { nodePort: number }[] });
  assert.equal(new Set(specs.map(({ clusterIP }) => clusterIP)).size, 60, 'no address twice');
  assert.equal(new Set(specs.map(({ ports }) => ports[0]!.nodePort)).size, 60, 'no port twice');

  const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
  assert.equal((await ask(ours, 'POST', crds, definition)).status, 201);
  const things = '/apis/example.com/v1/namespaces/default/things';
  const thing = (name: string) => ({ apiVersion: 'example.com/v1', kind: 'Thing', metadata: { name }, a: name });
  for (const [port, name] of [
    [upstream, 'by-upstream'],
    [ours, 'by-ours'],
  ] as const)
    await until(
      name,
      async () => (await ask(port, 'POST', things, thing(name)).catch(() => undefined))?.status === 201,
    );

  const labels = { app: 'x' };
  const set = {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { name: 'set' },
    spec: {
      selector: { matchLabels: labels },
      serviceName: 's0',
      template: { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'any' }] } },
      volumeClaimTemplates: [
        {
          metadata: { name: 'd' },
          spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
        },
      ],
    },
  };
  const sets = '/apis/apps/v1/namespaces/default/statefulsets';
  assert.equal((await ask(upstream, 'POST', sets, set)).status, 201);
  // Each goes on with what the other wrote.
  const merge = { contentType: 'application/merge-patch+json' };
  for (const port of [ours, upstream, ours]) {
    const { status, body } = await ask(
      port,
      'PATCH',
      `${sets}/set`,
      { metadata: { labels: { by: `${port}` } } },
      merge,
    );
    assert.equal(status, 200, body.message);
  }
  for (const path of [...lists, things]) {
    // Custom objects keep the order of their fields here, upstream sorts them. Conditions of the definition are written by either server, a moment later.
    await until(`${path} is the same through both`, async () => {
      const [a, b] = await Promise.all([ask(ours, 'GET', path), ask(upstream, 'GET', path)]);
      return (
        a.status === 200 &&
        b.status === 200 &&
        (path === things
          ? isDeepStrictEqual(a.body.items, b.body.items)
          : JSON.stringify(a.body.items) === JSON.stringify(b.body.items))
      );
    });
  }
}

test('on k8ts etcd', { skip: upstreamMissing ?? false, timeout: 240_000 }, async (t) => {
  const parts = new ManyServers([]);
  t.after(() => parts.close());
  const lines: string[] = [];
  parts.spawn(
    ['etcd', '--data-dir', join(parts.directory, 'etcd'), '--listen-client-urls', 'http://127.0.0.1:0'],
    lines,
  );
  const found = () => lines.map((line) => / at (http:\S+)/.exec(line)?.[1]).find(Boolean);
  await bothOn(t, await until('k8ts etcd serves', found));
});

test('on etcd', { skip: upstreamMissing ?? etcdMissing ?? false, timeout: 240_000 }, async (t) => {
  const etcd = await startEtcd(1);
  t.after(() => etcd.stop());
  await bothOn(t, etcd.endpoints[0]!);
});
