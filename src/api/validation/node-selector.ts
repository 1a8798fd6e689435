// Owns the validation of node selectors: in node affinity of pods and of volumes.
import type { NodeSelector, NodeSelectorRequirement, NodeSelectorTerm } from '../generated/core.v1.ts';
import type { Frozen } from '../meta.ts';
import type { FieldError } from '../status-error.ts';
import { labelValue, qualifiedName, subdomainName } from '../names.ts';
import type { Problems } from './problems.ts';

export function validateNodeSelector(problems: Problems, path: string, selector: Frozen<NodeSelector>): void {
  const terms = selector.nodeSelectorTerms ?? [];
  if (terms.length === 0)
    return problems.required(`${path}.nodeSelectorTerms`, 'must have at least one node selector term');
  terms.forEach((term, at) => validateNodeSelectorTerm(problems, `${path}.nodeSelectorTerms[${at}]`, term));
}

/** Values that no label has are refused where they are required, and warned of where they are preferred. */
export function validateNodeSelectorTerm(
  problems: Problems,
  path: string,
  term: Frozen<NodeSelectorTerm>,
  { anyValue }: { readonly anyValue: boolean } = { anyValue: false },
): void {
  term.matchExpressions?.forEach((requirement, at) => {
    const here = `${path}.matchExpressions[${at}]`;
    validateExpression(problems, here, requirement);
    if (anyValue) return;
    requirement.values?.forEach((value, i) => problems.each(`${here}.values[${i}]`, value, labelValue(value)));
  });
  term.matchFields?.forEach((requirement, at) => validateField(problems, `${path}.matchFields[${at}]`, requirement));
}

function validateExpression(problems: Problems, path: string, requirement: Frozen<NodeSelectorRequirement>): void {
  const values = requirement.values ?? [];
  switch (requirement.operator) {
    case 'In':
    case 'NotIn':
      if (values.length === 0)
        problems.required(`${path}.values`, "must be specified when `operator` is 'In' or 'NotIn'");
      break;
    case 'Exists':
    case 'DoesNotExist':
      if (values.length > 0)
        problems.forbidden(`${path}.values`, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
      break;
    case 'Gt':
    case 'Lt':
      if (values.length !== 1)
        problems.required(`${path}.values`, "must be specified single value when `operator` is 'Lt' or 'Gt'");
      break;
    default:
      problems.invalid(`${path}.operator`, requirement.operator, 'not a valid selector operator');
  }
  problems.each(`${path}.key`, requirement.key, qualifiedName(requirement.key ?? ''));
}

/** The only field that can be selected by is the node's name. */
function validateField(problems: Problems, path: string, requirement: Frozen<NodeSelectorRequirement>): void {
  const values = requirement.values ?? [];
  if (requirement.operator !== 'In' && requirement.operator !== 'NotIn')
    problems.invalid(`${path}.operator`, requirement.operator, 'not a valid selector operator');
  else if (values.length !== 1)
    problems.required(`${path}.values`, "must be only one value when `operator` is 'In' or 'NotIn'");
  if (requirement.key !== 'metadata.name')
    return problems.invalid(`${path}.key`, requirement.key, 'not a valid field selector key');
  values.forEach((value, at) => problems.each(`${path}.values[${at}]`, value, subdomainName(value)));
}

const ofValue = /\bnodeSelectorTerms\[\d+\]\.matchExpressions\[\d+\]\.values\[\d+\]$/;

/** Without complaints about values, where the object before had such values already: it was stored when nobody looked. */
export function forgiveOldValues(errors: FieldError[], prev: unknown): FieldError[] {
  if (!errors.some(({ field }) => ofValue.test(field)) || !hasOddValues(prev)) return errors;
  return errors.filter(({ field }) => !ofValue.test(field));
}

function hasOddValues(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const { nodeSelectorTerms } = value as Partial<NodeSelector>;
  const values = nodeSelectorTerms?.flatMap((term) => term?.matchExpressions ?? []).flatMap((one) => one.values ?? []);
  return values?.some((one) => labelValue(one).length > 0) === true || Object.values(value).some(hasOddValues);
}
