// Owns the process that makes load: told over the parent's channel what to send, answers with what it saw.
import { operations, pods, seedPod } from './operations.ts';
import type { Wanted } from './operations.ts';
import { http1Connection, http2Connection, http2Session, openWatch } from './connections.ts';
import type { Connection, Protocol, Target } from './connections.ts';

export type Order =
  /** Namespaces, and who may do what in them. */
  | { readonly type: 'prepare' }
  | { readonly type: 'seed'; readonly namespace: string; readonly from: number; readonly to: number }
  | {
      readonly type: 'load';
      readonly operation: string;
      readonly protocol: Protocol;
      readonly namespace: string;
      readonly warmSeconds: number;
      readonly seconds: number;
    }
  | { readonly type: 'watch'; readonly protocol: Protocol; readonly watchers: number; readonly events: number };

export type Report =
  /** The warm-up is over, and nothing is under way: what the server spends counts from now. Goes on when told 'go'. */
  | { readonly type: 'begun' }
  | {
      readonly type: 'done';
      readonly count: number;
      /** With those of the warm-up. */
      readonly total: number;
      readonly errors: number;
      readonly seconds: number;
      readonly p50Ms: number;
    };

const connectionCount = 32;
const streamsPerSession = 8;
const watchesPerSession = 90;

const [port, adminToken, loadToken] = process.argv.slice(2) as [string, string, string];
const admin: Target = { port: Number(port), token: adminToken };
const target: Target = { port: Number(port), token: loadToken };
const say = (report: Report): void => void process.send!(report);

async function connections(protocol: Protocol, as = target): Promise<Connection[]> {
  if (protocol === 'http1') return Promise.all(Array.from({ length: connectionCount }, () => http1Connection(as)));
  const sessions = await Promise.all(
    Array.from({ length: connectionCount / streamsPerSession }, () => http2Session(as)),
  );
  return Array.from({ length: connectionCount }, (_, at) => http2Connection(as, sessions[at % sessions.length]!));
}

const namespaces = ['bench', 'made', 'growing', 'many'];

