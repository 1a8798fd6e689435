// Owns the DNS server's metrics, named as CoreDNS's so that existing dashboards work.
import type { MetricsRegistry } from '../base/metrics.ts';
import { recordTypes, responseCodes } from '../wire/dns-message.ts';

export interface DnsMetrics {
  request(transport: 'udp' | 'tcp', type: number): void;
  response(code: number, seconds: number): void;
  forwarded(result: 'answered' | 'cached' | 'failed'): void;
  dropped(): void;
}

const typeNames = new Map<number, string>(Object.entries(recordTypes).map(([name, value]) => [value, name]));
const codeNames = new Map<number, string>(Object.entries(responseCodes).map(([name, value]) => [value, name]));

export function dnsMetrics(registry: MetricsRegistry): DnsMetrics {
  const requests = registry.counters('coredns_dns_requests_total', 'Queries by transport and type.', ['proto', 'type']);
  const responses = registry.counters('coredns_dns_responses_total', 'Answers by code.', ['rcode']);
  const durations = registry.histogram(
    'coredns_dns_request_duration_seconds',
    'How long an answer took.',
    Array.from({ length: 16 }, (_, at) => 0.00025 * 2 ** at),
  );
  const forwards = registry.counters('coredns_forward_requests_total', 'Questions for upstreams, by result.', [
    'result',
  ]);
  const dropped = registry.counter('coredns_dns_dropped_total', 'Queries dropped because too many were under way.');
  return {
    request: (transport, type) => requests.of(transport, typeNames.get(type) ?? 'other').inc(),
    response(code, seconds) {
      responses.of(codeNames.get(code) ?? String(code)).inc();
      durations.observe(seconds);
    },
    forwarded: (result) => forwards.of(result).inc(),
    dropped: () => dropped.inc(),
  };
}
