// Owns the validation of how jobs count failures and successes: policies and lists of indexes.
import type {
  JobSpec,
  PodFailurePolicyOnExitCodesRequirement,
  PodFailurePolicyRule,
} from '../../../api/generated/batch.v1.ts';
import type { Frozen } from '../../../api/meta.ts';
import { qualifiedName } from '../../../api/names.ts';
import type { Problems } from '../../../api/validation/problems.ts';

const maxRules = 20;
const maxExitCodes = 255;
const actions = ['Count', 'FailIndex', 'FailJob', 'Ignore'];

/** Of jobs and of the templates of cron jobs. */
export function applyFailurePolicyDefaults({ podFailurePolicy }: JobSpec): void {
  for (const rule of podFailurePolicy?.rules ?? [])
    for (const condition of rule.onPodConditions ?? []) condition.status ||= 'True';
}

export function validateFailurePolicy(problems: Problems, path: string, spec: Frozen<JobSpec>): void {
  const rules = spec.podFailurePolicy?.rules ?? [];
  if (rules.length > maxRules) problems.tooMany(`${path}.rules`, rules.length, maxRules);
  const names = new Set(
    [...(spec.template?.spec?.initContainers ?? []), ...(spec.template?.spec?.containers ?? [])].map(
      ({ name }) => name,
    ),
  );
  rules.forEach((rule, at) => validateRule(problems, `${path}.rules[${at}]`, rule, spec, names));
}

function validateRule(
  problems: Problems,
  path: string,
  rule: Frozen<PodFailurePolicyRule>,
  spec: Frozen<JobSpec>,
  names: ReadonlySet<string>,
): void {
  if (rule.action === 'FailIndex' && spec.backoffLimitPerIndex === undefined)
    problems.invalid(`${path}.action`, rule.action, 'requires the backoffLimitPerIndex to be set');
  else problems.oneOf(`${path}.action`, rule.action, actions);
  const conditions = rule.onPodConditions ?? [];
  if (rule.onExitCodes !== undefined) validateExitCodes(problems, `${path}.onExitCodes`, rule.onExitCodes, names);
  if (conditions.length > maxRules) problems.tooMany(`${path}.onPodConditions`, conditions.length, maxRules);
  conditions.forEach(({ type = '', status }, at) => {
    const here = `${path}.onPodConditions[${at}]`;
    problems.each(`${here}.type`, type, qualifiedName(type));
    problems.oneOf(`${here}.status`, status, ['False', 'True', 'Unknown']);
  });
  if (rule.onExitCodes !== undefined && conditions.length > 0)
    problems.invalid(path, rule, 'specifying both onExitCodes and onPodConditions is not supported');
  if (rule.onExitCodes === undefined && conditions.length === 0)
    problems.invalid(path, rule, 'specifying one of onExitCodes and onPodConditions is required');
}

function validateExitCodes(
  problems: Problems,
  path: string,
  requirement: Frozen<PodFailurePolicyOnExitCodesRequirement>,
  names: ReadonlySet<string>,
): void {
  const { operator, containerName } = requirement;
  const values = requirement.values ?? [];
  problems.oneOf(`${path}.operator`, operator, ['In', 'NotIn']);
  if (containerName !== undefined && !names.has(containerName))
    problems.invalid(`${path}.containerName`, containerName, 'must be one of the container names in the pod template');
  if (values.length === 0) problems.invalid(`${path}.values`, values, 'at least one value is required');
  else if (values.length > maxExitCodes) problems.tooMany(`${path}.values`, values.length, maxExitCodes);
  const seen = new Set<number>();
  let ordered = true;
  values.forEach((value, at) => {
    if (operator === 'In' && value === 0)
      problems.invalid(`${path}.values[${at}]`, value, 'must not be 0 for the In operator');
    if (seen.has(value)) problems.duplicate(`${path}.values[${at}]`, value);
    seen.add(value);
    if (at > 0 && values[at - 1]! > value) ordered = false;
  });
  if (!ordered) problems.invalid(`${path}.values`, values, 'must be ordered');
}

export function validateSuccessPolicy(problems: Problems, path: string, spec: Frozen<JobSpec>): void {
  if (spec.completionMode !== 'Indexed')
    return problems.invalid(path, spec.successPolicy, 'requires indexed completion mode');
  const rules = spec.successPolicy?.rules ?? [];
  if (rules.length === 0) return problems.required(`${path}.rules`, 'at least one rule is required');
  if (rules.length > maxRules) problems.tooMany(`${path}.rules`, rules.length, maxRules);
  const completions = spec.completions ?? 0;
  rules.forEach(({ succeededCount, succeededIndexes }, at) => {
    const here = `${path}.rules[${at}]`;
    if (succeededCount === undefined && succeededIndexes === undefined)
      problems.required(here, 'at least one of succeededCount or succeededIndexes must be specified');
    let total: number | undefined;
    if (succeededIndexes !== undefined) {
      const indexes = indexesOf(succeededIndexes, completions);
      // Of what cannot be read there are none.
      total = indexes?.length ?? 0;
      if (indexes === undefined)
        problems.invalid(`${here}.succeededIndexes`, succeededIndexes, 'must be ascending intervals of indexes');
    }
    if (succeededCount === undefined) return;
    const field = `${here}.succeededCount`;
    problems.notNegative(field, succeededCount);
    if (succeededCount > completions)
      problems.invalid(
        field,
        succeededCount,
        `must be less than or equal to ${completions} (the number of completions)`,
      );
    if (total !== undefined && succeededCount > total)
      problems.invalid(field, succeededCount, `must be less than or equal to ${total} (the number of indexes)`);
  });
}

const maxListed = 1_000_000;

/** "0,2-4" as numbers below `completions`; undefined for what is no ascending list of intervals. */
function indexesOf(text: string, completions: number): number[] | undefined {
  const indexes: number[] = [];
  return readIndexes(text, completions, indexes) ? indexes : undefined;
}

/** Adds what can be read to `indexes`; false where that is not all. */
export function readIndexes(text: string, completions: number, indexes: number[]): boolean {
  if (text === '') return true;
  let last = -1;
  for (const part of text.split(',')) {
    const match = /^(0|[1-9]\d{0,9})(?:-([1-9]\d{0,9}))?$/.exec(part);
    if (match === null) return false;
    const from = Number(match[1]);
    const to = match[2] === undefined ? from : Number(match[2]);
    if (from <= last || to >= completions || (match[2] !== undefined && to <= from)) return false;
    if (indexes.length + to - from > maxListed) return false;
    for (let index = from; index <= to; index++) indexes.push(index);
    last = to;
  }
  return true;
}
