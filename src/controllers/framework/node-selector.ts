// Owns whether a pod may be on a node by its nodeSelector and required node affinity (documentation: "Assigning Pods to Nodes"). Pure.
import type { Frozen } from '../../api/meta.ts';
import type {
  Node,
  NodeSelector,
  NodeSelectorRequirement,
  NodeSelectorTerm,
  PodSpec,
} from '../../api/generated/core.v1.ts';

export function fitsNodeAffinity(spec: Frozen<PodSpec>, node: Frozen<Node>): boolean {
  const labels = node.metadata.labels ?? {};
  for (const [key, value] of Object.entries(spec.nodeSelector ?? {})) if (labels[key] !== value) return false;
  const required = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return !required || matchesNodeSelector(required, node);
}

/** Terms are alternatives; one without requirements matches nothing. */
export function matchesNodeSelector(selector: Frozen<NodeSelector>, node: Frozen<Node>): boolean {
  return selector.nodeSelectorTerms.some((term) => matchesTerm(term, node));
}

function matchesTerm(term: Frozen<NodeSelectorTerm>, node: Frozen<Node>): boolean {
  const expressions = term.matchExpressions ?? [];
  const fields = term.matchFields ?? [];
  if (expressions.length + fields.length === 0) return false;
  return (
    expressions.every((one) => matchesRequirement(one, node.metadata.labels?.[one.key])) &&
    fields.every((one) => one.key === 'metadata.name' && matchesRequirement(one, node.metadata.name))
  );
}

function matchesRequirement(
  { operator, values = [] }: Frozen<NodeSelectorRequirement>,
  value: string | undefined,
): boolean {
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
    case 'Lt': {
      const [bound = ''] = values;
      if (value === undefined || !/^-?\d+$/.test(value) || !/^-?\d+$/.test(bound)) return false;
      return operator === 'Gt' ? BigInt(value) > BigInt(bound) : BigInt(value) < BigInt(bound);
    }
    default:
      return false;
  }
}
