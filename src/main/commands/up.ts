// `k8ts up`: a cluster from its directory, in the foreground, until a signal ends it.
import { hostname } from 'node:os';
import { join, relative } from 'node:path';
import { systemClock } from '../../base/clock.ts';
import type { LogLevel } from '../../base/log.ts';
import { type Progress, progress } from '../../cli/progress.ts';
import { kubeconfigOf, updateKubeconfig, withEntry } from '../../client/kubeconfig.ts';
import { findHostTools, type HostTools, whyNoRealNode } from '../../kubelet/host/tools.ts';
import { type Cluster, startCluster } from '../cluster.ts';
import { componentLogs } from '../component-logs.ts';
import { checkConfig, type ClusterConfig, type NodeKind, readConfigFile } from '../config-file.ts';
import { type DataDirectory, openDataDirectory, replaceFile } from '../data-directory.ts';
import { provideHostTools } from '../host-packages.ts';
import {
  commandFor,
  contextName,
  dataDirectoryOf,
  type Environment,
  examplePath,
  kubeconfigPath,
  thisEnvironment,
} from '../places.ts';
import { UserError } from '../user-error.ts';

export interface UpOptions extends ClusterConfig {
  readonly config?: string;
  readonly logLevel?: LogLevel;
}

export async function up(flags: Readonly<Record<string, unknown>>): Promise<void> {
  const { config: file, logLevel = 'info', ...given } = flags as UpOptions;
  const environment = thisEnvironment();
  const fromFile = file === undefined ? {} : readConfigFile(file);
  const config = checkConfig({ ...fromFile, ...withoutDefaults(given, fromFile) }, 'the command line');
  checkNodes(config, config.node);
  const show = progress(
    { write: (text) => void process.stdout.write(text), interactive: process.stdout.isTTY === true },
    systemClock,
  );
  const stopping = untilSignal();
  const directory = openDataDirectory(dataDirectoryOf(config, environment), {
    name: config.name ?? 'k8ts',
    createdAt: new Date().toISOString(),
    serviceSubnet: config.serviceSubnet ?? '10.96.0.0/16',
    podSubnet: config.podSubnet ?? '10.244.0.0/16',
    node: config.node ?? defaultNode(environment, show),
    nodes: config.nodes ?? 1,
    port: 0,
  });
  try {
    await run(config, directory, environment, show, logLevel, stopping);
  } finally {
    directory.release();
  }
}

async function run(
  config: ClusterConfig,
  directory: DataDirectory,
  environment: Environment,
  show: Progress,
  logLevel: LogLevel,
  stopping: Promise<NodeJS.Signals>,
): Promise<void> {
  const record = keptRecord(config, directory);
  checkNodes(config, record.node);
  const tools = record.node === 'real' ? await hostTools(config, environment, show) : undefined;
  const context = contextName(record.name);
  const logs = componentLogs(directory.logs, logLevel);
  const cluster = await startCluster({
    ...record,
    dataDir: directory.path,
    ...(config.apiWorkers !== undefined && { apiWorkers: config.apiWorkers }),
    ...(tools && { hostTools: tools }),
    searchPath: environment.variables['PATH'] ?? '',
    nodeName: hostname().toLowerCase(),
    componentArgs: config.componentArgs ?? {},
    metricsServer: config.metricsServer ?? true,
    logs: logs.of,
    progress: show,
  });
  try {
    const kubeconfig = kubeconfigPath(config.kubeconfig, environment);
    directory.writeRecord({ ...record, port: cluster.port, kubeconfig });
    await updateKubeconfig(kubeconfig, (before) => withEntry(before, cluster.kubeconfigEntry(context)), systemClock);
    // For `k8ts status` and whoever looks for it: always this cluster's, wherever the user's own file is.
    replaceFile(
      join(directory.path, 'admin.conf'),
      JSON.stringify(kubeconfigOf(cluster.kubeconfigEntry(context)), null, 2),
    );
    directory.writeRunning({ server: cluster.server, context, kubeconfig });
    process.stdout.write(summary(cluster, context, kubeconfig, directory.path, config, environment));
    await Promise.race([stopping, cluster.failed]);
    process.stdout.write('\n');
  } finally {
    await show.stage('Stopping', () => cluster.stop());
    logs.close();
  }
}

