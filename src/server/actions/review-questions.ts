// Owns what the access reviews ask: what is wrong with a question, and the selectors in it. Decides nothing.
import type {
  FieldSelectorAttributes,
  LabelSelectorAttributes,
  SubjectAccessReviewSpec,
} from '../../api/generated/authorization.v1.ts';
import { FieldSelectorError, parseFieldSelector } from '../../api/field-selector.ts';
import type { FieldRequirement, FieldSelector } from '../../api/field-selector.ts';
import { parseSelectorText, SelectorError } from '../../api/selector.ts';
import type { FieldError } from '../../api/status-error.ts';
import * as fieldError from '../../api/field-error.ts';
import { labelValue, qualifiedName } from '../../api/names.ts';
import { Problems } from '../../api/validation/problems.ts';
import type { Attributes } from '../authz/authorizer.ts';
import type { UserInfo } from '../request.ts';

/** What is wrong with the question. `whose`: whose access is asked about. */
export function checkSpec(spec: SubjectAccessReviewSpec, whose: string): FieldError[] {
  const errors: FieldError[] = [];
  const { resourceAttributes, nonResourceAttributes } = spec;
  if ((resourceAttributes === undefined) === (nonResourceAttributes === undefined))
    errors.push(
      fieldError.invalid(
        'spec',
        spec,
        resourceAttributes === undefined
          ? 'exactly one of nonResourceAttributes or resourceAttributes must be specified'
          : 'cannot specify both nonResourceAttributes and resourceAttributes',
      ),
    );
  if (whose !== 'self' && (spec.user ?? '') === '' && (spec.groups ?? []).length === 0)
    errors.push(fieldError.invalid('spec.user', '', 'at least one of user or group must be specified'));
  for (const kind of ['fieldSelector', 'labelSelector'] as const) {
    const selector = resourceAttributes?.[kind];
    if (selector !== undefined && (selector.rawSelector ?? '') !== '' && (selector.requirements ?? []).length > 0)
      errors.push(
        fieldError.invalid(
          `spec.resourceAttributes.${kind}.rawSelector`,
          selector.rawSelector,
          'may not be specified together with requirements',
        ),
      );
    if (selector !== undefined) errors.push(...checkRequirements(`spec.resourceAttributes.${kind}`, kind, selector));
  }
  return errors;
}

/** What is wrong with a question that must be about one namespace. */
export function checkLocal(
  { resourceAttributes, nonResourceAttributes }: SubjectAccessReviewSpec,
  namespace: string,
): FieldError[] {
  const errors: FieldError[] = [];
  if (resourceAttributes !== undefined && (resourceAttributes.namespace ?? '') !== namespace)
    errors.push(
      fieldError.invalid(
        'spec.resourceAttributes.namespace',
        resourceAttributes.namespace ?? '',
        'must match metadata.namespace',
      ),
    );
  if (nonResourceAttributes !== undefined)
    errors.push(
      fieldError.invalid('spec.nonResourceAttributes', nonResourceAttributes, 'disallowed on this kind of request'),
    );
  return errors;
}

/** Operators that nobody knows yet are let through: they are left out when the question is answered. */
function checkRequirements(
  path: string,
  kind: 'fieldSelector' | 'labelSelector',
  { rawSelector = '', requirements = [] }: FieldSelectorAttributes | LabelSelectorAttributes,
): FieldError[] {
  const problems = new Problems();
  if (rawSelector === '' && requirements.length === 0)
    problems.required(`${path}.requirements`, 'requirements or rawSelector is required');
  for (const [at, { key = '', operator, values = [] }] of requirements.entries()) {
    const here = `${path}.requirements[${at}]`;
    const checkValues = (): void => {
      if ((operator === 'In' || operator === 'NotIn') && values.length === 0)
        problems.required(`${here}.values`, "must be specified when `operator` is 'In' or 'NotIn'");
      if ((operator === 'Exists' || operator === 'DoesNotExist') && values.length > 0)
        problems.forbidden(`${here}.values`, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
    };
    if (kind === 'fieldSelector') {
      if (key === '') problems.required(`${here}.key`, 'must be specified');
      checkValues();
      continue;
    }
    checkValues();
    problems.each(`${here}.key`, key, qualifiedName(key));
    values.forEach((value, i) => problems.each(`${here}.values[${i}]`, value, labelValue(value)));
  }
  return problems.list;
}

/** A selector as far as it could be read. */
interface Read<T> {
  readonly selector: T | undefined;
  /** Empty; "ignored" or "partially ignored". */
  readonly lost: string;
}

/** Requirements that say what a list's selector may say; others select nothing that an authorizer could rely on. */
function readFieldSelector(given: FieldSelectorAttributes | undefined): Read<FieldSelector> {
  if (given === undefined) return { selector: undefined, lost: '' };
  if ((given.rawSelector ?? '') !== '')
    try {
      return { selector: parseFieldSelector(given.rawSelector!), lost: '' };
    } catch (error) {
      if (error instanceof FieldSelectorError) return { selector: undefined, lost: 'ignored' };
      throw error;
    }
  const requirements = given.requirements ?? [];
  const found: FieldRequirement[] = [];
  for (const { key = '', operator, values } of requirements) {
    const [value, ...more] = values ?? [];
    if (value === undefined || more.length > 0 || (operator !== 'In' && operator !== 'NotIn')) continue;
    found.push({ field: key, operator: operator === 'In' ? '=' : '!=', value });
  }
  return { selector: found.length > 0 ? found : undefined, lost: lostOf(found.length, requirements.length) };
}

const labelOperators = ['In', 'NotIn', 'Exists', 'DoesNotExist'];

function readLabelSelector(given: LabelSelectorAttributes | undefined): string {
  if (given === undefined) return '';
  if ((given.rawSelector ?? '') !== '')
    try {
      parseSelectorText(given.rawSelector!);
      return '';
    } catch (error) {
      if (error instanceof SelectorError) return 'ignored';
      throw error;
    }
  const requirements = given.requirements ?? [];
  return lostOf(requirements.filter(({ operator }) => labelOperators.includes(operator)).length, requirements.length);
}

function lostOf(found: number, given: number): string {
  return found === given ? '' : found > 0 ? 'partially ignored' : 'ignored';
}

/** What could not be read of the selectors, as status.evaluationError says it; empty: nothing. */
export function evaluationError({ resourceAttributes }: SubjectAccessReviewSpec): string {
  const lost = {
    fieldSelector: readFieldSelector(resourceAttributes?.fieldSelector).lost,
    labelSelector: readLabelSelector(resourceAttributes?.labelSelector),
  };
  return Object.entries(lost)
    .filter(([, text]) => text !== '')
    .map(([field, text]) => `spec.resourceAttributes.${field} ${text} due to parse error`)
    .join('; ');
}

export function attributesOf(
  { resourceAttributes, nonResourceAttributes }: SubjectAccessReviewSpec,
  user: UserInfo,
): Attributes {
  const { selector: fields } = readFieldSelector(resourceAttributes?.fieldSelector);
  return {
    user,
    isResource: resourceAttributes !== undefined,
    verb: resourceAttributes?.verb ?? nonResourceAttributes?.verb ?? '',
    group: resourceAttributes?.group ?? '',
    version: resourceAttributes?.version ?? '',
    resource: resourceAttributes?.resource ?? '',
    subresource: resourceAttributes?.subresource ?? '',
    namespace: resourceAttributes?.namespace ?? '',
    name: resourceAttributes?.name ?? '',
    path: nonResourceAttributes?.path ?? '',
    ...(fields && { fieldSelector: fields }),
  };
}
