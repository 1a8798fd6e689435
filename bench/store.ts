// Owns the question: how fast is each storage engine, beside real etcd on the same disk in the same run?
// Run: node dist/bench/store.js [seconds per measurement]. etcd is asked by a bare HTTP/2 client as well as by our engine,
// so that its figures are not those of a gRPC library; its clients still share the machine's cores with it.
import { setMaxListeners } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:http2';
import type { ClientHttp2Session } from 'node:http2';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../src/base/clock.ts';
import { silentLogger } from '../src/base/log.ts';
import { systemRandom } from '../src/base/random.ts';
import { openEmbeddedStore } from '../src/store/embedded/embedded.ts';
import { etcdMissing, startEtcd } from '../src/store/etcd/etcd-process.suite.ts';
import { openEtcdStore } from '../src/store/etcd/etcd.ts';
import { serveEtcd } from '../src/store/face/face.ts';
import { memoryStore } from '../src/store/memory.ts';
import { prefixRange } from '../src/store/store.ts';
import type { Store } from '../src/store/store.ts';
import { KV } from '../src/wire/generated/etcd-rpc.ts';

const deps = { clock: systemClock, log: silentLogger, random: systemRandom };
const seconds = Number(process.argv[2] ?? 1);
const value = Buffer.alloc(1024, 'x');
const clients = [1, 16, 256];

interface Rate {
  readonly perSecond: number;
  readonly p50Ms: number;
}

/** The median of three runs: other work on the machine must not decide. */
async function loop(count: number, ask: (client: number, turn: number) => Promise<unknown>): Promise<Rate> {
  const rates = [await once(count, ask), await once(count, ask), await once(count, ask)];
  return rates.sort((a, b) => a.perSecond - b.perSecond)[1]!;
}

/** Closed loop: each client waits for its answer before it asks again. */
async function once(count: number, ask: (client: number, turn: number) => Promise<unknown>): Promise<Rate> {
  const untilMs = systemClock.monotonic() + seconds * 1000;
  const latencies: number[] = [];
  const start = systemClock.monotonic();
  await Promise.all(
    Array.from({ length: count }, async (_, client) => {
      for (let turn = 0; ; turn++) {
        const begin = systemClock.monotonic();
        if (begin >= untilMs) return;
        await ask(client, turn);
        latencies.push(systemClock.monotonic() - begin);
      }
    }),
  );
  const tookSeconds = (systemClock.monotonic() - start) / 1000;
  latencies.sort((a, b) => a - b);
  return { perSecond: latencies.length / tookSeconds, p50Ms: latencies[latencies.length >> 1]! };
}

const keyOf = (client: number, turn: number) => `/registry/pods/default/web-${client}-${turn % 100}`;

interface Row {
  readonly name: string;
  readonly writes: readonly Rate[];
  readonly range?: Rate;
  readonly eventsPerSecond?: number;
}

async function measure(name: string, store: Store): Promise<Row> {
  const put = (key: string) => store.transact({ compare: [], then: [{ type: 'put', key, value }] });
  const writes: Rate[] = [];
  for (const count of clients) writes.push(await loop(count, (client, turn) => put(keyOf(client, turn))));
  await Promise.all(Array.from({ length: 1000 }, (_, i) => put(`/registry/configmaps/a/${i}`)));
  const range = await loop(1, () => store.range(prefixRange('/registry/configmaps/')));
  return { name, writes, range, eventsPerSecond: await fanOut(store, put) };
}

