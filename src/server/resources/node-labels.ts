// Owns the labels of nodes that have gone out of use, and what those are told who select by them.
import type { NodeSelectorTerm } from '../../api/generated/core.v1.ts';
import type { LabelSelector } from '../../api/generated/meta.v1.ts';
import type { Frozen } from '../../api/meta.ts';
import { labelValue } from '../../api/names.ts';

/** Labels that have another name now, and since when. */
export const renamedLabels: Readonly<Record<string, readonly [name: string, since: string]>> = {
  'beta.kubernetes.io/arch': ['kubernetes.io/arch', 'v1.14'],
  'beta.kubernetes.io/os': ['kubernetes.io/os', 'v1.14'],
  'beta.kubernetes.io/instance-type': ['node.kubernetes.io/instance-type', 'v1.17'],
  'failure-domain.beta.kubernetes.io/region': ['topology.kubernetes.io/region', 'v1.17'],
  'failure-domain.beta.kubernetes.io/zone': ['topology.kubernetes.io/zone', 'v1.17'],
};

const otherLabels: Readonly<Record<string, string>> = {
  'app.kubernetes.io/created-by': 'deprecated since v1.9',
  'scheduler.alpha.kubernetes.io/preferAvoidPods': 'deprecated since v1.22; use taints and tolerations instead',
  'node-role.kubernetes.io/master': 'use "node-role.kubernetes.io/control-plane" instead',
};

/** What is wrong with the label; nothing of most. */
export function* labelWarnings(path: string, label: string): Generator<string> {
  const renamed = Object.hasOwn(renamedLabels, label) ? renamedLabels[label] : undefined;
  if (renamed !== undefined) yield `${path}: ${label} is deprecated since ${renamed[1]}; use "${renamed[0]}" instead`;
  else if (Object.hasOwn(otherLabels, label)) yield `${path}: ${label}: ${otherLabels[label]}`;
}

/** `values`: also of values that no label of a node can have. */
export function* termWarnings(
  path: string,
  term: Frozen<NodeSelectorTerm> | undefined,
  values: boolean,
): Generator<string> {
  for (const [at, expression] of (term?.matchExpressions ?? []).entries()) {
    const here = `${path}.matchExpressions[${at}]`;
    yield* labelWarnings(`${here}.key`, expression.key);
    if (!values) continue;
    for (const [i, value] of (expression.values ?? []).entries())
      for (const wrong of labelValue(value)) yield `${here}.values[${i}]: ${value} is invalid, ${wrong}`;
  }
}

export function* selectorWarnings(path: string, selector: Frozen<LabelSelector> | undefined): Generator<string> {
  for (const [at, { key }] of (selector?.matchExpressions ?? []).entries())
    yield* labelWarnings(`${path}.matchExpressions[${at}].key`, key);
  for (const label in selector?.matchLabels) yield* labelWarnings(`${path}.matchLabels[${label}]`, label);
}
