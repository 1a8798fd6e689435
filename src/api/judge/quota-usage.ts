// Owns what an object uses of a ResourceQuota, and which objects a scoped quota is about (documentation: "Resource Quotas"). Pure.
import type {
  PersistentVolumeClaim,
  Pod,
  ResourceQuota,
  ScopedResourceSelectorRequirement,
  Service,
} from '../generated/core.v1.ts';
import type { ResourceClaim } from '../generated/resource.v1.ts';
import type { Frozen, KubeObject } from '../meta.ts';
import { addQuantities, parseQuantity, type Quantity, quantityOf } from '../quantity.ts';
import { type Amounts, podLimits, podRequests } from './pod-resources.ts';

type GroupResource = { readonly group: string; readonly plural: string };

const one = quantityOf(1);

/** Core kinds that quotas may also name without "count/". */
const plainNames: ReadonlySet<string> = new Set([
  'configmaps',
  'secrets',
  'replicationcontrollers',
  'resourcequotas',
  'services',
  'persistentvolumeclaims',
  'pods',
]);

/** "count/deployments.apps", "count/pods". */
function countName({ group, plural }: GroupResource): string {
  return `count/${plural}${group === '' ? '' : `.${group}`}`;
}

export function quotaUsage(resource: GroupResource, obj: Frozen<KubeObject>): Map<string, Quantity> {
  const usage = new Map<string, Quantity>([[countName(resource), one]]);
  if (resource.group === 'resource.k8s.io' && resource.plural === 'resourceclaims')
    addDevices(usage, obj as unknown as Frozen<ResourceClaim>);
  if (resource.group !== '') return usage;
  if (resource.plural === 'pods') addPod(usage, obj as unknown as Frozen<Pod>);
  else if (plainNames.has(resource.plural)) usage.set(resource.plural, one);
  if (resource.plural === 'services') addService(usage, obj as unknown as Frozen<Service>);
  if (resource.plural === 'persistentvolumeclaims') addClaim(usage, obj as unknown as Frozen<PersistentVolumeClaim>);
  return usage;
}

