// Owns what an update of a service takes over from what was there: addresses and ports once given, and what its new type cannot have.
import type { Service } from '../../../api/generated/core.v1.ts';
import type { Frozen } from '../../../api/meta.ts';
import { same } from '../../../api/validation/same.ts';
import { isExternal, needsHealthCheck } from './service-rules.ts';

type Spec = Service['spec'];

const mayHaveNodePorts = ({ type }: Frozen<Spec>): boolean => type === 'NodePort' || type === 'LoadBalancer';

/** The single address and the list are two spellings of one thing: whichever the client changed counts. */
export function alignClusterIPs(spec: Spec, prev: Frozen<Spec> | undefined): void {
  const single = spec.clusterIP ?? '';
  const list = spec.clusterIPs ?? [];
  if (prev !== undefined && single !== (prev.clusterIP ?? '') && (list.length === 0 || same(list, prev.clusterIPs))) {
    if (single === '') delete spec.clusterIPs;
    else spec.clusterIPs = [single, ...list.slice(1)];
  } else if (prev === undefined && single !== '' && list.length === 0) {
    spec.clusterIPs = [single];
  }
}

/** Clients that write a whole service need not repeat what it was given. */
export function keepAllocations(spec: Spec, prev: Frozen<Spec>): void {
  if (spec.type !== 'ExternalName' && prev.type !== 'ExternalName') {
    if (!spec.clusterIP && prev.clusterIP) spec.clusterIP = prev.clusterIP;
    if (!spec.clusterIPs?.length && spec.clusterIP === prev.clusterIP && prev.clusterIPs)
      spec.clusterIPs = [...prev.clusterIPs];
  }
  if (mayHaveNodePorts(spec) && mayHaveNodePorts(prev)) keepNodePorts(spec, prev);
  if (needsHealthCheck(spec) && needsHealthCheck(prev) && !spec.healthCheckNodePort && prev.healthCheckNodePort)
    spec.healthCheckNodePort = prev.healthCheckNodePort;
}

/** By the ports' names: whatever else of a port changed, it keeps its number. */
function keepNodePorts(spec: Spec, prev: Frozen<Spec>): void {
  const old = new Map((prev.ports ?? []).map(({ name = '', nodePort = 0 }) => [name, nodePort]));
  const after = new Set((spec.ports ?? []).map(({ nodePort = 0 }) => nodePort));
  const used = new Set((prev.ports ?? []).map(({ nodePort = 0 }) => nodePort).filter((port) => after.has(port)));
  for (const port of spec.ports ?? []) {
    const number = old.get(port.name ?? '') ?? 0;
    if (!port.nodePort && number !== 0 && !used.has(number)) port.nodePort = number;
  }
}

/** Fields that the old type had and the new one may not: they go unless the client asks for them. */
export function dropWhatTypeForbids(spec: Spec, prev: Frozen<Spec>): void {
  const drop = (fields: readonly (keyof Spec)[]): void => {
    for (const field of fields) if (same(spec[field], prev[field])) delete spec[field];
  };
  if (spec.type === 'ExternalName' && prev.type !== 'ExternalName')
    drop(['clusterIP', 'clusterIPs', 'ipFamilies', 'ipFamilyPolicy', 'internalTrafficPolicy']);
  if (!mayHaveNodePorts(spec) && mayHaveNodePorts(prev)) dropNodePorts(spec, prev);
  if (!needsHealthCheck(spec) && needsHealthCheck(prev)) drop(['healthCheckNodePort']);
  if (spec.type !== 'LoadBalancer' && prev.type === 'LoadBalancer')
    drop(['allocateLoadBalancerNodePorts', 'loadBalancerClass']);
  if (!isExternal(spec) && isExternal(prev)) drop(['externalTrafficPolicy']);
}

function dropNodePorts(spec: Spec, prev: Frozen<Spec>): void {
  const numbers = (ports: Frozen<Spec>['ports']): number[] => (ports ?? []).map(({ nodePort = 0 }) => nodePort);
  const known = new Set(numbers(prev.ports));
  if (!numbers(spec.ports).every((port) => port === 0 || known.has(port))) return;
  for (const port of spec.ports ?? []) delete port.nodePort;
}
