// Owns copying hand-made Endpoints of services without a selector into EndpointSlices, which is all that proxies read.
import { type Frozen, keyOf, keyText, type ObjectKey } from '../../api/meta.ts';
import type { EndpointAddress, Endpoints, EndpointSubset, Service } from '../../api/generated/core.v1.ts';
import type { Endpoint, EndpointPort, EndpointSlice } from '../../api/generated/discovery.v1.ts';
import { endpoints as endpointsRef, endpointSlices, services } from '../../api/generated/resources.ts';
import { isTerminating } from '../../api/pod-readiness.ts';
import { isNotFound } from '../../api/status-error.ts';
import { type Controller, type ControllerContext, self, watching } from '../framework/controller.ts';
import { isEqual } from '../framework/equality.ts';
import { controllerReference } from '../framework/owners.ts';
import { isNamespaceTerminating } from '../framework/pod-control.ts';
import { managedByLabel, serviceNameLabel } from './endpointslice.ts';
import { familyOf } from './pod-endpoints.ts';
import { type EndpointGroup, planSlices, type SliceContent } from './slice-plan.ts';
import { triggerTimeAnnotation } from './trigger-time.ts';

const managedBy = 'endpointslicemirroring-controller.k8s.io';
const skipLabel = 'endpointslice.kubernetes.io/skip-mirror';
const leaderAnnotation = 'control-plane.alpha.kubernetes.io/leader';
const notCopied: ReadonlySet<string> = new Set([
  'kubectl.kubernetes.io/last-applied-configuration',
  triggerTimeAnnotation,
]);
/** --mirroring-max-endpoints-per-subset. */
const maxPerSubset = 1000;
const mirroredIndex = 'mirrored';

export function endpointSliceMirroringController(context: ControllerContext): Controller {
  const sources = context.informers.informer(endpointsRef);
  const serviceCache = context.informers.informer(services);
  const cache = context.informers.informer(endpointSlices);
  const writer = context.informers.writer(endpointSlices);
  const sourceOf = (slice: Frozen<EndpointSlice>): ObjectKey[] => {
    const { labels, namespace = '' } = slice.metadata;
    const name = labels?.[serviceNameLabel];
    return name && labels?.[managedByLabel] === managedBy ? [{ namespace, name }] : [];
  };
  cache.addIndex(mirroredIndex, (slice) => sourceOf(slice).map(keyText));

  return {
    name: 'endpointslice-mirroring-controller',
    watches: [self(sources), self(serviceCache), watching(cache, sourceOf)],
    async reconcile(key, signal) {
      const existing = cache.indexed(mirroredIndex, keyText(key)).filter((slice) => !isTerminating(slice));
      const source = sources.get(key);
      const groups = source && isMirrored(source, serviceCache.get(key)) ? groupsOf(source) : [];
      if (!source && existing.length === 0) return undefined;
      const labels = { ...source?.metadata.labels, [serviceNameLabel]: key.name, [managedByLabel]: managedBy };
      const annotations = Object.fromEntries(
        Object.entries(source?.metadata.annotations ?? {}).filter(([name]) => !notCopied.has(name)),
      );
      const isStale = ({ metadata }: Frozen<EndpointSlice>) =>
        !isEqual(metadata.labels, labels) || !isEqual(metadata.annotations ?? {}, annotations);
      const plan = planSlices(existing, groups, ['IPv4', 'IPv6'], isStale, false);
      try {
        for (const content of plan.create)
          await writer.create({ metadata: newMetadata(source!, labels, annotations), ...bodyOf(content) } as never, {
            signal,
          });
        for (const { slice, content } of plan.update) {
          const { generateName: _, ...kept } = slice.metadata;
          const metadata = { ...kept, labels, annotations };
          await writer.update({ ...slice, ...bodyOf(content), metadata } as Frozen<EndpointSlice>, { signal });
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

function isMirrored(source: Frozen<Endpoints>, service: Frozen<Service> | undefined): boolean {
  if (!service || service.spec.selector || isTerminating(source)) return false;
  const { labels, annotations } = source.metadata;
  return labels?.[skipLabel] !== 'true' && annotations?.[leaderAnnotation] === undefined;
}

/** A subset's addresses, by family; subsets with the same ports together. */
function groupsOf(source: Frozen<Endpoints>): EndpointGroup[] {
  const groups = new Map<string, { family: 'IPv4' | 'IPv6'; ports: EndpointPort[]; endpoints: Endpoint[] }>();
  for (const subset of source.subsets ?? []) {
    const ports = portsOf(subset);
    for (const endpoint of endpointsOf(subset)) {
      const family = familyOf(endpoint.addresses[0]!);
      const id = `${family} ${JSON.stringify(ports)}`;
      const group = groups.get(id) ?? { family, ports, endpoints: [] };
      groups.set(id, group);
      group.endpoints.push(endpoint);
    }
  }
  return [...groups.values()];
}

function portsOf(subset: Frozen<EndpointSubset>): EndpointPort[] {
  return (subset.ports ?? []).map(({ name = '', port, protocol = 'TCP', appProtocol }) => ({
    name,
    port,
    protocol,
    ...(appProtocol && { appProtocol }),
  }));
}

function endpointsOf(subset: Frozen<EndpointSubset>): Endpoint[] {
  const mirrored = (address: Frozen<EndpointAddress>, ready: boolean): Endpoint => ({
    addresses: [address.ip],
    conditions: { ready },
    ...(address.hostname && { hostname: address.hostname }),
    ...(address.nodeName && { nodeName: address.nodeName }),
    ...(address.targetRef && { targetRef: { ...address.targetRef } }),
  });
  return [
    ...(subset.addresses ?? []).map((address) => mirrored(address, true)),
    ...(subset.notReadyAddresses ?? []).map((address) => mirrored(address, false)),
  ].slice(0, maxPerSubset);
}

function newMetadata(
  source: Frozen<Endpoints>,
  labels: Record<string, string>,
  annotations: Record<string, string>,
): object {
  const { name, namespace } = keyOf(source);
  return {
    generateName: `${name}-`,
    namespace,
    labels,
    annotations,
    ownerReferences: [controllerReference(endpointsRef, source)],
  };
}

function bodyOf({ endpoints, ports, family }: SliceContent): object {
  return { addressType: family, endpoints, ports: ports.length > 0 ? ports : null };
}
