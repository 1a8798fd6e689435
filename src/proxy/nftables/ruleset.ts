// Owns the nftables form of the services' rules: one table of our own, lookups by map instead of rule by rule. Pure.
import { createHash } from 'node:crypto';
import type { Backend, PortPlan } from '../service-plan.ts';

export interface NftOptions {
  readonly family: 'IPv4' | 'IPv6';
  readonly clusterCIDR: string;
  readonly masqueradeAll: boolean;
  readonly masqueradeBit: number;
  readonly localhostNodePorts: boolean;
  readonly nodePortAddresses: readonly string[];
}

export const verdictMaps = [
  'service-ips',
  'service-nodeports',
  'no-endpoint-services',
  'no-endpoint-nodeports',
  'firewall-ips',
] as const;
export type VerdictMap = (typeof verdictMaps)[number];

/** What services add to the table. */
export interface Ruleset {
  /** Verdict by key, by map. */
  readonly maps: Readonly<Record<VerdictMap, Map<string, string>>>;
  readonly chains: Map<string, readonly string[]>;
  /** Clients that are tied to a backend: seconds by set name. */
  readonly affinitySets: Map<string, number>;
}

export function emptyRuleset(): Ruleset {
  return {
    maps: {
      'service-ips': new Map(),
      'service-nodeports': new Map(),
      'no-endpoint-services': new Map(),
      'no-endpoint-nodeports': new Map(),
      'firewall-ips': new Map(),
    },
    chains: new Map(),
    affinitySets: new Map(),
  };
}

/** "tcp" word of the table: `ip kube-proxy` or `ip6 kube-proxy`. */
export function tableName(family: 'IPv4' | 'IPv6'): string {
  return `${family === 'IPv6' ? 'ip6' : 'ip'} kube-proxy`;
}

function nameOf(kind: string, { id, protocol }: PortPlan, address = ''): string {
  const hash = createHash('sha256').update(`${id}/${protocol}/${address}`).digest('hex').slice(0, 12);
  return `${kind}-${hash}-${id.replace(':', '/')}/${protocol}`.slice(0, 110);
}

const target = ({ ip, port }: Backend): string => (ip.includes(':') ? `[${ip}]:${port}` : `${ip}:${port}`);

/** Adds one port's rules to the set. */
export function addPort(rules: Ruleset, plan: PortPlan, options: NftOptions): void {
  const ip = options.family === 'IPv6' ? 'ip6' : 'ip';
  const key = (address: string) => `${address} . ${plan.protocol} . ${plan.port}`;
  const nodePortKey = `${plan.protocol} . ${plan.nodePort}`;
  const external = [...plan.externalIPs, ...plan.loadBalancerIPs];
  const none = plan.anyBackends ? 'drop' : 'goto reject-chain';
  const inner = plan.internalLocal ? plan.localBackends : plan.clusterBackends;
  const service = nameOf('service', plan);
  const local = nameOf('local', plan);
  if (inner.length > 0)
    rules.maps['service-ips'].set(key(plan.clusterIP), `goto ${plan.internalLocal ? local : service}`);
  else rules.maps['no-endpoint-services'].set(key(plan.clusterIP), none);
  const isExternal = external.length > 0 || plan.nodePort > 0;
  const outer = plan.externalLocal ? plan.localBackends : plan.clusterBackends;
  if (isExternal && outer.length === 0) {
    for (const address of external) rules.maps['no-endpoint-services'].set(key(address), none);
    if (plan.nodePort > 0) rules.maps['no-endpoint-nodeports'].set(nodePortKey, none);
  }
  if (plan.sourceRanges.length > 0 && plan.loadBalancerIPs.length > 0) {
    const firewall = nameOf('firewall', plan);
    const allowed = [...plan.sourceRanges, ...plan.loadBalancerIPs].join(', ');
    rules.chains.set(firewall, [`${ip} saddr { ${allowed} } return`, 'drop']);
    for (const address of plan.loadBalancerIPs) rules.maps['firewall-ips'].set(key(address), `goto ${firewall}`);
  }
  if (isExternal && plan.anyBackends) {
    const chain = nameOf('external', plan);
    for (const address of external) rules.maps['service-ips'].set(key(address), `goto ${chain}`);
    if (plan.nodePort > 0) rules.maps['service-nodeports'].set(nodePortKey, `goto ${chain}`);
    rules.chains.set(chain, externalRules(plan, options, ip, service, local));
  }
  const usesService = (!plan.internalLocal || isExternal) && plan.clusterBackends.length > 0;
  if (usesService) balance(rules, service, plan, plan.clusterBackends, options, ip);
  if ((plan.internalLocal || (isExternal && plan.externalLocal)) && plan.localBackends.length > 0)
    balance(rules, local, plan, plan.localBackends, options, ip);
}

