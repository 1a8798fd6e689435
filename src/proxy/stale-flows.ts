// Owns which UDP flows conntrack must forget: they would keep a client tied to a backend that is gone, or to none. Pure.
import type { PortPlan, ServicePlan } from './service-plan.ts';

/** Arguments for one `conntrack -D`. */
export type FlowFilter = readonly string[];

const addressesOf = (plan: PortPlan): readonly string[] => [
  plan.clusterIP,
  ...plan.externalIPs,
  ...plan.loadBalancerIPs,
];

function backendsOf(plan: PortPlan | undefined): Map<string, string> {
  const all = [...(plan?.clusterBackends ?? []), ...(plan?.localBackends ?? [])];
  return new Map(all.map(({ ip, port }) => [`${ip} ${port}`, ip]));
}

/** What to delete after a service went from `before` to `after` (either may be absent). Only UDP: other protocols notice by themselves. */
export function staleFlows(before: ServicePlan | undefined, after: ServicePlan | undefined): readonly FlowFilter[] {
  const filters: FlowFilter[] = [];
  const ports = new Map<string, { before?: PortPlan; after?: PortPlan }>();
  for (const plan of before?.ports ?? []) ports.set(`${plan.id} ${plan.protocol}`, { before: plan });
  for (const plan of after?.ports ?? []) {
    const key = `${plan.id} ${plan.protocol}`;
    ports.set(key, { ...ports.get(key), after: plan });
  }
  for (const { before: old, after: now } of ports.values()) {
    const plan = now ?? old!;
    if (plan.protocol !== 'udp') continue;
    const family = plan.clusterIP.includes(':') ? 'ipv6' : 'ipv4';
    const base = ['-D', '-f', family, '-p', 'udp'];
    const backends = backendsOf(now);
    for (const [key, ip] of backendsOf(old)) {
      if (backends.has(key)) continue;
      for (const address of addressesOf(old!)) filters.push([...base, '--orig-dst', address, '--dst-nat', ip]);
      if (old!.nodePort > 0) filters.push([...base, '--dport', String(old!.nodePort), '--dst-nat', ip]);
    }
    // Flows from when nobody served were never translated and would stay so.
    if (now?.anyBackends === true && old?.anyBackends !== true) {
      for (const address of addressesOf(now)) filters.push([...base, '--orig-dst', address]);
      if (now.nodePort > 0) filters.push([...base, '--dport', String(now.nodePort)]);
    }
  }
  return filters;
}
