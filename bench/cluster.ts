// How soon does a cluster answer and run a pod, what does it cost at rest, and how many pods a second do simulated nodes take?
// Run: npm run bench -- cluster [start|pods], one of its questions alone.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { deployments, pods } from '../src/api/generated/resources.ts';
import { systemClock } from '../src/base/clock.ts';
import { transportFromKubeconfig } from '../src/client/credentials.ts';
import { loadKubeconfig } from '../src/client/kubeconfig.ts';
import { client } from '../src/client/rest.ts';
import { findHostTools, whyNoRealNode } from '../src/kubelet/host/tools.ts';
import { startCluster } from '../src/main/cluster.ts';

const command = join(process.cwd(), 'bin/k8ts.js');
const say = (line: string) => void process.stdout.write(`${line}\n`);

/** Processor seconds of a process and its resident megabytes (Linux). */
function cost(pid: number): { cpuSeconds: number; megabytes: number } {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const resident = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return { cpuSeconds: (Number(fields[11]) + Number(fields[12])) / 100, megabytes: Number(resident) / 1024 };
}

async function up(flags: readonly string[], work: (pid: number, kubeconfig: string) => Promise<void>): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'k8ts-'));
  const dataDir = join(folder, 'data');
  const kubeconfig = join(folder, 'kubeconfig');
  const start = performance.now();
  const child = spawn(
    process.execPath,
    [command, 'up', '--data-dir', dataDir, '--kubeconfig', kubeconfig, '--port', '0', ...flags],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  let output = '';
  let readyMs = 0;
  await new Promise<void>((resolve, reject) => {
    child.stdout.on('data', (data: Buffer) => {
      output += data.toString();
      if (readyMs === 0 && output.includes('API server')) readyMs = performance.now() - start;
      if (output.includes('Stop it')) resolve();
    });
    child.once('exit', () => reject(new Error(output)));
  });
  try {
    await work(child.pid!, kubeconfig);
  } finally {
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGTERM');
    await ended;
    const reset = spawn(process.execPath, [command, 'reset', '--data-dir', dataDir, '--kubeconfig', kubeconfig], {
      stdio: 'ignore',
    });
    await new Promise((resolve) => reset.once('exit', resolve));
    rmSync(folder, { recursive: true, force: true });
  }
  return readyMs;
}

async function atRest(pid: number, title: string): Promise<void> {
  await delay(10_000);
  const before = cost(pid);
  await delay(60_000);
  const after = cost(pid);
  const share = ((after.cpuSeconds - before.cpuSeconds) / 60) * 100;
  say(`${title}: ${after.megabytes.toFixed(0)} MB, ${share.toFixed(2)} % of a core`);
}

/** From the create of a pod to its first container Running, as a client sees it. */
async function firstContainer(kubeconfig: string): Promise<void> {
  const transport = await transportFromKubeconfig(await loadKubeconfig([kubeconfig]), {
    clock: systemClock,
    userAgent: 'bench',
  });
  const resource = client(transport).resource(pods);
  const times: number[] = [];
  for (let i = 0; i < 10; i++) {
    const name = `bench-${i}`;
    const watch = resource
      .watch({ namespace: 'default', fieldSelector: `metadata.name=${name}` })
      [Symbol.asyncIterator]();
    const first = watch.next();
    await delay(50);
    const start = performance.now();
    await resource.create({
      metadata: { name, namespace: 'default' },
      spec: {
        terminationGracePeriodSeconds: 0,
        containers: [{ name: 'c', image: 'k8ts.local/hello:1', imagePullPolicy: 'IfNotPresent' }],
      },
    });
    for (let event = await first; !event.done; event = await watch.next())
      if (event.value.object.status.phase === 'Running') break;
    times.push(performance.now() - start);
    await watch.return?.();
    await resource.delete({ namespace: 'default', name });
  }
  times.sort((a, b) => a - b);
  say(
    `create to Running: ${times[0]!.toFixed(0)} ms at best, ${times[5]!.toFixed(0)} ms in the middle, ${times[9]!.toFixed(0)} ms at worst (10 pods)`,
  );
  transport.close();
}

async function simulatedPods(nodes: number, count: number, replicas: number): Promise<void> {
  const cluster = await startCluster({ nodes });
  const total = count * replicas;
  const before = process.cpuUsage();
  const start = performance.now();
  const running = new Set<string>();
  const watch = cluster.client.resource(pods).watch({ namespace: 'default' });
  const done = (async () => {
    for await (const { object } of watch) {
      if (object.status.phase === 'Running') running.add(object.metadata.name);
      if (running.size === total) return;
    }
  })();
  for (let i = 0; i < count; i++) {
    await cluster.client.resource(deployments).create({
      metadata: { name: `d${i}`, namespace: 'default' },
      spec: {
        replicas,
        selector: { matchLabels: { app: `d${i}` } },
        template: {
          metadata: { labels: { app: `d${i}` } },
          spec: { containers: [{ name: 'c', image: 'any', resources: { requests: { cpu: '10m' } } }] },
        },
      },
    });
  }
  await done;
  const seconds = (performance.now() - start) / 1000;
  const used = process.cpuUsage(before);
  const cpuMs = (used.user + used.system) / 1000;
  say(
    `${total} pods on ${nodes} simulated nodes: ${(total / seconds).toFixed(0)} pods/s to Running, ${(cpuMs / total).toFixed(2)} ms of processor time a pod`,
  );
  await cluster.stop();
}

if (process.argv[2] === 'start') {
  for (let i = 0; i < 5; i++) {
    const ms = await up(['--node', 'none'], async (pid) => say(`processor time: ${cost(pid).cpuSeconds.toFixed(2)} s`));
    say(`start to /readyz (first start, keys made): ${ms.toFixed(0)} ms`);
  }
  process.exit();
}
if (process.argv[2] !== 'pods') {
  const readyMs = await up(['--node', 'none'], (pid) => atRest(pid, 'control plane at rest'));
  say(`start to /readyz (first start, keys made): ${readyMs.toFixed(0)} ms`);
}
await simulatedPods(100, 25, 20);
await simulatedPods(100, 50, 20);
await simulatedPods(100, 100, 20);
if (process.argv[2] === 'pods') process.exit();
const path = process.env['PATH'] ?? '';
const why = whyNoRealNode({ platform: process.platform, uid: process.getuid?.() });
if (why === undefined && findHostTools(path).missing.length === 0) {
  await up(['--node', 'real'], async (pid, kubeconfig) => {
    await firstContainer(kubeconfig);
    await atRest(pid, 'everything but containerd at rest');
  });
} else say(`real node left out: ${why ?? 'host tools are missing'}`);
process.exit();