/** Events delivered per second to 100 watches on one prefix. */
async function fanOut(store: Store, put: (key: string) => Promise<unknown>): Promise<number> {
  const watches = 100;
  const writes = 500;
  const abort = new AbortController();
  setMaxListeners(0, abort.signal);
  const opened: Promise<unknown>[] = [];
  const done = Array.from({ length: watches }, async () => {
    const iterator = store.watch(prefixRange('/registry/leases/'), { signal: abort.signal })[Symbol.asyncIterator]();
    const first = iterator.next();
    opened.push(first);
    await first;
    for (let seen = 0; seen < writes; ) {
      const next = await iterator.next();
      if (next.done) throw new Error('the watch ended');
      seen += next.value.events.length;
    }
  });
  await Promise.all(opened);
  const start = systemClock.monotonic();
  await Promise.all(Array.from({ length: writes }, (_, i) => put(`/registry/leases/${i}`)));
  await Promise.all(done);
  const took = systemClock.monotonic() - start;
  abort.abort();
  return (watches * writes * 1000) / took;
}

/** Puts by hand over HTTP/2: the least that a client can do. */
function barePut(session: ClientHttp2Session, key: string): Promise<void> {
  const message = KV.put.request.encode({ key: Buffer.from(key), value });
  const frame = Buffer.alloc(5 + message.length);
  frame.writeUInt32BE(message.length, 1);
  frame.set(message, 5);
  return new Promise((resolve, reject) => {
    const stream = session.request({
      ':method': 'POST',
      ':path': KV.put.path,
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    stream.on('trailers', (trailers) => {
      if (trailers['grpc-status'] !== '0') reject(new Error(String(trailers['grpc-message'])));
    });
    stream.on('end', resolve);
    stream.on('error', reject);
    stream.resume();
    stream.end(frame);
  });
}

async function measureBare(endpoint: string): Promise<Row> {
  const session = connect(endpoint);
  const writes: Rate[] = [];
  for (const count of clients) writes.push(await loop(count, (client, turn) => barePut(session, keyOf(client, turn))));
  session.close();
  return { name: 'etcd, bare HTTP/2 client', writes };
}

function print(rows: readonly Row[]): void {
  const baseline = rows.find(({ name }) => name.startsWith('etcd, bare'));
  const lines = [`writes of 1 KiB per second (p50), clients: ${clients.join(', ')}; range of 1000 keys; 100 watches`];
  for (const { name, writes, range, eventsPerSecond } of rows) {
    const cells = writes.map(({ perSecond, p50Ms }, at) => {
      const ratio = baseline === undefined ? '' : ` ${(perSecond / baseline.writes[at]!.perSecond).toFixed(1)}x`;
      return `${perSecond.toFixed(0)}/s (${p50Ms.toFixed(2)} ms)${ratio}`;
    });
    const rest =
      range === undefined ? '' : ` | range ${range.perSecond.toFixed(0)}/s | ${eventsPerSecond!.toFixed(0)} events/s`;
    lines.push(`${name}: ${cells.join(' | ')}${rest}`);
  }
  process.stdout.write(`${lines.join('\n')}\n`);
}

const directory = mkdtempSync(join(tmpdir(), 'k8ts-bench-'));
const rows: Row[] = [];
const memory = memoryStore(deps);
rows.push(await measure('memory (not durable)', memory));
await memory.close();
const embedded = await openEmbeddedStore(join(directory, 'embedded'), deps);
rows.push(await measure('embedded', embedded));
await embedded.close();
const behind = await openEmbeddedStore(join(directory, 'face'), deps);
const face = await serveEtcd(behind, { address: '127.0.0.1:0' }, deps);
const through = await openEtcdStore({ endpoints: [face.endpoint] }, deps);
rows.push(await measure('embedded served as etcd, our engine', through));
await through.close();
face.close();
await behind.close();
if (etcdMissing === undefined) {
  const cluster = await startEtcd(1);
  const store = await openEtcdStore({ endpoints: cluster.endpoints }, deps);
  await store.health();
  rows.push(await measureBare(cluster.endpoints[0]!));
  rows.push(await measure('etcd, our engine', store));
  await store.close();
  await cluster.stop();
} else process.stdout.write(`no etcd beside it: ${etcdMissing}\n`);
rmSync(directory, { recursive: true, force: true });
print(rows);
process.exit(0);
