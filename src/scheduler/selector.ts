// Owns single selector requirements as node selectors use them (label selectors are the API room's), and a text by which equal selectors are one.
import type { Frozen } from '../api/meta.ts';
import type { LabelSelector } from '../api/generated/meta.v1.ts';
import type { Labels } from '../api/selector.ts';

export type { Labels } from '../api/selector.ts';

function has(labels: Labels, key: string): boolean {
  return Object.hasOwn(labels, key);
}

/** One requirement of a node selector; Gt and Lt compare integers and are false for anything else. An unknown operator matches nothing. */
export function requirement(key: string, operator: string, values: readonly string[]): (labels: Labels) => boolean {
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
      return () => false;
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
