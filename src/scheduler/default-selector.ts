// Owns which pods are a pod's kin when it says nothing about spreading: those of its services and its controller.
import type { Frozen } from '../api/meta.ts';
import type { LabelSelector } from '../api/generated/meta.v1.ts';
import { replicaSets, replicationControllers, services, statefulSets } from '../api/generated/resources.ts';
import { type LabelPredicate, labelPredicate } from '../api/selector.ts';
import type { InformerFactory } from '../client/informer-factory.ts';
import type { PodInfo } from './pod-info.ts';
import { selectorText } from './selector.ts';

export interface Kin {
  readonly key: string;
  readonly matches: LabelPredicate;
}

const byNamespace = 'namespace';

export function defaultSelectors(informers: InformerFactory): {
  of(pod: PodInfo): Kin | undefined;
  whenSynced(signal: AbortSignal): Promise<void>;
} {
  const serviceInformer = informers.informer(services);
  const controllers = informers.informer(replicationControllers);
  const sets = informers.informer(replicaSets);
  const stateful = informers.informer(statefulSets);
  // Most services select nothing in most namespaces: look only at the pod's own.
  serviceInformer.addIndex(byNamespace, ({ metadata, spec }) =>
    Object.keys(spec.selector ?? {}).length === 0 ? [] : [metadata.namespace ?? ''],
  );
  const compiled = new WeakMap<object, LabelPredicate>();
  const predicateOf = (selector: Frozen<LabelSelector>, holder: object): LabelPredicate => {
    let predicate = compiled.get(holder);
    if (predicate === undefined) compiled.set(holder, (predicate = labelPredicate(selector)));
    return predicate;
  };
  const ownerSelector = ({ pod, namespace }: PodInfo): Frozen<LabelSelector> | undefined => {
    const owner = pod.metadata.ownerReferences?.find(({ controller }) => controller === true);
    const key = { namespace, name: owner?.name ?? '' };
    if (owner?.kind === 'ReplicaSet') return sets.get(key)?.spec.selector;
    if (owner?.kind === 'StatefulSet') return stateful.get(key)?.spec.selector;
    const selector = owner?.kind === 'ReplicationController' ? controllers.get(key)?.spec.selector : undefined;
    return selector && Object.keys(selector).length > 0 ? { matchLabels: selector } : undefined;
  };
  return {
    of(pod) {
      const merged: Record<string, string> = {};
      for (const service of serviceInformer.indexed(byNamespace, pod.namespace)) {
        const selector = service.spec.selector!;
        if (predicateOf({ matchLabels: selector }, service)(pod.labels)) Object.assign(merged, selector);
      }
      const owner = ownerSelector(pod);
      const equal = { ...merged, ...owner?.matchLabels };
      const expressions = owner?.matchExpressions ?? [];
      if (Object.keys(equal).length + expressions.length === 0) return undefined;
      const selector = { matchLabels: equal, matchExpressions: expressions };
      return { key: selectorText(selector), matches: labelPredicate(selector) };
    },
    async whenSynced(signal) {
      await Promise.all([serviceInformer, controllers, sets, stateful].map((informer) => informer.whenSynced(signal)));
    },
  };
}
