// `k8ts kube-proxy`: the proxy alone, told by upstream's flags.
import { hostname } from 'node:os';
import type { FlagTable, Values } from '../../cli/flags.ts';
import type { KubeProxyOptions } from '../../proxy/kube-proxy.ts';
import { runKubeProxy } from '../components/kube-proxy.ts';
import { UserError } from '../user-error.ts';
import { type AloneDeps, commonFlags, depsFromKubeconfig, given, kubeconfigFlags } from './alone.ts';

export const kubeProxyFlags = {
  ...commonFlags,
  ...kubeconfigFlags,
  'cluster-cidr': { type: 'text', help: 'addresses of pods' },
  'hostname-override': { type: 'text', help: "the node's name" },
  'iptables-min-sync-period': { type: 'duration', help: 'least time between two syncs', default: '20ms' },
  'iptables-sync-period': { type: 'duration', help: 'how often the rules are looked after', default: '30s' },
  'masquerade-all': { type: 'switch', help: 'masquerade all traffic to Services', default: 'false' },
  'nodeport-addresses': { type: 'list', help: 'subnets whose addresses serve node ports' },
  'proxy-mode': { type: 'text', help: 'iptables or nftables', default: 'iptables' },
} as const satisfies FlagTable;

export async function runKubeProxyAlone(flags: Values<typeof kubeProxyFlags>, alone: AloneDeps): Promise<void> {
  const settings = kubeProxySettings(flags);
  const deps = await depsFromKubeconfig(flags, 'kube-proxy', alone);
  alone.ready(`keeping ${settings.mode} up with Services`);
  await runKubeProxy(
    {
      nodeName: flags['hostname-override'] ?? hostname().toLowerCase(),
      ...settings,
    },
    deps,
    alone.signal,
  );
}

/** What the flags say of the rules; what they do not say is absent. */
export function kubeProxySettings(flags: Values<typeof kubeProxyFlags>): Partial<KubeProxyOptions> {
  const mode = flags['proxy-mode'];
  if (mode !== undefined && mode !== 'iptables' && mode !== 'nftables')
    throw new UserError(`--proxy-mode ${mode} is not supported`, 'use iptables or nftables');
  return given({
    mode: mode as KubeProxyOptions['mode'],
    clusterCIDR: flags['cluster-cidr'],
    masqueradeAll: flags['masquerade-all'],
    minSyncPeriodMs: flags['iptables-min-sync-period'],
    syncPeriodMs: flags['iptables-sync-period'],
    nodePortAddresses: flags['nodeport-addresses'],
  });
}
