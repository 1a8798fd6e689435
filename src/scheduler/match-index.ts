// Owns counts of pods by node for the questions that spreading and affinity ask over and over: kept up with each change instead of walking all pods each cycle.
import { LRUCache } from 'lru-cache';
import { type AffinityTerm, type NamespaceLabels, termMatches } from './affinity-term.ts';
import type { PodObserver } from './cache.ts';
import type { NodeInfo } from './node-info.ts';
import type { PodInfo } from './pod-info.ts';

export type NodeCounts = ReadonlyMap<NodeInfo, number>;

/** Which pods are meant. Equal keys must mean equal pods. */
export interface PodQuestion {
  readonly key: string;
  /** undefined: pods of any namespace may match. */
  readonly namespace: string | undefined;
  readonly matches: (pod: PodInfo) => boolean;
}

interface Tally {
  readonly question: PodQuestion;
  readonly counts: Map<NodeInfo, number>;
}

/** What existing pods demand of others near them. */
export type DemandKind = 'requiredAffinity' | 'requiredAntiAffinity' | 'preferredAffinity' | 'preferredAntiAffinity';

export interface Demand {
  readonly kind: DemandKind;
  readonly term: AffinityTerm;
  /** By node: how many pods there (for preferred terms the sum of their weights). */
  readonly weights: Map<NodeInfo, number>;
}

const maxTallies = 1000;

function bump(counts: Map<NodeInfo, number>, node: NodeInfo, by: number): void {
  const left = (counts.get(node) ?? 0) + by;
  if (left === 0) counts.delete(node);
  else counts.set(node, left);
}

export class MatchIndex implements PodObserver {
  readonly #tallies: LRUCache<string, Tally>;
  /** By namespace; undefined: those that look at all. */
  readonly #byNamespace = new Map<string | undefined, Set<Tally>>();
  readonly #podsByNamespace = new Map<string, Map<string, { readonly pod: PodInfo; readonly node: NodeInfo }>>();
  readonly #demands = new Map<string, Demand>();

  constructor() {
    this.#tallies = new LRUCache<string, Tally>({
      max: maxTallies,
      dispose: (tally) => {
        const { namespace } = tally.question;
        const all = this.#byNamespace.get(namespace);
        all?.delete(tally);
        if (all?.size === 0) this.#byNamespace.delete(namespace);
      },
    });
  }

  /** Valid until the next change of a pod; do not keep. */
  counts(question: PodQuestion): NodeCounts {
    let tally = this.#tallies.get(question.key);
    if (tally === undefined) {
      tally = { question, counts: new Map() };
      const { namespace } = question;
      const among =
        namespace === undefined ? [...this.#podsByNamespace.values()] : [this.#podsByNamespace.get(namespace)];
      for (const pods of among)
        for (const { pod, node } of pods?.values() ?? []) if (question.matches(pod)) bump(tally.counts, node, 1);
      this.#tallies.set(question.key, tally);
      const all = this.#byNamespace.get(namespace);
      if (all === undefined) this.#byNamespace.set(namespace, new Set([tally]));
      else all.add(tally);
    }
    return tally.counts;
  }

  demands(): Iterable<Demand> {
    return this.#demands.values();
  }

  get hasDemands(): boolean {
    return this.#demands.size > 0;
  }

  /** A namespace's labels changed: answers that depend on them are worked out anew. */
  forgetWide(): void {
    for (const [key, { question }] of this.#tallies.entries())
      if (question.namespace === undefined) this.#tallies.delete(key);
  }

  podAdded(node: NodeInfo, pod: PodInfo): void {
    let pods = this.#podsByNamespace.get(pod.namespace);
    if (pods === undefined) this.#podsByNamespace.set(pod.namespace, (pods = new Map()));
    pods.set(pod.uid, { pod, node });
    this.#count(node, pod, 1);
  }

  podRemoved(node: NodeInfo, pod: PodInfo): void {
    const pods = this.#podsByNamespace.get(pod.namespace);
    pods?.delete(pod.uid);
    if (pods?.size === 0) this.#podsByNamespace.delete(pod.namespace);
    this.#count(node, pod, -1);
  }

  #count(node: NodeInfo, pod: PodInfo, by: 1 | -1): void {
    for (const tallies of [this.#byNamespace.get(pod.namespace), this.#byNamespace.get(undefined)])
      for (const { question, counts } of tallies ?? []) if (question.matches(pod)) bump(counts, node, by);
    for (const term of pod.requiredAffinity) this.#demand('requiredAffinity', term, node, by);
    for (const term of pod.requiredAntiAffinity) this.#demand('requiredAntiAffinity', term, node, by);
    for (const { term, weight } of pod.preferredAffinity) this.#demand('preferredAffinity', term, node, by * weight);
    for (const { term, weight } of pod.preferredAntiAffinity)
      this.#demand('preferredAntiAffinity', term, node, by * weight);
  }

  #demand(kind: DemandKind, term: AffinityTerm, node: NodeInfo, by: number): void {
    const key = `${kind} ${term.key}`;
    let demand = this.#demands.get(key);
    if (demand === undefined) this.#demands.set(key, (demand = { kind, term, weights: new Map() }));
    bump(demand.weights, node, by);
    if (demand.weights.size === 0) this.#demands.delete(key);
  }

  nodeRemoved(): void {
    // Nodes are dropped only when no pod is left on them, so no count is either.
  }
}

/** Pods that match all of these terms (without regard to topology). */
export function questionOfTerms(terms: readonly AffinityTerm[], namespaceLabels: NamespaceLabels): PodQuestion {
  const [first] = terms;
  const narrow = terms.every(
    ({ namespaces, namespaceSelector }) => namespaces.size === 1 && namespaceSelector === undefined,
  );
  return {
    key: `terms ${terms.map(({ key }) => key).join(' ')}`,
    namespace: narrow ? first?.namespaces.values().next().value : undefined,
    matches: (pod) => terms.every((term) => termMatches(term, pod, namespaceLabels)),
  };
}
