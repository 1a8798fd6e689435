// Owns putting all services' rules together into the tables' chains, and the smallest iptables-restore input that leads from one state to the next. Pure.
import type { PortRules } from './port-rules.ts';
import { perServiceChain } from './names.ts';

export type Table = 'nat' | 'filter' | 'mangle';

/** Rules by chain, by table. */
export type Chains = ReadonlyMap<string, readonly string[]>;
export type Tables = Readonly<Record<Table, Chains>>;

export interface TableOptions {
  /** The bit that marks what is to be masqueraded; default 14. */
  readonly masqueradeBit: number;
  /** Nodeports on loopback addresses as well: needs route_localnet, and a rule that keeps strangers off loopback. */
  readonly localhostNodePorts: boolean;
  readonly family: 'IPv4' | 'IPv6';
  /** CIDRs of the node's addresses that serve node ports; empty: all local addresses. */
  readonly nodePortAddresses: readonly string[];
}

/** A jump from a built-in chain to one of ours. Each is put first when it is missing. */
export interface Jump {
  readonly table: Table;
  readonly from: string;
  readonly rule: string;
}

const comment = (text: string): string => `-m comment --comment "${text}"`;
const newOnly = '-m conntrack --ctstate NEW';
const portals = comment('kubernetes service portals');

/** In the order in which they are to stand. */
export const jumps: readonly Jump[] = [
  {
    table: 'filter',
    from: 'INPUT',
    rule: `${newOnly} ${comment('kubernetes load balancer firewall')} -j KUBE-PROXY-FIREWALL`,
  },
  { table: 'filter', from: 'INPUT', rule: `${comment('kubernetes health check service ports')} -j KUBE-NODEPORTS` },
  {
    table: 'filter',
    from: 'INPUT',
    rule: `${newOnly} ${comment('kubernetes externally-visible service portals')} -j KUBE-EXTERNAL-SERVICES`,
  },
  { table: 'filter', from: 'INPUT', rule: '-j KUBE-FIREWALL' },
  {
    table: 'filter',
    from: 'FORWARD',
    rule: `${newOnly} ${comment('kubernetes load balancer firewall')} -j KUBE-PROXY-FIREWALL`,
  },
  { table: 'filter', from: 'FORWARD', rule: `${comment('kubernetes forwarding rules')} -j KUBE-FORWARD` },
  { table: 'filter', from: 'FORWARD', rule: `${newOnly} ${portals} -j KUBE-SERVICES` },
  {
    table: 'filter',
    from: 'FORWARD',
    rule: `${newOnly} ${comment('kubernetes externally-visible service portals')} -j KUBE-EXTERNAL-SERVICES`,
  },
  {
    table: 'filter',
    from: 'OUTPUT',
    rule: `${newOnly} ${comment('kubernetes load balancer firewall')} -j KUBE-PROXY-FIREWALL`,
  },
  { table: 'filter', from: 'OUTPUT', rule: `${newOnly} ${portals} -j KUBE-SERVICES` },
  { table: 'filter', from: 'OUTPUT', rule: '-j KUBE-FIREWALL' },
  { table: 'nat', from: 'OUTPUT', rule: `${portals} -j KUBE-SERVICES` },
  { table: 'nat', from: 'PREROUTING', rule: `${portals} -j KUBE-SERVICES` },
  { table: 'nat', from: 'POSTROUTING', rule: `${comment('kubernetes postrouting rules')} -j KUBE-POSTROUTING` },
];

/** A chain whose disappearance shows that someone flushed the tables. */
export const canary = 'KUBE-PROXY-CANARY';

const ownChains: Readonly<Record<Table, readonly string[]>> = {
  mangle: [canary],
  nat: ['KUBE-SERVICES', 'KUBE-NODEPORTS', 'KUBE-POSTROUTING', 'KUBE-MARK-MASQ', canary],
  filter: [
    'KUBE-SERVICES',
    'KUBE-EXTERNAL-SERVICES',
    'KUBE-NODEPORTS',
    'KUBE-FORWARD',
    'KUBE-PROXY-FIREWALL',
    'KUBE-FIREWALL',
    canary,
  ],
};

