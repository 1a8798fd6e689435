// The example operator does what its README says: against a cluster in this process, and as a program of its own beside another.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { load, loadAll } from 'js-yaml';
import { configMaps, deployments, events, leases, services } from '../../src/api/generated/resources.ts';
import type { New } from '../../src/api/meta.ts';
import { isNotFound } from '../../src/api/status-error.ts';
import { silentLogger } from '../../src/base/log.ts';
import { type Cluster, startCluster } from '../../src/main/cluster.ts';
import { runOperator } from '../../src/main/operator.ts';
import { finalizer, websiteController } from '../../examples/operator/operator.ts';
import { type Website, websites } from '../../examples/operator/website.ts';
import { KubectlCluster } from './kubectl-cluster.ts';
import { eventually } from './running-cluster.ts';
import { kubectlPath } from './tools.ts';

const manifests = join(process.cwd(), 'examples/operator/manifests');
const manifest = (name: string): string => readFileSync(join(manifests, name), 'utf8');
const registry = { namespace: 'default', name: 'website-hosts' };
const site = (name: string, host: string, more: object = {}): New<Website> => ({
  metadata: { name, namespace: 'default' },
  spec: { host, html: `<h1>${name}</h1>`, ...more },
});
const key = (name: string) => ({ namespace: 'default', name });

describe('the example operator', () => {
  let cluster: Cluster;
  const abort = new AbortController();
  let running: Promise<void>;

  before(async () => {
    cluster = await startCluster();
    const { client } = cluster;
    const body = load(manifest('crd.yaml'));
    await client.raw('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', { body });
    await eventually('the kind is served', () => client.resource(websites).list());
    running = runOperator(
      { name: 'website-operator', client, lease: key('website-operator'), logger: silentLogger },
      (context) => [websiteController(context, registry)],
      abort.signal,
    );
  });

  after(async () => {
    abort.abort();
    await running;
    await cluster.stop();
  });

  const ready = (name: string): Promise<Website> =>
    eventually(`website ${name} is ready`, async () => {
      const found = await cluster.client.resource(websites).get(key(name));
      const condition = found.status?.conditions?.find(({ type }) => type === 'Ready');
      return condition?.status === 'True' && (found as Website);
    });
  const gone = (what: string, ask: () => Promise<unknown>): Promise<boolean> =>
    eventually(`${what} is gone`, () =>
      ask().then(
        () => false,
        (error: unknown) => isNotFound(error),
      ),
    );

  it('serves a site: page, servers and service as its own, status and event', async () => {
    const { client } = cluster;
    await client.resource(websites).create(site('one', 'one.example.com', { replicas: 2 }));
    const one = await ready('one');
    assert.equal(one.status?.readyReplicas, 2);
    assert.deepEqual(one.metadata.finalizers, [finalizer]);
    const [page, servers, service] = await Promise.all([
      client.resource(configMaps).get(key('one')),
      client.resource(deployments).get(key('one')),
      client.resource(services).get(key('one')),
    ]);
    assert.equal(page.data?.['index.html'], '<h1>one</h1>');
    for (const part of [page, servers, service]) {
      assert.equal(part.metadata.ownerReferences?.[0]?.uid, one.metadata.uid);
      assert.ok(
        part.metadata.managedFields?.some(
          ({ manager, operation }) => manager === 'website-operator' && operation === 'Apply',
        ),
      );
    }
    assert.equal((await client.resource(configMaps).get(registry)).data?.['one.example.com'], 'default/one');
    await eventually('the event', async () =>
      (await client.resource(events).list({ namespace: 'default' })).items.some(
        ({ reason, involvedObject }) => reason === 'Serving' && involvedObject.name === 'one',
      ),
    );
  });

  it('puts back what others change, and leaves what it does not own', async () => {
    const { client } = cluster;
    await client.resource(deployments).patch(key('one'), {
      type: 'merge',
      body: { spec: { replicas: 5 }, metadata: { annotations: { mine: 'yes' } } },
    });
    await eventually('the replicas are back', async () => {
      const { spec, metadata } = await client.resource(deployments).get(key('one'));
      return spec?.replicas === 2 && metadata.annotations?.['mine'] === 'yes';
    });
  });

  it('lets one site have a host, and the next when it is free', async () => {
    const { client } = cluster;
    await client.resource(websites).create(site('two', 'one.example.com'));
    await eventually('it is told', async () =>
      (await client.resource(websites).get(key('two'))).status?.conditions?.some(
        ({ type, reason }) => type === 'HostClaimed' && reason === 'Taken',
      ),
    );
    await assert.rejects(client.resource(deployments).get(key('two')), isNotFound);
    await client.resource(websites).patch(key('two'), { type: 'merge', body: { spec: { host: 'two.example.com' } } });
    await ready('two');
  });

  it('leaves alone what has the name of a part and is not its own, until that goes', async () => {
    const { client } = cluster;
    const data = { mine: 'yes' };
    await client.resource(configMaps).create({ metadata: key('three'), data });
    await client.resource(websites).create(site('three', 'three.example.com'));
    await eventually('it is told', async () =>
      (await client.resource(websites).get(key('three'))).status?.conditions?.some(
        ({ type, reason, message }) =>
          type === 'Ready' && reason === 'NameTaken' && message.startsWith('ConfigMap default/three '),
      ),
    );
    const untouched = await client.resource(configMaps).get(key('three'));
    assert.deepEqual([untouched.data, untouched.metadata.ownerReferences], [data, undefined]);
    await assert.rejects(client.resource(deployments).get(key('three')), isNotFound);
    await client.resource(configMaps).delete(key('three'));
    await client.resource(websites).patch(key('three'), { type: 'merge', body: { spec: { replicas: 2 } } });
    await ready('three');
    await client.resource(websites).delete(key('three'));
    await gone('the site', () => client.resource(websites).get(key('three')));
  });

  it('gives the host back before a site goes, and its parts go with it', async () => {
    const { client } = cluster;
    await client.resource(websites).delete(key('one'));
    await gone('the site', () => client.resource(websites).get(key('one')));
    await gone('its deployment', () => client.resource(deployments).get(key('one')));
    const { data = {} } = await client.resource(configMaps).get(registry);
    assert.deepEqual(Object.values(data), ['default/two']);
  });

  it('leads by a lease: a second one waits', async () => {
    const { client } = cluster;
    const holder = (await client.resource(leases).get(key('website-operator'))).spec.holderIdentity;
    const other = new AbortController();
    let isLeading = false;
    const second = runOperator(
      {
        name: 'second',
        client,
        lease: key('website-operator'),
        identity: 'second',
        logger: silentLogger,
        onLeader: (identity) => (isLeading ||= identity === 'second'),
      },
      () => [],
      other.signal,
    );
    await client.resource(websites).patch(key('two'), { type: 'merge', body: { spec: { replicas: 3 } } });
    await eventually('the first still works', async () => (await ready('two')).status?.readyReplicas === 3);
    assert.equal((await client.resource(leases).get(key('website-operator'))).spec.holderIdentity, holder);
    assert.equal(isLeading, false);
    other.abort();
    await second;
  });
});

