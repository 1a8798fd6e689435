// Owns the question: what does a request cost the API server, beside what it costs upstream's? Embedded engine, TLS, bearer token; RBAC
// with bindings, flow control and the default admission plugins on. A measurement counts all that the server's process spends.
// Run: npm run bench -- api [seconds a measurement] [operation,operation…|watch|growth|memory]. Environment: `PROFILE=DIR` writes a
// processor and a heap profile an operation there, `ROUNDS` (3) how often each is measured, `PROTOCOLS` (http1,http2).
import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import type { Protocol } from './load/connections.ts';
import type { Order, Report } from './load/generator.ts';
import { adminToken, loadToken, startBareServer, startMeasuredServer } from './load/measured-server.ts';
import type { MeasuredServer } from './load/measured-server.ts';
import { operations } from './load/operations.ts';

/** Processor time of kube-apiserver 1.37.2 and etcd 3.6.16 a request or delivery, in µs, on two cores of the same kind (HTTP/1.1). */
const reference: Readonly<Record<string, { readonly us: number; readonly share: number }>> = {
  'get-pod': { us: 700, share: 6 },
  'list-one-label': { us: 1130, share: 6 },
  'list-pods': { us: 43_800, share: 8 },
  'list-pods-500': { us: 22_700, share: 8 },
  'create-configmap': { us: 1200, share: 4 },
  'create-pod': { us: 1960, share: 4 },
  'patch-pod': { us: 3240, share: 4 },
  'patch-status': { us: 3190, share: 4 },
  'apply-deployment': { us: 2820, share: 4 },
  watch: { us: 39, share: 3 },
};
/** Resident megabytes of the reference with 9 000 pods. */
const referenceMemoryMb = 590;

const seconds = Number(process.argv[2] ?? 2);
const only = process.argv[3]?.split(',');
const rounds = Number(process.env['ROUNDS'] ?? 3);
const protocols = (process.env['PROTOCOLS'] ?? 'http1,http2').split(',') as Protocol[];
const profiles = process.env['PROFILE'];
const isWanted = (name: string): boolean => only === undefined || only.includes(name);
const say = (line: string): void => void process.stdout.write(`${line}\n`);

type Done = Report & { readonly type: 'done' };

interface Outcome {
  /** µs of processor time for each of what was counted. */
  readonly us: number;
  readonly report: Done;
}

class Bench {
  readonly server: MeasuredServer;
  readonly #load: ChildProcess;
  readonly #gone: Promise<never>;

  constructor(server: MeasuredServer) {
    this.server = server;
    this.#load = fork('dist/bench/load/generator.js', [String(server.port), adminToken, loadToken], { execArgv: [] });
    this.#gone = new Promise((_, reject) => this.#load.once('exit', () => reject(new Error('the load ended'))));
    this.#gone.catch(() => undefined);
  }

  /** Gives the order, and tells what the server spent between the end of the warm-up and the end. */
  async run(order: Order): Promise<Outcome> {
    const heard = (): Promise<Report> =>
      Promise.race([
        this.#gone,
        this.server.ended,
        new Promise<Report>((resolve) => this.#load.once('message', resolve)),
      ]);
    let report = heard();
    this.#load.send(order);
    let before = (await this.server.ask({ type: 'spent' })).cpuUs;
    if ((await report).type === 'begun') {
      report = heard();
      before = (await this.server.ask({ type: 'spent' })).cpuUs;
      this.#load.send('go');
    }
    const done = (await report) as Done;
    const after = (await this.server.ask({ type: 'spent' })).cpuUs;
    if (done.errors > 0) say(`${done.errors} ERRORS of ${done.count} in ${JSON.stringify(order)}`);
    return { us: (after - before) / done.count, report: done };
  }

  async seed(namespace: string, from: number, to: number): Promise<Outcome> {
    return this.run({ type: 'seed', namespace, from, to });
  }

  load(operation: string, protocol: Protocol, namespace: string, time = seconds, warmSeconds = 0.2): Promise<Outcome> {
    return this.run({ type: 'load', operation, protocol, namespace, warmSeconds, seconds: time });
  }

  async allocations(operation: string, protocol: Protocol, namespace: string): Promise<number> {
    await this.server.ask({ type: 'allocations', begin: true });
    const { report } = await this.load(operation, protocol, namespace, 1, 0);
    const { allocatedBytes } = await this.server.ask({ type: 'allocations', begin: false });
    return allocatedBytes / report.total;
  }

  async stop(): Promise<void> {
    this.#load.disconnect();
    await this.server.stop();
  }
}

async function withServer(work: (bench: Bench) => Promise<void>): Promise<void> {
  const bench = new Bench(await startMeasuredServer(process.env['NODE_FLAGS']?.split(' ')));
  try {
    await bench.run({ type: 'prepare' });
    await work(bench);
  } finally {
    await bench.stop();
  }
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1]!;
}

const columns = ['operation', 'us', 'least', 'reference', 'share', 'aim', 'KB made', 'a second', 'p50 ms'] as const;
const widths = [26, 8, 8, 9, 8, 6, 8, 9, 8];

function line(cells: readonly string[]): string {
  return cells.map((cell, at) => (at === 0 ? cell.padEnd(widths[at]!) : cell.padStart(widths[at]!))).join(' ');
}

const short = (us: number): string => us.toFixed(us < 100 ? 1 : 0);

