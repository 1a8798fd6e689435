// Owns the kinds of metrics.k8s.io/v1beta1 as the generic server shows them: objects made of usage, columns, shapes.
import type { Node, Pod } from '../api/generated/core.v1.ts';
import type { Frozen, KubeObject } from '../api/meta.ts';
import { addQuantities, formatQuantity, parseQuantity, quantityOf } from '../api/quantity.ts';
import { formatDuration, timeOf } from '../api/time.ts';
import { Entry } from '../server/cache/entry.ts';
import type { Column, Resource } from '../server/resource.ts';
import type { Served } from '../server/served/served.ts';
import type { Usage } from './usage-store.ts';

export const group = 'metrics.k8s.io';
export const version = 'v1beta1';

type Amounts = Readonly<Record<string, string>>;

interface NodeMetrics extends KubeObject {
  readonly timestamp: string;
  readonly window: string;
  readonly usage: Amounts;
}

interface PodMetrics extends KubeObject {
  readonly timestamp: string;
  readonly window: string;
  readonly containers: readonly { readonly name: string; readonly usage: Amounts }[];
}

function amounts({ nanoCores, memoryBytes }: Pick<Usage, 'nanoCores' | 'memoryBytes'>): Amounts {
  return {
    cpu: formatQuantity({ nano: BigInt(nanoCores), format: 'DecimalSI' }),
    memory: formatQuantity(quantityOf(memoryBytes, 'BinarySI')),
  };
}

const windowText = (windowMs: number): string => formatDuration(BigInt(Math.round(windowMs * 1000)) * 1000n);

function metadataOf(owner: Frozen<Node | Pod>, nowMs: number): KubeObject['metadata'] {
  const { name, namespace, labels } = owner.metadata;
  return {
    name,
    ...(namespace !== undefined && namespace !== '' && { namespace }),
    creationTimestamp: timeOf(nowMs),
    ...(labels !== undefined && { labels: { ...labels } }),
  } as unknown as KubeObject['metadata'];
}

export function nodeEntry(node: Frozen<Node>, usage: Usage, nowMs: number): Entry {
  const object: NodeMetrics = {
    kind: 'NodeMetrics',
    apiVersion: `${group}/${version}`,
    metadata: metadataOf(node, nowMs),
    timestamp: timeOf(usage.atMs),
    window: windowText(usage.windowMs),
    usage: amounts(usage),
  };
  return Entry.of(node.metadata.name, 0, object);
}

/** The oldest look at a container dates the pod. */
export function podEntry(pod: Frozen<Pod>, usages: ReadonlyMap<string, Usage>, nowMs: number): Entry | undefined {
  const [first, ...others] = usages.values();
  if (first === undefined) return undefined;
  const oldest = others.reduce((a, b) => (b.atMs < a.atMs ? b : a), first);
  const object: PodMetrics = {
    kind: 'PodMetrics',
    apiVersion: `${group}/${version}`,
    metadata: metadataOf(pod, nowMs),
    timestamp: timeOf(oldest.atMs),
    window: windowText(oldest.windowMs),
    containers: [...usages].map(([name, usage]) => ({ name, usage: amounts(usage) })),
  };
  return Entry.of(`${pod.metadata.namespace}/${pod.metadata.name}`, 0, object);
}

/** The pod's containers together. */
function total(containers: PodMetrics['containers'], resource: 'cpu' | 'memory'): string {
  const zero = quantityOf(0, resource === 'cpu' ? 'DecimalSI' : 'BinarySI');
  return formatQuantity(
    containers.reduce((sum, { usage }) => addQuantities(sum, parseQuantity(usage[resource] ?? '0')), zero),
  );
}

function columns<T extends { readonly window: string } & KubeObject>(
  amount: (obj: Frozen<T>, resource: 'cpu' | 'memory') => unknown,
): Column<T>[] {
  return [
    {
      name: 'Name',
      type: 'string',
      format: 'name',
      description: 'Name of the resource',
      cell: (obj) => obj.metadata.name,
    },
    { name: 'cpu', type: 'string', cell: (obj) => amount(obj, 'cpu') },
    { name: 'memory', type: 'string', cell: (obj) => amount(obj, 'memory') },
    { name: 'Window', type: 'string', format: 'duration', cell: (obj) => obj.window },
  ];
}

const quantity = { type: 'string' };
const usageShape = { type: 'object', additionalProperties: quantity };
const when = { timestamp: { type: 'string', format: 'date-time' }, window: { type: 'string' } };

const nodes: Resource<NodeMetrics> = {
  group,
  version,
  kind: 'NodeMetrics',
  plural: 'nodes',
  singular: '',
  namespaced: false,
  validate: () => [],
  columns: columns((obj, resource) => obj.usage[resource]),
  openApi: { type: 'object', properties: { ...when, usage: usageShape }, required: ['timestamp', 'window', 'usage'] },
};

const containerShape = { type: 'object', properties: { name: { type: 'string' }, usage: usageShape } };

const pods: Resource<PodMetrics> = {
  group,
  version,
  kind: 'PodMetrics',
  plural: 'pods',
  singular: '',
  namespaced: true,
  validate: () => [],
  columns: columns(({ containers }, resource) => total(containers as PodMetrics['containers'], resource)),
  openApi: {
    type: 'object',
    properties: { ...when, containers: { type: 'array', items: containerShape } },
    required: ['timestamp', 'window', 'containers'],
  },
};

function served(resource: Resource<never>): Served {
  return {
    resource: resource as unknown as Resource,
    collection: undefined,
    verbs: new Set(['get', 'list']),
    subresources: new Map(),
    custom: false,
  };
}

export const servedNodes = served(nodes as unknown as Resource<never>);
export const servedPods = served(pods as unknown as Resource<never>);