const skip = kubectlPath() === undefined ? 'kubectl is shipped for linux/amd64 only' : false;

describe('the example operator as its README runs it', { skip }, () => {
  const harness = new KubectlCluster();
  let child: ChildProcess | undefined;

  before(() => harness.start({ nodes: 1 }));
  after(async () => {
    if (child !== undefined && child.exitCode === null) {
      child.kill('SIGTERM');
      await once(child, 'exit');
    }
    await harness.stop();
  });

  it('works with the rights of its manifests alone', async () => {
    await harness.run(`apply -f ${manifests}/crd.yaml -f ${manifests}/rbac.yaml`);
    assert.equal(loadAll(manifest('rbac.yaml')).length, 3);
    const token = (await harness.run('create token website-operator -n default')).trim();
    const config = JSON.parse(readFileSync(harness.kubeconfig, 'utf8')) as { users: { user: object }[] };
    for (const entry of config.users) entry.user = { token };
    const kubeconfig = harness.file('operator.kubeconfig', JSON.stringify(config));
    child = spawn(process.execPath, ['dist/examples/operator/main.js'], {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { ...process.env, KUBECONFIG: kubeconfig },
    });
    let said = '';
    child.stderr?.on('data', (chunk: Buffer) => (said += chunk.toString()));
    await harness.run(`apply -f ${manifests}/website.yaml`);
    await harness.says('get websites', /front-page +hello\.example\.com +True +2/).catch((error: unknown) => {
      throw new Error(`${String(error)}\n${said}`);
    });
    await harness.run('delete website front-page --timeout=60s');
    assert.doesNotMatch(said, /forbidden/);
    child.kill('SIGTERM');
    const [code] = (await once(child, 'exit')) as [number | null];
    assert.equal(code, 0, said);
  });
});
