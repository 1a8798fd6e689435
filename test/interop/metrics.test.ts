// What metrics.k8s.io serves, seen by the real kubectl: the server within a cluster, and the one that runs alone.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { deployments } from '../../src/api/generated/resources.ts';
import { cpuUsageAnnotation, memoryUsageAnnotation } from '../../src/kubelet/simulated/usage.ts';
import { manifests } from '../../src/metrics-server/manifests.ts';
import { KubectlCluster } from './kubectl-cluster.ts';
import { kubectlPath } from './tools.ts';

const skip = kubectlPath() === undefined ? 'kubectl is shipped for linux/amd64 only' : false;

async function startWith(harness: KubectlCluster, metricsServer: boolean): Promise<void> {
  await harness.start({ nodes: 2, metricsServer });
  await harness.cluster.client.resource(deployments).create({
    metadata: { name: 'web', namespace: 'default' },
    spec: {
      replicas: 2,
      selector: { matchLabels: { app: 'web' } },
      template: {
        metadata: {
          labels: { app: 'web' },
          annotations: { [cpuUsageAnnotation]: '300m', [memoryUsageAnnotation]: '64Mi' },
        },
        spec: {
          containers: [
            { name: 'one', image: 'any' },
            { name: 'two', image: 'any' },
          ],
        },
      },
    },
  });
}

describe('the metrics of a cluster', { skip }, () => {
  const harness = new KubectlCluster();
  before(() => startWith(harness, true));
  after(() => harness.stop());

  it('are shown by kubectl top', async () => {
    await harness.says('top nodes --no-headers', /node-0 +\d+m +\d+% +\d+Mi/);
    await harness.says('top pods --no-headers', /^(web-\S+ +300m +64Mi *\n){2}$/);
    const containers = await harness.says('top pods --containers --no-headers', /one +150m +32Mi/);
    assert.equal(containers.trim().split('\n').length, 4);
    await harness.says('top pods -A --sum=true -l app=web', /600m +128Mi/);
    await harness.says('top pods -l app=other', /No resources found|no metrics/i);
  });

  it('are tables, objects and lists with selectors', async () => {
    await harness.says('get pods.metrics.k8s.io', /NAME +CPU +MEMORY +WINDOW\nweb-\S+ +300m +64Mi +\S+s/);
    await harness.says('get nodes.metrics.k8s.io node-1 -o jsonpath={.kind}', /^NodeMetrics$/);
    await harness.says('get pods.metrics.k8s.io --field-selector metadata.name=none', /No resources found/);
    await harness.says('get pods.metrics.k8s.io none', /NotFound/);
    await harness.says('delete pods.metrics.k8s.io none', /MethodNotAllowed|not allow/);
    await harness.says('explain pods.containers --api-version=metrics.k8s.io/v1beta1', /usage/);
    await harness.says('get apiservice v1beta1.metrics.k8s.io --no-headers', /kube-system\/metrics-server +True/);
  });

  it('are for those who may see them', async () => {
    await harness.says('get pods.metrics.k8s.io --as=somebody', /forbidden/);
    await harness.says(
      'create rolebinding seer --clusterrole=view --user=somebody -n default',
      /rolebinding.* created/,
    );
    await harness.says('get pods.metrics.k8s.io --as=somebody -n default', /web-/);
  });
});

describe('the metrics server alone', { skip }, () => {
  const harness = new KubectlCluster();
  let child: ChildProcess | undefined;
  before(() => startWith(harness, false));
  after(async () => {
    if (child?.exitCode === null) {
      child.kill('SIGTERM');
      await once(child, 'exit');
    }
    await harness.stop();
  });

  it('serves a cluster that has none', async () => {
    await harness.says('top nodes', /Metrics API not available/);
    child = spawn(
      process.execPath,
      [
        'bin/k8ts.js',
        'metrics-server',
        `--kubeconfig=${harness.kubeconfig}`,
        '--secure-port=0',
        '--bind-address=127.0.0.1',
        '--metric-resolution=2s',
        '--kubelet-through-api-server',
        `--cert-dir=${harness.folder}`,
      ],
      { stdio: ['ignore', 'ignore', 'pipe'] },
    );
    const port = await servingPort(child);
    const certificateAuthority = readFileSync(join(harness.folder, 'pki/ca.crt'), 'utf8');
    for (const [path, body] of manifests({ certificateAuthority, port, host: 'localhost' }))
      await harness.cluster.client.raw('PATCH', `${path}?fieldManager=test`, {
        body,
        contentType: 'application/apply-patch+yaml',
      });
    await harness.says('top nodes --no-headers', /node-0 +\d+m/);
    await harness.says('top pods --no-headers', /web-\S+ +300m +64Mi/);
    await harness.says('get --raw /apis/metrics.k8s.io/v1beta1 --as=somebody', /"pods"|forbidden/);
  });
});

async function servingPort(process: ChildProcess): Promise<number> {
  let said = '';
  for await (const chunk of process.stderr!) {
    said += String(chunk);
    const found = /serving on port (\d+)/.exec(said)?.[1];
    if (found !== undefined) {
      // What it says later must not stop it.
      process.stderr!.resume();
      return Number(found);
    }
  }
  return assert.fail(`it ended: ${said}`);
}
