// Owns what a policy rule allows: compiled once, asked often. Pure.
import type { PolicyRule } from '../../api/generated/rbac.v1.ts';
import type { Frozen } from '../../api/meta.ts';
import type { Attributes } from './authorizer.ts';

export type RuleTest = (attributes: Attributes) => boolean;

export interface CompiledRule {
  readonly test: RuleTest;
  /** Whether it allows this for some name at least. */
  readonly testWithoutName: RuleTest;
  /** Undefined: for every name. */
  readonly names: ReadonlySet<string> | undefined;
}

type OneOf = (value: string) => boolean;

function oneOf(values: readonly string[] | undefined | null): OneOf {
  const set = new Set(values ?? []);
  return set.has('*') ? () => true : (value) => set.has(value);
}

/** "pods", "pods/log", "*", "*\/scale". */
function resources(values: readonly string[]): (resource: string, subresource: string) => boolean {
  const set = new Set(values);
  if (set.has('*')) return () => true;
  return (resource, subresource) =>
    subresource === '' ? set.has(resource) : set.has(`${resource}/${subresource}`) || set.has(`*/${subresource}`);
}

function paths(values: readonly string[]): OneOf {
  return (path) =>
    values.some(
      (value) => value === '*' || value === path || (value.endsWith('*') && path.startsWith(value.slice(0, -1))),
    );
}

function compileRule(rule: Frozen<PolicyRule>): CompiledRule {
  const verb = oneOf(rule.verbs);
  const group = oneOf(rule.apiGroups);
  const resource = resources(rule.resources ?? []);
  const names = rule.resourceNames && rule.resourceNames.length > 0 ? new Set(rule.resourceNames) : undefined;
  const path = paths(rule.nonResourceURLs ?? []);
  const testWithoutName: RuleTest = (wanted) => {
    if (!verb(wanted.verb)) return false;
    if (!wanted.isResource) return path(wanted.path);
    return group(wanted.group) && resource(wanted.resource, wanted.subresource);
  };
  const test: RuleTest =
    names === undefined
      ? testWithoutName
      : (wanted) => testWithoutName(wanted) && (!wanted.isResource || names.has(wanted.name));
  return { test, testWithoutName, names };
}

export function compileWholeRules(rules: readonly Frozen<PolicyRule>[] | undefined | null): readonly CompiledRule[] {
  return (rules ?? []).map(compileRule);
}

export function compileRules(rules: readonly Frozen<PolicyRule>[] | undefined | null): readonly RuleTest[] {
  return compileWholeRules(rules).map(({ test }) => test);
}
