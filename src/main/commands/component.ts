// `k8ts kube-apiserver`, `k8ts kubelet`, …: one component in a process of its own, as upstream's binary of that name.
import { systemClock } from '../../base/clock.ts';
import { logger, logLevels, type LogLevel } from '../../base/log.ts';
import { FlagError, type FlagTable, flagHelp, parseFlags, type Values } from '../../cli/flags.ts';
import type { AloneDeps } from '../alone/alone.ts';
import { whenParentEnds } from '../parent.ts';
import { UserError } from '../user-error.ts';

interface Loaded {
  readonly flags: FlagTable;
  run(values: Values<FlagTable>, deps: AloneDeps): Promise<void>;
}

function loaded<T extends FlagTable>(flags: T, run: (values: Values<T>, deps: AloneDeps) => Promise<void>): Loaded {
  return { flags, run: (values, deps) => run(values as Values<T>, deps) };
}

const components: Readonly<Record<string, () => Promise<Loaded>>> = {
  'kube-apiserver': () =>
    import('../alone/api-server.ts').then((module) => loaded(module.apiServerFlags, module.runApiServer)),
  'kube-controller-manager': () =>
    import('../alone/controller-manager.ts').then((module) =>
      loaded(module.controllerManagerFlags, module.runControllerManager),
    ),
  'kube-scheduler': () =>
    import('../alone/scheduler.ts').then((module) => loaded(module.schedulerFlags, module.runSchedulerAlone)),
  kubelet: () => import('../alone/kubelet.ts').then((module) => loaded(module.kubeletFlags, module.runKubelet)),
  'kube-proxy': () =>
    import('../alone/kube-proxy.ts').then((module) => loaded(module.kubeProxyFlags, module.runKubeProxyAlone)),
  etcd: () => import('../alone/etcd.ts').then((module) => loaded(module.etcdFlags, module.runEtcd)),
  'metrics-server': () =>
    import('../alone/metrics-server.ts').then((module) =>
      loaded(module.metricsServerFlags, module.runMetricsServerAlone),
    ),
  dns: () => import('../alone/dns.ts').then((module) => loaded(module.dnsFlags, module.runDnsAlone)),
};

export async function component(name: string, args: readonly string[]): Promise<void> {
  const { flags, run } = await components[name]!();
  if (args.includes('--help') || args.includes('-h')) {
    process.stdout.write(flagHelp(`k8ts ${name} [flags]`, flags));
    return;
  }
  // As upstream's programs say it, which scripts look for.
  if (args.includes('--version') || args.includes('--version=true')) {
    process.stdout.write(await versionText(name));
    return;
  }
  const values = read(name, flags, args);
  const abort = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => abort.abort());
  if (values['stop-with-parent'] === true) whenParentEnds(systemClock, () => abort.abort());
  const level = levelOf(values);
  await run(values, {
    logger: logger(level, 2).child(name),
    level,
    signal: abort.signal,
    ready: (text) => void process.stderr.write(`${name}: ${text}\n`),
  });
}

async function versionText(name: string): Promise<string> {
  const { version } = await import('../version.ts');
  if (name !== 'etcd') return `Kubernetes ${version.gitVersion}\n`;
  const { etcdVersion } = await import('../../store/face/http.ts');
  return `etcd Version: ${etcdVersion}\nGit SHA: k8ts ${version.gitVersion}\n`;
}

function read(name: string, flags: FlagTable, args: readonly string[]): Values<FlagTable> {
  try {
    return parseFlags(flags, args);
  } catch (error) {
    if (error instanceof FlagError) throw new UserError(error.message, `see k8ts ${name} --help`);
    throw error;
  }
}

function levelOf(values: Values<FlagTable>): LogLevel {
  const named = values['log-level'];
  if (typeof named === 'string') {
    const level = logLevels.find((known) => known === named);
    if (level === undefined)
      throw new UserError(`--log-level ${named} is not known`, `use one of ${logLevels.join(', ')}`);
    return level;
  }
  return Number(values['v'] ?? 0) >= 4 ? 'debug' : 'info';
}
