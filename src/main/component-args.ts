// Owns `componentArgs`: upstream's flags for components that run inside `k8ts up`, read by the tables of those that run alone.
import type { Random } from '../base/random.ts';
import { FlagError, type FlagTable, parseFlags, type Values } from '../cli/flags.ts';
import type { ControllerManagerOptions } from '../controllers/manager/options.ts';
import type { DnsServerOptions } from '../dns/dns-server.ts';
import type { KubeletOptions } from '../kubelet/options.ts';
import type { KubeProxyOptions } from '../proxy/kube-proxy.ts';
import type { ApiServerSettings } from './alone/api-server.ts';
import type { SchedulerComponentOptions } from './components/scheduler.ts';
import { UserError } from './user-error.ts';

export type ComponentArgs = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** What the flags change; a component without flags is absent. */
export interface ComponentSettings {
  readonly apiServer?: ApiServerSettings;
  readonly controllerManager?: Partial<ControllerManagerOptions>;
  readonly scheduler?: Pick<SchedulerComponentOptions, 'configuration'>;
  readonly kubelet?: Partial<KubeletOptions>;
  readonly kubeProxy?: Partial<KubeProxyOptions>;
  readonly dns?: Partial<DnsServerOptions>;
  readonly metricsServer?: { readonly resolutionMs?: number };
}

/** Flags that mean a process of its own, and those whose value the cluster itself has to know. */
const process = ['v', 'log-level', 'stop-with-parent', 'kubeconfig', 'master'];
const election = [
  'leader-elect-resource-lock',
  'leader-elect-resource-name',
  'leader-elect-resource-namespace',
  'leader-elect',
  'leader-elect-lease-duration',
  'leader-elect-renew-deadline',
  'leader-elect-retry-period',
];

/** Of components with a port of their own when they run alone. */
const pages = ['bind-address', 'cert-dir', 'client-ca-file', 'secure-port', 'tls-cert-file', 'tls-private-key-file'];

const decidedByCluster: Readonly<Record<string, readonly string[]>> = {
  'kube-apiserver': [
    ...process,
    'advertise-address',
    'api-workers',
    'cert-dir',
    'client-ca-file',
    'data-dir',
    'etcd-cafile',
    'etcd-certfile',
    'etcd-keyfile',
    'etcd-servers',
    'endpoint-reconciler-type',
    'kubelet-certificate-authority',
    'kubelet-client-certificate',
    'kubelet-client-key',
    'kubelet-preferred-address-types',
    'kubelet-timeout',
    'requestheader-client-ca-file',
    'secure-port',
    'service-account-signing-key-file',
    'service-cluster-ip-range',
    'tls-cert-file',
    'tls-private-key-file',
  ],
  'kube-controller-manager': [
    ...process,
    ...election,
    ...pages,
    'authorization-always-allow-paths',
    'allocate-node-cidrs',
    'cluster-cidr',
    'root-ca-file',
    'service-account-private-key-file',
    'use-service-account-credentials',
  ],
  'kube-scheduler': [...process, ...election, ...pages, 'authorization-always-allow-paths'],
  kubelet: [
    ...process,
    'address',
    'bootstrap-kubeconfig',
    'cert-dir',
    'client-ca-file',
    'container-runtime-endpoint',
    'hostname-override',
    'node-ip',
    'port',
    'root-dir',
    'rotate-certificates',
    'tls-cert-file',
    'tls-private-key-file',
  ],
  'kube-proxy': [...process, 'cluster-cidr', 'hostname-override'],
  dns: [...process, 'bind-address', 'port'],
  'metrics-server': [
    ...process,
    'bind-address',
    'cert-dir',
    'kubelet-certificate-authority',
    'kubelet-client-certificate',
    'kubelet-client-key',
    'kubelet-insecure-tls',
    'kubelet-preferred-address-types',
    'kubelet-through-api-server',
    'secure-port',
    'tls-cert-file',
    'tls-private-key-file',
  ],
};

