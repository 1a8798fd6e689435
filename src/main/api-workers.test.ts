// Owns the tests of several API server processes behind one port: they agree, one that is killed comes back, and all end.
import assert from 'node:assert/strict';
import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import type { IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { it, type TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { isAlive } from '../base/process-identity.ts';
import { startCluster } from './cluster.ts';
import { ownCommand } from './own-command.ts';

const maps = '/api/v1/namespaces/default/configmaps';

interface Answer {
  readonly status: number;
  readonly body: {
    readonly metadata?: { readonly name?: string; readonly resourceVersion?: string };
    readonly data?: Readonly<Record<string, string>>;
    readonly items?: readonly { readonly metadata: { readonly name: string } }[];
    readonly spec?: { readonly replicas?: number };
    readonly status?: { readonly readyReplicas?: number };
  };
}

/** Without an agent each request has a connection of its own, and so the next worker. */
function ask(port: number, method: string, path: string, body?: object, agent: Agent | false = false): Promise<Answer> {
  const headers = { authorization: 'Bearer secret', 'content-type': 'application/json' };
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port, method, path, headers, agent, rejectUnauthorized: false };
    const call = request({ ...options, timeout: 20_000 }, (response) => {
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

const config = (name: string, value = '') => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name },
  data: { value },
});

async function until<T>(what: string, look: () => Promise<T | undefined | false> | T | undefined | false): Promise<T> {
  for (let left = 400; left > 0; left--) {
    const found = await look();
    if (found) return found;
    await delay(50);
  }
  throw new Error(`never: ${what}`);
}

/** The processes that this one began. */
function childrenOf(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
    .split(' ')
    .filter((text) => text.trim() !== '')
    .map(Number);
}

const alive = (pid: number): boolean => isAlive({ pid, startTicks: '' });

interface Started {
  readonly child: ChildProcess;
  readonly port: number;
  readonly lines: readonly string[];
}

async function start(t: TestContext, ...args: readonly string[]): Promise<Started> {
  const child = spawn(process.execPath, [ownCommand, 'kube-apiserver', ...args], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  t.after(() => child.kill('SIGKILL'));
  const lines: string[] = [];
  const port = await new Promise<number>((resolve, reject) => {
    createInterface({ input: child.stderr }).on('line', (line) => {
      lines.push(line);
      const found = /serving on port (\d+) with/.exec(line)?.[1];
      if (found !== undefined) resolve(Number(found));
    });
    child.once('exit', () => reject(new Error(`it ended:\n${lines.join('\n')}`)));
  });
  return { child, port, lines };
}

function directoryWithTokens(t: TestContext): { readonly directory: string; readonly usual: readonly string[] } {
  const directory = mkdtempSync(join(tmpdir(), 'k8ts-workers-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const tokens = join(directory, 'tokens');
  writeFileSync(tokens, 'secret,admin,1,"system:masters"\n');
  const usual = ['--secure-port=0', '--bind-address=127.0.0.1', `--token-auth-file=${tokens}`];
  return { directory, usual: [...usual, `--cert-dir=${join(directory, 'certs')}`] };
}

async function ended(child: ChildProcess): Promise<number | null> {
  const gone = once(child, 'exit');
  child.kill('SIGTERM');
  return ((await gone) as [number | null])[0];
}

/** Events of a watch on configmaps, until its connection breaks. */
function watch(port: number, from: string): { readonly seen: string[]; readonly begun: Promise<IncomingMessage> } {
  const seen: string[] = [];
  const path = `${maps}?watch=1&resourceVersion=${from}`;
  const options = { host: '127.0.0.1', port, path, headers: { authorization: 'Bearer secret' }, agent: false };
  const call = request({ ...options, rejectUnauthorized: false });
  const begun = new Promise<IncomingMessage>((resolve, reject) => {
    call.on('error', reject);
    call.on('response', (response) => {
      resolve(response);
      response.on('error', () => undefined);
      createInterface({ input: response }).on('line', (line) => {
        const { type, object } = JSON.parse(line) as { type: string; object: { metadata: { name: string } } };
        seen.push(`${type} ${object.metadata.name}`);
      });
    });
  });
  call.end();
  return { seen, begun };
}

const linux = process.platform === 'linux' ? false : 'needs /proc';

it('workers share a port and a store: each sees what the others wrote, at once', {
  skip: linux,
  timeout: 90_000,
}, async (t) => {
  const { directory, usual } = directoryWithTokens(t);
  const data = `--data-dir=${join(directory, 'data')}`;
  const first = await start(t, ...usual, data, '--api-workers=3');
  assert.equal(childrenOf(first.child.pid!).length, 3);
  const { port } = first;
  const created = await ask(port, 'POST', maps, config('one'));
  assert.equal(created.status, 201);
  const watches = [0, 1, 2].map(() => watch(port, created.body.metadata!.resourceVersion!));
  await Promise.all(watches.map(({ begun }) => begun));
  for (let turn = 0; turn < 60; turn++) {
    const written = await ask(port, 'PATCH', `${maps}/one`, { data: { value: `${turn}` } }).catch(() => undefined);
    assert.equal(written?.status, 415, 'a patch needs its content type');
    const put = await ask(port, 'PUT', `${maps}/one`, config('one', `${turn}`));
    assert.equal(put.status, 200);
    const read = await ask(port, 'GET', `${maps}/one`);
    assert.equal(read.body.data?.['value'], `${turn}`, 'another worker reads what was acknowledged');
    assert.equal(read.body.metadata?.resourceVersion, put.body.metadata?.resourceVersion);
  }
  assert.equal((await ask(port, 'DELETE', `${maps}/one`)).status, 200);
  for (const { seen } of watches) await until('the end of the watch', () => seen.at(-1) === 'DELETED one');
  for (const { seen } of watches) assert.equal(seen.filter((line) => line.endsWith(' one')).length, 61);
  assert.equal((await ask(port, 'POST', maps, config('two', 'kept'))).status, 201);
  const workers = childrenOf(first.child.pid!);
  assert.equal(await ended(first.child), 0, first.lines.join('\n'));
  assert.deepEqual(workers.filter(alive), [], 'no worker is left');
  // One process goes on where several were.
  const again = spawn(process.execPath, [ownCommand, 'kube-apiserver', ...usual, data], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  t.after(() => again.kill('SIGKILL'));
  const portAgain = await new Promise<number>((resolve) => {
    createInterface({ input: again.stderr }).on('line', (line) => {
      const found = /serving on port (\d+)/.exec(line)?.[1];
      if (found !== undefined) resolve(Number(found));
    });
  });
  assert.equal((await ask(portAgain, 'GET', `${maps}/two`)).body.data?.['value'], 'kept');
});

it('a worker that is killed under load comes back; the others go on', { skip: linux, timeout: 90_000 }, async (t) => {
  const { usual } = directoryWithTokens(t);
  const { child, port, lines } = await start(t, ...usual, '--api-workers=2');
  // Connections that stay show who is behind them: half of them break.
  const agents = Array.from({ length: 4 }, () => new Agent({ keepAlive: true, maxSockets: 1 }));
  t.after(() => agents.forEach((agent) => agent.destroy()));
  for (const agent of agents) assert.equal((await ask(port, 'GET', maps, undefined, agent)).status, 200);
  const closed = agents.map((agent) => {
    const [socket] = Object.values(agent.freeSockets)[0]!;
    return once(socket!, 'close').then(() => true);
  });
  const acknowledged = new Set<string>();
  let broken = 0;
  let stop = false;
  const writer = async (name: string) => {
    for (let turn = 0; !stop; turn++) {
      const answer = await ask(port, 'POST', maps, config(`${name}-${turn}`)).catch(() => undefined);
      if (answer === undefined) broken++;
      // A busy server may ask for patience.
      else if (answer.status !== 429) {
        assert.equal(answer.status, 201);
        acknowledged.add(`${name}-${turn}`);
      }
    }
  };
  const writers = ['a', 'b', 'c'].map(writer);
  const more = async () => {
    const before = acknowledged.size;
    await until('more writes', () => acknowledged.size > before + 20);
  };
  await more();
  const before = childrenOf(child.pid!);
  const dead = before[0]!;
  process.kill(dead, 'SIGKILL');
  await more();
  const after = await until('a new worker', () => {
    const now = childrenOf(child.pid!);
    return now.length === 2 && !now.includes(dead) && now;
  });
  assert.ok(after.includes(before[1]!), 'the other worker is the same process');
  const broke = await Promise.all(closed.map((one) => Promise.race([one, delay(200).then(() => false)])));
  assert.equal(broke.filter(Boolean).length, 2, 'connections were shared out in turn');
  await until('both serve', () => lines.filter((line) => line.includes('"msg":"serving"')).length === 3);
  await more();
  // The one that asks to leave is asked by no one any more, and comes back too.
  process.kill(before[1]!, 'SIGTERM');
  await until('another worker', () => childrenOf(child.pid!).filter((pid) => !before.includes(pid)).length === 2);
  await until('it serves', () => lines.filter((line) => line.includes('"msg":"serving"')).length === 4);
  await more();
  stop = true;
  await Promise.all(writers);
  assert.ok(broken <= 6, `${broken} requests broke: no more than were under way`);
  const { items = [] } = (await ask(port, 'GET', maps)).body;
  const there = new Set(items.map(({ metadata }) => metadata.name));
  assert.deepEqual(
    [...acknowledged].filter((name) => !there.has(name)),
    [],
    'nothing acknowledged is lost',
  );
  const workers = childrenOf(child.pid!);
  // Workers do not outlive the process that holds the store.
  child.kill('SIGKILL');
  await until('the end of all workers', () => workers.every((pid) => !alive(pid)));
});

it('what is wrong with the flags is said as without workers', { timeout: 30_000 }, async (t) => {
  const { usual } = directoryWithTokens(t);
  const wrong = async (...args: readonly string[]) => {
    const child = spawn(process.execPath, [ownCommand, 'kube-apiserver', ...usual, ...args], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    t.after(() => child.kill('SIGKILL'));
    let text = '';
    child.stderr.on('data', (chunk) => (text += String(chunk)));
    const [code] = (await once(child, 'close')) as [number];
    assert.equal(code, 1);
    return text;
  };
  assert.match(await wrong('--api-workers=0'), /give a whole number from 1 to 64/);
  // Only the server itself finds this out, in a worker.
  assert.match(
    await wrong('--api-workers=2', '--service-cluster-ip-range=nonsense'),
    await wrong('--service-cluster-ip-range=nonsense').then((text) => new RegExp(/range|nonsense/.exec(text)![0])),
  );
});

it("startCluster with workers: components work, kubectl's way in is shared", {
  skip: linux,
  timeout: 60_000,
}, async (t) => {
  const { directory } = directoryWithTokens(t);
  const cluster = await startCluster({
    apiWorkers: 2,
    nodes: 1,
    componentArgs: { 'kube-apiserver': { 'token-auth-file': join(directory, 'tokens') } },
  });
  t.after(() => cluster.stop());
  const mine = childrenOf(process.pid);
  assert.equal(mine.length, 2);
  const labels = { app: 'web' };
  const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'any' }] } };
  const web = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web' },
    spec: { replicas: 3, selector: { matchLabels: labels }, template },
  };
  const path = '/apis/apps/v1/namespaces/default/deployments';
  assert.equal((await ask(cluster.port, 'POST', path, web)).status, 201);
  await until('pods', async () => (await ask(cluster.port, 'GET', `${path}/web`)).body.status?.readyReplicas === 3);
  await cluster.stop();
  assert.deepEqual(mine.filter(alive), []);
  await assert.rejects(ask(cluster.port, 'GET', path));
  await assert.rejects(startCluster({ apiWorkers: 65 }), /apiWorkers is 65/);
});

it('a worker whose parent has gone before it listened ends by itself', { timeout: 30_000 }, async () => {
  const worker = fork(ownCommand, ['api-worker'], { stdio: 'ignore', execArgv: [] });
  const ended = once(worker, 'exit');
  worker.disconnect();
  assert.deepEqual(await ended, [0, null]);
});
