// Owns the scheduler's metrics, named as upstream's.
import type { MetricsRegistry } from '../base/metrics.ts';
import type { SchedulerCache } from './cache.ts';
import type { SchedulingQueue } from './queue.ts';

function doubling(from: number, count: number): number[] {
  return Array.from({ length: count }, (_, at) => from * 2 ** at);
}

export interface SchedulerMetrics {
  attempt(profile: string, result: 'scheduled' | 'unschedulable' | 'error', seconds: number): void;
  algorithm(seconds: number): void;
  scheduled(attempts: number, seconds: number): void;
  preempted(victims: number): void;
  incoming(queue: string, event: string): void;
}

export function schedulerMetrics(
  registry: MetricsRegistry,
  queue: SchedulingQueue,
  cache: SchedulerCache,
): SchedulerMetrics {
  const attempts = registry.counters('scheduler_schedule_attempts_total', 'Attempts to schedule pods, by result.', [
    'profile',
    'result',
  ]);
  const durations = registry.histograms(
    'scheduler_scheduling_attempt_duration_seconds',
    'How long an attempt took, from the decision to the binding.',
    ['profile', 'result'],
    doubling(0.001, 15),
  );
  const algorithm = registry.histogram(
    'scheduler_scheduling_algorithm_duration_seconds',
    'How long the decision took.',
    doubling(0.0001, 18),
  );
  const sli = registry.histograms(
    'scheduler_pod_scheduling_sli_duration_seconds',
    'From when a pod came to when it was bound.',
    ['attempts'],
    doubling(0.01, 20),
  );
  const tries = registry.histogram(
    'scheduler_pod_scheduling_attempts',
    'Attempts it took to bind a pod.',
    [1, 2, 4, 8, 16],
  );
  const preemptions = registry.counter('scheduler_preemption_attempts_total', 'Preemptions so far.');
  const victims = registry.histogram(
    'scheduler_preemption_victims',
    'Pods that one preemption removed.',
    doubling(1, 7),
  );
  const incoming = registry.counters('scheduler_queue_incoming_pods_total', 'Pods that entered a queue.', [
    'queue',
    'event',
  ]);
  registry.observed('scheduler_pods_active', 'Pods ready to be scheduled.', () => queue.sizes.active);
  registry.observed('scheduler_pods_backoff', 'Pods that wait out a back-off.', () => queue.sizes.backoff);
  registry.observed('scheduler_pods_unschedulable', 'Pods refused so far.', () => queue.unschedulable);
  registry.observed('scheduler_pods_gated', 'Pods kept out by gates.', () => queue.gated);
  registry.observed('scheduler_nodes', 'Nodes known.', () => cache.nodes.length);
  registry.observed('scheduler_pods', 'Pods placed.', () => cache.podCount);
  return {
    attempt(profile, result, seconds) {
      attempts.of(profile, result).inc();
      durations.of(profile, result).observe(seconds);
    },
    algorithm: (seconds) => algorithm.observe(seconds),
    scheduled(count, seconds) {
      tries.observe(count);
      sli.of(count > 15 ? '16+' : String(count)).observe(seconds);
    },
    preempted(count) {
      preemptions.inc();
      victims.observe(count);
    },
    incoming: (name, event) => incoming.of(name, event).inc(),
  };
}
