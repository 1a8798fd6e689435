// Owns what a pod finds in /etc/hosts, /etc/resolv.conf and as its host name. Pure.
import type { FrozenPod } from './pod-words.ts';

export interface DnsSettings {
  readonly clusterDns: readonly string[];
  readonly clusterDomain: string;
  /** The text of the host's resolv.conf. */
  readonly hostResolvConf: string;
}

export interface DnsConfig {
  servers: string[];
  searches: string[];
  options: string[];
}

/** More are not read by resolvers, so they are left away (documentation, "DNS for Services and Pods"). */
const maxServers = 3;
const maxSearches = 32;

export function podDns(pod: FrozenPod, settings: DnsSettings): DnsConfig {
  const host = parseResolvConf(settings.hostResolvConf);
  const config = basicDns(pod, settings, host);
  const own = pod.spec.dnsConfig;
  const options = new Map(config.options.map((option) => [option.split(':')[0]!, option]));
  for (const { name, value } of own?.options ?? [])
    if (name) options.set(name, value === undefined ? name : `${name}:${value}`);
  return {
    servers: [...new Set([...config.servers, ...(own?.nameservers ?? [])])].slice(0, maxServers),
    searches: [...new Set([...config.searches, ...(own?.searches ?? [])])].slice(0, maxSearches),
    options: [...options.values()],
  };
}

function basicDns(pod: FrozenPod, { clusterDns, clusterDomain }: DnsSettings, host: DnsConfig): DnsConfig {
  const policy = pod.spec.dnsPolicy ?? 'ClusterFirst';
  if (policy === 'None') return { servers: [], searches: [], options: [] };
  const isCluster = policy === 'ClusterFirstWithHostNet' || (policy === 'ClusterFirst' && !pod.spec.hostNetwork);
  if (!isCluster || clusterDns.length === 0) return host;
  const cluster = [`${pod.metadata.namespace}.svc.${clusterDomain}`, `svc.${clusterDomain}`, clusterDomain];
  return { servers: [...clusterDns], searches: [...cluster, ...host.searches], options: ['ndots:5'] };
}

export function parseResolvConf(text: string): DnsConfig {
  const result: DnsConfig = { servers: [], searches: [], options: [] };
  for (const line of text.split('\n')) {
    const [word, ...rest] = line
      .replace(/[#;].*$/, '')
      .trim()
      .split(/\s+/);
    if (word === 'nameserver' && rest[0]) result.servers.push(rest[0]);
    else if (word === 'search' || word === 'domain') result.searches = rest;
    else if (word === 'options') result.options = rest;
  }
  return result;
}

const maxHostname = 63;

export interface HostNames {
  readonly hostname: string;
  /** Empty without a subdomain. */
  readonly domain: string;
}

export function hostNames(pod: FrozenPod, nodeName: string, clusterDomain: string): HostNames {
  if (pod.spec.hostnameOverride !== undefined) return { hostname: pod.spec.hostnameOverride, domain: '' };
  if (pod.spec.hostNetwork) return { hostname: nodeName, domain: '' };
  const hostname = (pod.spec.hostname || pod.metadata.name).slice(0, maxHostname).replace(/[-.]+$/, '');
  const domain = pod.spec.subdomain ? `${pod.spec.subdomain}.${pod.metadata.namespace}.svc.${clusterDomain}` : '';
  return {
    hostname: pod.spec.setHostnameAsFQDN && domain !== '' ? `${hostname}.${domain}` : hostname,
    domain,
  };
}

/** On the host's network a pod has the host's file, unless it adds to it. */
export function hasOwnHosts(pod: FrozenPod): boolean {
  return !pod.spec.hostNetwork || (pod.spec.hostAliases?.length ?? 0) > 0;
}

export function hostsFile(pod: FrozenPod, names: HostNames, podIps: readonly string[], hostFile: string): string {
  const lines = pod.spec.hostNetwork
    ? ['# Kubernetes-managed hosts file (host network).', hostFile.trimEnd()]
    : [
        '# Kubernetes-managed hosts file.',
        '127.0.0.1\tlocalhost',
        '::1\tlocalhost ip6-localhost ip6-loopback',
        'fe00::0\tip6-localnet',
        'fe00::0\tip6-mcastprefix',
        'fe00::1\tip6-allnodes',
        'fe00::2\tip6-allrouters',
        ...podIps.map((ip) =>
          names.domain === '' ? `${ip}\t${names.hostname}` : `${ip}\t${qualified(names)}\t${names.hostname}`,
        ),
      ];
  const aliases = pod.spec.hostAliases ?? [];
  if (aliases.length > 0)
    lines.push(
      '',
      '# Entries added by HostAliases.',
      ...aliases.map(({ ip, hostnames }) => [ip, ...(hostnames ?? [])].join('\t')),
    );
  return `${lines.join('\n')}\n`;
}

function qualified({ hostname, domain }: HostNames): string {
  return hostname.endsWith(domain) ? hostname : `${hostname}.${domain}`;
}
