// Owns the question whether a rule of a policy or webhook is about a request: resources, versions that mean the same, selectors.
import type { NamedRuleWithOperations, RuleWithOperations } from '../../../api/generated/admissionregistration.v1.ts';
import type { LabelSelector } from '../../../api/generated/meta.v1.ts';
import { matches, selectorOf } from '../../../api/selector.ts';
import type { Frozen, KubeObject } from '../../../api/meta.ts';
import type { Parts } from '../../parts.ts';
import type { Served } from '../../served/served.ts';
import type { AdmissionRequest } from '../admission.ts';

type Rule = Frozen<NamedRuleWithOperations> | Frozen<RuleWithOperations>;

export interface Constraints {
  readonly rules?: readonly Rule[] | null | undefined;
  readonly exclude?: readonly Rule[] | null | undefined;
  readonly namespaceSelector?: Frozen<LabelSelector> | undefined;
  readonly objectSelector?: Frozen<LabelSelector> | undefined;
  readonly matchPolicy?: string | undefined;
}

const has = (list: readonly string[] | undefined | null, value: string): boolean =>
  list?.includes('*') === true || list?.includes(value) === true;

function resourceMatches(list: readonly string[] | undefined, resource: string, subresource: string): boolean {
  return (list ?? []).some((wanted) => {
    const [left, right] = wanted.split('/');
    if (wanted === '*/*') return true;
    if (left !== '*' && left !== resource) return false;
    // "*" alone means every resource, without subresources.
    if (right === undefined) return subresource === '';
    return right === '*' || right === subresource;
  });
}

function ruleMatches(
  rule: Rule,
  served: Served,
  { operation, subresource, namespace, name }: AdmissionRequest,
): boolean {
  const { group, version, plural } = served.resource;
  if (!has(rule.operations, operation) || !has(rule.apiGroups, group) || !has(rule.apiVersions, version)) return false;
  if (!resourceMatches(rule.resources as readonly string[] | undefined, plural, subresource)) return false;
  const names = (rule as Frozen<NamedRuleWithOperations>).resourceNames;
  if (names !== undefined && names !== null && names.length > 0 && !names.includes(name)) return false;
  const scope = rule.scope ?? '*';
  // A namespace itself is of the cluster.
  const isCluster = namespace === '' || (group === '' && plural === 'namespaces');
  return scope === '*' || (scope === 'Cluster') === isCluster;
}

/** Every way in which the collection is served: other versions, and events in their second group. */
function variantsOf(parts: Parts, served: Served): readonly Served[] {
  const { collection } = served;
  if (collection === undefined) return [];
  return parts.catalog.all().filter((other) => other !== served && other.collection?.cache === collection.cache);
}

function namespaceLabels(request: AdmissionRequest, parts: Parts): Readonly<Record<string, string>> | undefined {
  const { group, plural } = request.served.resource;
  if (group === '' && plural === 'namespaces') return (request.object ?? request.oldObject)?.metadata.labels ?? {};
  if (request.namespace === '') return undefined;
  return parts.catalog.cache('', 'namespaces').get(request.namespace)?.object.metadata.labels ?? {};
}

/** The version in which the rules see the object; undefined when they are not about the request. */
export function matchedAs(constraints: Constraints, request: AdmissionRequest, parts: Parts): Served | undefined {
  const matching = (rules: readonly Rule[] | null | undefined): Served | undefined => {
    if ((rules ?? []).some((rule) => ruleMatches(rule, request.served, request))) return request.served;
    if ((constraints.matchPolicy ?? 'Equivalent') !== 'Equivalent') return undefined;
    return variantsOf(parts, request.served).find((other) =>
      (rules ?? []).some((rule) => ruleMatches(rule, other, request)),
    );
  };
  const found =
    constraints.rules === undefined || constraints.rules === null || constraints.rules.length === 0
      ? request.served
      : matching(constraints.rules);
  if (found === undefined || matching(constraints.exclude) !== undefined) return undefined;
  if (isSelective(constraints.namespaceSelector)) {
    const labels = namespaceLabels(request, parts);
    if (labels !== undefined && !matches(selectorOf(constraints.namespaceSelector), labels)) return undefined;
  }
  if (isSelective(constraints.objectSelector)) {
    const selector = selectorOf(constraints.objectSelector);
    const fits = (object: Frozen<KubeObject> | undefined): boolean =>
      object !== undefined && matches(selector, object.metadata?.labels);
    if (!fits(request.object as Frozen<KubeObject> | undefined) && !fits(request.oldObject)) return undefined;
  }
  return found;
}

function isSelective(selector: Frozen<LabelSelector> | undefined | null): boolean {
  if (selector === undefined || selector === null) return false;
  return Object.keys(selector.matchLabels ?? {}).length > 0 || (selector.matchExpressions ?? []).length > 0;
}
