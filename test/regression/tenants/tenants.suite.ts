// Two tenants of one server, each in a namespace of its own: they cannot see, disturb or starve each other. Described in docs/security.md.
import assert from 'node:assert/strict';
import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { setPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { Flood } from './flood.ts';
import { freePort } from '../../../src/testing/free-port.ts';

export interface TenantsOptions {
  /** How long each quiet and each loud stretch lasts, and how often they take turns. */
  readonly stretchMs: number;
  readonly turns: number;
}

interface Reply {
  readonly status: number;
  readonly body: string;
}

const tokens = 'admin-token,admin,1,"system:masters"\na-token,ann,2,"tenants"\nb-token,bob,3,"tenants"\n';
const rbac = 'rbac.authorization.k8s.io';

export function tenants({ stretchMs, turns }: TenantsOptions): void {
  const folder = mkdtempSync(join(tmpdir(), 'k8ts-tenants-'));
  const agent = new Agent({ keepAlive: true, maxSockets: 64, rejectUnauthorized: false });
  let target = 0;
  let port = 0;
  /** Flooded while it is quiet here, so that the machine is as busy. */
  let decoyPort = 0;
  const servers: ChildProcess[] = [];
  let flooder: ChildProcess;

  function call(token: string, method: string, path: string, body?: object, type = 'application/json'): Promise<Reply> {
    const text = body === undefined ? undefined : JSON.stringify(body);
    return new Promise((resolve, reject) => {
      const sent = request(
        {
          host: '127.0.0.1',
          port: target,
          method,
          path,
          agent,
          headers: {
            authorization: `Bearer ${token}`,
            ...(text !== undefined && { 'content-type': type, 'content-length': Buffer.byteLength(text) }),
          },
        },
        (answer) => {
          let said = '';
          answer.on('data', (chunk: Buffer) => (said += chunk.toString()));
          answer.on('end', () => resolve({ status: answer.statusCode ?? 0, body: said }));
        },
      );
      sent.on('error', reject);
      sent.end(text);
    });
  }

  async function made(path: string, body: object): Promise<void> {
    const { status, body: said } = await call('admin-token', 'POST', path, body);
    assert.equal(status, 201, said);
  }

  /** Everything in the namespace, and nothing else. */
  async function tenant(namespace: string, user: string): Promise<void> {
    await made('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
    const base = `/apis/${rbac}/v1/namespaces/${namespace}`;
    await made(`${base}/roles`, {
      apiVersion: `${rbac}/v1`,
      kind: 'Role',
      metadata: { name: 'tenant' },
      rules: [
        { apiGroups: ['', 'apps'], resources: ['*'], verbs: ['*'] },
        { apiGroups: [rbac], resources: ['roles', 'rolebindings'], verbs: ['get', 'list', 'create', 'update'] },
      ],
    });
    await made(`${base}/rolebindings`, {
      apiVersion: `${rbac}/v1`,
      kind: 'RoleBinding',
      metadata: { name: 'tenant' },
      roleRef: { apiGroup: rbac, kind: 'Role', name: 'tenant' },
      subjects: [{ kind: 'User', apiGroup: rbac, name: user }],
    });
    await made(`/api/v1/namespaces/${namespace}/secrets`, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'own' },
      stringData: { word: `of-${namespace}` },
    });
    await Promise.all(
      Array.from({ length: 300 }, (_, at) =>
        made(`/api/v1/namespaces/${namespace}/configmaps`, {
          apiVersion: 'v1',
          kind: 'ConfigMap',
          metadata: { name: `m${at}` },
          data: { text: 'x'.repeat(500) },
        }),
      ),
    );
  }

  before(async () => {
    writeFileSync(join(folder, 'tokens.csv'), tokens, { mode: 0o600 });
    port = await freePort();
    decoyPort = await freePort();
    await Promise.all([start(port), start(decoyPort)]);
    flooder = fork(new URL('flood.js', import.meta.url).pathname);
    // Who floods is at the other end of a wire: it takes no processor time from the server.
    setPriority(flooder.pid!, 10);
    for (const on of [decoyPort, port]) {
      target = on;
      await Promise.all([tenant('a', 'ann'), tenant('b', 'bob')]);
    }
  });

  async function start(on: number): Promise<void> {
    const server = spawn(
      process.execPath,
      [
        join(process.cwd(), 'bin/k8ts.js'),
        'kube-apiserver',
        `--secure-port=${on}`,
        '--bind-address=127.0.0.1',
        `--token-auth-file=${join(folder, 'tokens.csv')}`,
        `--cert-dir=${folder}`,
      ],
      { stdio: ['ignore', 'ignore', 'pipe'] },
    );
    servers.push(server);
    await new Promise<void>((resolve, reject) => {
      let text = '';
      server.stderr!.on('data', (chunk: Buffer) => {
        text += chunk.toString();
        if (text.includes('serving on port')) resolve();
      });
      server.once('exit', (code) => reject(new Error(`the server ended with ${code}: ${text}`)));
    });
  }

  after(async () => {
    agent.destroy();
    flooder.disconnect();
    const ended = [...servers, flooder].map((child) => once(child, 'exit'));
    for (const server of servers) server.kill('SIGKILL');
    await Promise.all(ended);
    rmSync(folder, { recursive: true });
  });

  test('a tenant sees nothing of another, by any way', async () => {
    const own = await call('a-token', 'GET', '/api/v1/namespaces/a/secrets/own');
    assert.equal(own.status, 200);
    const tries: readonly (readonly [string, string, object?])[] = [
      ['GET', '/api/v1/namespaces/b/secrets/own'],
      ['GET', '/api/v1/namespaces/b/secrets'],
      ['GET', '/api/v1/namespaces/b/configmaps?watch=1&timeoutSeconds=1'],
      ['GET', '/api/v1/secrets'],
      ['GET', '/api/v1/secrets?fieldSelector=metadata.namespace%3Da'],
      ['GET', '/api/v1/configmaps?watch=1&timeoutSeconds=1'],
      ['GET', '/api/v1/namespaces'],
      ['GET', '/api/v1/namespaces/b'],
      ['GET', '/api/v1/namespaces/a/../b/secrets/own'],
      ['GET', '/api/v1/namespaces/a/secrets/..%2f..%2fb%2fsecrets%2fown'],
      ['DELETE', '/api/v1/namespaces/b/configmaps'],
      ['PUT', '/api/v1/namespaces/b/configmaps/m0', { kind: 'ConfigMap', apiVersion: 'v1', metadata: { name: 'm0' } }],
      [
        'POST',
        '/api/v1/namespaces/a/configmaps',
        { kind: 'ConfigMap', apiVersion: 'v1', metadata: { name: 'x', namespace: 'b' } },
      ],
      [
        'POST',
        '/api/v1/namespaces/b/serviceaccounts/default/token',
        { kind: 'TokenRequest', apiVersion: 'authentication.k8s.io/v1', spec: {} },
      ],
      ['GET', '/api/v1/namespaces/b/pods/x/log'],
      ['POST', '/api/v1/namespaces/b/pods/x/exec?command=id'],
      ['GET', '/metrics'],
      ['GET', '/debug/api_priority_and_fairness/dump_requests'],
    ];
    for (const [method, path, body] of tries) {
      const { status, body: said } = await call('a-token', method, path, body);
      assert.ok(status >= 400 && status < 500, `${method} ${path}: ${status}`);
      assert.ok(!said.includes(Buffer.from('of-b').toString('base64')), path);
    }
    // What is its own is not mixed with what is not.
    const listed = JSON.parse((await call('a-token', 'GET', '/api/v1/namespaces/a/configmaps')).body) as {
      items: { metadata: { namespace: string } }[];
    };
    assert.ok(listed.items.every(({ metadata }) => metadata.namespace === 'a'));
  });

  test('a tenant gives nobody more than it has', async () => {
    const bind = (name: string, kind: string, role: string, subject: object): object => ({
      apiVersion: `${rbac}/v1`,
      kind: 'RoleBinding',
      metadata: { name },
      roleRef: { apiGroup: rbac, kind, name: role },
      subjects: [subject],
    });
    const ann = { kind: 'User', apiGroup: rbac, name: 'ann' };
    const base = `/apis/${rbac}/v1/namespaces`;
    for (const [path, body] of [
      [`${base}/b/rolebindings`, bind('x', 'Role', 'tenant', ann)],
      [
        `/apis/${rbac}/v1/clusterrolebindings`,
        { ...bind('x', 'ClusterRole', 'cluster-admin', ann), kind: 'ClusterRoleBinding' },
      ],
      [`${base}/a/rolebindings`, bind('x', 'ClusterRole', 'cluster-admin', ann)],
      [
        `/apis/${rbac}/v1/clusterroles`,
        { apiVersion: `${rbac}/v1`, kind: 'ClusterRole', metadata: { name: 'x' }, rules: [] },
      ],
      ['/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'c' } }],
    ] as const)
      assert.equal((await call('a-token', 'POST', path, body)).status, 403, path);
  });

  test('a quota is exact, however many want the last of it at once, and is its namespace’s alone', async () => {
    const hard = { secrets: '20' };
    await made('/api/v1/namespaces/a/resourcequotas', {
      apiVersion: 'v1',
      kind: 'ResourceQuota',
      metadata: { name: 'q' },
      spec: { hard },
    });
    const used = { status: { hard, used: { secrets: '1' } } };
    const path = '/api/v1/namespaces/a/resourcequotas/q';
    assert.equal(
      (await call('admin-token', 'PATCH', `${path}/status`, used, 'application/merge-patch+json')).status,
      200,
    );
    const secret = (name: string): object => ({ apiVersion: 'v1', kind: 'Secret', metadata: { name } });
    const answers = await Promise.all(
      Array.from({ length: 80 }, (_, at) => call('a-token', 'POST', '/api/v1/namespaces/a/secrets', secret(`s${at}`))),
    );
    const count = (status: number): number => answers.filter((answer) => answer.status === status).length;
    assert.deepEqual([count(201), count(403)], [19, 61]);
    const now = JSON.parse((await call('admin-token', 'GET', path)).body) as { status: { used: object } };
    assert.deepEqual(now.status.used, { secrets: '20' });
    assert.equal((await call('b-token', 'POST', '/api/v1/namespaces/b/secrets', secret('free'))).status, 201);
  });

  /** What a quiet tenant does: it reads, lists and writes. Milliseconds of each round of the three. */
  async function work(forMs: number, samples: number[]): Promise<void> {
    const until = performance.now() + forMs;
    // A busy machine gets longer, so that there is something to compare.
    const enough = samples.length + forMs / 20;
    const latest = until + 2 * forMs;
    const maps = '/api/v1/namespaces/b/configmaps';
    while (performance.now() < until || (samples.length < enough && performance.now() < latest)) {
      const started = performance.now();
      const answers = [
        await call('b-token', 'GET', `${maps}/m1`),
        await call('b-token', 'GET', maps),
        await call('b-token', 'PATCH', `${maps}/m2`, { data: { n: String(started) } }, 'application/merge-patch+json'),
      ];
      samples.push(performance.now() - started);
      for (const { status, body } of answers) assert.equal(status, 200, body);
    }
  }

  async function tell(flood: Flood | 'nothing', on: number): Promise<{ answered: number; refused: number }> {
    flooder.send({ flood, port: on, token: 'a-token', namespace: 'a' });
    const [said] = (await once(flooder, 'message')) as [{ answered: number; refused: number }];
    return said;
  }

  const at = (share: number, samples: number[]): number =>
    samples.toSorted((a, b) => a - b)[Math.min(samples.length - 1, Math.floor(samples.length * share))]!;

  interface Stretches {
    readonly quiet: number[];
    readonly loud: number[];
    answered: number;
    refused: number;
  }

  /** They take turns, so that what else the machine does falls on both. */
  async function measure(flood: Flood): Promise<Stretches> {
    const all: Stretches = { quiet: [], loud: [], answered: 0, refused: 0 };
    for (let turn = 0; turn < turns; turn++) {
      await tell(flood, decoyPort);
      await work(stretchMs / 5, []);
      await work(stretchMs, all.quiet);
      await tell(flood, port);
      await work(stretchMs / 5, []);
      await work(stretchMs, all.loud);
      const said = await tell('nothing', port);
      all.answered += said.answered;
      all.refused += said.refused;
    }
    return all;
  }

  /** One piece of work of 3 MB cannot be divided: a body is read in one go, and holds others up for as long. */
  const indivisibleMs: Readonly<Partial<Record<Flood, number>>> = { bodies: 400 };

  for (const flood of ['gets', 'lists', 'writes', 'watches', 'bodies'] as const)
    test(`a tenant that floods with ${flood} does not starve another`, async (t) => {
      // What is unfair is unfair each time; what only a busy machine did is not.
      for (let attempt = 1; ; attempt++) {
        const { quiet, loud, answered, refused } = await measure(flood);
        const [median, high] = [0.5, 0.99].map((share) => ({ quiet: at(share, quiet), loud: at(share, loud) }));
        const told = [median!, high!]
          .map((one) => `${one.quiet.toFixed(1)} → ${one.loud.toFixed(1)} ms (${(one.loud / one.quiet).toFixed(2)}×)`)
          .join(', ');
        t.diagnostic(
          `${flood}: median, 99 %: ${told}; ${quiet.length} and ${loud.length} rounds; the flood: ${answered} answers, ${refused} turned away`,
        );
        assert.ok(answered > 10, 'it was a flood');
        if (high!.loud < Math.max(3 * high!.quiet, indivisibleMs[flood] ?? 0)) return;
        assert.ok(attempt < attempts, told);
      }
    });
}

const attempts = 3;
