// Owns what is counted of policies and match conditions in CEL, under upstream's names.
import type { Clock } from '../../base/clock.ts';
import type { MetricsRegistry } from '../../base/metrics.ts';

const checkBuckets = [5e-7, 0.001, 0.01, 0.1, 1];
const conditionBuckets = [0.001, 0.005, 0.01, 0.025, 0.1, 0.2, 0.25];

/** What a policy came to: nothing to say, or why it says no. */
export type CheckOutcome = 'no_error' | 'compile_error' | 'invalid_error' | 'out_of_budget_error';

export function outcomeOf(message: string): CheckOutcome {
  if (message.startsWith('compilation')) return 'compile_error';
  if (message.startsWith('validation failed due to running out of cost budget')) return 'out_of_budget_error';
  return 'invalid_error';
}

export interface ConditionMetrics {
  /** Runs `work`, which tells whether the conditions of `name` hold, and tells how long it took and whether it failed. */
  measured(name: string, operation: string, work: () => boolean): boolean;
}

/** `type`: as upstream labels the measurement; it labels the exclusions differently. */
export function conditionMetrics(
  registry: MetricsRegistry,
  clock: Clock,
  kind: 'webhook' | 'policy',
  type: 'admit' | 'validating' | 'validate',
): ConditionMetrics {
  const labels = ['kind', 'name', 'operation', 'type'];
  const seconds = registry.histograms(
    'apiserver_admission_match_condition_evaluation_seconds',
    'How long match conditions took.',
    labels,
    conditionBuckets,
  );
  const errors = registry.counters(
    'apiserver_admission_match_condition_evaluation_errors_total',
    'Match conditions that failed.',
    labels,
  );
  const exclusions = registry.counters(
    'apiserver_admission_match_condition_exclusions_total',
    'Requests that match conditions kept away.',
    labels,
  );
  return {
    measured(name, operation, work) {
      const startMs = clock.monotonic();
      try {
        const holds = work();
        if (!holds && kind === 'webhook')
          exclusions.of(kind, name, operation, type === 'admit' ? 'admit' : 'validate').inc();
        return holds;
      } catch (error) {
        errors.of(kind, name, operation, type).inc();
        throw error;
      } finally {
        seconds.of(kind, name, operation, type).observe((clock.monotonic() - startMs) / 1000);
      }
    },
  };
}

export interface CheckMetrics {
  now(): number;
  /** `action`: what the binding has done about it; absent for policies that mutate. */
  told(policy: string, binding: string, outcome: CheckOutcome, startMs: number, action?: string): void;
}

export function checkMetrics(registry: MetricsRegistry, clock: Clock, what: 'validating' | 'mutating'): CheckMetrics {
  const labels = [...(what === 'validating' ? ['enforcement_action'] : []), 'error_type', 'policy', 'policy_binding'];
  const prefix = `apiserver_${what}_admission_policy_check_`;
  const total = registry.counters(`${prefix}total`, 'Checks of policies, by binding and outcome.', labels);
  const seconds = registry.histograms(`${prefix}duration_seconds`, 'How long they took.', labels, checkBuckets);
  return {
    now: () => clock.monotonic(),
    told(policy, binding, outcome, startMs, action) {
      const values = [...(action === undefined ? [] : [action]), outcome, policy, binding];
      total.of(...values).inc();
      seconds.of(...values).observe((clock.monotonic() - startMs) / 1000);
    },
  };
}
