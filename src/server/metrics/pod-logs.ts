// Owns what is counted of logs that are asked of kubelets.
import type { MetricsRegistry } from '../../base/metrics.ts';

export function podLogUses(registry: MetricsRegistry): (skipsTls: boolean) => void {
  const uses = registry.counters(
    'kube_apiserver_pod_logs_insecure_backend_total',
    'Logs asked of kubelets, by whether their certificates need not be verified.',
    ['usage'],
  );
  return (skipsTls) => uses.of(skipsTls ? 'skip_tls_allowed' : 'enforce_tls').inc();
}
