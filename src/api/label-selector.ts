// Owns what a label selector means: LabelSelector objects as predicates and as the text of list requests.
import type { Frozen } from './meta.ts';
import type { LabelSelector } from './generated/meta.v1.ts';

export type Labels = Readonly<Record<string, string>>;

export type LabelPredicate = (labels: Labels | undefined) => boolean;

interface Requirement {
  readonly key: string;
  readonly operator: string;
  readonly values: ReadonlySet<string>;
}

/** An absent selector matches nothing, an empty one everything (API reference, LabelSelector). */
export function labelPredicate(selector: Frozen<LabelSelector> | undefined): LabelPredicate {
  if (!selector) return () => false;
  const equal = Object.entries(selector.matchLabels ?? {});
  const requirements = (selector.matchExpressions ?? []).map(({ key, operator, values }): Requirement => {
    if (!['In', 'NotIn', 'Exists', 'DoesNotExist'].includes(operator))
      throw new Error(`"${operator}" is not a valid label selector operator`);
    return { key, operator, values: new Set(values) };
  });
  return (labels = {}) => {
    for (const [key, value] of equal) if (own(labels, key) !== value) return false;
    return requirements.every((requirement) => satisfies(requirement, labels));
  };
}

/** For the plain maps of Services and ReplicationControllers: an empty or absent one matches nothing. */
export function mapPredicate(selector: Labels | undefined): LabelPredicate {
  const equal = Object.entries(selector ?? {});
  return equal.length === 0 ? () => false : (labels = {}) => equal.every(([key, value]) => own(labels, key) === value);
}

export function isEmptySelector(selector: Frozen<LabelSelector> | undefined): boolean {
  return Object.keys(selector?.matchLabels ?? {}).length + (selector?.matchExpressions?.length ?? 0) === 0;
}

/** "app=web,tier in (a,b),!old": the form of `labelSelector=` queries and of status.selector. */
export function labelSelectorText(selector: Frozen<LabelSelector>): string {
  const parts = Object.entries(selector.matchLabels ?? {}).map(([key, value]) => ({ key, text: `${key}=${value}` }));
  for (const { key, operator, values = [] } of selector.matchExpressions ?? []) {
    const set = `(${[...values].sort().join(',')})`;
    if (operator === 'In') parts.push({ key, text: `${key} in ${set}` });
    else if (operator === 'NotIn') parts.push({ key, text: `${key} notin ${set}` });
    else parts.push({ key, text: operator === 'Exists' ? key : `!${key}` });
  }
  return parts
    .sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0))
    .map(({ text }) => text)
    .join(',');
}

function satisfies({ key, operator, values }: Requirement, labels: Labels): boolean {
  const value = own(labels, key);
  switch (operator) {
    case 'In':
      return value !== undefined && values.has(value);
    case 'NotIn':
      return value === undefined || !values.has(value);
    case 'Exists':
      return value !== undefined;
    default:
      return value === undefined;
  }
}

function own(labels: Labels, key: string): string | undefined {
  return Object.hasOwn(labels, key) ? labels[key] : undefined;
}
