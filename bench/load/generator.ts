// Owns the process that makes load: told over the parent's channel what to send, answers with what it saw.
import { operations, pods, seedPod } from './operations.ts';
import type { Wanted } from './operations.ts';
import { http1Connection, http2Connection, http2Session, openWatch } from './connections.ts';
import type { Connection, Protocol, Target } from './connections.ts';

export type Order =
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
  /** The warm-up is over: what the server spends counts from now. */
  | { readonly type: 'begun' }
  | {
      readonly type: 'done';
      readonly count: number;
      readonly errors: number;
      readonly seconds: number;
      readonly p50Ms: number;
    };

const connectionCount = 32;
const streamsPerSession = 8;
const watchesPerSession = 90;

const target: Target = { port: Number(process.argv[2]), token: process.argv[3]! };
const say = (report: Report): void => void process.send!(report);

async function connections(protocol: Protocol): Promise<Connection[]> {
  if (protocol === 'http1') return Promise.all(Array.from({ length: connectionCount }, () => http1Connection(target)));
  const sessions = await Promise.all(
    Array.from({ length: connectionCount / streamsPerSession }, () => http2Session(target)),
  );
  return Array.from({ length: connectionCount }, (_, at) => http2Connection(target, sessions[at % sessions.length]!));
}

async function seed(namespace: string, from: number, to: number): Promise<void> {
  const open = await connections('http1');
  await open[0]!.ask(post('/api/v1/namespaces', { metadata: { name: namespace } }));
  const account = `/api/v1/namespaces/${namespace}/serviceaccounts`;
  await open[0]!.ask(post(account, { metadata: { name: 'default' } }));
  let next = from;
  let errors = 0;
  const start = performance.now();
  await Promise.all(
    open.map(async (connection) => {
      while (next < to) if ((await connection.ask(post(pods(namespace), seedPod(next++)))) !== 201) errors++;
    }),
  );
  for (const connection of open) connection.close();
  say({ type: 'done', count: to - from, errors, seconds: (performance.now() - start) / 1000, p50Ms: 0 });
}

function post(path: string, object: object): Wanted {
  return { method: 'POST', path, contentType: 'application/json', body: JSON.stringify(object) };
}

async function load(order: Order & { readonly type: 'load' }): Promise<void> {
  const operation = operations.find(({ name }) => name === order.operation)!;
  const open = await connections(order.protocol);
  const run = Date.now().toString(36);
  const latencies: number[] = [];
  let turn = 0;
  let errors = 0;
  let measuring = false;
  let ended = false;
  const work = open.map(async (connection) => {
    while (!ended) {
      const begin = performance.now();
      const status = await connection.ask(operation.request(order.namespace, run, turn++));
      if (!measuring || ended) continue;
      latencies.push(performance.now() - begin);
      if (status >= 300) errors++;
    }
  });
  await new Promise((resolve) => setTimeout(resolve, order.warmSeconds * 1000));
  measuring = true;
  say({ type: 'begun' });
  const start = performance.now();
  await new Promise((resolve) => setTimeout(resolve, order.seconds * 1000));
  ended = true;
  latencies.sort((a, b) => a - b);
  const seconds = (performance.now() - start) / 1000;
  say({ type: 'done', count: latencies.length, errors, seconds, p50Ms: latencies[latencies.length >> 1] ?? 0 });
  await Promise.all(work);
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
  say({ type: 'begun' });
  lags.length = 0;
  const before = delivered;
  const start = performance.now();
  for (let i = 0; i < events; i++) await one();
  lags.sort((a, b) => a - b);
  const count = delivered - before;
  const seconds = (performance.now() - start) / 1000;
  say({ type: 'done', count, errors: events * watchers - count, seconds, p50Ms: lags[lags.length >> 1]! });
  for (const close of open) close();
  writer.close();
}

process.on('message', (order: Order) => {
  const work =
    order.type === 'seed'
      ? seed(order.namespace, order.from, order.to)
      : order.type === 'load'
        ? load(order)
        : watch(order);
  work.catch((error: unknown) => {
    process.stderr.write(`${String(error)}\n`);
    process.exit(1);
  });
});
process.on('disconnect', () => process.exit(0));
