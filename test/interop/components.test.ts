// Each component in a process of its own, joined only by HTTPS and kubeconfigs, as upstream's binaries are.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { Resolver } from 'node:dns/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { systemClock } from '../../src/base/clock.ts';
import { systemRandom } from '../../src/base/random.ts';
import { kubeconfigOf } from '../../src/client/kubeconfig.ts';
import { transportFromKubeconfig } from '../../src/client/credentials.ts';
import { client } from '../../src/client/rest.ts';
import { deployments, nodes, pods, services } from '../../src/api/generated/resources.ts';
import { openPki } from '../../src/main/pki.ts';
import { eventually } from './running-cluster.ts';
import { freePort } from '../../src/testing/free-port.ts';

const command = join(process.cwd(), 'bin/k8ts.js');

/** Starts a component and resolves with what it says of itself when it is ready. */
async function start(children: ChildProcess[], ...args: string[]): Promise<string> {
  const child = spawn(process.execPath, [command, ...args], { stdio: ['ignore', 'ignore', 'pipe'] });
  children.push(child);
  let text = '';
  return new Promise((resolve, reject) => {
    child.stderr.on('data', (data: Buffer) => {
      text += data.toString();
      const said = new RegExp(`^${args[0]}: (.*)$`, 'm').exec(text)?.[1];
      if (said !== undefined) resolve(said);
    });
    child.once('exit', (code) => reject(new Error(`${args[0]} ended with ${code}: ${text}`)));
  });
}

test('API server, controller manager, scheduler and DNS, each alone', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'k8ts-alone-'));
  const children: ChildProcess[] = [];
  t.after(async () => {
    const ended = children.map((child) =>
      child.exitCode === null && child.signalCode === null ? once(child, 'exit') : undefined,
    );
    for (const child of children) child.kill('SIGTERM');
    await Promise.all(ended.filter((end) => end !== undefined));
    rmSync(folder, { recursive: true });
  });
  const file = (name: string, text: string) => {
    writeFileSync(join(folder, name), text, { mode: 0o600 });
    return join(folder, name);
  };
  const pki = await openPki(undefined, { ipAddresses: ['127.0.0.1'] }, { clock: systemClock, random: systemRandom });
  const ca = file('ca.crt', pki.ca.certificatePem);
  const said = await start(
    children,
    'kube-apiserver',
    '--secure-port=0',
    '--bind-address=127.0.0.1',
    `--data-dir=${folder}/data`,
    `--client-ca-file=${ca}`,
    `--tls-cert-file=${file('server.crt', pki.apiServer.certificatePem)}`,
    `--tls-private-key-file=${file('server.key', pki.apiServer.keyPem)}`,
    `--service-account-signing-key-file=${file('sa.key', pki.serviceAccountKeyPem)}`,
  );
  const server = `https://127.0.0.1:${/port (\d+)/.exec(said)?.[1]}`;
  const kubeconfig = async (name: string, commonName: string, organizations: string[] = []) => {
    const pair = await pki.certificate(name, { commonName, organizations }, ['client auth']);
    const base64 = (text: string) => Buffer.from(text).toString('base64');
    return kubeconfigOf({
      name: 'alone',
      cluster: { server, 'certificate-authority-data': base64(pki.ca.certificatePem) },
      user: { 'client-certificate-data': base64(pair.certificatePem), 'client-key-data': base64(pair.keyPem) },
    });
  };
  const kubeconfigFile = async (name: string, ...who: [string, string[]?]) =>
    file(`${name}.conf`, JSON.stringify(await kubeconfig(name, ...who)));
  const admin = await kubeconfig('admin', 'admin', ['system:masters']);
  const transport = await transportFromKubeconfig(admin, { clock: systemClock, userAgent: 'test' });
  t.after(() => transport.close());
  const api = client(transport);
  await start(
    children,
    'kube-controller-manager',
    `--kubeconfig=${await kubeconfigFile('controller-manager', 'system:kube-controller-manager', ['system:masters'])}`,
    `--root-ca-file=${ca}`,
    `--cluster-signing-cert-file=${ca}`,
    `--cluster-signing-key-file=${file('ca.key', pki.ca.keyPem)}`,
  );
  await start(children, 'kube-scheduler', `--kubeconfig=${await kubeconfigFile('scheduler', 'system:kube-scheduler')}`);
  const dnsPort = await freePort();
  await start(
    children,
    'dns',
    `--kubeconfig=${await kubeconfigFile('dns', 'system:dns', ['system:masters'])}`,
    '--bind-address=127.0.0.1',
    `--port=${dnsPort}`,
    '--resolv-conf=/dev/null',
  );
  await api.resource(nodes).create({ metadata: { name: 'node-a' }, spec: {} });
  await api.resource(nodes).patch(
    { namespace: '', name: 'node-a' },
    {
      type: 'merge',
      body: {
        status: {
          allocatable: { cpu: '4', memory: '8Gi', pods: '110' },
          conditions: [{ type: 'Ready', status: 'True', lastHeartbeatTime: new Date().toISOString() }],
        },
      },
    },
    { subresource: 'status' },
  );
  await api.resource(deployments).create({
    metadata: { name: 'web', namespace: 'default' },
    spec: {
      replicas: 2,
      selector: { matchLabels: { app: 'web' } },
      template: { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'c', image: 'any' }] } },
    },
  });
  await eventually('two bound pods', async () => {
    const { items } = await api.resource(pods).list({ namespace: 'default', labelSelector: 'app=web' });
    return items.length === 2 && items.every((pod) => pod.spec.nodeName === 'node-a');
  });
  const service = await api.resource(services).create({
    metadata: { name: 'web', namespace: 'default' },
    spec: { selector: { app: 'web' }, ports: [{ port: 80 }] },
  });
  const resolver = new Resolver();
  resolver.setServers([`127.0.0.1:${dnsPort}`]);
  const addresses = await eventually('the name', () => resolver.resolve4('web.default.svc.cluster.local'));
  assert.deepEqual(addresses, [service.spec.clusterIP]);
});
