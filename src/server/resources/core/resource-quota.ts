// Owns the kind ResourceQuota.
import type { ResourceQuota, ResourceQuotaSpec } from '../../../api/generated/core.v1.ts';
import { resourceQuotas } from '../../../api/generated/resources.ts';
import type { Frozen } from '../../../api/meta.ts';
import { Problems } from '../../../api/validation/problems.ts';
import { roundResources } from '../../../api/validation/quantities.ts';
import {
  isStandardQuotaResource,
  validateQuotaResourceName,
  validateResourceQuantity,
} from '../../../api/validation/resource-names.ts';
import { same } from '../../../api/validation/same.ts';
import { ageColumn, nameColumn } from '../columns.ts';
import { defineResource, keep } from '../define.ts';

type Spec = Frozen<ResourceQuotaSpec>;
type Amounts = Readonly<Record<string, string>> | undefined;

const podScopes = new Set([
  'Terminating',
  'NotTerminating',
  'NotBestEffort',
  'PriorityClass',
  'CrossNamespacePodAffinity',
]);
const claimScopes = new Set(['VolumeAttributesClass']);
const scopes = new Set([...podScopes, ...claimScopes, 'BestEffort']);
const existOnly = new Set([
  'BestEffort',
  'NotBestEffort',
  'Terminating',
  'NotTerminating',
  'CrossNamespacePodAffinity',
]);
const exclusive = [
  ['BestEffort', 'NotBestEffort'],
  ['Terminating', 'NotTerminating'],
] as const;

const computeResources = new Set([
  'pods',
  'cpu',
  'memory',
  'ephemeral-storage',
  'requests.cpu',
  'requests.memory',
  'requests.ephemeral-storage',
  'limits.cpu',
  'limits.memory',
  'limits.ephemeral-storage',
]);

/** Whether quota over a resource can be confined to a scope. */
function scopeFits(scope: string, resource: string): boolean {
  if (podScopes.has(scope)) return computeResources.has(resource);
  if (scope === 'BestEffort') return resource === 'pods';
  if (claimScopes.has(scope)) return resource === 'persistentvolumeclaims' || resource === 'requests.storage';
  return true;
}

function validateAmounts(problems: Problems, path: string, amounts: Amounts): void {
  for (const name in amounts) {
    validateQuotaResourceName(problems, `${path}[${name}]`, name);
    validateResourceQuantity(problems, `${path}[${name}]`, name, amounts[name]!);
  }
}

/** Reported at `path` however many scopes there are. */
function validateScopeUse(problems: Problems, path: string, scope: string, unknownAt: string, spec: Spec): void {
  if (!scopes.has(scope)) problems.invalid(unknownAt, scope, 'unsupported scope');
  const fits = Object.keys(spec.hard ?? {}).every((name) => !isStandardQuotaResource(name) || scopeFits(scope, name));
  if (!fits) problems.invalid(path, scope, 'unsupported scope applied to resource');
}

function validateExclusive(problems: Problems, path: string, used: readonly string[]): void {
  for (const pair of exclusive)
    if (pair.every((scope) => used.includes(scope))) problems.invalid(path, used, 'conflicting scopes');
}

function validateSpec(problems: Problems, spec: Spec): void {
  validateAmounts(problems, 'spec.hard', spec.hard);
  const plain = spec.scopes ?? [];
  for (const scope of plain) validateScopeUse(problems, 'spec.scopes', scope, 'spec.scopes', spec);
  validateExclusive(problems, 'spec.scopes', plain);
  if (spec.scopeSelector === undefined) return;
  const path = 'spec.scopeSelector.matchExpressions';
  const requirements = spec.scopeSelector.matchExpressions ?? [];
  for (const { scopeName, operator, values = [] } of requirements) {
    validateScopeUse(problems, path, scopeName, `${path}.scopeName`, spec);
    if (existOnly.has(scopeName) && operator !== 'Exists')
      problems.invalid(`${path}.operator`, operator, "must be 'Exist' for this scope");
    if (operator === 'In' || operator === 'NotIn') {
      if (values.length === 0) problems.required(`${path}.values`, "must be at least one value for 'In' and 'NotIn'");
    } else if (operator === 'Exists' || operator === 'DoesNotExist') {
      if (values.length > 0)
        problems.invalid(`${path}.values`, values, "must be no value for 'Exist' and 'DoesNotExist'");
    } else {
      problems.invalid(`${path}.operator`, operator, 'not a valid selector operator');
    }
  }
  validateExclusive(
    problems,
    path,
    requirements.map(({ scopeName }) => scopeName),
  );
}

function validateStatus(problems: Problems, { status }: Frozen<ResourceQuota>): void {
  validateAmounts(problems, 'status.hard', status?.hard);
  validateAmounts(problems, 'status.used', status?.used);
}

/** "pods: 1/10, requests.cpu: 1/2": what is used of what is allowed. */
function usageText({ status }: Frozen<ResourceQuota>, limits: boolean): string {
  return Object.keys(status?.hard ?? {})
    .filter((name) => name.startsWith('limits') === limits)
    .sort()
    .map((name) => `${name}: ${status?.used?.[name] ?? '0'}/${status!.hard![name]}`)
    .join(', ');
}

export const resourceQuota = defineResource<ResourceQuota>(resourceQuotas, {
  shortNames: ['quota'],
  applyDefaults({ spec, status }) {
    for (const list of [spec?.hard, status?.hard, status?.used]) roundResources(list);
  },
  prepareForCreate(obj) {
    obj.status = {};
  },
  prepareForUpdate: (next, prev) => keep(next, prev, 'status'),
  validate(obj) {
    const problems = new Problems();
    validateSpec(problems, obj.spec ?? {});
    validateStatus(problems, obj);
    return problems.list;
  },
  validateUpdateAlone: true,
  validateUpdate(next, prev) {
    const problems = new Problems();
    validateSpec(problems, next.spec ?? {});
    const sorted = (list: readonly string[] = []): string[] => [...list].sort();
    if (!same(sorted(next.spec?.scopes), sorted(prev.spec?.scopes)))
      problems.invalid('spec.scopes', next.spec?.scopes, 'field is immutable');
    return problems.list;
  },
  columns: [
    nameColumn,
    { name: 'Request', type: 'string', cell: (obj) => usageText(obj, false) },
    { name: 'Limit', type: 'string', cell: (obj) => usageText(obj, true) },
    ageColumn,
  ],
  subresources: {
    status: {
      prepareForUpdate: (next, prev) => keep(next, prev, 'spec'),
      validateUpdate(next) {
        const problems = new Problems();
        validateStatus(problems, next);
        return problems.list;
      },
    },
  },
  deleteReturnsObject: true,
});
