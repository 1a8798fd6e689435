// Owns ResourceQuotaConfiguration: what may only be used where some quota covers it. Pure.
import type { ResourceQuota, ScopedResourceSelectorRequirement } from '../../api/generated/core.v1.ts';
import { requirementsOf, scopeMatches } from '../../api/judge/quota-usage.ts';
import { compareQuantities, type Quantity, zero } from '../../api/quantity.ts';
import type { Frozen, KubeObject } from '../../api/meta.ts';

export interface LimitedResource {
  readonly apiGroup?: string;
  readonly resource: string;
  /** Of the names of what is used: parts that make it limited. */
  readonly matchContains?: readonly string[];
  readonly matchScopes?: readonly ScopedResourceSelectorRequirement[];
}

interface Resource {
  readonly group: string;
  readonly plural: string;
}

const texts = (value: unknown): boolean => Array.isArray(value) && value.every((item) => typeof item === 'string');

/** Throws for what is no ResourceQuotaConfiguration. */
export function limitedResources(config: Readonly<Record<string, unknown>> | undefined): readonly LimitedResource[] {
  const list = config?.['limitedResources'] ?? [];
  if (!Array.isArray(list)) throw new Error('ResourceQuota: limitedResources must be a list');
  for (const entry of list as Record<string, unknown>[]) {
    if (typeof entry['resource'] !== 'string' || entry['resource'] === '')
      throw new Error('ResourceQuota: each of limitedResources needs a resource');
    if (!texts(entry['matchContains'] ?? [])) throw new Error('ResourceQuota: matchContains must be a list of texts');
    for (const scope of (entry['matchScopes'] ?? []) as Record<string, unknown>[])
      if (
        typeof scope['scopeName'] !== 'string' ||
        !['In', 'NotIn', 'Exists', 'DoesNotExist'].includes(String(scope['operator']))
      )
        throw new Error('ResourceQuota: each of matchScopes needs scopeName and operator');
  }
  return list as LimitedResource[];
}

/** What no quota covers though it must be: names of amounts, and names of scopes. */
export function uncovered(
  limited: readonly LimitedResource[],
  resource: Resource,
  object: Frozen<KubeObject>,
  used: ReadonlyMap<string, Quantity>,
  quotas: readonly Frozen<ResourceQuota>[],
): { readonly amounts: readonly string[]; readonly scopes: readonly string[] } {
  const mine = limited.filter((one) => one.resource === resource.plural && (one.apiGroup ?? '') === resource.group);
  const amounts = [...used]
    .filter(([, amount]) => compareQuantities(amount, zero) > 0)
    .map(([name]) => name)
    .filter((name) => mine.some(({ matchContains = [] }) => matchContains.some((part) => name.includes(part))))
    .filter((name) => !quotas.some((quota) => quota.status?.hard?.[name] !== undefined));
  const covered = new Set(quotas.flatMap((quota) => requirementsOf(quota).map(({ scopeName }) => scopeName)));
  const scopes = mine
    .flatMap(({ matchScopes = [] }) => matchScopes)
    .filter((scope) => scopeMatches(scope, resource, object))
    .map(({ scopeName }) => scopeName)
    .filter((name) => !covered.has(name));
  return { amounts: amounts.sort(), scopes };
}
