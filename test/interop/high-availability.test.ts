// Owns the proof of high availability: three etcd members, two API servers, two controller managers; one of each is killed under load.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { etcdMissing, startEtcd } from '../../src/store/etcd/etcd-process.suite.ts';

const k8ts = fileURLToPath(new URL('../../src/main/k8ts.js', import.meta.url));
const agent = new Agent({ keepAlive: false });

interface Answer {
  readonly status: number;
  readonly body: {
    readonly items?: { readonly metadata: { readonly name: string } }[];
    readonly spec?: { readonly holderIdentity?: string };
  };
}

function ask(port: number, method: string, path: string, body?: object): Promise<Answer> {
  const headers = { authorization: 'Bearer secret', 'content-type': 'application/json' };
  return new Promise((resolve, reject) => {
    const options = {
      host: '127.0.0.1',
      port,
      method,
      path,
      headers,
      agent,
      rejectUnauthorized: false,
      timeout: 15_000,
    };
    const call = request(options, (response) => {
      let text = '';
      response.on('data', (chunk) => (text += String(chunk)));
      response.on('error', reject);
      response.on('end', () => resolve({ status: response.statusCode!, body: JSON.parse(text) as Answer['body'] }));
    });
    call.on('timeout', () => call.destroy(new Error('no answer')));
    call.on('error', reject);
    call.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

const config = (name: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } });
const maps = '/api/v1/namespaces/default/configmaps';
const lease = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-controller-manager';

it('goes on when an etcd member, an API server and the leading controller manager are killed', {
  skip: etcdMissing ?? false,
  timeout: 150_000,
}, async () => {
  const directory = mkdtempSync(join(tmpdir(), 'k8ts-ha-'));
  const etcd = await startEtcd(3);
  const children: ChildProcess[] = [];
  const start = (component: string, args: readonly string[]): ChildProcess => {
    const child = spawn(process.execPath, [k8ts, component, ...args], { stdio: ['ignore', 'ignore', 'pipe'] });
    children.push(child);
    return child;
  };
  const kill = async (child: ChildProcess): Promise<void> => {
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
  };
  try {
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const key = join(directory, 'sa');
    writeFileSync(key, privateKey.export({ type: 'pkcs8', format: 'pem' }));
    writeFileSync(join(directory, 'tokens'), 'secret,admin,1,"system:masters"\n');
    const servers: { child: ChildProcess; port: number }[] = [];
    for (const name of ['one', 'two']) {
      const args = ['--etcd-servers', etcd.endpoints.join(','), '--secure-port', '0', '--bind-address', '127.0.0.1'];
      args.push('--cert-dir', join(directory, name), '--token-auth-file', join(directory, 'tokens'));
      args.push('--service-account-key-file', key, '--service-account-signing-key-file', key);
      args.push('--service-account-issuer', 'https://kubernetes.default.svc');
      const child = start('kube-apiserver', args);
      const port = await new Promise<number>((resolve, reject) => {
        createInterface({ input: child.stderr! }).on('line', (line) => {
          const found = /serving on port (\d+)/.exec(line)?.[1];
          if (found !== undefined) resolve(Number(found));
        });
        child.once('exit', () => reject(new Error(`${name} ended`)));
      });
      servers.push({ child, port });
    }
    const survivor = servers[1]!.port;
    // Both managers talk to the server that stays; the other serves half of the load until it is killed.
    const kubeconfig = join(directory, 'kubeconfig');
    const cluster = { server: `https://127.0.0.1:${survivor}`, 'insecure-skip-tls-verify': true };
    const contexts = [{ name: 'c', context: { cluster: 'c', user: 'u' } }];
    const file = { apiVersion: 'v1', kind: 'Config', 'current-context': 'c', contexts };
    const users = [{ name: 'u', user: { token: 'secret' } }];
    writeFileSync(kubeconfig, JSON.stringify({ ...file, clusters: [{ name: 'c', cluster }], users }));
    const election = [
      '--leader-elect-lease-duration',
      '4s',
      '--leader-elect-renew-deadline',
      '3s',
      '--leader-elect-retry-period',
      '1s',
    ];
    const manage = () => {
      const child = start('kube-controller-manager', ['--kubeconfig', kubeconfig, ...election]);
      child.stderr!.resume();
      return child;
    };
    const holder = async () => (await ask(survivor, 'GET', lease)).body.spec?.holderIdentity ?? '';
    const until = async <T>(what: string, look: () => Promise<T | undefined | false | ''>): Promise<T> => {
      for (let left = 300; left > 0; left--) {
        const found = await look();
        if (found) return found;
        await delay(100);
      }
      throw new Error(`never: ${what}`);
    };
    const first = manage();
    const leader = await until('a leader', holder);
    manage();

    const acknowledged = new Set<string>();
    let stop = false;
    const writer = async (name: string, at: number) => {
      for (let turn = 0; !stop; turn++) {
        const map = `${name}-${turn}`;
        // A server that was killed is left for the other, as a load balancer does.
        for (const server of [servers[at]!, servers[1 - at]!]) {
          const answer = await ask(server.port, 'POST', maps, config(map)).catch(() => undefined);
          if (answer?.status === 201) acknowledged.add(map);
          if (answer !== undefined) break;
        }
      }
    };
    const writers = ['a', 'b', 'c', 'd'].map((name, at) => writer(name, at % 2));
    const more = async () => {
      const before = acknowledged.size;
      await until('more writes', async () => acknowledged.size > before + 20);
    };
    await more();
    await etcd.kill(0);
    await more();
    await kill(servers[0]!.child);
    await more();
    await kill(first);
    const killedMs = performance.now();
    await until('another leader', async () => {
      const now = await holder();
      return now !== '' && now !== leader;
    });
    const tookMs = performance.now() - killedMs;
    assert.ok(tookMs < 15_000, `the other took over after ${tookMs} ms`);
    // Its work goes on: a Deployment gets its Pods.
    const labels = { app: 'web' };
    const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'any' }] } };
    const spec = { replicas: 2, selector: { matchLabels: labels }, template };
    const web = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'web' }, spec };
    assert.equal((await ask(survivor, 'POST', '/apis/apps/v1/namespaces/default/deployments', web)).status, 201);
    const pods = '/api/v1/namespaces/default/pods?labelSelector=app%3Dweb';
    await until('pods', async () => (await ask(survivor, 'GET', pods)).body.items?.length === 2);
    stop = true;
    await Promise.all(writers);
    const { items = [] } = (await ask(survivor, 'GET', maps)).body;
    const there = new Set(items.map(({ metadata }) => metadata.name));
    assert.deepEqual(
      [...acknowledged].filter((name) => !there.has(name)),
      [],
      'nothing acknowledged is lost',
    );
  } finally {
    for (const child of children) child.kill('SIGKILL');
    await etcd.stop();
    rmSync(directory, { recursive: true, force: true });
  }
});