export function buildTables(
  ports: Iterable<PortRules>,
  healthChecks: Iterable<{ readonly id: string; readonly port: number }>,
  options: TableOptions,
): Tables {
  const nat = new Map<string, readonly string[]>();
  const services: string[] = [];
  const nodePorts: string[] = [];
  const filterServices: string[] = [];
  const external: string[] = [];
  const firewall: string[] = [];
  for (const rules of ports) {
    for (const [chain, lines] of rules.chains) nat.set(chain, lines);
    services.push(...rules.natServices);
    nodePorts.push(...rules.natNodePorts);
    filterServices.push(...rules.filterServices);
    external.push(...rules.filterExternalServices);
    firewall.push(...rules.filterFirewall);
  }
  services.push(...nodePortJumps(options));
  nat.set('KUBE-SERVICES', services).set('KUBE-NODEPORTS', nodePorts).set(canary, []);
  const mark = `0x${(2 ** options.masqueradeBit).toString(16)}`;
  nat.set('KUBE-MARK-MASQ', [`-j MARK --or-mark ${mark}`]);
  nat.set('KUBE-POSTROUTING', [
    `-m mark ! --mark ${mark}/${mark} -j RETURN`,
    // Clears the mark so that a packet which passes again (through a tunnel) is not masqueraded twice.
    `-j MARK --xor-mark ${mark}`,
    `${comment('kubernetes service traffic requiring SNAT')} -j MASQUERADE --random-fully`,
  ]);
  const accepted = [...healthChecks].map(
    ({ id, port }) => `${comment(`${id} health check node port`)} -m tcp -p tcp --dport ${port} -j ACCEPT`,
  );
  const filter = new Map<string, readonly string[]>([
    ['KUBE-SERVICES', filterServices],
    ['KUBE-EXTERNAL-SERVICES', external],
    ['KUBE-NODEPORTS', accepted],
    ['KUBE-FORWARD', forwardRules(mark)],
    ['KUBE-PROXY-FIREWALL', firewall],
    ['KUBE-FIREWALL', options.localhostNodePorts && options.family === 'IPv4' ? [noMartians] : []],
    [canary, []],
  ]);
  return { nat, filter, mangle: new Map([[canary, []]]) };
}

/** With route_localnet on, neighbours could reach what listens on loopback only (CVE-2020-8558). */
const noMartians =
  `${comment('block incoming localnet connections')} ! -s 127.0.0.0/8 -d 127.0.0.0/8 ` +
  '-m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP';

function forwardRules(mark: string): readonly string[] {
  return [
    // Packets that conntrack cannot place would leave with untranslated addresses and reset the client's connection.
    '-m conntrack --ctstate INVALID -j DROP',
    `${comment('kubernetes forwarding rules')} -m mark --mark ${mark}/${mark} -j ACCEPT`,
    `${comment('kubernetes forwarding conntrack rule')} -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT`,
  ];
}

function nodePortJumps({ nodePortAddresses, localhostNodePorts, family }: TableOptions): readonly string[] {
  const note = comment('kubernetes service nodeports; NOTE: this must be the last rule in this chain');
  const loopback = family === 'IPv6' ? '! -d ::1/128' : localhostNodePorts ? '' : '! -d 127.0.0.0/8';
  if (nodePortAddresses.length === 0)
    return [`${note} -m addrtype --dst-type LOCAL ${loopback} -j KUBE-NODEPORTS`.replace(/ {2,}/g, ' ')];
  return nodePortAddresses.map((range) => `${note} -d ${range} -m addrtype --dst-type LOCAL -j KUBE-NODEPORTS`);
}

/** What there is: from iptables-save. */
export interface Present {
  readonly chains: ReadonlySet<string>;
  /** "-A INPUT …" lines of built-in chains that jump to ours. */
  readonly jumps: readonly string[];
}

const tableNames = ['mangle', 'nat', 'filter'] as const;

