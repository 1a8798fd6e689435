// Owns a control plane whose API server is upstream's or ours and whose controllers and scheduler are the other's, each a process, joined
// by HTTPS and kubeconfigs only; nodes are simulated.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log.ts';
import { systemRandom } from '../../src/base/random.ts';
import { taskGroup } from '../../src/base/task-group.ts';
import type { Client } from '../../src/client/client.ts';
import { transportFromKubeconfig } from '../../src/client/credentials.ts';
import { informerFactory } from '../../src/client/informer-factory.ts';
import { kubeconfigOf } from '../../src/client/kubeconfig.ts';
import { client } from '../../src/client/rest.ts';
import { simulatedNodes } from '../../src/kubelet/simulated/simulated-nodes.ts';
import { openPki, type Pki } from '../../src/main/pki.ts';
import { eventually } from '../interop/running-cluster.ts';
import { freePort } from '../../src/testing/free-port.ts';

export type Maker = 'ours' | 'upstream';
export type Component = 'kube-apiserver' | 'kube-controller-manager' | 'kube-scheduler';

/** Where the built components are. */
export const built = join(process.cwd(), 'node_modules/.cache/k8ts-interop/upstream');

/** Why upstream's components cannot be had; undefined when they can. */
export const upstreamMissing: string | undefined = /go1\.(2[6-9]|[3-9]\d)/.test(
  spawnSync('go', ['version'], { encoding: 'utf8' }).stdout ?? '',
)
  ? undefined
  : 'Go 1.26 or newer is not installed';

/** Builds what has changed: many minutes the first time. */
export function buildUpstream(): void {
  mkdirSync(built, { recursive: true });
  const version = 'k8s.io/component-base/version';
  const stamp = `-s -w -X ${version}.gitVersion=v1.37.2 -X ${version}.gitMajor=1 -X ${version}.gitMinor=37`;
  for (const name of ['kube-scheduler', 'kube-controller-manager', 'kube-apiserver']) {
    const { status, stderr } = spawnSync(
      'go',
      ['build', '-ldflags', stamp, '-o', join(built, name), `k8s.io/kubernetes/cmd/${name}`],
      {
        cwd: join(process.cwd(), 'test/interop-toolchains/upstream'),
        env: { ...process.env, GOFLAGS: '-mod=mod' },
        encoding: 'utf8',
      },
    );
    if (status !== 0) throw new Error(`go build ${name}: ${stderr}`);
  }
}

export interface World {
  readonly api: Client;
  /** What a component said. */
  output(component: string): string;
}

/** Everything ends with the test. */
export async function startWorld(
  t: TestContext,
  makers: Readonly<Record<Component, Maker>>,
  nodeNames: readonly string[],
): Promise<World> {
  const directory = mkdtempSync(join(tmpdir(), 'k8ts-world-'));
  const processes = new Processes(directory);
  t.after(async () => {
    await processes.stop();
    rmSync(directory, { recursive: true, force: true });
  });
  const pki = await openPki(undefined, { ipAddresses: ['127.0.0.1'] }, { clock: systemClock, random: systemRandom });
  const files = keyFiles(directory, pki);
  const port = await freePort();
  const server = `https://127.0.0.1:${port}`;
  const etcd = `http://127.0.0.1:${await freePort()}`;
  processes.start('ours', 'etcd', [
    `--data-dir=${directory}/etcd`,
    `--listen-client-urls=${etcd}`,
    '--unsafe-no-fsync',
  ]);
  processes.start(makers['kube-apiserver'], 'kube-apiserver', [
    `--etcd-servers=${etcd}`,
    `--secure-port=${port}`,
    '--bind-address=127.0.0.1',
    '--authorization-mode=Node,RBAC',
    '--allow-privileged=true',
    '--service-cluster-ip-range=10.96.0.0/16',
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-account-key-file=${files.accountPublicKey}`,
    `--service-account-signing-key-file=${files.accountKey}`,
    `--client-ca-file=${files.ca}`,
    `--tls-cert-file=${files.serverCertificate}`,
    `--tls-private-key-file=${files.serverKey}`,
  ]);
  const kubeconfig = async (name: string, commonName: string, organizations: string[] = []) => {
    const pair = await pki.certificate(name, { commonName, organizations }, ['client auth']);
    const base64 = (text: string) => Buffer.from(text).toString('base64');
    return kubeconfigOf({
      name: 'world',
      cluster: { server, 'certificate-authority-data': base64(pki.ca.certificatePem) },
      user: { 'client-certificate-data': base64(pair.certificatePem), 'client-key-data': base64(pair.keyPem) },
    });
  };
  const api = await connected(t, await kubeconfig('admin', 'admin', ['system:masters']));
  await eventually(
    'the API server is ready',
    async () => {
      processes.check();
      return (await api.transport.call({ method: 'GET', path: '/readyz' }).catch(() => undefined)) !== undefined;
    },
    60_000,
  );
  const others = { 'kube-scheduler': 'scheduler.conf', 'kube-controller-manager': 'manager.conf' } as const;
  for (const [name, file] of Object.entries(others)) {
    const component = name as keyof typeof others;
    const path = join(directory, file);
    writeFileSync(path, JSON.stringify(await kubeconfig(name, `system:${name}`)));
    const own = await freePort();
    // As kubeadm's manifests have it.
    processes.start(makers[component], component, [
      `--kubeconfig=${path}`,
      `--authentication-kubeconfig=${path}`,
      `--authorization-kubeconfig=${path}`,
      '--bind-address=127.0.0.1',
      '--leader-elect=true',
      `--secure-port=${own}`,
      ...(component === 'kube-controller-manager' ? managerFlags(files) : []),
    ]);
    await eventually(`${component} is healthy`, async () => {
      processes.check();
      return (await statusOf(`https://127.0.0.1:${own}/healthz`)) === 200;
    });
  }
  await runNodes(t, await connected(t, await kubeconfig('nodes', 'nodes', ['system:masters'])), nodeNames);
  return { api: api.client, output: (component) => processes.output(component) };
}

