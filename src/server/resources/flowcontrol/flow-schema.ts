// Owns the kind FlowSchema.
import type {
  FlowSchema,
  FlowSchemaSpec,
  NonResourcePolicyRule,
  PolicyRulesWithSubjects,
  ResourcePolicyRule,
  Subject,
} from '../../../api/generated/flowcontrol.v1.ts';
import { flowSchemas } from '../../../api/generated/resources.ts';
import type { Frozen } from '../../../api/meta.ts';
import { labelName, subdomainName } from '../../../api/names.ts';
import { Problems } from '../../../api/validation/problems.ts';
import { same } from '../../../api/validation/same.ts';
import { ageColumn, nameColumn, none } from '../columns.ts';
import { defineResource, onlyStatus, specStrategy } from '../define.ts';
import { mandatorySpecs } from './mandatory.ts';
import { validateConditionTypes } from './flow-conditions.ts';

const maxPrecedence = 10_000;
const defaultPrecedence = 1000;
const subjectKinds = ['Group', 'ServiceAccount', 'User'];
const methods = ['ByNamespace', 'ByUser'];
const knownVerbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'proxy', 'update', 'watch'];

/** "*" stands alone. */
function validateWildcard(problems: Problems, path: string, values: readonly string[], what: string): void {
  if (values.length > 1 && values.includes('*'))
    problems.invalid(path, values, `if '*' is present, must not specify other ${what}`);
}

function validateVerbs(problems: Problems, path: string, verbs: readonly string[]): void {
  if (verbs.length === 0) return problems.required(path, 'verbs must contain at least one value');
  if (verbs.includes('*')) return validateWildcard(problems, path, verbs, 'verbs');
  if (verbs.some((verb) => !knownVerbs.includes(verb))) problems.notSupported(path, verbs, knownVerbs);
}

function validateNamespaces(problems: Problems, path: string, rule: Frozen<ResourcePolicyRule>): void {
  const namespaces = rule.namespaces ?? [];
  if (namespaces.length === 0) {
    if (rule.clusterScope !== true)
      problems.required(path, 'resource rules that are not cluster scoped must supply at least one namespace');
    return;
  }
  if (namespaces.includes('*')) return validateWildcard(problems, path, namespaces, 'namespaces');
  namespaces.forEach((namespace, at) => problems.each(`${path}[${at}]`, namespace, labelName(namespace)));
}

function validateResourceRule(problems: Problems, path: string, rule: Frozen<ResourcePolicyRule>): void {
  validateVerbs(problems, `${path}.verbs`, rule.verbs ?? []);
  const groups = rule.apiGroups ?? [];
  if (groups.length === 0) problems.required(`${path}.apiGroups`, 'resource rules must supply at least one api group');
  else validateWildcard(problems, `${path}.apiGroups`, groups, 'api groups');
  const resources = rule.resources ?? [];
  if (resources.length === 0)
    problems.required(`${path}.resources`, 'resource rules must supply at least one resource');
  else validateWildcard(problems, `${path}.resources`, resources, 'resources');
  validateNamespaces(problems, `${path}.namespaces`, rule);
}

/** Absolute, with "*" only as the last segment. */
function pathProblem(url: string): string | undefined {
  if (url === '') return 'must not be empty';
  if (url === '/') return undefined;
  if (!url.startsWith('/')) return 'must start with slash';
  if (url.includes(' ')) return 'must not contain white-space';
  if (url.includes('//')) return 'must not contain double slash';
  const stars = url.split('*').length - 1;
  if (stars > 1 || (stars === 1 && !url.endsWith('/*'))) return 'wildcard can only do suffix matching';
  return undefined;
}

function validateNonResourceRule(problems: Problems, path: string, rule: Frozen<NonResourcePolicyRule>): void {
  validateVerbs(problems, `${path}.verbs`, rule.verbs ?? []);
  const urls = rule.nonResourceURLs ?? [];
  const at = `${path}.nonResourceURLs`;
  if (urls.length === 0) return problems.required(at, 'non-resource rules must supply at least one url');
  if (urls.includes('*')) return validateWildcard(problems, at, urls, 'non-resource URLs');
  urls.forEach((url, i) => {
    const wrong = pathProblem(url);
    if (wrong !== undefined) problems.invalid(`${at}[${i}]`, url, wrong);
  });
}

function validateServiceAccount(problems: Problems, path: string, { serviceAccount }: Frozen<Subject>): void {
  if (!serviceAccount)
    return problems.required(path, "serviceAccount is required when subject kind is 'ServiceAccount'");
  const { name, namespace } = serviceAccount;
  if (!name) problems.required(`${path}.name`);
  else if (name !== '*') problems.each(`${path}.name`, name, subdomainName(name));
  if (!namespace) problems.required(`${path}.namespace`, 'must specify namespace for service account');
  else problems.each(`${path}.namespace`, namespace, labelName(namespace));
}