/** Pods that have ended use nothing but their place in the store. */
function addPod(usage: Map<string, Quantity>, pod: Frozen<Pod>): void {
  if (pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed') return;
  usage.set('pods', one);
  for (const [name, amount] of podRequests(pod.spec)) {
    usage.set(`requests.${name}`, amount);
    if (['cpu', 'memory', 'ephemeral-storage'].includes(name) || name.startsWith('hugepages-')) usage.set(name, amount);
  }
  for (const [name, amount] of podLimits(pod.spec)) usage.set(`limits.${name}`, amount);
}

function addService(usage: Map<string, Quantity>, { spec }: Frozen<Service>): void {
  const ports = spec.ports ?? [];
  const allocates =
    spec.type === 'NodePort' || (spec.type === 'LoadBalancer' && spec.allocateLoadBalancerNodePorts !== false);
  const nodePorts = allocates
    ? ports.length
    : spec.type === 'LoadBalancer'
      ? ports.filter((port) => port.nodePort).length
      : 0;
  usage.set('services.nodeports', quantityOf(nodePorts));
  usage.set('services.loadbalancers', quantityOf(spec.type === 'LoadBalancer' ? 1 : 0));
}

function addClaim(usage: Map<string, Quantity>, claim: Frozen<PersistentVolumeClaim>): void {
  const storageClass =
    claim.metadata.annotations?.['volume.beta.kubernetes.io/storage-class'] ?? claim.spec.storageClassName ?? '';
  const prefix = `${storageClass}.storageclass.storage.k8s.io/`;
  if (storageClass !== '') usage.set(`${prefix}persistentvolumeclaims`, one);
  // While a claim shrinks or grows, the larger of what is asked for and what is there counts.
  const wanted = claim.spec.resources?.requests?.['storage'];
  if (wanted === undefined) return;
  const amount = parseQuantity(wanted);
  usage.set('requests.storage', amount);
  if (storageClass !== '') usage.set(`${prefix}requests.storage`, amount);
}

/** The most that "all" devices of a class can be. */
const allDevices = 32;

/** Devices by class; of alternatives the most that each class may give. */
function addDevices(usage: Map<string, Quantity>, { spec }: Frozen<ResourceClaim>): void {
  type Wanted = { readonly deviceClassName: string; readonly allocationMode?: string; readonly count?: number };
  for (const { exactly, firstAvailable = [] } of spec.devices?.requests ?? []) {
    const most = new Map<string, number>();
    for (const wanted of [...(exactly === undefined ? [] : [exactly]), ...firstAvailable] as Wanted[]) {
      const count = wanted.allocationMode === 'All' ? allDevices : (wanted.count ?? 1);
      const name = `${wanted.deviceClassName}.deviceclass.resource.k8s.io/devices`;
      most.set(name, Math.max(most.get(name) ?? 0, count));
    }
    addUsage(usage, new Map([...most].map(([name, count]) => [name, quantityOf(count)])));
  }
}

export function addUsage(total: Map<string, Quantity>, usage: Amounts): void {
  for (const [name, amount] of usage) {
    const known = total.get(name);
    total.set(name, known ? addQuantities(known, amount) : amount);
  }
}

/** The collection whose objects use up the named resource; undefined for names that no quota can count. */
export function countedBy(name: string): GroupResource | undefined {
  if (name.startsWith('count/')) {
    const [plural = '', ...group] = name.slice('count/'.length).split('.');
    return { group: group.join('.'), plural };
  }
  if (name === 'services.nodeports' || name === 'services.loadbalancers') return { group: '', plural: 'services' };
  if (name === 'requests.storage' || name.includes('.storageclass.storage.k8s.io/'))
    return { group: '', plural: 'persistentvolumeclaims' };
  if (name.endsWith('.deviceclass.resource.k8s.io/devices'))
    return { group: 'resource.k8s.io', plural: 'resourceclaims' };
  return { group: '', plural: plainNames.has(name) ? name : 'pods' };
}

/** Whether the quota's scopes let this object count. Scopes speak of pods (and volume attribute classes of claims). */
export function quotaMatches(quota: Frozen<ResourceQuota>, resource: GroupResource, obj: Frozen<KubeObject>): boolean {
  return requirementsOf(quota).every((requirement) => scopeMatches(requirement, resource, obj));
}

/** The scopes of a quota, however they are said. */
export function requirementsOf({ spec }: Frozen<ResourceQuota>): readonly Frozen<ScopedResourceSelectorRequirement>[] {
  return [
    ...(spec.scopes ?? []).map(
      (scopeName): Frozen<ScopedResourceSelectorRequirement> => ({ scopeName, operator: 'Exists' }),
    ),
    ...(spec.scopeSelector?.matchExpressions ?? []),
  ];
}

export function scopeMatches(
  requirement: Frozen<ScopedResourceSelectorRequirement>,
  { group, plural }: GroupResource,
  obj: Frozen<KubeObject>,
): boolean {
  if (group !== '') return false;
  if (plural === 'persistentvolumeclaims')
    return claimMatches(requirement, obj as unknown as Frozen<PersistentVolumeClaim>);
  return plural === 'pods' && podMatches(requirement, obj as unknown as Frozen<Pod>);
}

function podMatches(requirement: Frozen<ScopedResourceSelectorRequirement>, { spec }: Frozen<Pod>): boolean {
  switch (requirement.scopeName) {
    case 'Terminating':
      return (spec.activeDeadlineSeconds ?? -1) >= 0;
    case 'NotTerminating':
      return spec.activeDeadlineSeconds === undefined;
    case 'BestEffort':
      return isBestEffort(spec);
    case 'NotBestEffort':
      return !isBestEffort(spec);
    case 'PriorityClass':
      return valueMatches(requirement, spec.priorityClassName ?? '');
    case 'CrossNamespacePodAffinity':
      return crossesNamespaces(spec);
    default:
      return false;
  }
}

function claimMatches(
  requirement: Frozen<ScopedResourceSelectorRequirement>,
  { spec }: Frozen<PersistentVolumeClaim>,
): boolean {
  return (
    requirement.scopeName === 'VolumeAttributesClass' && valueMatches(requirement, spec.volumeAttributesClassName ?? '')
  );
}

function valueMatches({ operator, values = [] }: Frozen<ScopedResourceSelectorRequirement>, value: string): boolean {
  switch (operator) {
    case 'In':
      return values.includes(value);
    case 'NotIn':
      return !values.includes(value);
    case 'Exists':
      return value !== '';
    default:
      return value === '';
  }
}

function isBestEffort(spec: Frozen<Pod>['spec']): boolean {
  const counts = (amounts: Amounts) => ['cpu', 'memory'].some((name) => (amounts.get(name)?.nano ?? 0n) > 0n);
  return !counts(podRequests(spec)) && !counts(podLimits(spec));
}

function crossesNamespaces({ affinity }: Frozen<Pod>['spec']): boolean {
  return [affinity?.podAffinity, affinity?.podAntiAffinity].some((rules) =>
    [
      ...(rules?.requiredDuringSchedulingIgnoredDuringExecution ?? []),
      ...(rules?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map(({ podAffinityTerm }) => podAffinityTerm),
    ].some((term) => (term.namespaces?.length ?? 0) > 0 || term.namespaceSelector !== undefined),
  );
}