function externalRules(plan: PortPlan, options: NftOptions, ip: string, service: string, local: string): string[] {
  const anywhere = plan.clusterBackends.length > 0 ? service : local;
  if (!plan.externalLocal) return ['jump mark-for-masquerade', `goto ${anywhere}`];
  return [
    ...(options.clusterCIDR === '' ? [] : [`${ip} saddr ${options.clusterCIDR} goto ${anywhere}`]),
    'fib saddr type local jump mark-for-masquerade',
    `fib saddr type local goto ${anywhere}`,
    ...(plan.localBackends.length > 0 ? [`goto ${local}`] : []),
  ];
}

function balance(
  rules: Ruleset,
  chain: string,
  plan: PortPlan,
  backends: readonly Backend[],
  options: NftOptions,
  ip: string,
): void {
  const lines: string[] = [];
  const toCluster = `${ip} daddr ${plan.clusterIP} ${plan.protocol} dport ${plan.port}`;
  if (options.masqueradeAll) lines.push(`${toCluster} jump mark-for-masquerade`);
  else if (options.clusterCIDR !== '')
    lines.push(`${toCluster} ${ip} saddr != ${options.clusterCIDR} jump mark-for-masquerade`);
  const named = backends.map((backend) => {
    const chainName = nameOf('endpoint', plan, target(backend));
    const set = plan.affinitySeconds > 0 ? nameOf('affinity', plan, target(backend)) : undefined;
    if (set !== undefined) {
      rules.affinitySets.set(set, plan.affinitySeconds);
      lines.push(`${ip} saddr @${set} goto ${chainName}`);
    }
    rules.chains.set(chainName, [
      `${ip} saddr ${backend.ip} jump mark-for-masquerade`,
      ...(set === undefined ? [] : [`update @${set} { ${ip} saddr }`]),
      `meta l4proto ${plan.protocol} dnat to ${target(backend)}`,
    ]);
    return chainName;
  });
  const choices = named.map((name, at) => `${at} : goto ${name}`).join(', ');
  lines.push(`numgen random mod ${named.length} vmap { ${choices} }`);
  rules.chains.set(chain, lines);
}

/** The whole table, replacing whatever an earlier process left, in one transaction. */
export function fullInput(rules: Ruleset, options: NftOptions): string {
  const table = tableName(options.family);
  const lines = [`add table ${table}`, `delete table ${table}`, `add table ${table}`, ...frame(options)];
  return [...lines, ...difference(emptyRuleset(), rules, options), ''].join('\n');
}

/** What leads from one set of rules to another; empty when they are alike. */
export function changeInput(before: Ruleset, after: Ruleset, options: NftOptions): string {
  const lines = difference(before, after, options);
  return lines.length === 0 ? '' : `${lines.join('\n')}\n`;
}

