// Owns how policies and their bindings name parameters: validation, and the cells of tables.
import type { ParamKind, ParamRef } from '../../../api/generated/admissionregistration.v1.ts';
import type { LabelSelector } from '../../../api/generated/meta.v1.ts';
import type { Frozen } from '../../../api/meta.ts';
import { pathSegmentName, subdomainName } from '../../../api/names.ts';
import { validateLabelSelector } from '../../../api/validation/labels.ts';
import type { Problems } from '../../../api/validation/problems.ts';

const unset = '<unset>';

export function validatePolicyName(problems: Problems, path: string, name: string | undefined): void {
  if (!name) problems.required(path);
  else problems.each(path, name, subdomainName(name));
}

export function validateParamRef(problems: Problems, path: string, ref: Frozen<ParamRef> | undefined): void {
  if (!ref) return;
  const { name = '', selector, parameterNotFoundAction: action } = ref;
  const exclusive = 'name and selector are mutually exclusive';
  if (name !== '') {
    problems.each(`${path}.name`, name, pathSegmentName(name));
    if (selector) problems.forbidden(`${path}.name`, exclusive);
  }
  if (selector) {
    validateLabelSelector(problems, `${path}.selector`, selector);
    if (name !== '') problems.forbidden(`${path}.selector`, exclusive);
  }
  if (name === '' && !selector) problems.required(path, 'one of name or selector must be specified');
  if (!action) problems.required(`${path}.parameterNotFoundAction`);
  else problems.optionalOneOf(`${path}.parameterNotFoundAction`, action, ['Deny', 'Allow']);
}

export function kindText(kind: Frozen<ParamKind> | undefined): string {
  return kind ? `${kind.apiVersion ?? ''}/${kind.kind ?? ''}` : unset;
}

/** Upstream shows a selector as Go prints it. */
function selectorAsGo({ matchLabels = {}, matchExpressions = [] }: Frozen<LabelSelector>): string {
  const labels = Object.entries(matchLabels ?? {})
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) => `${key}: ${value},`);
  const expressions = (matchExpressions ?? []).map(
    ({ key, operator, values }) =>
      `LabelSelectorRequirement{Key:${key},Operator:${operator},Values:[${(values ?? []).join(' ')}],},`,
  );
  return `&LabelSelector{MatchLabels:map[string]string{${labels.join('')}},MatchExpressions:[]LabelSelectorRequirement{${expressions.join('')}},}`;
}

export function refText(ref: Frozen<ParamRef> | undefined): string {
  if (!ref) return unset;
  if (ref.name) return ref.namespace ? `${ref.namespace}/${ref.name}` : `*/${ref.name}`;
  return ref.selector ? selectorAsGo(ref.selector) : unset;
}
