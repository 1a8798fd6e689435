// `k8ts dns`: the cluster DNS server alone.
import type { FlagTable, Values } from '../../cli/flags.ts';
import { hostResolvers, runDns } from '../components/dns.ts';
import { type AloneDeps, commonFlags, depsFromKubeconfig, given, kubeconfigFlags } from './alone.ts';

export const dnsFlags = {
  ...commonFlags,
  ...kubeconfigFlags,
  'bind-address': { type: 'text', help: 'address to listen on', default: '0.0.0.0' },
  'cluster-domain': { type: 'text', help: 'domain of the cluster', default: 'cluster.local' },
  port: { type: 'number', help: 'port to listen on', default: '53' },
  'resolv-conf': { type: 'text', help: 'whose resolvers answer other names', default: '/etc/resolv.conf' },
  ttl: { type: 'number', help: 'seconds that answers may be kept', default: '30' },
} as const satisfies FlagTable;

export async function runDnsAlone(flags: Values<typeof dnsFlags>, alone: AloneDeps): Promise<void> {
  const deps = await depsFromKubeconfig(flags, 'dns', alone);
  alone.ready(`answering ${flags['cluster-domain']} on ${flags['bind-address']}:${flags.port}`);
  await runDns(
    {
      ...dnsSettings(flags),
    },
    deps,
    alone.signal,
  );
}

/** What the flags say of the server; what they do not say is absent. */
export function dnsSettings(flags: Values<typeof dnsFlags>) {
  return given({
    host: flags['bind-address'],
    port: flags.port,
    clusterDomain: flags['cluster-domain'],
    ttlSeconds: flags.ttl,
    upstreams: flags['resolv-conf'] === undefined ? undefined : hostResolvers(flags['resolv-conf']),
  });
}
