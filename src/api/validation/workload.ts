// Owns the rules that workloads share: selectors over their templates, rollout numbers, status counts.
import type { PodTemplateSpec } from '../generated/core.v1.ts';
import type { LabelSelector } from '../generated/meta.v1.ts';
import { labelPredicate, type Labels, SelectorError } from '../selector.ts';
import type { Frozen } from '../meta.ts';
import { validateLabelSelector } from './labels.ts';
import { validatePodTemplate } from './pod-template.ts';
import type { Problems } from './problems.ts';

const isEmpty = (selector: Frozen<LabelSelector>): boolean =>
  Object.keys(selector.matchLabels ?? {}).length === 0 && (selector.matchExpressions?.length ?? 0) === 0;

/** Present, well formed and not empty. False: it cannot be matched against labels. */
export function validateWorkloadSelector(
  problems: Problems,
  path: string,
  selector: Frozen<LabelSelector> | undefined,
): boolean {
  // A required pointer that is unset is null on the wire.
  if (!selector) {
    problems.required(path);
    return true;
  }
  const before = problems.count;
  validateLabelSelector(problems, path, selector);
  const formed = problems.count === before;
  if (isEmpty(selector)) problems.invalid(path, selector, 'empty selector is invalid');
  return formed;
}

/** Templates whose pods run for ever, and carry the labels that the owner looks for. */
export function validateRunningTemplate(
  problems: Problems,
  path: string,
  template: Frozen<PodTemplateSpec> | undefined,
  selector: Frozen<LabelSelector> | undefined,
): void {
  validateTemplateLabels(problems, path, template, selector);
  validatePodTemplate(problems, path, template);
  validateRunsForever(problems, path, template);
}

/** A malformed selector, which is refused elsewhere, is not compared. */
function isMatched(selector: Frozen<LabelSelector> | undefined, labels: Labels | undefined): boolean {
  if (!selector) return false;
  if (isEmpty(selector)) return true;
  try {
    return labelPredicate(selector)(labels);
  } catch (error) {
    if (error instanceof SelectorError) return true;
    throw error;
  }
}

export function validateTemplateLabels(
  problems: Problems,
  path: string,
  template: Frozen<PodTemplateSpec> | undefined,
  selector: Frozen<LabelSelector> | undefined,
): void {
  // No selector matches nothing; an empty one, which is refused elsewhere, everything.
  if (!isMatched(selector, template?.metadata?.labels))
    problems.invalid(
      `${path}.metadata.labels`,
      template?.metadata?.labels,
      '`selector` does not match template `labels`',
    );
}

export function validateRunsForever(
  problems: Problems,
  path: string,
  template: Frozen<PodTemplateSpec> | undefined,
): void {
  const spec = template?.spec;
  if (spec?.restartPolicy !== 'Always')
    problems.notSupported(`${path}.spec.restartPolicy`, spec?.restartPolicy ?? '', ['Always']);
  if (spec?.activeDeadlineSeconds !== undefined)
    problems.forbidden(`${path}.spec.activeDeadlineSeconds`, 'not supported for pods that run for ever');
}

type IntOrPercent = number | string | undefined;

/** A count, or a percentage like "25%". */
export function validateIntOrPercent(problems: Problems, path: string, value: IntOrPercent): void {
  if (typeof value === 'string') {
    if (!/^\d+%$/.test(value))
      problems.invalid(path, value, "a valid percent string must be a number followed by '%' (e.g. '25%')");
  } else {
    problems.notNegative(path, value);
  }
}

export function validateAtMost100Percent(problems: Problems, path: string, value: IntOrPercent): void {
  if (typeof value === 'string' && /^\d+%$/.test(value) && Number.parseInt(value) > 100)
    problems.invalid(path, value, 'must not be greater than 100%');
}

/** Also of a text that is refused elsewhere: "3" is three. 0 for what is no number. */
export const amountOf = (value: IntOrPercent): number =>
  typeof value === 'number' ? value : /^(\d+%|[-+]?\d+)$/.test(value ?? '') ? Number.parseInt(value!) : 0;

type Counts = Readonly<Record<string, unknown>>;

export function validateCounts(problems: Problems, path: string, status: object, fields: readonly string[]): void {
  for (const field of fields) problems.notNegative(`${path}.${field}`, (status as Counts)[field] as number | undefined);
}

/** Pairs of counts where the first may not exceed the second. */
export function validateNoMoreThan(
  problems: Problems,
  path: string,
  status: object,
  pairs: readonly (readonly [field: string, bound: string])[],
): void {
  const count = (field: string): number => ((status as Counts)[field] as number | undefined) ?? 0;
  for (const [field, bound] of pairs)
    if (count(field) > count(bound))
      problems.invalid(`${path}.${field}`, count(field), `cannot be greater than status.${bound}`);
}

/** Counters that only rise. */
export function validateNotDecremented(
  problems: Problems,
  path: string,
  next: number | undefined,
  prev: number | undefined,
): void {
  if (prev !== undefined && (next === undefined || next < prev))
    problems.invalid(path, next ?? 0, 'cannot be decremented');
}
