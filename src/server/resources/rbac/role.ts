// Owns the kinds Role and ClusterRole. Whether a user may grant what a role holds is not decided here.
import type { ClusterRole, Role } from '../../../api/generated/rbac.v1.ts';
import { clusterRoles, roles } from '../../../api/generated/resources.ts';
import type { LabelSelector } from '../../../api/generated/meta.v1.ts';
import type { Frozen } from '../../../api/meta.ts';
import { pathSegmentName } from '../../../api/names.ts';
import { validateLabelSelector } from '../../../api/validation/labels.ts';
import { Problems } from '../../../api/validation/problems.ts';
import { defineResource, requiredLast } from '../define.ts';
import { validateRules } from './role-rules.ts';

export const role = defineResource<Role>(roles, {
  validateName: pathSegmentName,
  validate({ rules }) {
    const problems = new Problems();
    validateRules(problems, rules, true);
    return problems.list;
  },
  place: requiredLast(/^rules\[\d+\]\.verbs$/),
  createOnUpdate: true,
});

function validateAggregation(problems: Problems, selectors: readonly Frozen<LabelSelector>[]): void {
  const path = 'aggregationRule.clusterRoleSelectors';
  if (selectors.length === 0) problems.required(path, 'at least one clusterRoleSelector required');
  selectors.forEach((selector, at) => {
    const before = problems.count;
    validateLabelSelector(problems, `${path}[${at}]`, selector);
    if (problems.count > before) problems.invalid(`${path}[${at}]`, selector, 'invalid label selector');
  });
}

export const clusterRole = defineResource<ClusterRole>(clusterRoles, {
  validateName: pathSegmentName,
  validate({ rules, aggregationRule }) {
    const problems = new Problems();
    validateRules(problems, rules, false);
    if (aggregationRule) validateAggregation(problems, aggregationRule.clusterRoleSelectors ?? []);
    return problems.list;
  },
  place: requiredLast(/^rules\[\d+\]\.verbs$/),
  createOnUpdate: true,
});