/**
 * Input for `iptables-restore --noflush` that turns `before` into `next`: only chains that differ are rewritten, chains that
 * are no longer wanted are removed. Empty when nothing differs. A chain must exist before another jumps to it and be unused
 * before it goes, which the order within one commit takes care of.
 */
export function restoreInput(
  before: Tables | undefined,
  next: Tables,
  present?: Readonly<Record<Table, Present>>,
): string {
  return tableNames.map((table) => tableInput(table, before?.[table], next[table], present?.[table])).join('');
}

function tableInput(table: Table, before: Chains | undefined, next: Chains, present: Present | undefined): string {
  const declared: string[] = [];
  const rules: string[] = [];
  const removed: string[] = [];
  for (const [chain, lines] of next) {
    const known = before?.get(chain);
    if (known !== undefined && (known === lines || sameLines(known, lines))) continue;
    declared.push(`:${chain} - [0:0]`);
    for (const line of lines) rules.push(`-A ${chain} ${line}`);
  }
  const stale = new Set(before?.keys());
  for (const chain of present?.chains ?? []) if (perServiceChain.test(chain)) stale.add(chain);
  for (const chain of stale)
    if (!next.has(chain)) {
      declared.push(`:${chain} - [0:0]`);
      removed.push(`-X ${chain}`);
    }
  const missing = present === undefined ? [] : missingJumps(table, present.jumps);
  if (declared.length === 0 && missing.length === 0) return '';
  return [`*${table}`, ...declared, ...missing, ...rules, ...removed, 'COMMIT', ''].join('\n');
}

function sameLines(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((line, at) => line === b[at]);
}

/** From last to first, each put at the top, so that they end in the order of the list. */
function missingJumps(table: Table, existing: readonly string[]): string[] {
  const targets = existing.map(jumpOf);
  return jumps
    .filter((jump) => jump.table === table && !targets.includes(jumpOf(`-A ${jump.from} ${jump.rule}`)))
    .toReversed()
    .map(({ from, rule }) => `-I ${from} 1 ${rule}`);
}

/** "INPUT>KUBE-SERVICES": what identifies a jump however iptables-save spells the rest. */
function jumpOf(line: string): string {
  return `${/^-A (\S+)/.exec(line)?.[1]}>${/-j (\S+)/.exec(line)?.[1]}`;
}

/** Reads the parts of an iptables-save output that matter here. */
export function parseSave(output: string): Record<Table, Present> {
  const found: Record<Table, { chains: Set<string>; jumps: string[] }> = {
    mangle: { chains: new Set(), jumps: [] },
    nat: { chains: new Set(), jumps: [] },
    filter: { chains: new Set(), jumps: [] },
  };
  let current: { chains: Set<string>; jumps: string[] } | undefined;
  for (const line of output.split('\n')) {
    if (line.startsWith('*')) current = found[line.slice(1).trim() as Table];
    else if (current === undefined) continue;
    else if (line.startsWith(':KUBE-')) current.chains.add(line.slice(1).split(' ', 1)[0]!);
    else if (line.startsWith('-A ') && !line.startsWith('-A KUBE-') && / -j KUBE-/.test(line)) current.jumps.push(line);
  }
  return found;
}

/** Input that removes everything of ours, given what there is; empty when there is nothing. */
export function cleanupInput(present: Readonly<Record<Table, Present>>): string {
  return tableNames
    .map((table) => {
      const { chains, jumps: lines } = present[table];
      const mine = [...chains].filter((chain) => ownChains[table].includes(chain) || perServiceChain.test(chain));
      const ourJumps = lines.filter((line) => mine.includes(/-j (\S+)/.exec(line)?.[1] ?? ''));
      if (mine.length === 0) return '';
      return [
        `*${table}`,
        ...mine.map((chain) => `:${chain} - [0:0]`),
        ...ourJumps.map((line) => line.replace(/^-A /, '-D ')),
        ...mine.map((chain) => `-X ${chain}`),
        'COMMIT',
        '',
      ].join('\n');
    })
    .join('');
}
