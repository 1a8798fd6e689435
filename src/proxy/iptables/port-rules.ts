// Owns the iptables rules of one service port. Pure: plan in, rules by chain out.
import type { Backend, PortPlan } from '../service-plan.ts';
import { backendChain, portChains } from './names.ts';

export interface RuleOptions {
  readonly family: 'IPv4' | 'IPv6';
  /** The pods' addresses: what comes from elsewhere to a cluster IP is masqueraded. Empty: nothing is told apart. */
  readonly clusterCIDR: string;
  readonly masqueradeAll: boolean;
}

/** Rules without "-A CHAIN". */
export interface PortRules {
  /** Chains of the port's own, in the nat table. */
  readonly chains: ReadonlyMap<string, readonly string[]>;
  readonly natServices: readonly string[];
  readonly natNodePorts: readonly string[];
  readonly filterServices: readonly string[];
  readonly filterExternalServices: readonly string[];
  readonly filterFirewall: readonly string[];
}

const comment = (text: string): string => `-m comment --comment "${text}"`;

export function hostAddress(ip: string): string {
  return ip.includes(':') ? `${ip}/128` : `${ip}/32`;
}

function endpointText({ ip, port }: { readonly ip: string; readonly port: number }): string {
  return ip.includes(':') ? `[${ip}]:${port}` : `${ip}:${port}`;
}

export function portRules(plan: PortPlan, options: RuleOptions): PortRules {
  return new Writer(plan, options).write();
}

class Writer {
  readonly #plan: PortPlan;
  readonly #options: RuleOptions;
  readonly #chains = new Map<string, string[]>();
  readonly #natServices: string[] = [];
  readonly #natNodePorts: string[] = [];
  readonly #filterServices: string[] = [];
  readonly #filterExternal: string[] = [];
  readonly #filterFirewall: string[] = [];
  readonly #names: ReturnType<typeof portChains>;

  constructor(plan: PortPlan, options: RuleOptions) {
    this.#plan = plan;
    this.#options = options;
    this.#names = portChains(plan.id, plan.protocol);
  }

  write(): PortRules {
    const plan = this.#plan;
    this.#internal();
    const external = plan.externalIPs.length > 0 || plan.loadBalancerIPs.length > 0 || plan.nodePort > 0;
    if (external) this.#external();
    const usesCluster = !plan.internalLocal || (external && (!plan.externalLocal || plan.clusterBackends.length > 0));
    const usesLocal = plan.internalLocal || (external && plan.externalLocal);
    const backends = new Map<string, Backend>();
    if (usesCluster && plan.clusterBackends.length > 0)
      this.#balance(this.#names.service, plan.clusterBackends, backends, true);
    if (usesLocal && plan.localBackends.length > 0)
      this.#balance(this.#names.local, plan.localBackends, backends, plan.internalLocal);
    for (const [chain, backend] of backends) this.#backend(chain, backend);
    return {
      chains: this.#chains,
      natServices: this.#natServices,
      natNodePorts: this.#natNodePorts,
      filterServices: this.#filterServices,
      filterExternalServices: this.#filterExternal,
      filterFirewall: this.#filterFirewall,
    };
  }

