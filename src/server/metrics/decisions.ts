// Owns what is counted of single authorizers: the decisions that they come to.
import type { Counter, Family, MetricsRegistry } from '../../base/metrics.ts';
import type { Authorizer, Decision } from '../authz/authorizer.ts';

/** `type` and `name` as AuthorizationConfiguration has them. Having no opinion is no decision. */
export function countedDecisions(
  authorizer: Authorizer,
  type: string,
  name: string,
  registry: MetricsRegistry | undefined,
): Authorizer {
  if (registry === undefined) return authorizer;
  const total = registry.counters(
    'apiserver_authorization_decisions_total',
    'Decisions of an authorizer to allow or deny.',
    ['decision', 'name', 'type'],
  );
  const allowed = lazily(total, 'allowed', name, type);
  const denied = lazily(total, 'denied', name, type);
  const told = (decision: Decision): Decision => {
    if (decision === 'allow') allowed().inc();
    else if (decision === 'deny') denied().inc();
    return decision;
  };
  return {
    ...authorizer,
    ...(authorizer.reason && { reason: (attributes) => authorizer.reason!(attributes) }),
    decide(attributes) {
      const decision = authorizer.decide(attributes);
      return decision instanceof Promise ? decision.then(told) : told(decision);
    },
  };
}

/** What never happened is not told of. */
function lazily(family: Family<Counter>, ...labels: string[]): () => Counter {
  let child: Counter | undefined;
  return () => (child ??= family.of(...labels));
}
