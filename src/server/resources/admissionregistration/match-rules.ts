// Owns which requests admission looks at: rules of operations, groups, versions and resources, and the selectors beside them.
import type {
  MatchResources,
  NamedRuleWithOperations,
  RuleWithOperations,
} from '../../../api/generated/admissionregistration.v1.ts';
import type { Frozen } from '../../../api/meta.ts';
import { pathSegmentName } from '../../../api/names.ts';
import { validateLabelSelector } from '../../../api/validation/labels.ts';
import type { Problems } from '../../../api/validation/problems.ts';

export const failurePolicies = ['Fail', 'Ignore'];
export const matchPolicies = ['Equivalent', 'Exact'];
const operations = ['*', 'CONNECT', 'CREATE', 'DELETE', 'UPDATE'];
const scopes = ['*', 'Cluster', 'Namespaced'];

function validateResources(problems: Problems, path: string, resources: readonly string[]): void {
  if (resources.length === 0) problems.required(path);
  const anySub = new Set<string>();
  const anyResource = new Set<string>();
  let endsPlain = false;
  resources.forEach((text, at) => {
    const here = `${path}[${at}]`;
    if (text === '') return problems.required(here);
    const slash = text.indexOf('/');
    if (slash < 0) {
      // Only the last plain one counts, as upstream's loop leaves it.
      endsPlain = text !== '*';
      return;
    }
    const [resource, sub] = [text.slice(0, slash), text.slice(slash + 1)];
    if (anySub.has(resource)) problems.invalid(here, text, `if '${resource}/*' is present, must not specify ${text}`);
    if (anyResource.has(sub)) problems.invalid(here, text, `if '*/${sub}' is present, must not specify ${text}`);
    if (sub === '*') anySub.add(resource);
    if (resource === '*') anyResource.add(sub);
  });
  if (resources.length > 1 && resources.includes('*/*'))
    problems.invalid(path, resources, "if '*/*' is present, must not specify other resources");
  if (resources.includes('*') && endsPlain)
    problems.invalid(path, resources, "if '*' is present, must not specify other resources without subresources");
}

export function validateRule(problems: Problems, path: string, rule: Frozen<RuleWithOperations>): void {
  const alone = (field: 'operations' | 'apiGroups' | 'apiVersions', what: string): readonly string[] => {
    const values = rule[field] ?? [];
    if (values.length === 0) problems.required(`${path}.${field}`);
    if (values.length > 1 && values.includes('*'))
      problems.invalid(`${path}.${field}`, values, `if '*' is present, must not specify other ${what}`);
    return values;
  };
  alone('operations', 'operations').forEach((operation, at) =>
    problems.optionalOneOf(`${path}.operations[${at}]`, operation, operations),
  );
  alone('apiGroups', 'API groups');
  alone('apiVersions', 'API versions').forEach((version, at) => {
    if (version === '') problems.required(`${path}.apiVersions[${at}]`);
  });
  validateResources(problems, `${path}.resources`, rule.resources ?? []);
  if (rule.scope !== undefined && rule.scope !== null) problems.optionalOneOf(`${path}.scope`, rule.scope, scopes);
}

function validateNamedRule(problems: Problems, path: string, rule: Frozen<NamedRuleWithOperations>): void {
  const seen = new Set<string>();
  rule.resourceNames?.forEach((name, at) => {
    const here = `${path}.resourceNames[${at}]`;
    problems.each(here, name, pathSegmentName(name));
    if (seen.has(name)) problems.duplicate(here, name);
    seen.add(name);
  });
  validateRule(problems, path, rule);
}

export function validateMatchResources(
  problems: Problems,
  path: string,
  match: Frozen<MatchResources> | undefined,
): void {
  if (!match) return;
  if (match.matchPolicy === undefined || match.matchPolicy === null) problems.required(`${path}.matchPolicy`);
  else problems.optionalOneOf(`${path}.matchPolicy`, match.matchPolicy, matchPolicies);
  for (const field of ['namespaceSelector', 'objectSelector'] as const)
    if (!match[field]) problems.required(`${path}.${field}`);
    else validateLabelSelector(problems, `${path}.${field}`, match[field]);
  for (const field of ['resourceRules', 'excludeResourceRules'] as const)
    match[field]?.forEach((rule, at) => validateNamedRule(problems, `${path}.${field}[${at}]`, rule));
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

export function defaultRules(rules: Mutable<RuleWithOperations>[] | undefined): void {
  for (const rule of rules ?? []) rule.scope ??= '*';
}

export function defaultMatchResources(match: MatchResources | undefined): void {
  if (!match) return;
  match.matchPolicy ??= 'Equivalent';
  match.namespaceSelector ??= {};
  match.objectSelector ??= {};
  defaultRules(match.resourceRules);
  defaultRules(match.excludeResourceRules);
}
