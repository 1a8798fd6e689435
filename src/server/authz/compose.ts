// Owns which authorizers the options ask for, in order.
import type { ClusterRole } from '../../api/generated/rbac.v1.ts';
import type { KubeObject } from '../../api/meta.ts';
import { bootstrapList } from '../bootstrap/objects.ts';
import { compileRules } from './rules.ts';
import type { ApiServerOptions, AuthorizationMode } from '../options.ts';
import type { Catalog } from '../served/served.ts';
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import type { MetricsRegistry } from '../../base/metrics.ts';
import { countedDecisions } from '../metrics/decisions.ts';
import type { Callout } from '../callout.ts';
import { abac } from './abac.ts';
import { webhookAuthorizer } from './webhook.ts';
import type { WebhookAuthorizerOptions } from './webhook.ts';
import { alwaysAllow, alwaysDeny, privilegedGroup } from './authorizer.ts';
import type { Authorizer } from './authorizer.ts';
import { nodeAuthorizer } from './node.ts';
import { rbac } from './rbac.ts';
import type { Rbac } from './rbac.ts';

export interface Authorization {
  readonly authorizers: readonly Authorizer[];
  /** Takes another AuthorizationConfiguration over: webhooks may come, go and change. Throws, and changes nothing, when it is wrong. */
  reconfigure(next: readonly AuthorizerOptions[]): void;
  /** Absent when the mode is not on. */
  readonly roles: Rbac | undefined;
}

/** One authorizer of AuthorizationConfiguration, in order. */
export type AuthorizerOptions =
  | { readonly type: AuthorizationMode }
  | { readonly type: 'ABAC'; readonly policy: string }
  | ({ readonly type: 'Webhook' } & WebhookAuthorizerOptions);

export function authorization(
  options: ApiServerOptions,
  catalog: Catalog,
  remote: {
    readonly callout: Callout;
    readonly clock: Clock;
    readonly log: Logger;
    readonly metrics?: MetricsRegistry;
  },
): Authorization {
  const group = 'rbac.authorization.k8s.io';
  let roles: Rbac | undefined;
  const made: Readonly<Record<AuthorizationMode, () => Authorizer>> = {
    AlwaysAllow: () => alwaysAllow,
    AlwaysDeny: () => alwaysDeny,
    Node: () => nodeAuthorizer(catalog, nodeRules()),
    RBAC: () =>
      (roles = rbac({
        roles: catalog.cache(group, 'roles'),
        roleBindings: catalog.cache(group, 'rolebindings'),
        clusterRoles: catalog.cache(group, 'clusterroles'),
        clusterRoleBindings: catalog.cache(group, 'clusterrolebindings'),
      })),
  };
  const kept = new Map<string, Authorizer>();
  const chain = (wanted: readonly AuthorizerOptions[]): Authorizer[] => [
    privilegedGroup,
    ...wanted.map((one) => {
      if (one.type === 'Webhook')
        return countedDecisions(webhookAuthorizer(one, remote), one.type, one.name, remote.metrics);
      // The others follow caches, or are what a file said at the start: made once.
      let authorizer = kept.get(one.type);
      if (authorizer === undefined) {
        const make = one.type === 'ABAC' ? () => abac(one.policy) : (made[one.type] as (() => Authorizer) | undefined);
        if (make === undefined) throw new Error(`there is no authorizer "${String(one.type)}"`);
        authorizer = countedDecisions(make(), one.type, one.type.toLowerCase(), remote.metrics);
        kept.set(one.type, authorizer);
      }
      return authorizer;
    }),
  ];
  const typesOf = (wanted: readonly AuthorizerOptions[]): string =>
    [...new Set(wanted.map(({ type }) => type).filter((type) => type !== 'Webhook'))].sort().join(', ');
  const first =
    options.authorizers ??
    (options.authorizationModes ?? ['Node', 'RBAC']).map((type): AuthorizerOptions => ({ type }));
  // One array for all who ask: its contents are replaced.
  const authorizers = chain(first);
  return {
    authorizers,
    roles,
    reconfigure(next) {
      if (next.length === 0) throw new Error('a chain of authorizers needs at least one');
      if (typesOf(next) !== typesOf(first))
        throw new Error(
          `only webhooks may come and go while the server runs: ${typesOf(first)} must stay, not ${typesOf(next)}`,
        );
      authorizers.splice(0, authorizers.length, ...chain(next));
    },
  };
}

/** What the recorded role of nodes allows, whatever became of the role itself. */
function nodeRules() {
  const role = bootstrapList('clusterroles').find(({ metadata }) => metadata.name === 'system:node');
  if (role === undefined) throw new Error('the recorded role system:node is missing');
  return compileRules((role as KubeObject & ClusterRole).rules);
}