/**
 * Reads the flags of each component. Throws UserError for an unknown component or flag, a bad value, and a flag whose
 * value `k8ts up` decides.
 */
export async function readComponentArgs(args: ComponentArgs, random: Random): Promise<ComponentSettings> {
  const unknown = Object.keys(args).filter((name) => !Object.hasOwn(decidedByCluster, name));
  if (unknown.length > 0)
    throw new UserError(
      `componentArgs: no such component: ${unknown.join(', ')}`,
      `the components are ${Object.keys(decidedByCluster).join(', ')}`,
    );
  const settings: { -readonly [K in keyof ComponentSettings]: ComponentSettings[K] } = {};
  const flagsOf = <T extends FlagTable>(component: string, table: T): Values<T> | undefined =>
    Object.hasOwn(args, component) ? read(component, table, args[component]!) : undefined;

  // Each module is loaded only for those who give its flags: `k8ts up` starts faster without them.
  if (args['kube-apiserver']) {
    const { apiServerFlags, apiServerSettings } = await import('./alone/api-server.ts');
    settings.apiServer = apiServerSettings(flagsOf('kube-apiserver', apiServerFlags)!);
  }
  if (args['kube-controller-manager']) {
    const { controllerManagerFlags, controllerManagerSettings } = await import('./alone/controller-manager.ts');
    const flags = flagsOf('kube-controller-manager', controllerManagerFlags)!;
    settings.controllerManager = controllerManagerSettings(flags, random);
  }
  if (args['kube-scheduler']) {
    const { schedulerFlags, schedulerSettings } = await import('./alone/scheduler.ts');
    settings.scheduler = schedulerSettings(flagsOf('kube-scheduler', schedulerFlags)!);
  }
  if (args['kubelet']) {
    const { kubeletFlags, kubeletSettings } = await import('./alone/kubelet.ts');
    settings.kubelet = kubeletSettings(flagsOf('kubelet', kubeletFlags)!);
  }
  if (args['kube-proxy']) {
    const { kubeProxyFlags, kubeProxySettings } = await import('./alone/kube-proxy.ts');
    settings.kubeProxy = kubeProxySettings(flagsOf('kube-proxy', kubeProxyFlags)!);
  }
  if (args['dns']) {
    const { dnsFlags, dnsSettings } = await import('./alone/dns.ts');
    settings.dns = dnsSettings(flagsOf('dns', dnsFlags)!);
  }
  if (args['metrics-server']) {
    const { metricsServerFlags, metricsServerSettings } = await import('./alone/metrics-server.ts');
    settings.metricsServer = metricsServerSettings(flagsOf('metrics-server', metricsServerFlags)!);
  }
  return settings;
}

/** Only what was given has a value: the tables' defaults are those of a process of its own. */
function read<T extends FlagTable>(component: string, table: T, flags: Readonly<Record<string, string>>): Values<T> {
  const names = Object.keys(flags).map((name) => name.replace(/^--/, '').replaceAll('_', '-'));
  const decided = names.filter((name) => decidedByCluster[component]!.includes(name));
  if (decided.length > 0)
    throw new UserError(
      `componentArgs: ${component}: ${decided.map((name) => `--${name}`).join(', ')}: decided by the cluster`,
      'leave it out, see `k8ts up --help` for what a cluster can be told, or run the component alone',
    );
  const withoutDefaults = Object.fromEntries(
    Object.entries(table).map(([name, { default: _default, ...flag }]) => [name, flag]),
  );
  try {
    return parseFlags(
      withoutDefaults,
      Object.values(flags).map((value, index) => `--${names[index]}=${value}`),
    ) as Values<T>;
  } catch (error) {
    if (error instanceof FlagError)
      throw new UserError(`componentArgs: ${component}: ${error.message}`, `see k8ts ${component} --help`);
    throw error;
  }
}
