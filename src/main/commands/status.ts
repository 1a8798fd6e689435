// `k8ts status`: what runs, and how it is, asked of the cluster itself.
import { client } from '../../client/rest.ts';
import { nodes, pods } from '../../api/generated/resources.ts';
import type { Node, Pod } from '../../api/generated/core.v1.ts';
import type { Frozen } from '../../api/meta.ts';
import { systemClock } from '../../base/clock.ts';
import { transportFromKubeconfig } from '../../client/credentials.ts';
import { loadKubeconfig } from '../../client/kubeconfig.ts';
import { readRecord, readRunning } from '../data-directory.ts';
import { dataDirectoryOf, thisEnvironment } from '../places.ts';
import { UserError } from '../user-error.ts';

export interface StatusOptions {
  readonly name?: string;
  readonly dataDir?: string;
  readonly output?: string;
}

export interface ClusterStatus {
  readonly name: string;
  readonly dataDir: string;
  readonly running: boolean;
  readonly pid?: number;
  readonly server?: string;
  readonly context?: string;
  readonly ready?: boolean;
  readonly nodes?: { readonly total: number; readonly ready: number };
  readonly pods?: Readonly<Record<string, number>>;
}

export async function status(options: StatusOptions): Promise<void> {
  if (options.output !== undefined && options.output !== 'json' && options.output !== 'text') {
    throw new UserError(`--output ${options.output} is not known`, 'use json or text');
  }
  const found = await clusterStatus(dataDirectoryOf(options, thisEnvironment()));
  process.stdout.write(options.output === 'json' ? `${JSON.stringify(found, null, 2)}\n` : text(found));
  if (!found.running || found.ready === false) process.exitCode = 1;
}

async function clusterStatus(path: string): Promise<ClusterStatus> {
  const record = readRecord(path);
  if (record === undefined)
    throw new UserError(
      `there is no cluster in ${path}`,
      'start one with `k8ts up`, or name it with --name or --data-dir',
    );
  const base = { name: record.name, dataDir: path };
  const running = readRunning(path);
  if (running === undefined) return { ...base, running: false };
  const process = { ...base, running: true, pid: running.pid, server: running.server, context: running.context };
  if (running.server === '') return { ...process, ready: false };
  const config = await loadKubeconfig([`${path}/admin.conf`]);
  const transport = await transportFromKubeconfig(config, {
    userAgent: 'k8ts-status',
    clock: systemClock,
  });
  try {
    const api = client(transport);
    const nodeList = await api.resource(nodes).list();
    const podList = await api.resource(pods).list();
    return {
      ...process,
      ready: true,
      nodes: { total: nodeList.items.length, ready: nodeList.items.filter(isReady).length },
      pods: countPhases(podList.items),
    };
  } catch {
    // Whatever the reason, a server that does not answer is not ready; its log says why.
    return { ...process, ready: false };
  } finally {
    transport.close();
  }
}

function isReady(node: Frozen<Node>): boolean {
  return node.status.conditions?.some(({ type, status: state }) => type === 'Ready' && state === 'True') ?? false;
}

function countPhases(items: readonly Frozen<Pod>[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const pod of items) {
    const phase = pod.status.phase ?? 'Unknown';
    counts[phase] = (counts[phase] ?? 0) + 1;
  }
  return counts;
}

function text(found: ClusterStatus): string {
  const rows: [string, string][] = [
    ['cluster', found.name],
    ['directory', found.dataDir],
  ];
  if (!found.running) rows.push(['state', 'stopped (`k8ts up` continues it)']);
  else {
    rows.push(['state', found.ready ? 'running' : 'starting or not answering (`k8ts logs kube-apiserver`)']);
    rows.push(['process', String(found.pid)], ['server', found.server ?? ''], ['context', found.context ?? '']);
  }
  if (found.nodes !== undefined) rows.push(['nodes', `${found.nodes.ready} of ${found.nodes.total} ready`]);
  if (found.pods !== undefined)
    rows.push([
      'pods',
      Object.entries(found.pods)
        .map(([phase, count]) => `${count} ${phase}`)
        .join(', ') || 'none',
    ]);
  return rows.map(([key, value]) => `${key.padEnd(10)} ${value}\n`).join('');
}
