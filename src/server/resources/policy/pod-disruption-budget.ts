// Owns the kind PodDisruptionBudget.
import type { PodDisruptionBudget } from '../../../api/generated/policy.v1.ts';
import { podDisruptionBudgets } from '../../../api/generated/resources.ts';
import type { Frozen } from '../../../api/meta.ts';
import { pathSegmentName } from '../../../api/names.ts';
import { validateConditions } from '../../../api/validation/conditions.ts';
import { validateLabelSelector } from '../../../api/validation/labels.ts';
import { Problems } from '../../../api/validation/problems.ts';
import { validateAtMost100Percent, validateCounts, validateIntOrPercent } from '../../../api/validation/workload.ts';
import { ageColumn, nameColumn } from '../columns.ts';
import { defineResource, keep, specStrategy } from '../define.ts';

type Budget = PodDisruptionBudget;

function validate({ spec = {} }: Frozen<Budget>): Problems {
  const problems = new Problems();
  if (spec.minAvailable !== undefined && spec.maxUnavailable !== undefined)
    problems.invalid('spec', spec, 'minAvailable and maxUnavailable cannot be both set');
  for (const field of ['minAvailable', 'maxUnavailable'] as const) {
    if (spec[field] === undefined) continue;
    validateIntOrPercent(problems, `spec.${field}`, spec[field]);
    validateAtMost100Percent(problems, `spec.${field}`, spec[field]);
  }
  validateLabelSelector(problems, 'spec.selector', spec.selector);
  problems.optionalOneOf('spec.unhealthyPodEvictionPolicy', spec.unhealthyPodEvictionPolicy, [
    'AlwaysAllow',
    'IfHealthyBudget',
  ]);
  return problems;
}

const noStatus = (): Budget['status'] => ({
  disruptionsAllowed: 0,
  currentHealthy: 0,
  desiredHealthy: 0,
  expectedPods: 0,
});

export const podDisruptionBudget = defineResource<Budget>(podDisruptionBudgets, {
  shortNames: ['pdb'],
  metadataLater: true,
  ...specStrategy<Budget>(noStatus),
  validate: (obj) => validate(obj).list,
  validateUpdateAlone: true,
  validateUpdate: (next) => validate(next).list,
  validateName: pathSegmentName,
  unconditionalUpdate: false,
  columns: [
    nameColumn,
    { name: 'Min Available', type: 'string', cell: ({ spec }) => String(spec.minAvailable ?? 'N/A') },
    { name: 'Max Unavailable', type: 'string', cell: ({ spec }) => String(spec.maxUnavailable ?? 'N/A') },
    { name: 'Allowed Disruptions', type: 'integer', cell: ({ status }) => status?.disruptionsAllowed ?? 0 },
    ageColumn,
  ],
  subresources: {
    status: {
      prepareForUpdate: (next, prev) => keep(next, prev, 'spec'),
      validateUpdate({ status = noStatus() }) {
        const problems = new Problems();
        validateConditions(problems, 'status.conditions', status.conditions);
        validateCounts(problems, 'status', status, [
          'disruptionsAllowed',
          'currentHealthy',
          'desiredHealthy',
          'expectedPods',
        ]);
        return problems.list;
      },
    },
  },
});