type Files = ReturnType<typeof keyFiles>;

function managerFlags(files: Files): string[] {
  return [
    `--client-ca-file=${files.ca}`,
    `--requestheader-client-ca-file=${files.ca}`,
    '--cluster-name=kubernetes',
    '--controllers=*,bootstrapsigner,tokencleaner',
    '--use-service-account-credentials=true',
    `--service-account-private-key-file=${files.accountKey}`,
    `--root-ca-file=${files.ca}`,
    `--cluster-signing-cert-file=${files.ca}`,
    `--cluster-signing-key-file=${files.caKey}`,
    '--allocate-node-cidrs=true',
    '--cluster-cidr=10.244.0.0/16',
    '--service-cluster-ip-range=10.96.0.0/16',
  ];
}

function keyFiles(directory: string, pki: Pki) {
  const file = (name: string, text: string): string => {
    writeFileSync(join(directory, name), text, { mode: 0o600 });
    return join(directory, name);
  };
  return {
    ca: file('ca.crt', pki.ca.certificatePem),
    caKey: file('ca.key', pki.ca.keyPem),
    serverCertificate: file('server.crt', pki.apiServer.certificatePem),
    serverKey: file('server.key', pki.apiServer.keyPem),
    accountKey: file('sa.key', pki.serviceAccountKeyPem),
    accountPublicKey: file('sa.pub', pki.serviceAccountPublicKeyPem),
  };
}

/** 0 when nobody answers. */
function statusOf(url: string): Promise<number> {
  return new Promise((resolve) => {
    const asked = request(url, { rejectUnauthorized: false, agent: false }, (answer) => {
      answer.resume();
      resolve(answer.statusCode ?? 0);
    });
    asked.on('error', () => resolve(0));
    asked.end();
  });
}

async function connected(t: TestContext, kubeconfig: ReturnType<typeof kubeconfigOf>) {
  const transport = await transportFromKubeconfig(kubeconfig, { clock: systemClock, userAgent: 'interop' });
  t.after(() => transport.close());
  return { transport, client: client(transport) };
}

async function runNodes(t: TestContext, { client: own }: { client: Client }, names: readonly string[]): Promise<void> {
  const deps = { client: own, clock: systemClock, random: systemRandom, logger: silentLogger };
  const group = taskGroup();
  const informers = informerFactory(own, deps);
  const nodes = simulatedNodes({ names, jobMs: 200 }, { ...deps, informers });
  group.run('informers', (signal) => informers.run(signal));
  group.run('nodes', (signal) => nodes.run(signal));
  t.after(() => group.stop());
}

/** Starts programs, keeps what they say, and ends them. */
class Processes {
  readonly #directory: string;
  readonly #children = new Map<string, ChildProcess>();
  readonly #outputs = new Map<string, string>();

  constructor(directory: string) {
    this.#directory = directory;
  }

  start(maker: Maker, name: string, args: readonly string[]): void {
    const [file, first] =
      maker === 'ours' ? [process.execPath, [join(process.cwd(), 'bin/k8ts.js'), name]] : [join(built, name), []];
    const child = spawn(file, [...first, ...args], { cwd: this.#directory, stdio: ['ignore', 'pipe', 'pipe'] });
    this.#children.set(name, child);
    const take = (data: Buffer) => {
      this.#outputs.set(name, `${this.output(name)}${data}`.slice(-200_000));
    };
    child.stdout.on('data', take);
    child.stderr.on('data', take);
  }

  output(name: string): string {
    return this.#outputs.get(name) ?? '';
  }

  /** Throws when one has ended. */
  check(): void {
    for (const [name, child] of this.#children) assert.equal(child.exitCode, null, `${name}: ${this.output(name)}`);
  }

  async stop(): Promise<void> {
    for (const child of [...this.#children.values()].toReversed()) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      const late = systemClock.after(15_000, () => child.kill('SIGKILL'));
      await ended;
      late.cancel();
    }
  }
}
