// Owns the validation of what steers the scheduler: affinity, tolerations, spreading, gates.
import type {
  Affinity,
  PodAffinity,
  PodAffinityTerm,
  PodSchedulingGate,
  PodReadinessGate,
  Toleration,
  TopologySpreadConstraint,
} from '../generated/core.v1.ts';
import type { LabelSelector } from '../generated/meta.v1.ts';
import type { Frozen } from '../meta.ts';
import { labelName, labelValue, qualifiedName } from '../names.ts';
import { validateLabelSelector } from './labels.ts';
import { validateNodeSelector, validateNodeSelectorTerm } from './node-selector.ts';
import type { Problems } from './problems.ts';

export const taintEffects = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'] as const;

const required = 'requiredDuringSchedulingIgnoredDuringExecution';
const preferred = 'preferredDuringSchedulingIgnoredDuringExecution';

export function validateAffinity(problems: Problems, path: string, affinity: Frozen<Affinity> | undefined): void {
  const node = affinity?.nodeAffinity;
  if (node?.[required]) validateNodeSelector(problems, `${path}.nodeAffinity.${required}`, node[required]);
  node?.[preferred]?.forEach((term, at) => {
    const here = `${path}.nodeAffinity.${preferred}[${at}]`;
    validateWeight(problems, here, term.weight);
    validateNodeSelectorTerm(problems, `${here}.preference`, term.preference ?? {}, { anyValue: true });
  });
  if (affinity?.podAffinity) validatePodAffinity(problems, `${path}.podAffinity`, affinity.podAffinity);
  if (affinity?.podAntiAffinity) validatePodAffinity(problems, `${path}.podAntiAffinity`, affinity.podAntiAffinity);
}

function validateWeight(problems: Problems, path: string, weight = 0): void {
  if (weight < 1 || weight > 100) problems.invalid(`${path}.weight`, weight, 'must be in the range 1-100');
}

function validatePodAffinity(problems: Problems, path: string, affinity: Frozen<PodAffinity>): void {
  affinity[required]?.forEach((term, at) => validateAffinityTerm(problems, `${path}.${required}[${at}]`, term));
  affinity[preferred]?.forEach(({ weight, podAffinityTerm }, at) => {
    const here = `${path}.${preferred}[${at}]`;
    validateWeight(problems, here, weight);
    validateAffinityTerm(problems, `${here}.podAffinityTerm`, podAffinityTerm ?? { topologyKey: '' });
  });
}

function validateAffinityTerm(problems: Problems, path: string, term: Frozen<PodAffinityTerm>): void {
  validateLabelSelector(problems, `${path}.labelSelector`, term.labelSelector);
  validateLabelSelector(problems, `${path}.namespaceSelector`, term.namespaceSelector);
  for (const name of term.namespaces ?? []) problems.each(`${path}.namespace`, name, labelName(name));
  validateTermKeys(problems, path, term);
  if (!term.topologyKey) problems.required(`${path}.topologyKey`, 'can not be empty');
  problems.each(`${path}.topologyKey`, term.topologyKey, qualifiedName(term.topologyKey ?? ''));
}

function validateTermKeys(problems: Problems, path: string, term: Frozen<PodAffinityTerm>): void {
  const { matchLabelKeys = [], mismatchLabelKeys = [], labelSelector } = term;
  for (const field of ['matchLabelKeys', 'mismatchLabelKeys'] as const) {
    const keys = term[field] ?? [];
    if (keys.length > 0 && labelSelector === undefined)
      problems.forbidden(`${path}.${field}`, 'must not be specified when labelSelector is not set');
    else keys.forEach((key, at) => problems.each(`${path}.${field}[${at}]`, key, qualifiedName(key)));
  }
  // Creating adds an expression for each matchLabelKey, so a second one for the same key was the client's.
  const seen = new Set(Object.keys(labelSelector?.matchLabels ?? {}));
  for (const { key } of labelSelector?.matchExpressions ?? []) {
    const at = matchLabelKeys.indexOf(key);
    if (at >= 0 && seen.has(key))
      problems.invalid(`${path}[${at}]`, key, 'exists in both matchLabelKeys and labelSelector');
    seen.add(key);
  }
  matchLabelKeys.forEach((key, at) => {
    if (mismatchLabelKeys.includes(key))
      problems.invalid(`${path}.matchLabelKeys[${at}]`, key, 'exists in both matchLabelKeys and mismatchLabelKeys');
  });
}

