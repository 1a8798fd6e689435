// Owns the kind IngressClass.
import type { IngressClass, IngressClassParametersReference } from '../../../api/generated/networking.v1.ts';
import { ingressClasses } from '../../../api/generated/resources.ts';
import type { Frozen } from '../../../api/meta.ts';
import { validateDomainPrefixedPath } from '../../../api/validation/domain-path.ts';
import { dnsLabel } from '../../../api/names.ts';
import { Problems } from '../../../api/validation/problems.ts';
import { same } from '../../../api/validation/same.ts';
import { ageColumn, nameColumn, none } from '../columns.ts';
import { defineResource, raiseGeneration, requiredLast } from '../define.ts';
import { validateTypedReference } from './references.ts';

const maxController = 250;

function validateParameters(problems: Problems, parameters: Frozen<IngressClassParametersReference>): void {
  const path = 'spec.parameters';
  validateTypedReference(problems, path, parameters);
  const { scope, namespace } = parameters;
  if (scope === undefined || scope === null) return problems.required(`${path}.scope`);
  if (scope === 'Namespace') {
    if (namespace === undefined || namespace === null)
      problems.required(`${path}.namespace`, 'must be set when `scope` is Namespace');
    else problems.each(`${path}.namespace`, namespace, dnsLabel(namespace));
  } else if (scope === 'Cluster') {
    if (namespace !== undefined && namespace !== null)
      problems.forbidden(`${path}.namespace`, 'should not be set when `scope` is Cluster');
  } else problems.notSupported(`${path}.scope`, scope, ['Cluster', 'Namespace']);
}

function validate({ spec = {} }: Frozen<IngressClass>): Problems {
  const problems = new Problems();
  const { controller = '', parameters } = spec;
  if (controller.length > maxController) problems.tooLong('spec.controller', maxController);
  validateDomainPrefixedPath(problems, 'spec.controller', controller);
  if (parameters) validateParameters(problems, parameters);
  return problems;
}

function parametersText({ spec }: Frozen<IngressClass>): string {
  const { parameters } = spec;
  if (!parameters) return none;
  const group = parameters.apiGroup ? `.${parameters.apiGroup}` : '';
  return `${parameters.kind}${group}/${parameters.name}`;
}

const controllerLast = requiredLast('spec.controller');
const parametersLast = requiredLast(/^spec\.parameters\.(kind|name)$/);

export const ingressClass = defineResource<IngressClass>(ingressClasses, {
  applyDefaults({ spec }) {
    if (spec?.parameters) spec.parameters.scope ??= 'Cluster';
  },
  prepareForCreate(obj) {
    obj.metadata.generation = 1;
  },
  prepareForUpdate: (next, prev) => raiseGeneration(next, prev),
  validate: (obj) => validate(obj).list,
  place: (error, change) =>
    change && error.field === 'spec.controller' ? controllerLast(error) : parametersLast(error),
  validateUpdate(next, prev) {
    const problems = new Problems();
    problems.immutable('spec.controller', next.spec?.controller, prev.spec?.controller, same);
    return problems.list;
  },
  columns: [
    nameColumn,
    { name: 'Controller', type: 'string', cell: ({ spec }) => spec.controller ?? '' },
    { name: 'Parameters', type: 'string', cell: parametersText },
    ageColumn,
  ],
});
