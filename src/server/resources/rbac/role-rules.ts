// Owns the validation of what roles grant and of whom bindings name.
import type { PolicyRule, RoleRef, Subject } from '../../../api/generated/rbac.v1.ts';
import type { Frozen } from '../../../api/meta.ts';
import { pathSegmentName, subdomainName } from '../../../api/names.ts';
import { Problems } from '../../../api/validation/problems.ts';
import { same } from '../../../api/validation/same.ts';

export const rbacGroup = 'rbac.authorization.k8s.io';

export function validateRules(
  problems: Problems,
  rules: readonly Frozen<PolicyRule>[] | undefined | null,
  namespaced: boolean,
): void {
  (rules ?? []).forEach((rule, at) => {
    const here = `rules[${at}]`;
    const count = (field: keyof PolicyRule): number => rule[field]?.length ?? 0;
    if (count('verbs') === 0) problems.required(`${here}.verbs`, 'verbs must contain at least one value');
    if (count('nonResourceURLs') > 0) {
      const path = `${here}.nonResourceURLs`;
      if (namespaced)
        problems.invalid(path, rule.nonResourceURLs, 'namespaced rules cannot apply to non-resource URLs');
      if (count('apiGroups') + count('resources') + count('resourceNames') > 0)
        problems.invalid(path, rule.nonResourceURLs, 'rules cannot apply to both resources and non-resource URLs');
      return;
    }
    if (count('apiGroups') === 0) problems.required(`${here}.apiGroups`, 'resource rules must supply an api group');
    if (count('resources') === 0) problems.required(`${here}.resources`, 'resource rules must supply a resource');
  });
}

interface Binding {
  readonly subjects?: readonly Frozen<Subject>[];
  readonly roleRef: Frozen<RoleRef>;
}

function validateRoleRef(
  problems: Problems,
  { apiGroup, kind, name }: Frozen<RoleRef>,
  kinds: readonly string[],
): void {
  if (apiGroup !== rbacGroup) problems.notSupported('roleRef.apiGroup', apiGroup, [rbacGroup]);
  if (!kinds.includes(kind)) problems.notSupported('roleRef.kind', kind, kinds);
  if (!name) problems.required('roleRef.name');
  else problems.each('roleRef.name', name, pathSegmentName(name));
}

function validateSubject(problems: Problems, path: string, subject: Frozen<Subject>, namespaced: boolean): void {
  const { kind, name, apiGroup = '', namespace = '' } = subject;
  if (!name) problems.required(`${path}.name`);
  switch (kind) {
    case 'ServiceAccount':
      if (name) problems.each(`${path}.name`, name, subdomainName(name));
      if (apiGroup !== '') problems.notSupported(`${path}.apiGroup`, apiGroup, ['']);
      if (!namespaced && namespace === '') problems.required(`${path}.namespace`);
      return;
    case 'User':
    case 'Group':
      if (apiGroup !== rbacGroup) problems.notSupported(`${path}.apiGroup`, apiGroup, [rbacGroup]);
      return;
    default:
      problems.notSupported(`${path}.kind`, kind, ['Group', 'ServiceAccount', 'User']);
  }
}

/** With `prev`, also that the role stays the same. */
export function validateBinding(next: Binding, prev: Binding | undefined, namespaced: boolean): Problems {
  const problems = new Problems();
  const roleRef = next.roleRef ?? ({} as RoleRef);
  validateRoleRef(problems, roleRef, namespaced ? ['ClusterRole', 'Role'] : ['ClusterRole']);
  const subjects = next.subjects ?? [];
  subjects.forEach((subject, at) => validateSubject(problems, `subjects[${at}]`, subject, namespaced));
  if (prev !== undefined && !same(roleRef, prev.roleRef)) problems.invalid('roleRef', roleRef, 'cannot change roleRef');
  return problems;
}
