// Owns kube-proxy's metrics, named as upstream's.
import type { MetricsRegistry } from '../base/metrics.ts';

export interface ProxyMetrics {
  queued(nowMs: number): void;
  /** Returns what to call when the sync went well. */
  syncing(startMs: number): (endMs: number, nowMs: number) => void;
  failed(): void;
}

export function proxyMetrics(registry: MetricsRegistry): ProxyMetrics {
  const buckets = Array.from({ length: 15 }, (_, at) => 0.001 * 2 ** at);
  const durations = registry.histogram(
    'kubeproxy_sync_proxy_rules_duration_seconds',
    'How long writing the rules took.',
    buckets,
  );
  const lastSync = registry.gauge(
    'kubeproxy_sync_proxy_rules_last_timestamp_seconds',
    'When the rules were last written.',
  );
  const lastQueued = registry.gauge(
    'kubeproxy_sync_proxy_rules_last_queued_timestamp_seconds',
    'When a change last asked for a write.',
  );
  const failures = registry.counter(
    'kubeproxy_sync_proxy_rules_iptables_restore_failures_total',
    'Writes that failed.',
  );
  return {
    queued: (nowMs) => lastQueued.set(nowMs / 1000),
    syncing: (startMs) => (endMs, nowMs) => {
      durations.observe((endMs - startMs) / 1000);
      lastSync.set(nowMs / 1000);
    },
    failed: () => failures.inc(),
  };
}
