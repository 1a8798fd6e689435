// Owns the audit policy: which level a request is noted at, by the first rule that fits. Pure.
import type { ApiRequest } from '../request.ts';

export type Level = 'None' | 'Metadata' | 'Request' | 'RequestResponse';
export type AuditStage = 'RequestReceived' | 'ResponseStarted' | 'ResponseComplete' | 'Panic';

export interface AuditRule {
  readonly level: Level;
  readonly users?: readonly string[];
  readonly userGroups?: readonly string[];
  readonly verbs?: readonly string[];
  readonly resources?: readonly {
    readonly group?: string;
    readonly resources?: readonly string[];
    readonly resourceNames?: readonly string[];
  }[];
  readonly namespaces?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
  readonly omitStages?: readonly AuditStage[];
  readonly omitManagedFields?: boolean;
}

export interface AuditPolicy {
  readonly rules: readonly AuditRule[];
  readonly omitStages?: readonly AuditStage[];
  readonly omitManagedFields?: boolean;
}

export interface Judgement {
  readonly level: Level;
  readonly omitStages: ReadonlySet<AuditStage>;
  readonly omitManagedFields: boolean;
}

const levels: ReadonlySet<string> = new Set(['None', 'Metadata', 'Request', 'RequestResponse']);

/** Reads a Policy of audit.k8s.io. Throws for what it does not understand: nothing may silently go unnoted. */
export function auditPolicy(given: Readonly<Record<string, unknown>>): AuditPolicy {
  if (given['kind'] !== 'Policy' || given['apiVersion'] !== 'audit.k8s.io/v1')
    throw new Error('the audit policy must be a Policy of audit.k8s.io/v1');
  const rules = given['rules'];
  if (!Array.isArray(rules) || rules.length === 0) throw new Error('the audit policy has no rules');
  rules.forEach((rule: AuditRule, at) => {
    if (!levels.has(rule.level))
      throw new Error(`audit policy: rules[${at}].level ${JSON.stringify(rule.level)} is none`);
    if (rule.nonResourceURLs !== undefined && (rule.resources !== undefined || rule.namespaces !== undefined))
      throw new Error(`audit policy: rules[${at}] mixes resources and nonResourceURLs`);
  });
  return given as unknown as AuditPolicy;
}

const within = (list: readonly string[] | undefined, value: string): boolean =>
  list === undefined || list.length === 0 || list.includes(value);

function resourceFits(
  { group = '', resources, resourceNames }: NonNullable<AuditRule['resources']>[number],
  { info }: ApiRequest,
): boolean {
  if (group !== '*' && group !== info.group) return false;
  if (resourceNames !== undefined && resourceNames.length > 0 && !resourceNames.includes(info.name)) return false;
  if (resources === undefined || resources.length === 0) return true;
  const full = info.subresource === '' ? info.resource : `${info.resource}/${info.subresource}`;
  return resources.some((wanted) => {
    if (wanted === '*' || wanted === full) return true;
    const [left, right] = wanted.split('/');
    if (right === undefined) return false;
    return (left === '*' && right === info.subresource) || (left === info.resource && right === '*');
  });
}

function urlFits(patterns: readonly string[], path: string): boolean {
  return patterns.some(
    (pattern) =>
      pattern === '*' || pattern === path || (pattern.endsWith('*') && path.startsWith(pattern.slice(0, -1))),
  );
}

function fits(rule: AuditRule, request: ApiRequest): boolean {
  const { info } = request;
  const user = request.impersonator ?? request.user;
  if (!within(rule.users, user.name) || !within(rule.verbs, info.verb)) return false;
  if (
    rule.userGroups !== undefined &&
    rule.userGroups.length > 0 &&
    !rule.userGroups.some((group) => user.groups.includes(group))
  )
    return false;
  if (!info.isResource) {
    if (rule.resources !== undefined || rule.namespaces !== undefined) return false;
    return rule.nonResourceURLs === undefined || urlFits(rule.nonResourceURLs, info.path);
  }
  if (rule.nonResourceURLs !== undefined && rule.nonResourceURLs.length > 0) return false;
  if (!within(rule.namespaces, info.namespace)) return false;
  return (
    rule.resources === undefined ||
    rule.resources.length === 0 ||
    rule.resources.some((wanted) => resourceFits(wanted, request))
  );
}

/** No rule: nothing is noted. */
export function judge(
  { rules, omitStages = [], omitManagedFields = false }: AuditPolicy,
  request: ApiRequest,
): Judgement {
  const rule = rules.find((candidate) => fits(candidate, request));
  return {
    level: rule?.level ?? 'None',
    omitStages: new Set([...omitStages, ...(rule?.omitStages ?? [])]),
    omitManagedFields: rule?.omitManagedFields ?? omitManagedFields,
  };
}
