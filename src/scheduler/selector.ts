// Owns label selectors compiled for the hot loop.
import type { Frozen } from '../api/meta.ts';
import type { LabelSelector } from '../api/generated/meta.v1.ts';

export type Labels = Readonly<Record<string, string>>;
export type LabelMatcher = (labels: Labels) => boolean;

const nothing: LabelMatcher = () => false;
const everything: LabelMatcher = () => true;

function has(labels: Labels, key: string): boolean {
  return Object.hasOwn(labels, key);
}

/** An absent selector matches nothing, an empty one everything. An unknown operator matches nothing (the server refuses those). */
export function labelMatcher(selector: Frozen<LabelSelector> | undefined): LabelMatcher {
  if (selector === undefined) return nothing;
  const parts: LabelMatcher[] = Object.entries(selector.matchLabels ?? {}).map(
    ([key, value]) =>
      (labels) =>
        labels[key] === value,
  );
  for (const { key, operator, values = [] } of selector.matchExpressions ?? [])
    parts.push(requirement(key, operator, values));
  return all(parts);
}

/** A pod selector of a Service or ReplicationController: equality only; empty matches nothing. */
export function mapMatcher(selector: Labels | undefined): LabelMatcher {
  return selector === undefined || Object.keys(selector).length === 0 ? nothing : labelMatcher({ matchLabels: selector });
}

function all(parts: readonly LabelMatcher[]): LabelMatcher {
  if (parts.length === 0) return everything;
  if (parts.length === 1) return parts[0]!;
  return (labels) => {
    for (const part of parts) if (!part(labels)) return false;
    return true;
  };
}

/** One requirement of a label or node selector; Gt and Lt compare integers and are false for anything else. */
export function requirement(key: string, operator: string, values: readonly string[]): LabelMatcher {
  const set = new Set(values);
  switch (operator) {
    case 'In':
      return (labels) => has(labels, key) && set.has(labels[key]!);
    case 'NotIn':
      return (labels) => !(has(labels, key) && set.has(labels[key]!));
    case 'Exists':
      return (labels) => has(labels, key);
    case 'DoesNotExist':
      return (labels) => !has(labels, key);
    case 'Gt':
    case 'Lt':
      return (labels) => {
        const actual = has(labels, key) ? integer(labels[key]!) : undefined;
        const bound = values.length === 1 ? integer(values[0]!) : undefined;
        if (actual === undefined || bound === undefined) return false;
        return operator === 'Gt' ? actual > bound : actual < bound;
      };
    default:
      return nothing;
  }
}

function integer(text: string): bigint | undefined {
  return /^[+-]?[0-9]{1,19}$/.test(text) ? BigInt(text.replace(/^\+/, '')) : undefined;
}

/** Equal for selectors that are written alike up to the order of keys; "-" for an absent one. */
export function selectorText(selector: Frozen<LabelSelector> | undefined): string {
  if (selector === undefined) return '-';
  return JSON.stringify([
    Object.entries(selector.matchLabels ?? {}).toSorted(([a], [b]) => (a < b ? -1 : 1)),
    (selector.matchExpressions ?? []).map(({ key, operator, values = [] }) => [key, operator, values]),
  ]);
}
