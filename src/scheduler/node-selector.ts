// Owns node selectors and node affinity compiled for the hot loop.
import type { Frozen } from '../api/meta.ts';
import type { NodeSelector, NodeSelectorTerm, Pod } from '../api/generated/core.v1.ts';
import { type Labels, requirement } from './selector.ts';

/** What a node selector looks at. */
export interface Selectable {
  readonly name: string;
  readonly labels: Labels;
}

export type NodeMatcher = (node: Selectable) => boolean;

/** An empty term matches no node. Fields: only metadata.name exists. */
export function termMatcher(term: Frozen<NodeSelectorTerm>): NodeMatcher {
  const expressions = (term.matchExpressions ?? []).map((part) =>
    requirement(part.key, part.operator, part.values ?? []),
  );
  const fields = (term.matchFields ?? []).map((part) => requirement(part.key, part.operator, part.values ?? []));
  if (expressions.length + fields.length === 0) return () => false;
  return (node) => {
    for (const matches of expressions) if (!matches(node.labels)) return false;
    if (fields.length === 0) return true;
    const own = { 'metadata.name': node.name };
    return fields.every((matches) => matches(own));
  };
}

/** Any of its terms. */
export function nodeSelectorMatcher(selector: Frozen<NodeSelector>): NodeMatcher {
  const terms = selector.nodeSelectorTerms.map(termMatcher);
  return (node) => terms.some((matches) => matches(node));
}

/** spec.nodeSelector and required node affinity together; undefined when the pod has neither. */
export function requiredNodeMatcher(pod: Frozen<Pod>): NodeMatcher | undefined {
  const wanted = Object.entries(pod.spec.nodeSelector ?? {});
  const required = pod.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  if (wanted.length === 0 && required === undefined) return undefined;
  const affinity = required && nodeSelectorMatcher(required);
  return (node) => {
    for (const [key, value] of wanted) if (node.labels[key] !== value) return false;
    return affinity === undefined || affinity(node);
  };
}

/** The node names that the terms come down to, when every term names some in metadata.name; undefined: any. */
export function namedNodes(pod: Frozen<Pod>): ReadonlySet<string> | undefined {
  const terms =
    pod.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  const all = new Set<string>();
  for (const term of terms) {
    let named: string[] | undefined;
    for (const { key, operator, values = [] } of term.matchFields ?? []) {
      if (key !== 'metadata.name' || operator !== 'In') continue;
      const before: string[] | undefined = named;
      named = before === undefined ? [...values] : before.filter((name) => values.includes(name));
    }
    if (named === undefined) return undefined;
    for (const name of named) all.add(name);
  }
  return terms.length === 0 ? undefined : all;
}
