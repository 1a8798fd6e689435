// Owns extended resources that devices stand for (KEP-5004): the claim that a pod's plain requests amount to on a node. Pure.
import type { PodExtendedResourceClaimStatus } from '../../api/generated/core.v1.ts';
import type { DeviceRequest, ResourceClaim } from '../../api/generated/resource.v1.ts';
import type { Frozen, New } from '../../api/meta.ts';
import type { NodeInfo } from '../node-info.ts';
import type { PodInfo } from '../pod-info.ts';
import { whole } from '../resources.ts';

/** The device class whose devices stand for this resource; undefined: none does. */
export type ClassForResource = (resourceName: string) => string | undefined;

export const implicitPrefix = 'deviceclass.resource.kubernetes.io/';
const annotation = 'resource.kubernetes.io/extended-resource-claim';

export interface ExtendedClaim {
  /** As if it existed, without a name. */
  readonly claim: Frozen<ResourceClaim>;
  readonly mappings: PodExtendedResourceClaimStatus['requestMappings'];
}

/** The pod's resources that devices can stand for. */
export function delegated({ requests }: PodInfo, classFor: ClassForResource): readonly string[] {
  if (requests.scalars === undefined) return [];
  return [...requests.scalars]
    .filter(([name, amount]) => amount > 0 && classFor(name) !== undefined)
    .map(([name]) => name);
}

/** Those which the node does not offer itself, by a device plugin. */
export function missingOn(node: NodeInfo, names: readonly string[]): readonly string[] {
  return names.filter((name) => node.allocatable.get(name) === 0);
}

export function isExtendedClaim(claim: Frozen<ResourceClaim>): boolean {
  return claim.metadata.annotations?.[annotation] === 'true';
}

export function extendedClaim(pod: PodInfo, names: readonly string[], classFor: ClassForResource): ExtendedClaim {
  const requests: DeviceRequest[] = [];
  const mappings: PodExtendedResourceClaimStatus['requestMappings'] = [];
  const containers = [...(pod.pod.spec.initContainers ?? []), ...pod.pod.spec.containers];
  containers.forEach((container, at) => {
    const wanted = Object.entries(container.resources?.requests ?? {})
      .filter(([name, amount]) => names.includes(name) && whole(amount) > 0)
      .toSorted(([a], [b]) => (a < b ? -1 : 1));
    wanted.forEach(([resourceName, amount], index) => {
      const name = `container-${at}-request-${index}`;
      requests.push({
        name,
        exactly: { deviceClassName: classFor(resourceName)!, allocationMode: 'ExactCount', count: whole(amount) },
      });
      mappings.push({ containerName: container.name, resourceName, requestName: name });
    });
  });
  const claim = {
    apiVersion: 'resource.k8s.io/v1',
    kind: 'ResourceClaim',
    metadata: { name: '', namespace: pod.namespace, uid: `${pod.uid} extended`, annotations: { [annotation]: 'true' } },
    spec: { devices: { requests } },
  } as unknown as Frozen<ResourceClaim>;
  return { claim, mappings };
}

/** What is written for it. */
export function newExtendedClaim(pod: PodInfo, { spec }: Frozen<ResourceClaim>): Frozen<New<ResourceClaim>> {
  return {
    apiVersion: 'resource.k8s.io/v1',
    kind: 'ResourceClaim',
    metadata: {
      generateName: `${pod.name}-extended-resources-`,
      namespace: pod.namespace,
      annotations: { [annotation]: 'true' },
      finalizers: ['resource.kubernetes.io/delete-protection'],
      ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: pod.name, uid: pod.uid, controller: true }],
    },
    spec,
  };
}
