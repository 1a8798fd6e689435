// Owns writing the (older) Endpoints objects of services with a selector.
import type { Frozen } from '../../api/meta.ts';
import type {
  EndpointAddress,
  EndpointPort,
  Endpoints,
  EndpointSubset,
  Pod,
  Service,
} from '../../api/generated/core.v1.ts';
import { endpoints as endpointsRef } from '../../api/generated/resources.ts';
import { isPodReady, isTerminating } from '../../api/pod-readiness.ts';
import { isAlreadyExists, isNotFound } from '../../api/status-error.ts';
import { type Controller, type ControllerContext, self } from '../framework/controller.ts';
import { isEqual } from '../framework/equality.ts';
import { isNamespaceTerminating } from '../framework/pod-control.ts';
import { headlessLabel } from './endpointslice.ts';
import { hasEndpoint, isHeadless, podAddress, podHostname, serviceFamilies, targetPort } from './pod-endpoints.ts';
import { serviceSources } from './services-of-pods.ts';
import { triggerTimeAnnotation, TriggerTimes } from './trigger-time.ts';

/** More addresses are cut off and annotated (KEP-752). */
const maxAddresses = 1000;
const overCapacity = 'endpoints.kubernetes.io/over-capacity';
const managedByLabel = 'endpoints.kubernetes.io/managed-by';

export function endpointsController(context: ControllerContext): Controller {
  const sources = serviceSources(context);
  const cache = context.informers.informer(endpointsRef);
  const writer = context.informers.writer(endpointsRef);
  const triggers = new TriggerTimes();
  return {
    name: 'endpoints-controller',
    watches: [...sources.watches, self(cache)],
    async reconcile(key, signal) {
      const service = sources.services.get(key);
      const current = cache.get(key);
      if (!service) {
        triggers.forget(key);
        if (current?.metadata.labels?.[managedByLabel]) await writer.delete(key, { signal }).catch(ignoreNotFound);
        return undefined;
      }
      if (!service.spec.selector || service.spec.type === 'ExternalName') return undefined;
      const selected = sources.selected(service);
      const hasNode = (pod: Frozen<Pod>) =>
        sources.nodes.get({ namespace: '', name: pod.spec.nodeName ?? '' }) !== undefined;
      const { subsets, isCut } = planSubsets(service, selected.filter(hasNode));
      const labels = {
        ...service.metadata.labels,
        ...(isHeadless(service) && { [headlessLabel]: '' }),
        [managedByLabel]: 'endpoint-controller',
      };
      const trigger = triggers.next(service, selected);
      if (current && isEqual(current.subsets ?? [], subsets) && isEqual(current.metadata.labels, labels))
        return undefined;
      const { [triggerTimeAnnotation]: _time, [overCapacity]: _cut, ...kept } = current?.metadata.annotations ?? {};
      const annotations = {
        ...kept,
        ...(trigger !== undefined && { [triggerTimeAnnotation]: trigger }),
        ...(isCut && { [overCapacity]: 'truncated' }),
      };
      const metadata = { ...(current?.metadata ?? key), labels, annotations };
      const next = { ...current, metadata, subsets } as unknown as Frozen<Endpoints>;
      try {
        if (current) await writer.update(next, { signal });
        else await writer.create(next as never, { signal });
      } catch (error) {
        if (!isNamespaceTerminating(error) && !isAlreadyExists(error)) throw error;
      }
      return undefined;
    },
  };
}

interface Addressed {
  readonly address: EndpointAddress;
  readonly isReady: boolean;
}

/** Each port with the addresses that have it; ports with the same addresses together. Pure. */
function planSubsets(
  service: Frozen<Service>,
  selected: readonly Frozen<Pod>[],
): { subsets: EndpointSubset[]; isCut: boolean } {
  const [family = 'IPv4'] = serviceFamilies(service);
  const publishAll = service.spec.publishNotReadyAddresses ?? false;
  const byPort = new Map<string, { port: EndpointPort | undefined; addressed: Addressed[] }>();
  let [count, isCut] = [0, false];
  for (const pod of selected) {
    const ip = podAddress(pod, family);
    if (ip === undefined || !hasEndpoint(pod) || (isTerminating(pod) && !publishAll)) continue;
    if (count++ >= maxAddresses) {
      isCut = true;
      continue;
    }
    const one: Addressed = { address: addressOf(service, pod, ip), isReady: publishAll || isPodReady(pod) };
    for (const port of portsOf(service, pod)) {
      const id = JSON.stringify(port ?? '');
      const known = byPort.get(id) ?? { port, addressed: [] };
      byPort.set(id, known);
      known.addressed.push(one);
    }
  }
  const byAddresses = new Map<string, { ports: EndpointPort[]; addressed: Addressed[] }>();
  for (const { port, addressed } of byPort.values()) {
    addressed.sort((a, b) => (a.address.ip < b.address.ip ? -1 : 1));
    const id = addressed.map(({ address, isReady }) => `${address.ip}/${address.targetRef?.uid}/${isReady}`).join();
    const known = byAddresses.get(id) ?? { ports: [], addressed };
    byAddresses.set(id, known);
    if (port) known.ports.push(port);
  }
  const subsets = [...byAddresses.values()].map(({ ports, addressed }): EndpointSubset => {
    const ready = addressed.filter(({ isReady }) => isReady).map(({ address }) => address);
    const unready = addressed.filter(({ isReady }) => !isReady).map(({ address }) => address);
    return {
      ...(ready.length > 0 && { addresses: ready }),
      ...(unready.length > 0 && { notReadyAddresses: unready }),
      ...(ports.length > 0 && { ports }),
    };
  });
  return { subsets, isCut };
}

/** A headless service may have no ports at all: its pods have addresses only, told by one undefined port. */
function portsOf(service: Frozen<Service>, pod: Frozen<Pod>): (EndpointPort | undefined)[] {
  const ports = service.spec.ports ?? [];
  if (ports.length === 0) return isHeadless(service) ? [undefined] : [];
  return ports.flatMap((port) => {
    const number = targetPort(port, pod);
    if (number === undefined) return [];
    const { name, protocol = 'TCP', appProtocol } = port;
    return [{ ...(name && { name }), port: number, protocol, ...(appProtocol && { appProtocol }) }];
  });
}

function addressOf(service: Frozen<Service>, pod: Frozen<Pod>, ip: string): EndpointAddress {
  const hostname = podHostname(service, pod);
  const { name, namespace, uid } = pod.metadata;
  return {
    ip,
    ...(hostname && { hostname }),
    ...(pod.spec.nodeName && { nodeName: pod.spec.nodeName }),
    targetRef: { kind: 'Pod', ...(namespace && { namespace }), name, uid },
  };
}

function ignoreNotFound(error: unknown): undefined {
  if (!isNotFound(error)) throw error;
  return undefined;
}
