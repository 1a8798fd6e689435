// Owns what a Service's ports and its EndpointSlices mean on one node: who may be reached from where. Pure; knows no rule language.
import type { Frozen } from '../api/meta.ts';
import type { Service, ServicePort } from '../api/generated/core.v1.ts';
import type { Endpoint, EndpointSlice } from '../api/generated/discovery.v1.ts';

export type Family = 'IPv4' | 'IPv6';

export interface Backend {
  readonly ip: string;
  readonly port: number;
  readonly local: boolean;
}

export interface PortPlan {
  /** "namespace/name:port", or without the colon for a port that has no name. */
  readonly id: string;
  /** "tcp", "udp" or "sctp". */
  readonly protocol: string;
  readonly clusterIP: string;
  readonly port: number;
  /** 0: none. */
  readonly nodePort: number;
  readonly externalIPs: readonly string[];
  readonly loadBalancerIPs: readonly string[];
  /** CIDRs from which the load balancer's address may be used; empty: all. */
  readonly sourceRanges: readonly string[];
  /** 0: none. */
  readonly affinitySeconds: number;
  readonly internalLocal: boolean;
  readonly externalLocal: boolean;
  /** Who serves when the policy is Cluster. */
  readonly clusterBackends: readonly Backend[];
  /** Who serves when the policy is Local; only worked out where a Local policy needs it. */
  readonly localBackends: readonly Backend[];
  /** False when nobody serves anywhere: then connections are refused rather than dropped. */
  readonly anyBackends: boolean;
}

export interface ServicePlan {
  readonly namespace: string;
  readonly name: string;
  readonly ports: readonly PortPlan[];
  /** 0: none. */
  readonly healthCheckNodePort: number;
  /** Pods of this service on this node, for the health check. */
  readonly localReady: number;
}

export interface NodeView {
  readonly nodeName: string;
  readonly family: Family;
  /** For traffic distribution by zone; empty when unknown. */
  readonly zone: string;
}

const sliceServiceLabel = 'kubernetes.io/service-name';
const proxyNameLabel = 'service.kubernetes.io/service-proxy-name';
const headlessLabel = 'service.kubernetes.io/headless';

/** "namespace/name" of the service a slice belongs to; undefined when it is not for a proxy. */
export function serviceOfSlice(slice: Frozen<EndpointSlice>): string | undefined {
  const labels = slice.metadata.labels ?? {};
  const name = labels[sliceServiceLabel];
  if (name === undefined || labels[headlessLabel] !== undefined || labels[proxyNameLabel] !== undefined)
    return undefined;
  return `${slice.metadata.namespace}/${name}`;
}

/** True for a service that this proxy has to do with. */
function isProxied(service: Frozen<Service>): boolean {
  const { spec, metadata } = service;
  return (
    spec.type !== 'ExternalName' &&
    spec.clusterIP !== undefined &&
    spec.clusterIP !== '' &&
    spec.clusterIP !== 'None' &&
    metadata.labels?.[proxyNameLabel] === undefined
  );
}

export function familyOf(address: string): Family {
  return address.includes(':') ? 'IPv6' : 'IPv4';
}

/** undefined when there is nothing to do for the service in this address family. */
export function planService(
  service: Frozen<Service>,
  slices: readonly Frozen<EndpointSlice>[],
  view: NodeView,
): ServicePlan | undefined {
  if (!isProxied(service)) return undefined;
  const { spec, metadata, status } = service;
  const ofFamily = (addresses: readonly string[] | undefined) =>
    (addresses ?? []).filter((address) => address !== '' && familyOf(address) === view.family);
  const clusterIP = ofFamily(spec.clusterIPs?.length ? spec.clusterIPs : [spec.clusterIP!])[0];
  if (clusterIP === undefined) return undefined;
  const isExternal = spec.type === 'NodePort' || spec.type === 'LoadBalancer' || (spec.externalIPs?.length ?? 0) > 0;
  const common = {
    clusterIP,
    externalIPs: ofFamily(spec.externalIPs),
    loadBalancerIPs:
      spec.type === 'LoadBalancer'
        ? ofFamily(
            (status?.loadBalancer?.ingress ?? []).flatMap(({ ip, ipMode }) =>
              ip !== undefined && ipMode !== 'Proxy' ? [ip] : [],
            ),
          )
        : [],
    sourceRanges: ofFamily(spec.loadBalancerSourceRanges?.map((range) => range.trim())),
    affinitySeconds:
      spec.sessionAffinity === 'ClientIP' ? (spec.sessionAffinityConfig?.clientIP?.timeoutSeconds ?? 10_800) : 0,
    internalLocal: spec.internalTrafficPolicy === 'Local',
    externalLocal: isExternal && spec.externalTrafficPolicy === 'Local',
  };
  const endpoints = collect(slices.filter(({ addressType }) => addressType === view.family));
  const ports = (spec.ports ?? []).map((port) => planPort(metadata, port, common, endpoints, view));
  return {
    namespace: metadata.namespace ?? '',
    name: metadata.name,
    ports,
    healthCheckNodePort: common.externalLocal ? (spec.healthCheckNodePort ?? 0) : 0,
    localReady: countLocalReady(endpoints, view),
  };
}