function frame(options: NftOptions): string[] {
  const table = tableName(options.family);
  const v6 = options.family === 'IPv6';
  const ip = v6 ? 'ip6' : 'ip';
  const address = v6 ? 'ipv6_addr' : 'ipv4_addr';
  const mark = `0x${(2 ** options.masqueradeBit).toString(16)}`;
  const byAddress = `type ${address} . inet_proto . inet_service : verdict`;
  const byPort = 'type inet_proto . inet_service : verdict';
  const chains: readonly (readonly [name: string, hook: string, rules: readonly string[]])[] = [
    ['mark-for-masquerade', '', [`mark set mark or ${mark}`]],
    ['masquerading', '', [`mark and ${mark} == 0 return`, `mark set mark xor ${mark}`, 'masquerade fully-random']],
    ['reject-chain', '', ['meta l4proto tcp reject with tcp reset', 'reject']],
    ['services', '', serviceRules(options, ip)],
    ['service-endpoints-check', '', [`${ip} daddr . meta l4proto . th dport vmap @no-endpoint-services`]],
    [
      'nodeport-endpoints-check',
      '',
      nodePortMatches(options, ip).map((match) => `${match} meta l4proto . th dport vmap @no-endpoint-nodeports`),
    ],
    ['firewall-check', '', [`${ip} daddr . meta l4proto . th dport vmap @firewall-ips`]],
    ['filter-prerouting', 'type filter hook prerouting priority -110', ['ct state new jump firewall-check']],
    [
      'filter-input',
      'type filter hook input priority -110',
      [
        ...(options.localhostNodePorts && !v6
          ? [
              'ip saddr != 127.0.0.0/8 ip daddr 127.0.0.0/8 ct state != { established, related } ct status & dnat == 0 drop',
            ]
          : []),
        'ct state new jump nodeport-endpoints-check',
        'ct state new jump service-endpoints-check',
      ],
    ],
    ['filter-forward', 'type filter hook forward priority -110', ['ct state new jump service-endpoints-check']],
    [
      'filter-output',
      'type filter hook output priority -110',
      [
        'ct state new jump service-endpoints-check',
        'ct state new jump nodeport-endpoints-check',
        'ct state new jump firewall-check',
      ],
    ],
    ['nat-prerouting', 'type nat hook prerouting priority -100', ['jump services']],
    ['nat-output', 'type nat hook output priority -100', ['jump services']],
    ['nat-postrouting', 'type nat hook postrouting priority 100', ['jump masquerading']],
  ];
  return [
    `add map ${table} service-ips { ${byAddress} ; }`,
    `add map ${table} service-nodeports { ${byPort} ; }`,
    `add map ${table} no-endpoint-services { ${byAddress} ; }`,
    `add map ${table} no-endpoint-nodeports { ${byPort} ; }`,
    `add map ${table} firewall-ips { ${byAddress} ; }`,
    ...chains.map(([name, hook]) => `add chain ${table} ${name}${hook === '' ? '' : ` { ${hook} ; }`}`),
    ...chains.flatMap(([name, , rules]) => rules.map((rule) => `add rule ${table} ${name} ${rule}`)),
  ];
}

function nodePortMatches({ nodePortAddresses, localhostNodePorts, family }: NftOptions, ip: string): string[] {
  if (nodePortAddresses.length > 0) return [`${ip} daddr { ${nodePortAddresses.join(', ')} } fib daddr type local`];
  if (family === 'IPv6') return ['ip6 daddr != ::1 fib daddr type local'];
  return [localhostNodePorts ? 'fib daddr type local' : 'ip daddr != 127.0.0.0/8 fib daddr type local'];
}

function serviceRules(options: NftOptions, ip: string): string[] {
  return [
    `${ip} daddr . meta l4proto . th dport vmap @service-ips`,
    ...nodePortMatches(options, ip).map((match) => `${match} meta l4proto . th dport vmap @service-nodeports`),
  ];
}

/** A chain must be there before it is pointed to and unused before it goes: hence the order. */
function difference(before: Ruleset, after: Ruleset, options: NftOptions): string[] {
  const table = tableName(options.family);
  const address = options.family === 'IPv6' ? 'ipv6_addr' : 'ipv4_addr';
  const lines: string[] = [];
  for (const [name, seconds] of after.affinitySets)
    if (before.affinitySets.get(name) !== seconds) {
      // A set's timeout cannot be changed: those who are tied are let go.
      if (before.affinitySets.has(name)) lines.push(`flush set ${table} ${name}`);
      else lines.push(`add set ${table} ${name} { type ${address} ; flags dynamic,timeout ; timeout ${seconds}s ; }`);
    }
  for (const name of after.chains.keys()) if (!before.chains.has(name)) lines.push(`add chain ${table} ${name}`);
  for (const [name, rules] of after.chains) {
    const known = before.chains.get(name);
    if (known !== undefined && known.length === rules.length && known.every((rule, at) => rule === rules[at])) continue;
    if (known !== undefined) lines.push(`flush chain ${table} ${name}`);
    for (const rule of rules) lines.push(`add rule ${table} ${name} ${rule}`);
  }
  for (const map of verdictMaps) {
    const gone = [...before.maps[map]].filter(([key, verdict]) => after.maps[map].get(key) !== verdict);
    if (gone.length > 0) lines.push(`delete element ${table} ${map} { ${gone.map(([key]) => key).join(', ')} }`);
    const fresh = [...after.maps[map]].filter(([key, verdict]) => before.maps[map].get(key) !== verdict);
    if (fresh.length > 0)
      lines.push(`add element ${table} ${map} { ${fresh.map(([key, verdict]) => `${key} : ${verdict}`).join(', ')} }`);
  }
  const removed = [...before.chains.keys()].filter((name) => !after.chains.has(name));
  for (const name of removed) lines.push(`flush chain ${table} ${name}`);
  for (const name of removed) lines.push(`delete chain ${table} ${name}`);
  for (const name of before.affinitySets.keys())
    if (!after.affinitySets.has(name)) lines.push(`delete set ${table} ${name}`);
  return lines;
}