/** Flags win over the file; a flag's default must not. */
function withoutDefaults(given: ClusterConfig, fromFile: ClusterConfig): ClusterConfig {
  const { install, metricsServer, ...rest } = given;
  return {
    ...rest,
    ...((fromFile.install === undefined || install === false) && { install }),
    ...((fromFile.metricsServer === undefined || metricsServer === false) && { metricsServer }),
  };
}

function defaultNode(environment: Environment, show: Progress): NodeKind {
  const why = whyNoRealNode(environment);
  if (why === undefined) return 'real';
  show.note(`simulated nodes: ${why}; pods are scheduled and become Ready, but run no containers`);
  return 'simulated';
}

/**
 * What a directory was made with stays; the count of nodes and the port may change from start to start. The kind of
 * node also, until the cluster has come up once: who cannot have a real one must be able to take another.
 */
function keptRecord(config: ClusterConfig, { record, path }: DataDirectory) {
  for (const key of ['node', 'serviceSubnet', 'podSubnet', 'name'] as const) {
    const wanted = config[key];
    if (key === 'node' && record.port === 0) continue;
    if (wanted !== undefined && wanted !== record[key]) {
      throw new UserError(
        `the cluster in ${path} has ${key} ${record[key]}, not ${wanted}`,
        'remove it with `k8ts reset`, or take another --name',
      );
    }
  }
  return {
    ...record,
    ...(record.port === 0 && config.node !== undefined && { node: config.node }),
    nodes: config.nodes ?? record.nodes,
    port: config.port ?? record.port,
  };
}

/** A count that would have no effect is refused. `kind` undefined: not known yet. */
function checkNodes({ nodes }: ClusterConfig, kind: NodeKind | undefined): void {
  if (nodes === undefined) return;
  if (kind === 'real' && nodes !== 1)
    throw new UserError(
      `a host is one real node, not ${nodes}`,
      'use --node simulated for more, or join other hosts with `k8ts kubelet`',
    );
  if (kind === 'none' && nodes !== 0)
    throw new UserError(
      `--node none and --nodes ${nodes} exclude each other`,
      'leave out --nodes, or use --node simulated',
    );
}

async function hostTools(config: ClusterConfig, environment: Environment, show: Progress): Promise<HostTools> {
  const why = whyNoRealNode(environment);
  if (why !== undefined) throw new UserError(`a real node cannot run here: ${why}`, 'use --node simulated');
  const path = environment.variables['PATH'] ?? '';
  const found = findHostTools(path);
  return found.missing.length === 0 ? found : provideHostTools(path, config.install ?? true, show);
}

function summary(
  cluster: Cluster,
  context: string,
  kubeconfig: string,
  path: string,
  config: ClusterConfig,
  environment: Environment,
): string {
  const call = (command: string): string => commandFor(command, config, environment);
  const isUsual = kubeconfig === kubeconfigPath(undefined, environment);
  const kubectl = `kubectl ${isUsual ? '' : `--kubeconfig ${kubeconfig} `}--context ${context}`;
  const example = relative('.', examplePath());
  return `
 Kubernetes ${cluster.version} answers at ${cluster.server}
   kubeconfig  context "${context}" in ${kubeconfig}
   directory   ${path}

 Try it      ${kubectl} get nodes
             ${kubectl} apply -f ${example}
 Look at it  ${call('status')}
 Stop it     Ctrl-C here, or ${call('down')}
             ${call('up')} continues it, ${call('reset')} removes it
`;
}

/** The first signal stops in order; a second one ends at once. */
function untilSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      process.on(name, () => {
        resolve(name);
        process.once(name, () => process.exit(130));
      });
    }
  });
}
