// Owns the proof that several API servers share a real etcd: what one acknowledged the other shows at once, also when one is killed.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { etcdMissing, startEtcd } from '../../src/store/etcd/etcd-process.suite.ts';

const k8ts = fileURLToPath(new URL('../../src/main/k8ts.js', import.meta.url));

interface Answer {
  readonly status: number;
  readonly body: {
    readonly metadata: { readonly name: string };
    readonly items?: { readonly metadata: { readonly name: string } }[];
  };
}

interface Server {
  readonly process: ChildProcess;
  ask(method: string, path: string, body?: object): Promise<Answer>;
}

async function startServer(directory: string, name: string, endpoint: string): Promise<Server> {
  const args = ['--etcd-servers', endpoint, '--secure-port', '0', '--bind-address', '127.0.0.1'];
  args.push('--cert-dir', join(directory, name), '--token-auth-file', join(directory, 'tokens'));
  args.push(
    '--service-account-key-file',
    join(directory, 'sa'),
    '--service-account-signing-key-file',
    join(directory, 'sa'),
  );
  args.push('--service-account-issuer', 'https://kubernetes.default.svc');
  const child = spawn(process.execPath, [k8ts, 'kube-apiserver', ...args], { stdio: ['ignore', 'ignore', 'pipe'] });
  const lines = createInterface({ input: child.stderr });
  const port = await new Promise<number>((resolve, reject) => {
    lines.on('line', (line) => {
      const found = /serving on port (\d+)/.exec(line)?.[1];
      if (found !== undefined) resolve(Number(found));
    });
    child.once('exit', () => reject(new Error(`${name} ended`)));
  });
  const headers = { authorization: 'Bearer secret', 'content-type': 'application/json' };
  const ask = (method: string, path: string, body?: object) =>
    new Promise<Answer>((resolve, reject) => {
      const call = request(
        { host: '127.0.0.1', port, method, path, headers, rejectUnauthorized: false },
        (response) => {
          let text = '';
          response.on('data', (chunk) => (text += String(chunk)));
          response.on('end', () => resolve({ status: response.statusCode!, body: JSON.parse(text) as Answer['body'] }));
        },
      );
      call.on('error', reject);
      call.end(body === undefined ? undefined : JSON.stringify(body));
    });
  return { process: child, ask };
}

it('two API servers on one etcd show each other what they acknowledged, and one goes on when the other is killed', {
  skip: etcdMissing ?? false,
  timeout: 120_000,
}, async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'k8ts-two-'));
  const cluster = await startEtcd(1);
  const processes: ChildProcess[] = [];
  t.after(async () => {
    for (const one of processes) one.kill('SIGKILL');
    await cluster.stop();
    rmSync(directory, { recursive: true, force: true });
  });
  writeFileSync(join(directory, 'tokens'), 'secret,admin,1,"system:masters"\n');
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  writeFileSync(join(directory, 'sa'), privateKey.export({ type: 'pkcs1', format: 'pem' }));
  const start = async (name: string) => {
    const server = await startServer(directory, name, cluster.endpoints[0]!);
    processes.push(server.process);
    return server;
  };
  const [a, b] = await Promise.all([start('a'), start('b')]);
  const path = '/api/v1/namespaces/default/configmaps';
  const config = (data: object) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { generateName: 'c-' }, data });
  const acknowledged = new Set<string>();
  const round = async (writer: Server, reader: Server): Promise<void> => {
    const made = await writer.ask('POST', path, config({ a: 'b' }));
    assert.equal(made.status, 201);
    acknowledged.add(made.body.metadata.name);
    const listed = await reader.ask('GET', path);
    assert.ok(
      listed.body.items!.some(({ metadata }) => metadata.name === made.body.metadata.name),
      'the other does not show it',
    );
    assert.equal((await reader.ask('GET', `${path}/${made.body.metadata.name}`)).status, 200);
  };
  await Promise.all(
    [0, 1, 2, 3].map(async (client) => {
      for (let i = 0; i < 10; i++) await (client % 2 === 0 ? round(a, b) : round(b, a));
    }),
  );
  // One name, made through both at once: one of them wins.
  for (let i = 0; i < 10; i++) {
    const same = { ...config({}), metadata: { name: `same-${i}` } };
    const both = await Promise.all([a.ask('POST', path, same), b.ask('POST', path, same)]);
    assert.deepEqual(
      both.map(({ status }) => status).sort((x, y) => x - y),
      [201, 409],
    );
  }
  a.process.kill('SIGKILL');
  const listed = await b.ask('GET', path);
  for (const name of acknowledged) assert.ok(listed.body.items!.some(({ metadata }) => metadata.name === name));
  for (let i = 0; i < 5; i++) await round(b, b);
  const again = await start('a');
  for (let i = 0; i < 5; i++) await round(again, b);
});