  #chain(name: string): string[] {
    let rules = this.#chains.get(name);
    if (rules === undefined) this.#chains.set(name, (rules = []));
    return rules;
  }

  /** "-m tcp -p tcp -d 10.0.0.1/32 --dport 80" */
  #to(address: string, port: number): string {
    const { protocol } = this.#plan;
    return `-m ${protocol} -p ${protocol} -d ${hostAddress(address)} --dport ${port}`;
  }

  /** A reset reaches the client at once; ICMP errors are limited to a few a second. */
  #reject(): string {
    return this.#plan.protocol === 'tcp' ? '-j REJECT --reject-with tcp-reset' : '-j REJECT';
  }

  #internal(): void {
    const { id, clusterIP, port, internalLocal, clusterBackends, localBackends, anyBackends } = this.#plan;
    const backends = internalLocal ? localBackends : clusterBackends;
    const to = this.#to(clusterIP, port);
    if (backends.length > 0)
      this.#natServices.push(
        `${comment(`${id} cluster IP`)} ${to} -j ${internalLocal ? this.#names.local : this.#names.service}`,
      );
    else if (anyBackends) this.#filterServices.push(`${comment(`${id} has no local endpoints`)} ${to} -j DROP`);
    else this.#filterServices.push(`${comment(`${id} has no endpoints`)} ${to} ${this.#reject()}`);
  }

  #external(): void {
    const { id, externalIPs, loadBalancerIPs, nodePort, port, protocol } = this.#plan;
    if (!this.#plan.anyBackends) {
      this.#refuseExternal('has no endpoints', this.#reject());
      return;
    }
    const { external, firewall } = this.#names;
    const behindFirewall = this.#plan.sourceRanges.length > 0;
    for (const ip of externalIPs)
      this.#natServices.push(`${comment(`${id} external IP`)} ${this.#to(ip, port)} -j ${external}`);
    for (const ip of loadBalancerIPs) {
      const target = behindFirewall ? firewall : external;
      this.#natServices.push(`${comment(`${id} loadbalancer IP`)} ${this.#to(ip, port)} -j ${target}`);
      if (behindFirewall)
        this.#filterFirewall.push(
          `${comment(`${id} traffic not accepted by ${firewall}`)} ${this.#to(ip, port)} -j DROP`,
        );
    }
    if (behindFirewall && loadBalancerIPs.length > 0) this.#firewall(loadBalancerIPs);
    if (nodePort > 0)
      this.#natNodePorts.push(`${comment(id)} -m ${protocol} -p ${protocol} --dport ${nodePort} -j ${external}`);
    this.#externalChain();
    if (this.#plan.externalLocal && this.#plan.localBackends.length === 0)
      this.#refuseExternal('has no local endpoints', '-j DROP');
  }

  /** Traffic from outside: masqueraded unless the policy keeps it on this node; pods and the node itself may go anywhere. */
  #externalChain(): void {
    const { id, externalLocal, localBackends } = this.#plan;
    const rules = this.#chain(this.#names.external);
    const anywhere = this.#plan.clusterBackends.length > 0 ? this.#names.service : this.#names.local;
    if (!externalLocal) {
      rules.push(
        `${comment(`masquerade traffic for ${id} external destinations`)} -j KUBE-MARK-MASQ`,
        `-j ${anywhere}`,
      );
      return;
    }
    if (this.#options.clusterCIDR !== '')
      rules.push(
        `${comment(`pod traffic for ${id} external destinations`)} -s ${this.#options.clusterCIDR} -j ${anywhere}`,
      );
    rules.push(
      `${comment(`masquerade LOCAL traffic for ${id} external destinations`)} -m addrtype --src-type LOCAL -j KUBE-MARK-MASQ`,
      `${comment(`route LOCAL traffic for ${id} external destinations`)} -m addrtype --src-type LOCAL -j ${anywhere}`,
    );
    if (localBackends.length > 0) rules.push(`-j ${this.#names.local}`);
  }

  #firewall(loadBalancerIPs: readonly string[]): void {
    const rules = this.#chain(this.#names.firewall);
    const note = comment(`${this.#plan.id} loadbalancer IP`);
    for (const range of this.#plan.sourceRanges) rules.push(`${note} -s ${range} -j ${this.#names.external}`);
    // A node that reaches its own load balancer address does so from that address.
    for (const ip of loadBalancerIPs) rules.push(`${note} -s ${hostAddress(ip)} -j ${this.#names.external}`);
    rules.push(`${comment(`other traffic to ${this.#plan.id} will be dropped by KUBE-PROXY-FIREWALL`)}`);
  }

  #refuseExternal(why: string, action: string): void {
    const { id, externalIPs, loadBalancerIPs, nodePort, port, protocol } = this.#plan;
    for (const ip of [...externalIPs, ...loadBalancerIPs])
      this.#filterExternal.push(`${comment(`${id} ${why}`)} ${this.#to(ip, port)} ${action}`);
    if (nodePort > 0)
      this.#filterExternal.push(
        `${comment(`${id} ${why}`)} -m addrtype --dst-type LOCAL -m ${protocol} -p ${protocol} --dport ${nodePort} ${action}`,
      );
  }

  #balance(chain: string, backends: readonly Backend[], all: Map<string, Backend>, internal: boolean): void {
    const { id, protocol, clusterIP, port, affinitySeconds } = this.#plan;
    const rules = this.#chain(chain);
    if (internal && chain === this.#names.service) {
      const masquerade = comment(`${id} cluster IP`);
      if (this.#options.masqueradeAll) rules.push(`${masquerade} ${this.#to(clusterIP, port)} -j KUBE-MARK-MASQ`);
      else if (this.#options.clusterCIDR !== '')
        rules.push(`${masquerade} ${this.#to(clusterIP, port)} ! -s ${this.#options.clusterCIDR} -j KUBE-MARK-MASQ`);
    }
    const chains = backends.map((backend) => {
      const name = backendChain(id, protocol, endpointText(backend));
      all.set(name, backend);
      return { name, note: comment(`${id} -> ${endpointText(backend)}`) };
    });
    if (affinitySeconds > 0)
      for (const { name, note } of chains)
        rules.push(`${note} -m recent --name ${name} --rcheck --seconds ${affinitySeconds} --reap -j ${name}`);
    chains.forEach(({ name, note }, at) => {
      const left = chains.length - at;
      const chance = left === 1 ? '' : ` -m statistic --mode random --probability ${(1 / left).toFixed(10)}`;
      rules.push(`${note}${chance} -j ${name}`);
    });
  }

  /** A pod that reaches itself through the service must see another source than itself (hairpin). */
  #backend(chain: string, backend: Backend): void {
    const { id, protocol, affinitySeconds } = this.#plan;
    const recent = affinitySeconds > 0 ? ` -m recent --name ${chain} --set` : '';
    this.#chain(chain).push(
      `${comment(id)} -s ${hostAddress(backend.ip)} -j KUBE-MARK-MASQ`,
      `${comment(id)} -m ${protocol} -p ${protocol}${recent} -j DNAT --to-destination ${endpointText(backend)}`,
    );
  }
}