export function validateTolerations(
  problems: Problems,
  path: string,
  tolerations: Frozen<Toleration[]> | undefined,
): void {
  tolerations?.forEach((toleration, at) => {
    const here = `${path}[${at}]`;
    const { key = '', operator = '', value = '', effect = '' } = toleration;
    if (key !== '') problems.each(`${here}.key`, key, qualifiedName(key));
    else if (operator !== 'Exists')
      problems.invalid(`${here}.operator`, operator, 'operator must be Exists when `key` is empty');
    if (toleration.tolerationSeconds !== undefined && effect !== 'NoExecute')
      problems.invalid(`${here}.effect`, effect, "effect must be 'NoExecute' when `tolerationSeconds` is set");
    if (operator === 'Equal' || operator === '') {
      const wrong = labelValue(value);
      if (wrong.length > 0) problems.invalid(`${here}.operator`, value, wrong.join(';'));
    } else if (operator === 'Exists') {
      if (value !== '')
        problems.invalid(`${here}.operator`, toleration, "value must be empty when `operator` is 'Exists'");
    } else {
      problems.notSupported(`${here}.operator`, operator, ['Equal', 'Exists']);
    }
    if (effect !== '') problems.optionalOneOf(`${here}.effect`, effect, taintEffects);
  });
}

export function validateTopologySpread(
  problems: Problems,
  path: string,
  constraints: Frozen<TopologySpreadConstraint[]> | undefined,
): void {
  constraints?.forEach((constraint, at) => {
    const here = `${path}[${at}]`;
    const { maxSkew = 0, topologyKey = '', whenUnsatisfiable = '', minDomains, labelSelector } = constraint;
    if (maxSkew <= 0) problems.invalid(`${here}.maxSkew`, maxSkew, 'must be greater than zero');
    if (topologyKey === '') problems.required(`${here}.topologyKey`, 'can not be empty');
    problems.optionalOneOf(`${here}.whenUnsatisfiable`, whenUnsatisfiable, ['DoNotSchedule', 'ScheduleAnyway']);
    const repeated = constraints
      .slice(at + 1)
      .some((other) => (other.topologyKey ?? '') === topologyKey && other.whenUnsatisfiable === whenUnsatisfiable);
    if (repeated)
      problems.duplicate(`${here}.{topologyKey, whenUnsatisfiable}`, `{${topologyKey}, ${whenUnsatisfiable}}`);
    if (minDomains !== undefined) {
      if (minDomains <= 0) problems.invalid(`${here}.minDomains`, minDomains, 'must be greater than zero');
      if (whenUnsatisfiable !== 'DoNotSchedule')
        problems.invalid(`${here}.minDomains`, minDomains, 'needs whenUnsatisfiable=DoNotSchedule');
    }
    problems.optionalOneOf(`${here}.nodeAffinityPolicy`, constraint.nodeAffinityPolicy, ['Honor', 'Ignore']);
    problems.optionalOneOf(`${here}.nodeTaintsPolicy`, constraint.nodeTaintsPolicy, ['Honor', 'Ignore']);
    validateSpreadKeys(problems, `${here}.matchLabelKeys`, constraint.matchLabelKeys, labelSelector);
    validateLabelSelector(problems, `${here}.labelSelector`, labelSelector);
  });
}

function validateSpreadKeys(
  problems: Problems,
  path: string,
  keys: readonly string[] | undefined,
  selector: Frozen<LabelSelector> | undefined,
): void {
  if (keys === undefined || keys.length === 0) return;
  if (selector === undefined) problems.forbidden(path, 'must not be specified when labelSelector is not set');
  keys.forEach((key, at) => problems.each(`${path}[${at}]`, key, qualifiedName(key)));
  // Creating adds an expression for each key, so a second one for the same key was the client's.
  const seen = new Set(Object.keys(selector?.matchLabels ?? {}));
  for (const { key } of selector?.matchExpressions ?? []) {
    if (keys.includes(key) && seen.has(key))
      problems.invalid(`${path}[${keys.indexOf(key)}]`, key, 'exists in both matchLabelKeys and labelSelector');
    seen.add(key);
  }
}

export function validateReadinessGates(
  problems: Problems,
  path: string,
  gates: Frozen<PodReadinessGate[]> | undefined,
): void {
  gates?.forEach(({ conditionType = '' }, at) =>
    problems.each(`${path}[${at}].conditionType`, conditionType, qualifiedName(conditionType)),
  );
}

export function validateSchedulingGates(
  problems: Problems,
  path: string,
  gates: Frozen<PodSchedulingGate[]> | undefined,
): void {
  const seen = new Set<string>();
  gates?.forEach(({ name = '' }, at) => {
    problems.each(`${path}[${at}]`, name, qualifiedName(name));
    if (seen.has(name)) problems.duplicate(`${path}[${at}]`, name);
    seen.add(name);
  });
}
