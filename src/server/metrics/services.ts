// Owns what is counted of services' addresses and ports: those given out, those free, those that could not be had.
import type { Counter, MetricsRegistry } from '../../base/metrics.ts';
import type { Allocations } from '../services/allocations.ts';
import type { IpRange } from '../services/ip-range.ts';
import type { PortRange } from '../services/node-port-ledger.ts';

const buckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Whether the client named it. */
export type AllocationScope = 'static' | 'dynamic';

export interface ServiceMetrics {
  /** `cidr`: the range; empty when it is in none. */
  address(cidr: string, scope: AllocationScope, seconds: number | undefined): void;
  port(scope: AllocationScope, isDone: boolean): void;
}

export function nodePortRepairFailures(registry: MetricsRegistry): Counter {
  return registry.counter(
    'apiserver_nodeport_repair_reconcile_errors_total',
    'Passes over the record of node ports that failed.',
  );
}

export function serviceMetrics(
  registry: MetricsRegistry,
  allocations: Allocations,
  given: { readonly ranges: () => readonly IpRange[]; readonly nodePorts: PortRange },
): ServiceMetrics {
  const ips = 'kube_apiserver_clusterip_allocator_';
  const ports = 'kube_apiserver_nodeport_allocator_';
  const allocated = registry.counters(`${ips}allocation_total`, 'Cluster addresses given out.', ['cidr', 'scope']);
  const failed = registry.counters(`${ips}allocation_errors_total`, 'Cluster addresses that could not be had.', [
    'cidr',
    'scope',
  ]);
  const durations = registry.histograms(
    `${ips}allocation_duration_seconds`,
    'How long giving a cluster address out took.',
    ['cidr'],
    buckets,
  );
  const taken = (range: IpRange): number => {
    let count = 0;
    for (const ip of allocations.addresses()) if (range.contains(ip)) count++;
    return count;
  };
  registry.collected(`${ips}allocated_ips`, 'gauge', 'Cluster addresses in use.', ['cidr'], () =>
    given.ranges().map((range) => [[range.cidr], taken(range)] as const),
  );
  registry.collected(`${ips}available_ips`, 'gauge', 'Cluster addresses that are free.', ['cidr'], () =>
    given.ranges().map((range) => [[range.cidr], range.size - taken(range)] as const),
  );
  const { from, to } = given.nodePorts;
  const inUse = (): number => {
    const found = new Set<number>();
    for (const port of allocations.ports()) if (port >= from && port <= to) found.add(port);
    return found.size;
  };
  registry.observed(`${ports}allocated_ports`, 'Node ports in use.', inUse);
  registry.observed(`${ports}available_ports`, 'Node ports that are free.', () => to - from + 1 - inUse());
  const allocatedPorts = registry.counters(`${ports}allocation_total`, 'Node ports given out.', ['scope']);
  const failedPorts = registry.counters(`${ports}allocation_errors_total`, 'Node ports that could not be had.', [
    'scope',
  ]);
  return {
    address(cidr, scope, seconds) {
      if (seconds === undefined) return failed.of(cidr, scope).inc();
      allocated.of(cidr, scope).inc();
      durations.of(cidr).observe(seconds);
    },
    port: (scope, isDone) => (isDone ? allocatedPorts : failedPorts).of(scope).inc(),
  };
}
