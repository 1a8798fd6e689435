// Upstream's own example of an extension API server behind ours: built from its module, on `k8ts etcd`, reached through an API service.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, describe, it } from 'node:test';
import { KubectlCluster } from '../interop/kubectl-cluster.ts';
import { freePort } from '../../src/testing/free-port.ts';

const version = spawnSync('go', ['version'], { encoding: 'utf8' }).stdout ?? '';
const minor = Number(/go1\.(\d+)/.exec(version)?.[1] ?? 0);
const skip = minor >= 26 ? false : 'Go 1.26 or newer is not installed';
const cache = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'k8ts-test');
const binary = join(cache, 'sample-apiserver');
/** Compiling takes minutes the first time. */
const buildMs = 1_200_000;

describe("upstream's sample API server", { skip }, () => {
  const harness = new KubectlCluster();
  const children: ChildProcess[] = [];

  before(
    async () => {
      mkdirSync(cache, { recursive: true });
      const built = spawnSync('go', ['build', '-o', binary, 'k8s.io/sample-apiserver'], {
        cwd: 'test/interop-toolchains/sample-apiserver',
        encoding: 'utf8',
        env: { ...process.env, GOFLAGS: '-mod=mod' },
      });
      assert.equal(built.status, 0, built.stderr);
      await harness.start({ node: 'none', metricsServer: false });
      const etcd = await etcdEndpoint();
      const port = await freePort();
      const { kubeconfig } = harness;
      const flags = [
        `--etcd-servers=${etcd}`,
        `--secure-port=${port}`,
        '--bind-address=127.0.0.1',
        `--cert-dir=${harness.folder}`,
        `--kubeconfig=${kubeconfig}`,
        `--authentication-kubeconfig=${kubeconfig}`,
        `--authorization-kubeconfig=${kubeconfig}`,
      ];
      children.push(spawn(binary, flags, { stdio: 'ignore' }));
      const objects = [
        { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'wardle' } },
        {
          apiVersion: 'v1',
          kind: 'Service',
          metadata: { name: 'api', namespace: 'wardle' },
          spec: { type: 'ExternalName', externalName: 'localhost' },
        },
        {
          apiVersion: 'apiregistration.k8s.io/v1',
          kind: 'APIService',
          metadata: { name: 'v1alpha1.wardle.example.com' },
          spec: {
            group: 'wardle.example.com',
            version: 'v1alpha1',
            insecureSkipTLSVerify: true,
            groupPriorityMinimum: 1000,
            versionPriority: 15,
            service: { name: 'api', namespace: 'wardle', port },
          },
        },
      ];
      const list = { apiVersion: 'v1', kind: 'List', items: objects };
      await harness.run(`apply -f ${harness.file('objects.json', JSON.stringify(list))}`);
      await harness.run('wait --for=condition=Available apiservice/v1alpha1.wardle.example.com --timeout=120s');
    },
    { timeout: buildMs },
  );

  after(async () => {
    for (const child of children.toReversed()) {
      if (child.exitCode !== null) continue;
      child.kill('SIGTERM');
      await once(child, 'exit');
    }
    await harness.stop();
  });

  async function etcdEndpoint(): Promise<string> {
    const args = ['bin/k8ts.js', 'etcd', '--data-dir', join(harness.folder, 'etcd')];
    const child = spawn(process.execPath, [...args, '--listen-client-urls', 'http://127.0.0.1:0'], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    children.push(child);
    for await (const line of createInterface({ input: child.stderr })) {
      const endpoint = / at (http:\S+)/.exec(line)?.[1];
      if (endpoint === undefined) continue;
      child.stderr.resume();
      return endpoint;
    }
    return assert.fail('k8ts etcd ended');
  }

  const flunder = (name: string): string =>
    JSON.stringify({
      apiVersion: 'wardle.example.com/v1alpha1',
      kind: 'Flunder',
      metadata: { name, namespace: 'wardle', labels: { made: 'here' } },
      spec: { reference: 'other' },
    });

  it('is used with kubectl like any other', async () => {
    await harness.run(`apply -f ${harness.file('flunder.json', flunder('one'))}`);
    await harness.says('get flunders -n wardle -l made=here', /^one /m);
    await harness.run('annotate flunder one -n wardle note=x');
    assert.match(await harness.run('get flunder one -n wardle -o yaml'), /note: x/);
    await harness.run(`apply -n wardle --server-side --force-conflicts -f ${join(harness.folder, 'flunder.json')}`);
    await harness.says(
      'api-resources --api-group=wardle.example.com',
      /flunders +wardle\.example\.com\/v1alpha1 +true/,
    );
    await harness.says('explain flunders', /KIND: +Flunder/);
    await harness.run('delete flunder one -n wardle');
  });

  it('judges and refuses by our users and roles', async () => {
    const { code, stderr } = await harness.kubectl(['get', 'flunders', '-n', 'wardle', '--as=somebody']);
    assert.notEqual(code, 0);
    assert.match(stderr, /forbidden/);
  });

  it('deletes collections', async () => {
    await harness.run(`apply -f ${harness.file('two.json', flunder('two'))}`);
    await harness.run('delete flunders --all -n wardle --timeout=60s');
    await harness.says('get flunders -n wardle', /No resources found/);
  });
});
