// Owns the way from a changed pod or node to the services whose endpoints may change with it.
import { type Frozen, keyOf, type ObjectKey } from '../../api/meta.ts';
import type { Node, Pod, Service } from '../../api/generated/core.v1.ts';
import { nodes, pods, services } from '../../api/generated/resources.ts';
import { type LabelPredicate, mapPredicate } from '../../api/selector.ts';
import { isPodFinished, isPodReady } from '../../api/pod-readiness.ts';
import type { Informer } from '../../client/informer.ts';
import { type ControllerContext, self, type Watch, watching } from '../framework/controller.ts';
import { isEqual } from '../framework/equality.ts';

const nodeIndex = 'node';
const zoneLabel = 'topology.kubernetes.io/zone';

export interface ServiceSources {
  readonly services: Informer<Service>;
  readonly pods: Informer<Pod>;
  readonly nodes: Informer<Node>;
  /** Those that the service selects; none when it has no selector. */
  selected(service: Frozen<Service>): Frozen<Pod>[];
  zoneOf(nodeName: string): string | undefined;
  readonly watches: readonly Watch[];
}

export function serviceSources(context: ControllerContext): ServiceSources {
  const serviceCache = context.informers.informer(services);
  const podCache = context.informers.informer(pods);
  const nodeCache = context.informers.informer(nodes);
  podCache.addIndex(nodeIndex, (pod) => (pod.spec.nodeName ? [pod.spec.nodeName] : []));
  const predicates = new WeakMap<object, LabelPredicate>();
  const predicateOf = (service: Frozen<Service>): LabelPredicate => {
    const known = predicates.get(service.spec) ?? mapPredicate(service.spec.selector);
    predicates.set(service.spec, known);
    return known;
  };

  function* selecting(pod: Frozen<Pod>, previous?: Frozen<Pod>): Generator<ObjectKey> {
    if (previous && !matters(pod, previous)) return;
    const moved = previous && !isEqual(pod.metadata.labels, previous.metadata.labels);
    for (const service of serviceCache.list(pod.metadata.namespace)) {
      const selects = predicateOf(service);
      if (selects(pod.metadata.labels) || (moved && selects(previous.metadata.labels))) yield keyOf(service);
    }
  }

  function* onNode(node: Frozen<Node>, previous?: Frozen<Node>): Generator<ObjectKey> {
    if (previous && previous.metadata.labels?.[zoneLabel] === node.metadata.labels?.[zoneLabel]) return;
    for (const pod of podCache.indexed(nodeIndex, node.metadata.name)) yield* selecting(pod);
  }

  return {
    services: serviceCache,
    pods: podCache,
    nodes: nodeCache,
    selected(service) {
      const selects = predicateOf(service);
      return podCache.list(service.metadata.namespace).filter((pod) => selects(pod.metadata.labels));
    },
    zoneOf: (name) => nodeCache.get({ namespace: '', name })?.metadata.labels?.[zoneLabel],
    watches: [self(serviceCache), watching(podCache, selecting), watching(nodeCache, onNode)],
  };
}

/** Most pod updates (restart counts, probes' times) change no endpoint. */
function matters(next: Frozen<Pod>, previous: Frozen<Pod>): boolean {
  return (
    next.metadata.deletionTimestamp !== previous.metadata.deletionTimestamp ||
    isPodReady(next) !== isPodReady(previous) ||
    isPodFinished(next) !== isPodFinished(previous) ||
    next.spec.nodeName !== previous.spec.nodeName ||
    next.status?.podIP !== previous.status?.podIP ||
    !isEqual(next.status?.podIPs, previous.status?.podIPs) ||
    !isEqual(next.metadata.labels, previous.metadata.labels)
  );
}
