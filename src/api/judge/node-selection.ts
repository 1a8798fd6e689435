// Owns whether a node is one that a pod or volume asks for: node selectors, node affinity terms. Pure.
import type { NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, PodSpec } from '../generated/core.v1.ts';
import type { Frozen } from '../meta.ts';
import { compareIntegers, containsAll, type Labels } from '../selector.ts';

export interface NodeFacts {
  readonly name: string;
  readonly labels: Labels | undefined;
}

/** Any term must match; a selector without terms matches nothing. */
function matchesNodeSelector(selector: Frozen<NodeSelector>, node: NodeFacts): boolean {
  return (selector.nodeSelectorTerms ?? []).some((term) => matchesNodeTerm(term, node));
}

/** All requirements must hold; a term without any matches nothing. */
export function matchesNodeTerm(term: Frozen<NodeSelectorTerm>, node: NodeFacts): boolean {
  const expressions = term.matchExpressions ?? [];
  const fields = term.matchFields ?? [];
  if (expressions.length + fields.length === 0) return false;
  return (
    expressions.every((one) => holds(one, valueOf(node.labels, one.key))) &&
    fields.every((one) => holds(one, one.key === 'metadata.name' ? node.name : ''))
  );
}

function valueOf(labels: Labels | undefined, key: string): string | undefined {
  return labels !== undefined && Object.hasOwn(labels, key) ? labels[key] : undefined;
}

function holds({ operator, values = [] }: Frozen<NodeSelectorRequirement>, value: string | undefined): boolean {
  switch (operator) {
    case 'In':
      return value !== undefined && values.includes(value);
    case 'NotIn':
      return value === undefined || !values.includes(value);
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
    case 'Gt':
      return value !== undefined && compareIntegers(value, values[0] ?? '') === 1;
    case 'Lt':
      return value !== undefined && compareIntegers(value, values[0] ?? '') === -1;
    default:
      return false;
  }
}

/** spec.nodeSelector and the required node affinity together. */
export function podSelectsNode(spec: Frozen<PodSpec>, node: NodeFacts): boolean {
  if (spec.nodeSelector !== undefined && !containsAll(node.labels, spec.nodeSelector)) return false;
  const required = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return required === undefined || matchesNodeSelector(required, node);
}
