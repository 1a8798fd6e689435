// Owns which pods stand behind a service and in what condition: shared by Endpoints and EndpointSlices. Pure.
import { isIPv6 } from 'node:net';
import type { Frozen } from '../../api/meta.ts';
import type { Pod, Service, ServicePort } from '../../api/generated/core.v1.ts';
import { isPodFinished, isPodReady, isTerminating } from '../../api/pod-readiness.ts';

export type Family = 'IPv4' | 'IPv6';

export function familyOf(ip: string): Family {
  return isIPv6(ip) ? 'IPv6' : 'IPv4';
}

export function podAddress(pod: Frozen<Pod>, family: Family): string | undefined {
  const { podIP, podIPs } = pod.status ?? {};
  const all = podIPs?.map(({ ip }) => ip) ?? (podIP ? [podIP] : []);
  return all.find((ip) => ip && familyOf(ip) === family);
}

export function isHeadless(service: Frozen<Service>): boolean {
  return service.spec.clusterIP === 'None';
}

/** The families that a service is served in; of headless services without families, IPv4 (single-stack default). */
export function serviceFamilies(service: Frozen<Service>): readonly Family[] {
  const families = service.spec.ipFamilies as readonly Family[] | undefined;
  if (families?.length) return families;
  const { clusterIP } = service.spec;
  return [clusterIP && clusterIP !== 'None' ? familyOf(clusterIP) : 'IPv4'];
}

export interface PodConditions {
  readonly ready: boolean;
  readonly serving: boolean;
  readonly terminating: boolean;
}

export function podConditions(service: Frozen<Service>, pod: Frozen<Pod>): PodConditions {
  const serving = isPodReady(pod);
  const terminating = isTerminating(pod);
  return { ready: service.spec.publishNotReadyAddresses || (serving && !terminating), serving, terminating };
}

/** The host name counts only under the subdomain that the service is. */
export function podHostname(service: Frozen<Service>, pod: Frozen<Pod>): string | undefined {
  const { hostname, subdomain } = pod.spec;
  return hostname && subdomain === service.metadata.name ? hostname : undefined;
}

/** A pod that has an address and may still answer. */
export function hasEndpoint(pod: Frozen<Pod>): boolean {
  return pod.status?.podIP !== undefined && pod.status.podIP !== '' && !isPodFinished(pod);
}

/** The number that a service port means on this pod; undefined when the pod names no such port. */
export function targetPort(port: Frozen<ServicePort>, pod: Frozen<Pod>): number | undefined {
  const target = port.targetPort ?? port.port;
  if (typeof target === 'number') return target === 0 ? port.port : target;
  const protocol = port.protocol ?? 'TCP';
  const sidecars = (pod.spec.initContainers ?? []).filter((container) => container.restartPolicy === 'Always');
  for (const container of [...pod.spec.containers, ...sidecars])
    for (const named of container.ports ?? [])
      if (named.name === target && (named.protocol ?? 'TCP') === protocol) return named.containerPort;
  return undefined;
}