interface Candidate {
  readonly endpoint: Frozen<Endpoint>;
  readonly portName: string;
  readonly protocol: string;
  readonly port: number;
}

/** Endpoint addresses by port; the same address in two slices counts once. */
function collect(slices: readonly Frozen<EndpointSlice>[]): readonly Candidate[] {
  const found = new Map<string, Candidate>();
  for (const slice of slices)
    for (const endpoint of slice.endpoints ?? [])
      for (const port of slice.ports ?? []) {
        const address = endpoint.addresses[0];
        if (address === undefined || port.port === undefined || port.port === 0) continue;
        const candidate = {
          endpoint,
          portName: port.name ?? '',
          protocol: port.protocol ?? 'TCP',
          port: port.port,
        };
        found.set(`${candidate.portName} ${candidate.protocol} ${address} ${port.port}`, candidate);
      }
  return [...found.values()];
}

const isReady = ({ conditions }: Frozen<Endpoint>): boolean => conditions?.ready !== false;
const isTerminating = ({ conditions }: Frozen<Endpoint>): boolean => conditions?.terminating === true;
const isServing = ({ conditions }: Frozen<Endpoint>): boolean => conditions?.serving ?? conditions?.ready !== false;

function countLocalReady(endpoints: readonly Candidate[], { nodeName }: NodeView): number {
  const local = endpoints.filter(({ endpoint }) => endpoint.nodeName === nodeName && isReady(endpoint));
  return new Set(local.map(({ endpoint }) => endpoint.addresses[0])).size;
}

function planPort(
  { namespace, name }: { readonly namespace?: string; readonly name: string },
  port: Frozen<ServicePort>,
  common: Omit<PortPlan, 'id' | 'protocol' | 'port' | 'nodePort' | 'clusterBackends' | 'localBackends' | 'anyBackends'>,
  endpoints: readonly Candidate[],
  view: NodeView,
): PortPlan {
  const protocol = port.protocol ?? 'TCP';
  const mine = endpoints.filter(
    (candidate) => candidate.portName === (port.name ?? '') && candidate.protocol === protocol,
  );
  // Pods that shut down but still serve are better than nobody (KEP-1669).
  const serving = (candidates: readonly Candidate[]): readonly Candidate[] => {
    const ready = candidates.filter(({ endpoint }) => isReady(endpoint));
    if (ready.length > 0) return ready;
    return candidates.filter(({ endpoint }) => isServing(endpoint) && isTerminating(endpoint));
  };
  const backends = (candidates: readonly Candidate[]): Backend[] =>
    candidates
      .map((candidate) => ({
        ip: candidate.endpoint.addresses[0]!,
        port: candidate.port,
        local: candidate.endpoint.nodeName === view.nodeName,
      }))
      .toSorted((a, b) => (a.ip === b.ip ? a.port - b.port : a.ip < b.ip ? -1 : 1));
  const anywhere = serving(mine);
  const needsLocal = common.internalLocal || common.externalLocal;
  const local = needsLocal ? serving(mine.filter(({ endpoint }) => endpoint.nodeName === view.nodeName)) : [];
  return {
    ...common,
    id: `${namespace}/${name}${port.name === undefined || port.name === '' ? '' : `:${port.name}`}`,
    protocol: protocol.toLowerCase(),
    port: port.port,
    nodePort: port.nodePort ?? 0,
    clusterBackends: backends(nearby(anywhere, view)),
    localBackends: backends(local),
    anyBackends: anywhere.length > 0,
  };
}

/**
 * Follows the slices' hints (spec.trafficDistribution) when every endpoint has them and someone is meant for this node or zone;
 * hints that leave out some endpoint are on their way in or out and mean nothing yet (KEP-2433).
 */
function nearby(candidates: readonly Candidate[], { nodeName, zone }: NodeView): readonly Candidate[] {
  const hinted = (by: (candidate: Candidate) => readonly { readonly name: string }[] | undefined, me: string) => {
    if (me === '' || candidates.some((candidate) => !by(candidate)?.length)) return undefined;
    const chosen = candidates.filter((candidate) => by(candidate)!.some(({ name }) => name === me));
    return chosen.length > 0 ? chosen : undefined;
  };
  return (
    hinted(({ endpoint }) => endpoint.hints?.forNodes, nodeName) ??
    hinted(({ endpoint }) => endpoint.hints?.forZones, zone) ??
    candidates
  );
}
