// Owns the question: what does a request cost the API server, beside what it costs upstream's? All stages on, embedded engine, TLS, bearer token.
// Run: npm run bench -- api [seconds a measurement] [operation,operation…|watch|memory]. `PROFILE=DIR` writes the server's .cpuprofile there.
import { fork, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Order, Report } from './load/generator.ts';
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

const seconds = Number(process.argv[2] ?? 5);
const only = process.argv[3]?.split(',');
const isWanted = (name: string): boolean => only === undefined || only.includes(name);
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const token = 'bench-token';

interface Server {
  readonly process: ChildProcess;
  readonly port: number;
}

async function startServer(folder: string): Promise<Server> {
  writeFileSync(join(folder, 'tokens'), `${token},admin,1,"system:masters"\n`);
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  writeFileSync(join(folder, 'sa'), privateKey.export({ type: 'pkcs1', format: 'pem' }));
  const profile = process.env['PROFILE'];
  const child = spawn(
    process.execPath,
    [
      ...(profile === undefined ? [] : ['--cpu-prof', '--cpu-prof-dir', profile]),
      ...(process.env['NODE_FLAGS']?.split(' ') ?? []),
      ...['bin/k8ts.js', 'kube-apiserver', '--data-dir', join(folder, 'data'), '--secure-port', '0'],
      ...['--bind-address', '127.0.0.1', '--cert-dir', folder, '--token-auth-file', join(folder, 'tokens')],
      ...['--service-account-key-file', join(folder, 'sa'), '--service-account-signing-key-file', join(folder, 'sa')],
      ...['--service-account-issuer', 'https://kubernetes.default.svc'],
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  const port = await new Promise<number>((resolve, reject) => {
    createInterface({ input: child.stderr }).on('line', (line) => {
      const found = /serving on port (\d+)/.exec(line)?.[1];
      if (found !== undefined) resolve(Number(found));
    });
    child.once('exit', () => reject(new Error('the server ended')));
  });
  return { process: child, port };
}

/** Microseconds of processor time so far (Linux, 100 ticks a second). */
function cpuUs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10_000;
}

function residentMb(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
}

interface Outcome {
  readonly us: number;
  readonly report: Report & { readonly type: 'done' };
}

/** Gives the order, and tells what the server spent for each of what was counted. */
function run(load: ChildProcess, server: Server, order: Order): Promise<Outcome> {
  const pid = server.process.pid!;
  let before = cpuUs(pid);
  return new Promise((resolve, reject) => {
    const gone = (): void => reject(new Error('the load or the server ended'));
    const heard = (report: Report): void => {
      if (report.type === 'begun') {
        before = cpuUs(pid);
        return;
      }
      const us = (cpuUs(pid) - before) / report.count;
      load.off('message', heard);
      load.off('exit', gone);
      server.process.off('exit', gone);
      resolve({ us, report });
    };
    load.on('message', heard);
    load.once('exit', gone);
    server.process.once('exit', gone);
    load.send(order);
  });
}

function row(name: string, title: string, { us, report }: Outcome): void {
  const known = reference[name]!;
  const errors = report.errors > 0 ? `  ${report.errors} ERRORS` : '';
  say(
    [
      title.padEnd(30),
      us.toFixed(us < 100 ? 1 : 0).padStart(8),
      String(known.us).padStart(9),
      `1/${(known.us / us).toFixed(1)}`.padStart(8),
      `1/${known.share}`.padStart(6),
      (report.count / report.seconds).toFixed(0).padStart(9),
      report.p50Ms.toFixed(1).padStart(8),
    ].join(' ') + errors,
  );
}

async function measure(load: ChildProcess, server: Server): Promise<void> {
  const pid = server.process.pid!;
  await run(load, server, { type: 'seed', namespace: 'bench', from: 0, to: 1000 });
  await run(load, server, { type: 'seed', namespace: 'made', from: 0, to: 0 });
  say(
    `${'operation'.padEnd(30)} ${'us'.padStart(8)} ${'reference'.padStart(9)} ${'share'.padStart(8)} ${'aim'.padStart(6)} ${'a second'.padStart(9)} ${'p50 ms'.padStart(8)}`,
  );
  for (const { name } of operations)
    for (const protocol of ['http1', 'http2'] as const) {
      if (!isWanted(name)) continue;
      const order = { type: 'load', operation: name, protocol, namespace: 'bench', warmSeconds: 1, seconds } as const;
      row(name, `${name} ${protocol}`, await run(load, server, order));
    }
  if (isWanted('watch'))
    for (const protocol of ['http2', 'http1'] as const)
      row(
        'watch',
        `watch, 900 ${protocol}`,
        await run(load, server, { type: 'watch', protocol, watchers: 900, events: 100 }),
      );
  say(`resident after it all: ${residentMb(pid).toFixed(0)} MB`);
}

/** A server of its own: what the load before left behind is not counted. */
async function memory(load: ChildProcess, server: Server): Promise<void> {
  const pid = server.process.pid!;
  say(`resident without pods: ${residentMb(pid).toFixed(0)} MB`);
  let from = 0;
  for (const to of [2500, 5000, 10_000]) {
    const made = await run(load, server, { type: 'seed', namespace: 'many', from, to });
    from = to;
    const get = { type: 'load', protocol: 'http1', namespace: 'many', warmSeconds: 0.5, seconds: 2 } as const;
    const one = await run(load, server, { ...get, operation: 'get-pod' });
    const label = await run(load, server, { ...get, operation: 'list-one-label' });
    const mb = residentMb(pid);
    say(
      `${to} pods: ${mb.toFixed(0)} MB (reference with 9 000: ${referenceMemoryMb}, 1/${(referenceMemoryMb / mb).toFixed(1)}), create ${made.us.toFixed(0)} us, get ${one.us.toFixed(0)} us, list of one label ${label.us.toFixed(0)} us`,
    );
  }
}

async function withServer(work: (load: ChildProcess, server: Server) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'k8ts-bench-'));
  const server = await startServer(folder);
  const load = fork('dist/bench/load/generator.js', [String(server.port), token], { execArgv: [] });
  try {
    await work(load, server);
  } finally {
    load.disconnect();
    const ended = new Promise((resolve) => server.process.once('exit', resolve));
    server.process.kill('SIGTERM');
    await ended;
    rmSync(folder, { recursive: true, force: true });
  }
}

if (only === undefined || only.some((name) => name !== 'memory')) await withServer(measure);
if (isWanted('memory')) await withServer(memory);
