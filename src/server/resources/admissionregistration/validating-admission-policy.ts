// Owns the kind ValidatingAdmissionPolicy.
import type {
  AuditAnnotation,
  Validation,
  ValidatingAdmissionPolicy,
} from '../../../api/generated/admissionregistration.v1.ts';
import type { AdmissionVariables } from '../../../api/cel/admission.ts';
import { validatingAdmissionPolicies } from '../../../api/generated/resources.ts';
import type { Frozen } from '../../../api/meta.ts';
import { validateConditions } from '../../../api/validation/conditions.ts';
import { qualifiedName } from '../../../api/names.ts';
import { Problems } from '../../../api/validation/problems.ts';
import { same } from '../../../api/validation/same.ts';
import { ageColumn, nameColumn } from '../columns.ts';
import { defineResource, onlyStatus, specStrategy } from '../define.ts';
import {
  compileExpression,
  isBlank,
  validateMatchConditions,
  validateParamKind,
  validateVariables,
} from './expressions.ts';
import { defaultMatchResources, failurePolicies, validateMatchResources } from './match-rules.ts';
import { kindText } from './param-ref.ts';

type Policy = Frozen<ValidatingAdmissionPolicy>;

const reasons = ['Forbidden', 'Invalid', 'RequestEntityTooLarge'];
const maxAnnotations = 20;
const maxAnnotationExpression = 5 * 1024;

function validateValidation(
  problems: Problems,
  path: string,
  validation: Frozen<Validation>,
  sees: AdmissionVariables,
): void {
  const { expression, message = '', messageExpression = '', reason } = validation;
  if (isBlank(expression)) problems.required(`${path}.expression`, 'expression is not specified');
  else compileExpression(problems, `${path}.expression`, expression, sees, ['bool']);
  if (!isBlank(messageExpression))
    compileExpression(problems, `${path}.messageExpression`, messageExpression, { ...sees, authorizer: false }, [
      'string',
    ]);
  else if (messageExpression !== '')
    problems.invalid(`${path}.messageExpression`, messageExpression, 'must be non-empty if specified');
  if (message !== '' && isBlank(message))
    problems.invalid(`${path}.message`, message, 'message must be non-empty if specified');
  else if (/[\n\r]/.test(message.trim()))
    problems.invalid(`${path}.message`, message, 'message must not contain line breaks');
  problems.optionalOneOf(`${path}.reason`, reason ?? undefined, reasons);
}

function validateAnnotation(
  problems: Problems,
  path: string,
  annotation: Frozen<AuditAnnotation>,
  sees: AdmissionVariables,
  policy: string,
): void {
  const { key, valueExpression = '' } = annotation;
  if (policy === '') problems.invalid(`${path}.key`, key, 'requires metadata.name be non-empty');
  else problems.each(`${path}.key`, key, qualifiedName(`${policy}/${key}`));
  const trimmed = valueExpression.trim();
  if (trimmed === '') problems.required(`${path}.valueExpression`, 'valueExpression is not specified');
  else if (trimmed.length > maxAnnotationExpression)
    problems.required(`${path}.valueExpression`, `must not exceed ${maxAnnotationExpression} bytes in length`);
  else compileExpression(problems, `${path}.valueExpression`, trimmed, sees, ['string', 'null_type']);
}

function validate({ metadata, spec = {} }: Policy, prev?: Policy): Problems {
  const problems = new Problems();
  const { failurePolicy, paramKind, matchConstraints } = spec;
  if (failurePolicy === undefined || failurePolicy === null) problems.required('spec.failurePolicy');
  else problems.optionalOneOf('spec.failurePolicy', failurePolicy, failurePolicies);
  if (paramKind) validateParamKind(problems, 'spec.paramKind', paramKind);
  if (!matchConstraints) problems.required('spec.matchConstraints');
  else {
    validateMatchResources(problems, 'spec.matchConstraints', matchConstraints);
    if ((matchConstraints.resourceRules ?? []).length === 0) problems.required('spec.matchConstraints.resourceRules');
  }
  const params = Boolean(paramKind);
  const unchanged =
    prev !== undefined &&
    same(paramKind, prev.spec?.paramKind) &&
    same(spec.matchConditions, prev.spec?.matchConditions);
  if (!unchanged) validateMatchConditions(problems, 'spec.matchConditions', spec.matchConditions ?? [], params);
  const variables = validateVariables(problems, 'spec.variables', spec.variables ?? [], params);
  const sees = { params, authorizer: true, ...(variables && { variables }) };
  const [validations, annotations] = [spec.validations ?? [], spec.auditAnnotations ?? []];
  if (validations.length + annotations.length === 0)
    for (const field of ['validations', 'auditAnnotations'])
      problems.required(`spec.${field}`, 'validations or auditAnnotations must contain at least one item');
  validations.forEach((one, at) => validateValidation(problems, `spec.validations[${at}]`, one, sees));
  if (annotations.length > maxAnnotations)
    problems.invalid(
      'spec.auditAnnotations',
      annotations,
      `must not have more than ${maxAnnotations} auditAnnotations`,
    );
  annotations.forEach((one, at) => {
    const path = `spec.auditAnnotations[${at}]`;
    validateAnnotation(problems, path, one, sees, metadata.name ?? '');
    if (annotations.findIndex(({ key }) => key === one.key) < at) problems.duplicate(`${path}.key`, one.key);
  });
  return problems;
}

function validateStatus({ status }: Policy): Problems {
  const problems = new Problems();
  const path = 'status.typeChecking.expressionWarnings';
  status?.typeChecking?.expressionWarnings?.forEach(({ fieldRef, warning }, at) => {
    if (!warning) problems.required(`${path}[${at}].warning`);
    if (isBlank(fieldRef)) problems.required(`${path}[${at}].fieldRef`);
    else if (!isPath(fieldRef)) problems.invalid(`${path}[${at}].fieldRef`, fieldRef, 'invalid JSONPath');
  });
  validateConditions(problems, 'status.conditions', status?.conditions);
  return problems;
}

/** "spec.validations[0].expression": brackets and quotes are closed, and hold what they may; what begins as a number is one. */
function isPath(text: string): boolean {
  const number = /^[+-]?\d[\d.]*/.exec(text.trim())?.[0];
  if (number !== undefined && !/^[+-]?\d+(\.\d*)?$/.test(number)) return false;
  return /^\.?[^[\]{}'"]*(\[(?:-?\d*(?::-?\d*){0,2}|\*|'[^']*'|"[^"]*"|\?\([^[\]]*\))\][^[\]{}'"]*)*$/.test(
    text.trim(),
  );
}

export const validatingAdmissionPolicy = defineResource<ValidatingAdmissionPolicy>(validatingAdmissionPolicies, {
  ...specStrategy<ValidatingAdmissionPolicy>(() => ({})),
  applyDefaults({ spec }) {
    if (!spec) return;
    spec.failurePolicy ??= 'Fail';
    defaultMatchResources(spec.matchConstraints);
  },
  validate: (obj) => validate(obj).list,
  validateUpdateAlone: true,
  validateUpdate: (next, prev) => validate(next, prev).list,
  columns: [
    nameColumn,
    { name: 'Validations', type: 'integer', cell: ({ spec }) => (spec.validations ?? []).length },
    { name: 'ParamKind', type: 'string', cell: ({ spec }) => kindText(spec.paramKind) },
    ageColumn,
  ],
  subresources: {
    status: {
      prepareForUpdate: onlyStatus,
      validateUpdate: (next) => validateStatus(next).list,
    },
  },
  unconditionalUpdate: false,
});
