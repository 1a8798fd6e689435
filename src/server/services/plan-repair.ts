// Owns what is wrong between services and the IPAddress objects that tell of their addresses, and their node ports. Pure: changes nothing.
import type { IPAddress } from '../../api/generated/networking.v1.ts';
import type { Service } from '../../api/generated/core.v1.ts';
import type { Frozen } from '../../api/meta.ts';
import { familyOf } from './ip-families.ts';
import type { IpRange } from './ip-range.ts';
import type { PortRange } from './node-port-ledger.ts';

const managedByLabel = 'ipaddress.kubernetes.io/managed-by';
const familyLabel = 'ipaddress.kubernetes.io/ip-family';
const allocatorName = 'ipallocator.k8s.io';

/** Services may still be on their way: addresses younger than this are left alone. */
const graceMs = 60_000;

/** The objects as the caches have them. */
export interface Allocated {
  readonly services: Iterable<Frozen<Service>>;
  readonly addresses: Iterable<Frozen<IPAddress>>;
  readonly ranges: readonly IpRange[];
  readonly nodePorts: PortRange;
  readonly nowMs: number;
}

export interface Complaint {
  readonly service: Frozen<Service>;
  /** Of a Warning event. */
  readonly reason: string;
  readonly message: string;
}

export interface Repair {
  /** Addresses whose object is missing. */
  readonly create: readonly { readonly ip: string; readonly service: Frozen<Service> }[];
  /** Objects of addresses that no service has, or that name the wrong one. */
  readonly remove: readonly string[];
  readonly complaints: readonly Complaint[];
}

const keyOf = ({ metadata }: Frozen<Service>): string => `${metadata.namespace}/${metadata.name}`;

export function ipsOf({ spec }: Frozen<Service>): string[] {
  return (spec?.clusterIPs ?? []).filter((ip) => ip !== 'None' && ip !== '').map(String);
}

/** Node ports, that of the health check too. One that TCP and UDP share is told twice. */
export function portsOf({ spec }: Frozen<Service>): number[] {
  const ports = (spec?.ports ?? []).flatMap(({ nodePort }) => (nodePort ? [nodePort] : []));
  if (spec?.healthCheckNodePort) ports.push(spec.healthCheckNodePort);
  return ports;
}

export function planRepair({ services, addresses, ranges, nodePorts, nowMs }: Allocated): Repair {
  const known = new Map([...addresses].map((address) => [address.metadata.name, address]));
  const owners = new Map<string, Frozen<Service>>();
  const portOwners = new Map<number, Frozen<Service>>();
  const create: { ip: string; service: Frozen<Service> }[] = [];
  const complaints: Complaint[] = [];
  const sorted = [...services].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
  for (const service of sorted) {
    const complain = (reason: string, message: string): number => complaints.push({ service, reason, message });
    for (const ip of ipsOf(service)) {
      const other = owners.get(ip);
      if (other !== undefined) {
        complain(
          'ClusterIPAlreadyAllocated',
          `Cluster IP ${ip} is also that of ${keyOf(other)}; please recreate service`,
        );
        continue;
      }
      owners.set(ip, service);
      if (!ranges.some((range) => range.contains(ip)))
        complain(
          'ClusterIPOutOfRange',
          `Cluster IP ${ip} is not within any configured Service CIDR; please recreate service`,
        );
      const address = known.get(ip);
      if (address === undefined || !names(address, service)) create.push({ ip, service });
    }
    for (const port of new Set(portsOf(service))) {
      const other = portOwners.get(port);
      if (other !== undefined && other !== service)
        complain('PortAlreadyAllocated', `Port ${port} was assigned to multiple services; please recreate service`);
      else if (port < nodePorts.from || port > nodePorts.to)
        complain(
          'PortOutOfRange',
          `Port ${port} is not within the port range ${nodePorts.from}-${nodePorts.to}; please recreate service`,
        );
      portOwners.set(port, other ?? service);
    }
  }
  const remove = [...known.values()]
    .filter((address) => isOurs(address) && isStale(address, owners.get(address.metadata.name), nowMs))
    .map(({ metadata }) => metadata.name);
  return { create, remove, complaints };
}

/** Addresses of others (gateways, load balancers) are their makers' business. */
const isOurs = ({ metadata }: Frozen<IPAddress>): boolean => metadata.labels?.[managedByLabel] === allocatorName;

function names({ spec }: Frozen<IPAddress>, { metadata }: Frozen<Service>): boolean {
  const { group = '', resource = '', namespace = '', name = '' } = spec?.parentRef ?? {};
  return group === '' && resource === 'services' && namespace === metadata.namespace && name === metadata.name;
}

function isStale(address: Frozen<IPAddress>, owner: Frozen<Service> | undefined, nowMs: number): boolean {
  if (owner !== undefined) return !names(address, owner);
  return Date.parse(String(address.metadata.creationTimestamp)) + graceMs <= nowMs;
}

/** The object that tells of a service's address. */
export function addressObject(ip: string, namespace: string | undefined, name: string): object {
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'IPAddress',
    metadata: { name: ip, labels: { [familyLabel]: familyOf(ip), [managedByLabel]: allocatorName } },
    spec: { parentRef: { resource: 'services', namespace, name } },
  };
}
