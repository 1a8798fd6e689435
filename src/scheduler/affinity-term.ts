// Owns a pod (anti-)affinity term in a form that is quick to match: whom it speaks of, and a key by which equal terms are one.
import type { Frozen } from '../api/meta.ts';
import type { PodAffinityTerm } from '../api/generated/core.v1.ts';
import { type LabelPredicate, labelPredicate } from '../api/selector.ts';
import { selectorText } from './selector.ts';

export interface AffinityTerm {
  /** Equal for terms that speak of the same pods and the same topology. */
  readonly key: string;
  readonly topologyKey: string;
  readonly namespaces: ReadonlySet<string>;
  /** undefined: none beyond `namespaces`. */
  readonly namespaceSelector: LabelPredicate | undefined;
  readonly selector: LabelPredicate;
}

/** A namespace's labels; empty for one that is unknown. */
export type NamespaceLabels = (namespace: string) => Readonly<Record<string, string>>;

/** A term without a selector matches no pod; without namespaces and namespace selector it means the pod's own namespace. */
export function affinityTerm(term: Frozen<PodAffinityTerm>, owner: { readonly namespace: string }): AffinityTerm {
  const named = term.namespaces ?? [];
  const namespaces = new Set(named.length === 0 && term.namespaceSelector === undefined ? [owner.namespace] : named);
  return {
    key: JSON.stringify([
      term.topologyKey,
      [...namespaces].toSorted(),
      selectorText(term.namespaceSelector),
      selectorText(term.labelSelector),
    ]),
    topologyKey: term.topologyKey,
    namespaces,
    namespaceSelector: term.namespaceSelector && labelPredicate(term.namespaceSelector),
    selector: labelPredicate(term.labelSelector),
  };
}

export function termMatches(
  term: AffinityTerm,
  pod: { readonly namespace: string; readonly labels: Readonly<Record<string, string>> },
  namespaceLabels: NamespaceLabels,
): boolean {
  return (
    (term.namespaces.has(pod.namespace) ||
      (term.namespaceSelector !== undefined && term.namespaceSelector(namespaceLabels(pod.namespace)))) &&
    term.selector(pod.labels)
  );
}
