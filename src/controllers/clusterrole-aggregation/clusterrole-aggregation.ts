// Owns filling ClusterRoles that aggregate others with the rules of those that their selectors find.
import { type Frozen, keyOf } from '../../api/meta.ts';
import type { ClusterRole, PolicyRule } from '../../api/generated/rbac.v1.ts';
import { clusterRoles } from '../../api/generated/resources.ts';
import { labelPredicate } from '../../api/selector.ts';
import { isNotFound } from '../../api/status-error.ts';
import { type Controller, type ControllerContext, watching } from '../framework/controller.ts';
import { isEqual } from '../framework/equality.ts';

/** The rules of all matching roles, in the order of their names, each once. Pure. */
function aggregatedRules(role: Frozen<ClusterRole>, all: readonly Frozen<ClusterRole>[]): Frozen<PolicyRule>[] {
  const rules: Frozen<PolicyRule>[] = [];
  for (const selector of role.aggregationRule?.clusterRoleSelectors ?? []) {
    const matches = labelPredicate(selector);
    const found = all
      .filter(({ metadata }) => metadata.name !== role.metadata.name && matches(metadata.labels))
      .sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
    for (const { rules: theirs } of found)
      for (const rule of theirs ?? []) if (!rules.some((known) => isEqual(known, rule))) rules.push(rule);
  }
  return rules;
}

export function clusterRoleAggregationController(context: ControllerContext): Controller {
  const cache = context.informers.informer(clusterRoles);
  const writer = context.informers.writer(clusterRoles);
  return {
    name: 'clusterrole-aggregation-controller',
    watches: [
      watching(cache, () =>
        cache
          .list()
          .filter(({ aggregationRule }) => aggregationRule)
          .map((role) => keyOf(role)),
      ),
    ],
    async reconcile(key, signal) {
      const role = cache.get(key);
      if (!role?.aggregationRule) return undefined;
      const rules = aggregatedRules(role, cache.list());
      if (isEqual(rules, role.rules ?? [])) return undefined;
      const body = {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'ClusterRole',
        metadata: { name: key.name },
        rules,
      };
      const options = { fieldManager: 'clusterrole-aggregation-controller', force: true, signal };
      await writer.patch(key, { type: 'apply', body }, options).catch((error: unknown) => {
        if (!isNotFound(error)) throw error;
      });
      return undefined;
    },
  };
}
