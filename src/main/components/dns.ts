// Composes the cluster DNS server: informers and the server over one client.
import { readFileSync } from 'node:fs';
import { taskGroup } from '../../base/task-group.ts';
import { informerFactory } from '../../client/informer-factory.ts';
import { dnsServer, type DnsServerOptions } from '../../dns/dns-server.ts';
import type { ComponentDeps } from './component.ts';

export async function runDns(options: DnsServerOptions, deps: ComponentDeps, signal: AbortSignal): Promise<void> {
  const group = taskGroup(signal);
  const informers = informerFactory(deps.client, deps);
  const server = dnsServer(options, { ...deps, informers });
  group.run('dns', (stop) => server.run(stop));
  group.run('informers', (stop) => informers.run(stop));
  await group.done;
}

/** The host's own resolvers, which answer names outside the cluster. Ours would only ask itself. */
export function hostResolvers(file = '/etc/resolv.conf'): { host: string; port: number }[] {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch {
    // No such file (not Linux, or no network): names outside the cluster are answered with SERVFAIL.
    return [];
  }
  return [...text.matchAll(/^\s*nameserver\s+(\S+)/gm)].map(([, host = '']) => ({
    host: host.replace(/%.*$/, ''),
    port: 53,
  }));
}
