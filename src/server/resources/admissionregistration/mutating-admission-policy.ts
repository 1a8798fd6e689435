// Owns the kind MutatingAdmissionPolicy.
import type { MutatingAdmissionPolicy, Mutation } from '../../../api/generated/admissionregistration.v1.ts';
import type { AdmissionVariables } from '../../../api/cel/admission.ts';
import { mutatingAdmissionPolicies } from '../../../api/generated/resources.ts';
import type { Frozen } from '../../../api/meta.ts';
import { Problems } from '../../../api/validation/problems.ts';
import { same } from '../../../api/validation/same.ts';
import { ageColumn, nameColumn } from '../columns.ts';
import { defineResource, raiseGeneration } from '../define.ts';
import {
  compileExpression,
  isBlank,
  validateMatchConditions,
  validateParamKind,
  validateVariables,
} from './expressions.ts';
import { defaultMatchResources, failurePolicies, validateMatchResources } from './match-rules.ts';
import { kindText } from './param-ref.ts';

type Policy = Frozen<MutatingAdmissionPolicy>;

const bodies = {
  ApplyConfiguration: { field: 'applyConfiguration', result: 'Object' },
  JSONPatch: { field: 'jsonPatch', result: 'list(JSONPatch)' },
} as const;

function validateMutation(
  problems: Problems,
  path: string,
  mutation: Frozen<Mutation>,
  sees: AdmissionVariables,
): void {
  const { patchType } = mutation;
  if (!patchType) return problems.required(`${path}.patchType`);
  if (patchType !== 'ApplyConfiguration' && patchType !== 'JSONPatch')
    return problems.notSupported(`${path}.patchType`, patchType, Object.keys(bodies));
  const own = bodies[patchType];
  const other = bodies[patchType === 'JSONPatch' ? 'ApplyConfiguration' : 'JSONPatch'].field;
  const body = mutation[own.field];
  const at = `${path}.${own.field}`;
  if (!body) problems.required(at, `must be specified when patchType is ${patchType}`);
  else if (isBlank(body.expression)) problems.required(`${at}.expression`, 'expression is not specified');
  else compileExpression(problems, `${at}.expression`, body.expression!, sees, [own.result]);
  if (mutation[other])
    problems.invalid(`${path}.${other}`, mutation[other], `must not be specified when patchType is ${patchType}`);
}

const changing: ReadonlySet<string> = new Set(['CREATE', 'UPDATE', 'CONNECT', '*']);

function validateConstraints(problems: Problems, { spec }: Policy): void {
  const match = spec?.matchConstraints;
  const path = 'spec.matchConstraints';
  if (!match) return problems.required(path);
  validateMatchResources(problems, path, match);
  const rules = match.resourceRules ?? [];
  if (rules.length === 0) problems.required(`${path}.resourceRules`);
  // What is deleted cannot be changed. Upstream tells no index here.
  for (const { operations } of rules)
    if (operations?.some((operation) => !changing.has(operation)))
      problems.notSupported(`${path}.resourceRules.operations`, operations, ['CREATE', 'UPDATE', 'CONNECT']);
}

function validate(obj: Policy, prev?: Policy): Problems {
  const problems = new Problems();
  const spec = obj.spec ?? {};
  const { failurePolicy, paramKind, reinvocationPolicy } = spec;
  if (failurePolicy === undefined || failurePolicy === null) problems.required('spec.failurePolicy');
  else problems.optionalOneOf('spec.failurePolicy', failurePolicy, failurePolicies);
  if (paramKind) validateParamKind(problems, 'spec.paramKind', paramKind);
  validateConstraints(problems, obj);
  const params = Boolean(paramKind);
  const unchanged =
    prev !== undefined &&
    same(paramKind, prev.spec?.paramKind) &&
    same(spec.matchConditions, prev.spec?.matchConditions);
  if (!unchanged) validateMatchConditions(problems, 'spec.matchConditions', spec.matchConditions ?? [], params);
  const variables = validateVariables(problems, 'spec.variables', spec.variables ?? [], params, true);
  const sees = { params, authorizer: true, mutations: true, ...(variables && { variables }) };
  const mutations = spec.mutations ?? [];
  if (mutations.length === 0) problems.required('spec.mutations', 'mutations must contain at least one item');
  mutations.forEach((mutation, at) => validateMutation(problems, `spec.mutations[${at}]`, mutation, sees));
  problems.oneOf('spec.reinvocationPolicy', reinvocationPolicy, ['IfNeeded', 'Never']);
  return problems;
}

export const mutatingAdmissionPolicy = defineResource<MutatingAdmissionPolicy>(mutatingAdmissionPolicies, {
  applyDefaults({ spec }) {
    if (!spec) return;
    spec.failurePolicy ??= 'Fail';
    defaultMatchResources(spec.matchConstraints);
  },
  prepareForCreate(obj) {
    obj.metadata.generation = 1;
  },
  prepareForUpdate: (next, prev) => raiseGeneration(next, prev),
  validate: (obj) => validate(obj).list,
  validateUpdateAlone: true,
  validateUpdate: (next, prev) => validate(next, prev).list,
  columns: [
    nameColumn,
    { name: 'Mutations', type: 'integer', cell: ({ spec }) => (spec.mutations ?? []).length },
    { name: 'ParamKind', type: 'string', cell: ({ spec }) => kindText(spec.paramKind) },
    ageColumn,
  ],
  unconditionalUpdate: false,
});
