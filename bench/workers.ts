// Owns the question: what do API workers bring? Requests a second and processor time a request, with one process and with several.
// Run: node dist/bench/workers.js [seconds] [workers…]. On a machine whose cores are taken only the processor time means something.
import { spawn } from 'node:child_process';
import { readFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type ClientHttp2Session, connect } from 'node:http2';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { systemClock } from '../src/base/clock.ts';

const k8ts = fileURLToPath(new URL('../../bin/k8ts.js', import.meta.url));
const seconds = Number(process.argv[2] ?? 3);
const counts = process.argv.length > 3 ? process.argv.slice(3).map(Number) : [1, 2];
const connections = 8;
const perConnection = 8;
const maps = '/api/v1/namespaces/default/configmaps';
const directory = mkdtempSync(join(tmpdir(), 'k8ts-bench-'));
writeFileSync(join(directory, 'tokens'), 'secret,admin,1,"system:masters"\n');

function ask(session: ClientHttp2Session, method: string, path: string, body?: object): Promise<number> {
  return new Promise((resolve, reject) => {
    const headers = {
      ':method': method,
      ':path': path,
      authorization: 'Bearer secret',
      'content-type': 'application/json',
    };
    const stream = session.request(headers);
    let status = 0;
    stream.on('response', (answer) => (status = Number(answer[':status'])));
    stream.on('error', reject);
    stream.on('end', () => resolve(status));
    stream.resume();
    stream.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

/** Milliseconds of processor time, of the process and its children that run. */
function cpuMs(pid: number): readonly [number, readonly number[]] {
  const of = (one: number): number => {
    const fields = readFileSync(`/proc/${one}/stat`, 'utf8').split(') ')[1]!.split(' ');
    return (Number(fields[11]) + Number(fields[12])) * 10;
  };
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
    .trim()
    .split(' ')
    .filter(Boolean)
    .map(Number);
  return [of(pid), children.map(of)];
}

async function measure(workers: number): Promise<void> {
  const args = ['kube-apiserver', '--secure-port=0', '--bind-address=127.0.0.1', `--cert-dir=${directory}/certs`];
  args.push(
    `--token-auth-file=${directory}/tokens`,
    `--data-dir=${directory}/data-${workers}`,
    `--api-workers=${workers}`,
  );
  const child = spawn(process.execPath, [k8ts, ...args], { stdio: ['ignore', 'ignore', 'pipe'] });
  const port = await new Promise<string>((resolve) => {
    createInterface({ input: child.stderr }).on('line', (line) => {
      const found = /serving on port (\d+)/.exec(line)?.[1];
      if (found !== undefined) resolve(found);
    });
  });
  const sessions = Array.from({ length: connections }, () =>
    connect(`https://127.0.0.1:${port}`, { rejectUnauthorized: false }),
  );
  let made = 0;
  const loads: Readonly<Record<string, (session: ClientHttp2Session) => Promise<number>>> = {
    'create configmap': (session) => {
      const metadata = { name: `m-${made++}` };
      return ask(session, 'POST', maps, {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata,
        data: { a: 'x'.repeat(200) },
      });
    },
    get: (session) => ask(session, 'GET', `${maps}/m-0`),
    'list 100': (session) => ask(session, 'GET', `${maps}?limit=100`),
  };
  for (const [name, load] of Object.entries(loads)) {
    const run = async (ms: number): Promise<number> => {
      const until = systemClock.monotonic() + ms;
      let done = 0;
      const client = async (session: ClientHttp2Session): Promise<void> => {
        while (systemClock.monotonic() < until) {
          const status = await load(session);
          if (status !== 200 && status !== 201) throw new Error(`${name}: ${status}`);
          done++;
        }
      };
      await Promise.all(sessions.flatMap((session) => Array.from({ length: perConnection }, () => client(session))));
      return done;
    };
    await run(Math.max(500, seconds * 500));
    const before = cpuMs(child.pid!);
    const begun = systemClock.monotonic();
    const done = await run(seconds * 1000);
    const took = (systemClock.monotonic() - begun) / 1000;
    const after = cpuMs(child.pid!);
    const usOf = (from: number, to: number): number => ((to - from) * 1000) / done;
    const first = usOf(before[0], after[0]);
    const others = after[1].map((value, at) => usOf(before[1][at]!, value));
    const busiest = Math.max(first, ...others);
    const parts = [
      `first process ${first.toFixed(0)} µs`,
      ...others.map((us, at) => `worker ${at} ${us.toFixed(0)} µs`),
    ];
    process.stdout.write(
      `${workers} worker(s), ${name}: ${(done / took).toFixed(0)}/s; processor time a request: ${parts.join(', ')}; at most ${(1e6 / busiest).toFixed(0)}/s with cores enough\n`,
    );
  }
  for (const session of sessions) session.destroy();
  const gone = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  await gone;
}

for (const workers of counts) await measure(workers);
rmSync(directory, { recursive: true, force: true });
process.exit(0);
