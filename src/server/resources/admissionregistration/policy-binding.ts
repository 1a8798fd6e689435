// Owns the kinds ValidatingAdmissionPolicyBinding and MutatingAdmissionPolicyBinding.
import type {
  MutatingAdmissionPolicyBinding,
  ValidatingAdmissionPolicyBinding,
} from '../../../api/generated/admissionregistration.v1.ts';
import {
  mutatingAdmissionPolicyBindings,
  validatingAdmissionPolicyBindings,
} from '../../../api/generated/resources.ts';
import type { Frozen, KubeObject, ResourceRef } from '../../../api/meta.ts';
import { Problems } from '../../../api/validation/problems.ts';
import type { Resource } from '../../resource.ts';
import { ageColumn, nameColumn } from '../columns.ts';
import { defineResource, raiseGeneration, requiredLast } from '../define.ts';
import { defaultMatchResources, validateMatchResources } from './match-rules.ts';
import { refText, validateParamRef, validatePolicyName } from './param-ref.ts';

type Binding = KubeObject & {
  spec: MutatingAdmissionPolicyBinding['spec'] & Partial<ValidatingAdmissionPolicyBinding['spec']>;
};

const actions = ['Audit', 'Deny', 'Warn'];

function validateActions(problems: Problems, path: string, given: readonly string[]): void {
  given.forEach((action, at) => {
    problems.optionalOneOf(`${path}[${at}]`, action, actions);
    if (given.indexOf(action) < at) problems.duplicate(`${path}[${at}]`, action);
  });
  if (given.includes('Deny') && given.includes('Warn'))
    problems.invalid(path, given, 'must not contain both Deny and Warn (it would tell the same failure twice)');
  if (given.length === 0) problems.required(path, 'at least one validation action is required');
}

function validate({ spec = {} }: Frozen<Binding>, validating: boolean): Problems {
  const problems = new Problems();
  validatePolicyName(problems, 'spec.policyName', spec.policyName);
  validateParamRef(problems, 'spec.paramRef', spec.paramRef);
  validateMatchResources(problems, 'spec.matchResources', spec.matchResources);
  if (validating) validateActions(problems, 'spec.validationActions', spec.validationActions ?? []);
  return problems;
}

function binding<T extends Binding>(ref: ResourceRef<T>, validating: boolean): Resource<T> {
  const plain = (obj: Frozen<T>): Frozen<Binding> => obj as unknown as Frozen<Binding>;
  return defineResource<T>(ref, {
    applyDefaults: ({ spec }) => defaultMatchResources(spec?.matchResources),
    prepareForCreate(obj) {
      obj.metadata.generation = 1;
    },
    prepareForUpdate: (next, prev) => raiseGeneration(next, prev),
    validate: (obj) => validate(plain(obj), validating).list,
    place: requiredLast(/^spec\.(policyName|validationActions)$/),
    columns: [
      nameColumn,
      { name: 'PolicyName', type: 'string', cell: (obj) => plain(obj).spec.policyName ?? '' },
      { name: 'ParamRef', type: 'string', cell: (obj) => refText(plain(obj).spec.paramRef) },
      ageColumn,
    ],
    unconditionalUpdate: false,
  });
}

export const validatingAdmissionPolicyBinding = binding<ValidatingAdmissionPolicyBinding>(
  validatingAdmissionPolicyBindings,
  true,
);
export const mutatingAdmissionPolicyBinding = binding<MutatingAdmissionPolicyBinding>(
  mutatingAdmissionPolicyBindings,
  false,
);
