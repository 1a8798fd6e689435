// Owns writing the EndpointSlices of services with a selector. What goes where is decided in slice-plan.
import { type Frozen, keyText, type ObjectKey } from '../../api/meta.ts';
import type { Pod, Service } from '../../api/generated/core.v1.ts';
import type { Endpoint, EndpointPort, EndpointSlice } from '../../api/generated/discovery.v1.ts';
import { endpointSlices, services } from '../../api/generated/resources.ts';
import { isTerminating } from '../../api/pod-readiness.ts';
import { isNotFound } from '../../api/status-error.ts';
import { type Controller, type ControllerContext, watching } from '../framework/controller.ts';
import { isEqual } from '../framework/equality.ts';
import { controllerReference } from '../framework/owners.ts';
import { isNamespaceTerminating } from '../framework/pod-control.ts';
import {
  type Family,
  hasEndpoint,
  isHeadless,
  podAddress,
  podConditions,
  podHostname,
  serviceFamilies,
  targetPort,
} from './pod-endpoints.ts';
import { type ServiceSources, serviceSources } from './services-of-pods.ts';
import { type EndpointGroup, planSlices, type SliceContent } from './slice-plan.ts';
import { triggerTimeAnnotation, TriggerTimes } from './trigger-time.ts';

export const serviceNameLabel = 'kubernetes.io/service-name';
export const managedByLabel = 'endpointslice.kubernetes.io/managed-by';
const managedBy = 'endpointslice-controller.k8s.io';
export const headlessLabel = 'service.kubernetes.io/headless';
const serviceIndex = 'service';

export function endpointSliceController(context: ControllerContext): Controller {
  const sources = serviceSources(context);
  const cache = context.informers.informer(endpointSlices);
  const writer = context.informers.writer(endpointSlices);
  const triggers = new TriggerTimes();
  cache.addIndex(serviceIndex, (slice) => {
    const key = serviceOf(slice);
    return key ? [keyText(key)] : [];
  });

  return {
    name: 'endpointslice-controller',
    watches: [
      ...sources.watches,
      watching(cache, (slice) => {
        const key = serviceOf(slice);
        return key ? [key] : [];
      }),
    ],
    async reconcile(key, signal) {
      const service = sources.services.get(key);
      if (!service) {
        triggers.forget(key);
        return undefined;
      }
      if (!service.spec.selector || service.spec.type === 'ExternalName' || isTerminating(service)) return undefined;
      const selected = sources.selected(service);
      const families = serviceFamilies(service);
      const existing = cache.indexed(serviceIndex, keyText(key)).filter((slice) => !isTerminating(slice));
      const labels = sliceLabels(service);
      const trigger = triggers.next(service, selected);
      const plan = planSlices(
        existing,
        families.flatMap((family) => groupsOf(sources, service, selected, family)),
        families,
        (slice) => !isEqual(slice.metadata.labels, labels),
      );
      const annotations: Record<string, string> = trigger === undefined ? {} : { [triggerTimeAnnotation]: trigger };
      try {
        for (const content of plan.create)
          await writer.create(sliceOf(service, labels, annotations, content) as never, { signal });
        for (const { slice, content } of plan.update) {
          const { [triggerTimeAnnotation]: _old, ...kept } = slice.metadata.annotations ?? {};
          const metadata = { ...slice.metadata, labels, annotations: { ...kept, ...annotations } };
          await writer.update({ ...slice, metadata, ...bodyOf(content) } as Frozen<EndpointSlice>, { signal });
        }
        for (const gone of plan.remove)
          await writer.delete(gone, { signal }).catch((error: unknown) => {
            if (!isNotFound(error)) throw error;
          });
      } catch (error) {
        if (!isNamespaceTerminating(error)) throw error;
      }
      return undefined;
    },
  };
}

function serviceOf(slice: Frozen<EndpointSlice>): ObjectKey | undefined {
  const { labels, namespace = '' } = slice.metadata;
  const name = labels?.[serviceNameLabel];
  return name && labels?.[managedByLabel] === managedBy ? { namespace, name } : undefined;
}