/** The load's user may write by its group's binding, read by one in each namespace; further roles and bindings stand around them. */
async function prepare(): Promise<void> {
  const connection = await http1Connection(admin);
  const rbac = '/apis/rbac.authorization.k8s.io/v1';
  const make = async (path: string, object: object): Promise<void> => {
    const status = await connection.ask(post(path, object));
    if (status !== 201) throw new Error(`POST ${path}: ${status}`);
  };
  const role = (kind: string, name: string) => ({ apiGroup: 'rbac.authorization.k8s.io', kind, name });
  const group = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: 'benchers' };
  const rules = [
    { apiGroups: [''], resources: ['namespaces', 'pods', 'pods/status', 'configmaps'], verbs: ['create', 'patch'] },
    { apiGroups: ['apps'], resources: ['deployments'], verbs: ['get', 'create', 'patch'] },
    { apiGroups: [''], resources: ['configmaps'], verbs: ['list', 'watch'] },
  ];
  await make(`${rbac}/clusterroles`, { metadata: { name: 'bench' }, rules });
  await make(`${rbac}/clusterrolebindings`, {
    metadata: { name: 'bench' },
    roleRef: role('ClusterRole', 'bench'),
    subjects: [group],
  });
  for (const namespace of namespaces) {
    await make('/api/v1/namespaces', { metadata: { name: namespace } });
    await make(`/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata: { name: 'default' } });
    const inside = `${rbac}/namespaces/${namespace}`;
    for (let at = 0; at < 20; at++) {
      const name = `reader-${at}`;
      const resources = at === 19 ? ['pods'] : [`things-${at}`];
      const rule = { apiGroups: [''], resources, verbs: ['get', 'list'] };
      await make(`${inside}/roles`, { metadata: { name }, rules: [rule] });
      await make(`${inside}/rolebindings`, { metadata: { name }, roleRef: role('Role', name), subjects: [group] });
    }
  }
  connection.close();
  say({ type: 'done', count: 1, total: 1, errors: 0, seconds: 0, p50Ms: 0 });
}

async function seed(namespace: string, from: number, to: number): Promise<void> {
  const open = await connections('http1');
  let next = from;
  let errors = 0;
  const start = performance.now();
  await Promise.all(
    open.map(async (connection) => {
      while (next < to) if ((await connection.ask(post(pods(namespace), seedPod(next++)))) !== 201) errors++;
    }),
  );
  for (const connection of open) connection.close();
  const count = to - from;
  say({ type: 'done', count, total: count, errors, seconds: (performance.now() - start) / 1000, p50Ms: 0 });
}

function post(path: string, object: object): Wanted {
  return { method: 'POST', path, contentType: 'application/json', body: JSON.stringify(object) };
}

/** Tells that it begins, and waits until the server has been asked what it spent so far. */
async function begin(): Promise<void> {
  const go = new Promise((resolve) => process.once('message', resolve));
  say({ type: 'begun' });
  await go;
}

/** Each connection asks again and again for so long; all have their answers at the end. */
async function volley(order: Order & { readonly type: 'load' }, open: readonly Connection[], forMs: number) {
  const operation = operations.find(({ name }) => name === order.operation)!;
  const latencies: number[] = [];
  let errors = 0;
  const start = performance.now();
  await Promise.all(
    open.map(async (connection) => {
      for (let sent = performance.now(); sent - start < forMs; ) {
        const status = await connection.ask(operation.request(order.namespace, runName, turn++));
        if (status >= 300) errors++;
        const now = performance.now();
        latencies.push(now - sent);
        sent = now;
      }
    }),
  );
  latencies.sort((a, b) => a - b);
  const p50Ms = latencies[latencies.length >> 1] ?? 0;
  return { count: latencies.length, errors, seconds: (performance.now() - start) / 1000, p50Ms };
}

const runName = Date.now().toString(36);
let turn = 0;

async function load(order: Order & { readonly type: 'load' }): Promise<void> {
  const open = await connections(order.protocol);
  const warm = await volley(order, open, order.warmSeconds * 1000);
  await begin();
  const measured = await volley(order, open, order.seconds * 1000);
  say({ type: 'done', ...measured, total: warm.count + measured.count });
  for (const connection of open) connection.close();
}

async function watch({ protocol, watchers, events }: Order & { readonly type: 'watch' }): Promise<void> {
  const writer = await http1Connection(target);
  const namespace = `watch-${Date.now().toString(36)}`;
  await writer.ask(post('/api/v1/namespaces', { metadata: { name: namespace } }));
  const path = `/api/v1/namespaces/${namespace}/configmaps`;
  let delivered = 0;
  const open: (() => void)[] = [];
  let session = protocol === 'http2' ? await http2Session(target) : undefined;
  for (let at = 0; at < watchers; at++) {
    if (session !== undefined && at > 0 && at % watchesPerSession === 0) session = await http2Session(target);
    const url = `${path}?watch=true&resourceVersion=0`;
    open.push(await openWatch(target, url, session, (count) => (delivered += count)));
  }
  const data = { k: 'x'.repeat(1500) };
  const lags: number[] = [];
  let made = 0;
  const one = async (): Promise<void> => {
    const begin = performance.now();
    const want = delivered + watchers;
    await writer.ask(post(path, { metadata: { name: `c-${made++}` }, data }));
    while (delivered < want && performance.now() - begin < 10_000)
      await new Promise((resolve) => setImmediate(resolve));
    lags.push(performance.now() - begin);
  };
  for (let i = 0; i < 20; i++) await one();
  await begin();
  lags.length = 0;
  const before = delivered;
  const start = performance.now();
  for (let i = 0; i < events; i++) await one();
  lags.sort((a, b) => a - b);
  const count = delivered - before;
  const seconds = (performance.now() - start) / 1000;
  say({
    type: 'done',
    count,
    total: delivered,
    errors: events * watchers - count,
    seconds,
    p50Ms: lags[lags.length >> 1]!,
  });
  for (const close of open) close();
  writer.close();
}

function work(order: Order): Promise<void> {
  switch (order.type) {
    case 'prepare':
      return prepare();
    case 'seed':
      return seed(order.namespace, order.from, order.to);
    case 'load':
      return load(order);
    default:
      return watch(order);
  }
}

process.on('message', (order: Order | 'go') => {
  if (order === 'go') return;
  work(order).catch((error: unknown) => {
    process.stderr.write(`${String(error)}\n`);
    process.exit(1);
  });
});
process.on('disconnect', () => process.exit(0));