function row(name: string, title: string, outcomes: readonly Outcome[], allocated?: number): void {
  const known = reference[name]!;
  const us = median(outcomes.map((outcome) => outcome.us));
  const { report } = outcomes.at(-1)!;
  say(
    line([
      title,
      short(us),
      short(Math.min(...outcomes.map((outcome) => outcome.us))),
      String(known.us),
      `1/${(known.us / us).toFixed(1)}`,
      `1/${known.share}`,
      allocated === undefined ? '' : (allocated / 1000).toFixed(1),
      (report.count / report.seconds).toFixed(0),
      report.p50Ms.toFixed(1),
    ]),
  );
}

async function profile(bench: Bench, name: string): Promise<void> {
  for (const kind of ['cpu', 'heap'] as const) {
    await bench.server.ask({ type: 'profile', kind, file: join(profiles!, `${name}.${kind}profile`) });
    await bench.load(name, protocols.at(-1)!, 'bench');
    await bench.server.ask({ type: 'profile', kind });
  }
}

async function operation(bench: Bench, name: string): Promise<void> {
  const outcomes = new Map<Protocol, Outcome[]>(protocols.map((protocol) => [protocol, []]));
  // The compiler has its time first, over every connection's path.
  for (const protocol of protocols) await bench.load(name, protocol, 'bench', 0.1, 2);
  for (let round = 0; round < rounds; round++)
    for (const protocol of protocols) outcomes.get(protocol)!.push(await bench.load(name, protocol, 'bench'));
  for (const protocol of protocols)
    row(name, `${name} ${protocol}`, outcomes.get(protocol)!, await bench.allocations(name, protocol, 'bench'));
  if (profiles !== undefined) await profile(bench, name);
}

async function watches(bench: Bench, protocol: Protocol, watchers: number): Promise<void> {
  const outcomes: Outcome[] = [];
  for (let round = 0; round < rounds; round++)
    outcomes.push(await bench.run({ type: 'watch', protocol, watchers, events: 100 }));
  row('watch', `watch, ${watchers} ${protocol}`, outcomes);
}

/** Microseconds for a GET of 2 KB by node alone on an idle machine of the kind that the reference was measured on. */
const bareUs: Readonly<Record<Protocol, number>> = { http1: 49, http2: 33 };

/** How slow the machine is just now: other work on it costs caches, and so processor time. */
async function yardstick(): Promise<void> {
  const bench = new Bench(await startBareServer());
  try {
    for (const protocol of protocols) {
      await bench.load('get-pod', protocol, 'bench', 0.1, 1);
      const us: number[] = [];
      for (let round = 0; round < rounds; round++) us.push((await bench.load('get-pod', protocol, 'bench')).us);
      const slower = (median(us) / bareUs[protocol]).toFixed(2);
      say(`node alone, ${protocol}: ${short(median(us))} us (${bareUs[protocol]} when idle: ${slower} times)`);
    }
  } finally {
    await bench.stop();
  }
}

async function measure(bench: Bench): Promise<void> {
  await bench.seed('bench', 0, 1000);
  say(line(columns));
  for (const { name } of operations) if (isWanted(name)) await operation(bench, name);
  if (isWanted('watch')) for (const protocol of protocols) await watches(bench, protocol, 900);
}

/** What must stay level (get, selective list, create, watch) or grow in step (list) with twice and four times as many. */
async function growth(bench: Bench): Promise<void> {
  say(line(['growth', 'us', 'least', 'reference', 'share', 'aim', '', 'a second', 'p50 ms']));
  let from = 0;
  for (const to of [1000, 2000, 4000]) {
    await bench.seed('growing', from, to);
    from = to;
    for (const name of ['get-pod', 'list-one-label', 'list-pods', 'patch-pod'])
      row(name, `${name}, of ${to}`, [await bench.load(name, protocols[0]!, 'growing', seconds, 1)]);
  }
  for (const watchers of [250, 500, 900]) await watches(bench, 'http2', watchers);
}

/** Of a server of its own: what a load before left behind is not counted. */
async function memory(bench: Bench): Promise<void> {
  const mb = (bytes: number): string => (bytes / 1048576).toFixed(0);
  const tell = async (title: string): Promise<void> => {
    const loose = await bench.server.ask({ type: 'spent' });
    const tight = await bench.server.ask({ type: 'held' });
    const share = (referenceMemoryMb / (loose.residentBytes / 1048576)).toFixed(1);
    say(
      `${title}: ${mb(loose.residentBytes)} MB (1/${share} of ${referenceMemoryMb}); garbage collected: ${mb(tight.residentBytes)} MB, of them heap ${mb(tight.heapBytes)}, buffers ${mb(tight.externalBytes)}`,
    );
  };
  await tell('resident without pods');
  let from = 0;
  for (const to of [2500, 5000, 10_000]) {
    const made = await bench.seed('many', from, to);
    from = to;
    const title = `${to} pods, create ${short(made.us)} us`;
    await tell(title);
  }
  for (const name of ['get-pod', 'list-one-label', 'list-pods-500'])
    row(name, `${name}, of ${from}`, [await bench.load(name, 'http1', 'many')]);
  await tell(`${from} pods, read as well`);
}

if (operations.some(({ name }) => isWanted(name)) || isWanted('watch')) {
  await yardstick();
  await withServer(measure);
  await yardstick();
}
if (isWanted('growth')) await withServer(growth);
if (isWanted('memory')) await withServer(memory);