function sliceLabels(service: Frozen<Service>): Record<string, string> {
  const { [headlessLabel]: _ours, ...copied } = service.metadata.labels ?? {};
  return {
    ...copied,
    ...(isHeadless(service) && { [headlessLabel]: '' }),
    [serviceNameLabel]: service.metadata.name,
    [managedByLabel]: managedBy,
  };
}

function sliceOf(
  service: Frozen<Service>,
  labels: Record<string, string>,
  annotations: Record<string, string>,
  content: SliceContent,
): object {
  return {
    metadata: {
      generateName: `${service.metadata.name}-`,
      namespace: service.metadata.namespace ?? '',
      labels,
      annotations,
      ownerReferences: [controllerReference(services, service)],
    },
    addressType: content.family,
    ...bodyOf(content),
  };
}

function bodyOf({ endpoints, ports }: SliceContent): object {
  return { endpoints, ports: ports.length > 0 ? ports : null };
}

/** The service's endpoints of one family, grouped by the port numbers that its named ports have on each pod. */
function groupsOf(
  sources: ServiceSources,
  service: Frozen<Service>,
  selected: readonly Frozen<Pod>[],
  family: Family,
): EndpointGroup[] {
  const groups = new Map<string, { family: Family; ports: EndpointPort[]; endpoints: Endpoint[] }>();
  for (const pod of selected) {
    const address = podAddress(pod, family);
    if (address === undefined || !hasEndpoint(pod)) continue;
    // A node that is gone takes its pods along, though they may not be collected yet.
    const known = sources.nodes.get({ namespace: '', name: pod.spec.nodeName ?? '' }) !== undefined;
    if (!known && !service.spec.publishNotReadyAddresses) continue;
    const ports = slicePorts(service, pod);
    const id = JSON.stringify(ports);
    const group = groups.get(id) ?? { family, ports, endpoints: [] };
    groups.set(id, group);
    group.endpoints.push(endpointOf(sources, service, pod, address));
  }
  for (const { endpoints } of groups.values()) {
    endpoints.sort((a, b) => ((a.targetRef?.name ?? '') < (b.targetRef?.name ?? '') ? -1 : 1));
    addHints(service, endpoints);
  }
  return [...groups.values()];
}

function slicePorts(service: Frozen<Service>, pod: Frozen<Pod>): EndpointPort[] {
  return (service.spec.ports ?? []).flatMap((port) => {
    const number = targetPort(port, pod);
    if (number === undefined) return [];
    const { name = '', protocol = 'TCP', appProtocol } = port;
    return [{ name, protocol, port: number, ...(appProtocol && { appProtocol }) }];
  });
}

function endpointOf(sources: ServiceSources, service: Frozen<Service>, pod: Frozen<Pod>, address: string): Endpoint {
  const { nodeName } = pod.spec;
  const zone = nodeName && sources.zoneOf(nodeName);
  const hostname = podHostname(service, pod);
  const { name, namespace, uid } = pod.metadata;
  return {
    addresses: [address],
    conditions: podConditions(service, pod),
    ...(hostname && { hostname }),
    targetRef: { kind: 'Pod', ...(namespace && { namespace }), name, uid },
    ...(nodeName && { nodeName }),
    ...(zone && { zone }),
  };
}

/** spec.trafficDistribution (KEP-4444, KEP-3015): where every ready endpoint has a zone, it is hinted to its own. */
function addHints(service: Frozen<Service>, endpoints: Endpoint[]): void {
  const distribution = service.spec.trafficDistribution;
  if (!distribution || service.spec.type === 'ExternalName') return;
  for (const endpoint of endpoints) {
    if (!endpoint.conditions?.ready) continue;
    const forZones = endpoint.zone ? { forZones: [{ name: endpoint.zone }] } : {};
    const forNodes =
      distribution === 'PreferSameNode' && endpoint.nodeName ? { forNodes: [{ name: endpoint.nodeName }] } : {};
    if (endpoint.zone || endpoint.nodeName) endpoint.hints = { ...forZones, ...forNodes };
  }
}