function validateSubject(problems: Problems, path: string, subject: Frozen<Subject>): void {
  const forbidOthers = (own: string): void => {
    for (const other of ['user', 'group', 'serviceAccount'] as const)
      if (other !== own && subject[other])
        problems.forbidden(`${path}.${other}`, `${other} is forbidden when subject kind is not matching`);
  };
  const validateNamed = (own: 'user' | 'group'): void => {
    if (!subject[own]) problems.required(`${path}.${own}`, `${own} is required when subject kind is '${subject.kind}'`);
    else if (!subject[own].name) problems.required(`${path}.${own}.name`);
  };
  switch (subject.kind) {
    case 'ServiceAccount':
      validateServiceAccount(problems, `${path}.serviceAccount`, subject);
      return forbidOthers('serviceAccount');
    case 'User':
      validateNamed('user');
      return forbidOthers('user');
    case 'Group':
      validateNamed('group');
      return forbidOthers('group');
    default:
      return problems.notSupported(`${path}.kind`, subject.kind, subjectKinds);
  }
}

function validateRule(problems: Problems, path: string, rule: Frozen<PolicyRulesWithSubjects>): void {
  const subjects = rule.subjects ?? [];
  if (subjects.length === 0) problems.required(`${path}.subjects`, 'subjects must contain at least one value');
  subjects.forEach((subject, at) => validateSubject(problems, `${path}.subjects[${at}]`, subject));
  const [resources, others] = [rule.resourceRules ?? [], rule.nonResourceRules ?? []];
  if (resources.length + others.length === 0)
    problems.required(path, 'at least one of resourceRules and nonResourceRules has to be non-empty');
  resources.forEach((one, at) => validateResourceRule(problems, `${path}.resourceRules[${at}]`, one));
  others.forEach((one, at) => validateNonResourceRule(problems, `${path}.nonResourceRules[${at}]`, one));
}

function validateSpec(problems: Problems, name: string, spec: Frozen<FlowSchemaSpec>): void {
  const precedence = spec.matchingPrecedence ?? 0;
  if (precedence <= 0) problems.invalid('spec.matchingPrecedence', precedence, 'must be a positive value');
  if (precedence > maxPrecedence)
    problems.invalid('spec.matchingPrecedence', precedence, `must not be greater than ${maxPrecedence}`);
  if (precedence === 1 && name !== 'exempt')
    problems.invalid('spec.matchingPrecedence', precedence, 'only the schema named "exempt" may have precedence 1');
  const method = spec.distinguisherMethod;
  if (method && !methods.includes(method.type)) problems.notSupported('spec.distinguisherMethod.type', method, methods);
  const level = spec.priorityLevelConfiguration?.name ?? '';
  if (level === '') problems.required('spec.priorityLevelConfiguration.name', 'must reference a priority level');
  else problems.each('spec.priorityLevelConfiguration.name', level, subdomainName(level));
  spec.rules?.forEach((rule, at) => validateRule(problems, `spec.rules[${at}]`, rule));
}

function validate({ metadata, spec, status }: Frozen<FlowSchema>): Problems {
  const problems = new Problems();
  validateSpec(problems, metadata.name, spec ?? {});
  const mandatory = mandatorySpecs('flowschemas').get(metadata.name);
  if (mandatory !== undefined && !same(spec, mandatory))
    problems.invalid('spec', spec, `spec of '${metadata.name}' must equal the fixed value`);
  validateConditionTypes(problems, status?.conditions);
  return problems;
}

export const flowSchema = defineResource<FlowSchema>(flowSchemas, {
  ...specStrategy<FlowSchema>(() => ({})),
  applyDefaults({ spec }) {
    if (spec) spec.matchingPrecedence ||= defaultPrecedence;
  },
  validate: (obj) => validate(obj).list,
  columns: [
    nameColumn,
    { name: 'PriorityLevel', type: 'string', cell: ({ spec }) => spec.priorityLevelConfiguration?.name || '<none>' },
    { name: 'MatchingPrecedence', type: 'string', cell: ({ spec }) => spec.matchingPrecedence },
    { name: 'DistinguisherMethod', type: 'string', cell: ({ spec }) => spec.distinguisherMethod?.type ?? none },
    ageColumn,
    {
      name: 'MissingPL',
      type: 'string',
      cell: ({ status }) => status?.conditions?.find(({ type }) => type === 'Dangling')?.status ?? '?',
    },
  ],
  rowOrder: (a, b) =>
    a.spec.matchingPrecedence - b.spec.matchingPrecedence || (a.metadata.name < b.metadata.name ? -1 : 1),
  subresources: {
    status: {
      prepareForUpdate: onlyStatus,
      validateUpdate: (next) => validate(next).list,
    },
  },
});
