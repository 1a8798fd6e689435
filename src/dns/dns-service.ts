// Owns the objects by which pods find the DNS server: the kube-dns Service at its well-known address and the slice that leads to us.
import type { Logger } from '../base/log.ts';
import type { Clock } from '../base/clock.ts';
import { sleep } from '../base/clock.ts';
import type { New } from '../api/meta.ts';
import type { Service } from '../api/generated/core.v1.ts';
import type { EndpointSlice } from '../api/generated/discovery.v1.ts';
import { endpointSlices, services } from '../api/generated/resources.ts';
import { isNotFound } from '../api/status-error.ts';
import type { ZoneSource } from './zone.ts';
import type { Client } from '../client/client.ts';

export interface DnsServiceOptions {
  /** "10.96.0.10" */
  readonly clusterIP: string;
  /** A node's address on which the server listens; not a loopback address, which the API refuses. */
  readonly address: string;
  readonly port: number;
  readonly nodeName?: string;
}

const namespace = 'kube-system';
const name = 'kube-dns';
const sliceName = 'kube-dns-k8ts';

const labels = { 'k8s-app': 'kube-dns', 'kubernetes.io/cluster-service': 'true', 'kubernetes.io/name': 'CoreDNS' };

/** No selector: nobody else writes its endpoints. */
function kubeDnsService({ clusterIP }: Pick<DnsServiceOptions, 'clusterIP'>): New<Service> {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, namespace, labels },
    spec: {
      type: 'ClusterIP',
      clusterIP,
      clusterIPs: [clusterIP],
      ports: [
        { name: 'dns', protocol: 'UDP', port: 53, targetPort: 53 },
        { name: 'dns-tcp', protocol: 'TCP', port: 53, targetPort: 53 },
      ],
    },
  };
}

function kubeDnsSlice({ address, port, nodeName }: DnsServiceOptions): New<EndpointSlice> {
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      name: sliceName,
      namespace,
      labels: { 'kubernetes.io/service-name': name, 'endpointslice.kubernetes.io/managed-by': 'dns.k8ts' },
    },
    addressType: address.includes(':') ? 'IPv6' : 'IPv4',
    endpoints: [
      {
        addresses: [address],
        conditions: { ready: true, serving: true, terminating: false },
        ...(nodeName !== undefined && { nodeName }),
      },
    ],
    ports: [
      { name: 'dns', protocol: 'UDP', port },
      { name: 'dns-tcp', protocol: 'TCP', port },
    ],
  };
}

/** The port that the slice of an earlier run leads to. */
export function publishedPort(source: Pick<ZoneSource, 'slices'>): number | undefined {
  const slice = source.slices(namespace, name).find(({ metadata }) => metadata.name === sliceName);
  return slice?.ports?.[0]?.port;
}

/** Makes the objects what they should be. Throws StatusError (for example when the address is taken by another service). */
async function publishDns(client: Client, options: DnsServiceOptions, signal: AbortSignal): Promise<void> {
  // Asked for first: to create it again is refused for its address, which is in use, before its name is looked at.
  try {
    await client.resource(services).get({ namespace, name }, { signal });
  } catch (error) {
    if (!isNotFound(error)) throw error;
    await client.resource(services).create(kubeDnsService(options), { signal });
  }
  const slices = client.resource(endpointSlices);
  const wanted = kubeDnsSlice(options);
  try {
    const before = await slices.get({ namespace, name: sliceName }, { signal });
    const same = JSON.stringify([before.endpoints, before.ports]) === JSON.stringify([wanted.endpoints, wanted.ports]);
    if (same && before.addressType === wanted.addressType) return;
    if (before.addressType === wanted.addressType) {
      await slices.update({ ...before, endpoints: wanted.endpoints, ports: wanted.ports }, { signal });
      return;
    }
    await slices.delete({ namespace, name: sliceName }, { signal });
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
  await slices.create(wanted, { signal });
}

/** Publishes again and again: after failures soon, else once in a while in case someone removed the objects. */
export async function keepPublished(
  client: Client,
  options: DnsServiceOptions,
  { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
  signal: AbortSignal,
): Promise<void> {
  for (let failures = 0; ; ) {
    try {
      await publishDns(client, options, signal);
      failures = 0;
    } catch (error) {
      if (signal.aborted) throw error;
      failures++;
      if (failures === 3) logger.warn('the kube-dns service cannot be published; trying on', { error });
    }
    await sleep(clock, failures > 0 ? Math.min(10_000, 100 * 2 ** failures) : 60_000, signal);
  }
}
