// Owns LimitRanger: a namespace's LimitRanges fill in what pods and claims leave open, and refuse what is beyond their bounds.
import type {
  Container,
  LimitRange,
  LimitRangeItem,
  PersistentVolumeClaim,
  ResourceRequirements,
} from '../../api/generated/core.v1.ts';
import { podLimits, podRequests } from '../../api/judge/pod-resources.ts';
import { approximate, compareQuantities, formatQuantity, parseQuantity, type Quantity } from '../../api/quantity.ts';
import { forbidden } from '../../api/status-error.ts';
import type { Frozen, KubeObject } from '../../api/meta.ts';
import type { PodSpec } from '../../api/generated/core.v1.ts';
import type { Parts } from '../parts.ts';
import type { AdmissionPlugin, AdmissionRequest } from './admission.ts';
import { podOf } from './pods.ts';
import type { PodObject } from './pods.ts';

type Amounts = ReadonlyMap<string, Quantity>;
type Item = Frozen<LimitRangeItem>;

const annotation = 'kubernetes.io/limit-ranger';

function itemsOf(parts: Parts, namespace: string): Item[] {
  const items: Item[] = [];
  for (const { object } of parts.catalog.cache('', 'limitranges').list({ type: 'namespace', namespace }))
    items.push(...((object as Frozen<KubeObject & LimitRange>).spec?.limits ?? []));
  return items;
}

function fill(container: Container, items: readonly Item[], told: string[], what: string): void {
  const resources: ResourceRequirements = (container.resources ??= {});
  const added: { readonly requests: string[]; readonly limits: string[] } = { requests: [], limits: [] };
  for (const item of items) {
    if (item.type !== 'Container') continue;
    for (const [name, value] of Object.entries(item.default ?? {}))
      if (resources.limits?.[name] === undefined) {
        resources.limits = { ...resources.limits, [name]: value };
        added.limits.push(name);
      }
    for (const [name, value] of Object.entries(item.defaultRequest ?? {}))
      if (resources.requests?.[name] === undefined) {
        resources.requests = { ...resources.requests, [name]: value };
        added.requests.push(name);
      }
  }
  for (const side of ['requests', 'limits'] as const) {
    const verb = side === 'requests' ? 'request' : 'limit';
    if (added[side].length > 0) told.push(`${added[side].sort().join(', ')} ${verb} for ${what} ${container.name}`);
  }
}

function fillPod(pod: PodObject, items: readonly Item[]): void {
  const told: string[] = [];
  for (const container of pod.spec?.containers ?? []) fill(container, items, told, 'container');
  for (const container of pod.spec?.initContainers ?? []) fill(container, items, told, 'init container');
  if (told.length === 0) return;
  pod.metadata.annotations = {
    ...pod.metadata.annotations,
    [annotation]: `LimitRanger plugin set: ${told.join('; ')}`,
  };
}

function amounts(list: Readonly<Record<string, string>> | undefined): Amounts {
  return new Map(Object.entries(list ?? {}).map(([name, text]) => [name, parseQuantity(text)]));
}

/** What is wrong with these requests and limits by one item. */
function problemsOf(item: Item, requests: Amounts, limits: Amounts): string[] {
  const problems: string[] = [];
  const kind = item.type;
  for (const [name, min] of amounts(item.min)) {
    const request = requests.get(name);
    const limit = limits.get(name);
    const shown = `minimum ${name} usage per ${kind} is ${formatQuantity(min)}`;
    if (request === undefined) problems.push(`${shown}.  No request is specified`);
    else if (compareQuantities(request, min) < 0) problems.push(`${shown}, but request is ${formatQuantity(request)}`);
    if (limit !== undefined && compareQuantities(limit, min) < 0)
      problems.push(`${shown}, but limit is ${formatQuantity(limit)}`);
  }
  for (const [name, max] of amounts(item.max)) {
    const request = requests.get(name);
    const limit = limits.get(name);
    const shown = `maximum ${name} usage per ${kind} is ${formatQuantity(max)}`;
    if (limit === undefined && kind !== 'PersistentVolumeClaim') problems.push(`${shown}.  No limit is specified`);
    if (limit !== undefined && compareQuantities(limit, max) > 0)
      problems.push(`${shown}, but limit is ${formatQuantity(limit)}`);
    if (request !== undefined && compareQuantities(request, max) > 0)
      problems.push(`${shown}, but request is ${formatQuantity(request)}`);
  }
  for (const [name, most] of amounts(item.maxLimitRequestRatio)) {
    const request = requests.get(name);
    const limit = limits.get(name);
    const shown = `${name} max limit to request ratio per ${kind} is ${formatQuantity(most)}`;
    if (request === undefined || approximate(request) === 0)
      problems.push(`${shown}, but no request is specified or request is 0`);
    else if (limit === undefined || approximate(limit) === 0)
      problems.push(`${shown}, but no limit is specified or limit is 0`);
    else if (approximate(limit) / approximate(request) > approximate(most))
      problems.push(`${shown}, but provided ratio is ${(approximate(limit) / approximate(request)).toFixed(6)}`);
  }
  return problems;
}

function podProblems(pod: PodObject, items: readonly Item[]): string[] {
  const spec = pod.spec as Frozen<PodSpec> | undefined;
  if (spec === undefined) return [];
  return items.flatMap((item) => {
    if (item.type === 'Pod') return problemsOf(item, podRequests(spec), podLimits(spec));
    if (item.type !== 'Container') return [];
    return [...(spec.containers ?? []), ...(spec.initContainers ?? [])].flatMap(({ resources }) =>
      problemsOf(item, amounts(resources?.requests), amounts(resources?.limits)),
    );
  });
}

function isClaim({ served, subresource, operation }: AdmissionRequest): boolean {
  const { group, plural } = served.resource;
  return group === '' && plural === 'persistentvolumeclaims' && subresource === '' && operation !== 'DELETE';
}

/** The pod whose resources are said in this request: what it uses is fixed when it is made or resized. */
function resourcesOf(request: AdmissionRequest): PodObject | undefined {
  const { served, subresource, operation, object } = request;
  if (operation === 'CREATE') return podOf(request);
  const isResize = served.resource.group === '' && served.resource.plural === 'pods' && subresource === 'resize';
  return isResize ? (object as unknown as PodObject) : undefined;
}

export const limitRanger: AdmissionPlugin = {
  name: 'LimitRanger',
  admit(request, parts) {
    const pod = resourcesOf(request);
    if (pod === undefined) return;
    fillPod(pod, itemsOf(parts, request.namespace));
  },
  validate(request, parts) {
    const pod = resourcesOf(request);
    const problems =
      pod !== undefined
        ? podProblems(pod, itemsOf(parts, request.namespace))
        : isClaim(request)
          ? claimProblems(request.object as unknown as PersistentVolumeClaim, itemsOf(parts, request.namespace))
          : [];
    if (problems.length === 0) return;
    const { group, plural } = request.served.resource;
    throw forbidden({ group, plural }, request.name, problems.length === 1 ? problems[0]! : `[${problems.join(', ')}]`);
  },
};

function claimProblems({ spec }: PersistentVolumeClaim, items: readonly Item[]): string[] {
  const requests = amounts(spec?.resources?.requests);
  return items
    .filter(({ type }) => type === 'PersistentVolumeClaim')
    .flatMap((item) => problemsOf(item, requests, amounts(spec?.resources?.limits)));
}
