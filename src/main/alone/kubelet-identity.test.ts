// Tests TLS bootstrap against our own API server and controllers: token, signing request, approval, certificate, kubeconfig.
import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { dump } from 'js-yaml';
import { certificateSigningRequests, clusterRoleBindings, nodes, secrets } from '../../api/generated/resources.ts';
import { systemClock } from '../../base/clock.ts';
import { silentLogger } from '../../base/log.ts';
import { transportFromKubeconfig } from '../../client/credentials.ts';
import { kubeconfigOf, loadKubeconfig } from '../../client/kubeconfig.ts';
import { client } from '../../client/rest.ts';
import { type Cluster, startCluster } from '../cluster.ts';
import { bootstrap } from './kubelet-identity.ts';

async function allowBootstrap({ client: admin }: Cluster): Promise<void> {
  await admin.resource(secrets).create({
    metadata: { name: 'bootstrap-token-abcdef', namespace: 'kube-system' },
    type: 'bootstrap.kubernetes.io/token',
    stringData: {
      'token-id': 'abcdef',
      'token-secret': '0123456789abcdef',
      'usage-bootstrap-authentication': 'true',
    },
  });
  for (const role of ['system:node-bootstrapper', 'system:certificates.k8s.io:certificatesigningrequests:nodeclient'])
    await admin.resource(clusterRoleBindings).create({
      metadata: { name: `bootstrap-${role.split(':').at(-1)}` },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: 'system:bootstrappers' }],
    });
}

test('a node gets its certificate by a bootstrap token and may then register itself', { timeout: 60_000 }, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'k8ts-bootstrap-'));
  const cluster = await startCluster({ node: 'none' });
  try {
    await allowBootstrap(cluster);
    const { cluster: where } = cluster.kubeconfigEntry('x');
    const bootstrapKubeconfig = join(folder, 'bootstrap.conf');
    const token = { token: 'abcdef.0123456789abcdef' };
    writeFileSync(bootstrapKubeconfig, dump(kubeconfigOf({ name: 'bootstrap', cluster: where, user: token })));
    const kubeconfig = join(folder, 'kubelet.conf');
    const flags = {
      kubeconfig,
      bootstrapKubeconfig,
      certDir: join(folder, 'pki'),
      rotate: false,
      nodeName: 'worker-1',
    };
    const signal = AbortSignal.timeout(30_000);
    await bootstrap(flags, { logger: silentLogger, signal, ready: () => undefined });

    const pem = readFileSync(join(folder, 'pki', 'kubelet-client-current.pem'), 'utf8');
    assert.match(new X509Certificate(pem).subject, /O=system:nodes\nCN=system:node:worker-1/);
    const [request] = (await cluster.client.resource(certificateSigningRequests).list()).items;
    assert.equal(request?.spec.username, 'system:bootstrap:abcdef');
    assert.deepEqual(request?.spec.groups, ['system:bootstrappers', 'system:authenticated']);
    assert.equal(request?.status?.conditions?.[0]?.reason, 'AutoApproved');

    const transport = await transportFromKubeconfig(await loadKubeconfig([kubeconfig]), {
      clock: systemClock,
      userAgent: 'test',
    });
    try {
      const node = client(transport).resource(nodes);
      const made = await node.create({ metadata: { name: 'worker-1' }, spec: {} });
      assert.equal(made.metadata.name, 'worker-1');
      // As the node's own user, which the Node authorizer keeps from the rest.
      await assert.rejects(client(transport).resource(secrets).list({ namespace: 'kube-system' }), /forbidden/i);
    } finally {
      transport.close();
    }
    // With a usable kubeconfig nothing is asked for any more.
    await bootstrap(flags, { logger: silentLogger, signal, ready: () => assert.fail('asked again') });
  } finally {
    await cluster.stop();
    rmSync(folder, { recursive: true });
  }
});
