// Owns the pod network's CNI configuration: a bridge a node, addresses from the node's podCIDR, host ports. Runs no plugin itself.

export interface CniOptions {
  readonly networkName: string;
  /** At most 15 characters: a Linux interface name. */
  readonly bridge: string;
  readonly podCidr: string;
  /** Where host-local keeps which address is taken. */
  readonly dataFolder: string;
  readonly mtu?: number;
}

/** The content of a `.conflist` file. */
export function cniConfig(options: CniOptions): string {
  return JSON.stringify(
    {
      cniVersion: '0.4.0',
      name: options.networkName,
      plugins: [
        {
          type: 'bridge',
          bridge: options.bridge,
          isGateway: true,
          // Traffic to outside of the pod network leaves with the node's address; between pods addresses stay.
          ipMasq: true,
          hairpinMode: true,
          ...(options.mtu !== undefined && { mtu: options.mtu }),
          ipam: {
            type: 'host-local',
            ranges: [[{ subnet: options.podCidr }]],
            routes: [{ dst: '0.0.0.0/0' }],
            dataDir: options.dataFolder,
          },
        },
        { type: 'portmap', capabilities: { portMappings: true }, snat: true },
      ],
    },
    null,
    2,
  );
}

/**
 * What to feed to `iptables-restore --noflush` so that nothing of this network is left, from what `iptables-save -t nat` says: the
 * plugins leave their chains when containers end without them. Other networks' rules stay. Empty: there is nothing to do.
 */
export function cniCleanup(saved: string, networkName: string): string {
  const lines = saved.split('\n');
  const all = lines.flatMap((line) => /^:(CNI-\S+)/.exec(line)?.[1] ?? []);
  const rules = lines.filter((line) => line.startsWith('-A '));
  const isOwn = (rule: string): boolean => rule.includes(`name: \\"${networkName}\\" `);
  const targetOf = (rule: string): string => / -j (\S+)/.exec(rule)?.[1] ?? '';
  const chainOf = (rule: string): string => rule.split(' ')[1] ?? '';
  const own = new Set(
    rules
      .filter(isOwn)
      .map(targetOf)
      .filter((chain) => /^CNI-(DN-)?[0-9a-f]+$/.test(chain)),
  );
  if (own.size === 0) return '';
  const jumps = rules.filter((rule) => isOwn(rule) && !own.has(chainOf(rule)));
  // The chains that host ports share go with their last user.
  const isShared = rules.some((rule) => chainOf(rule) === 'CNI-HOSTPORT-DNAT' && !isOwn(rule));
  if (!isShared)
    for (const chain of all.filter((name) => name.startsWith('CNI-HOSTPORT-'))) {
      own.add(chain);
      jumps.push(...rules.filter((rule) => targetOf(rule) === chain && !chainOf(rule).startsWith('CNI-')));
    }
  return [
    '*nat',
    ...[...own].map((chain) => `:${chain} - [0:0]`),
    ...jumps.filter((rule) => !own.has(chainOf(rule))).map((rule) => rule.replace(/^-A/, '-D')),
    ...[...own].map((chain) => `-X ${chain}`),
    'COMMIT',
    '',
  ].join('\n');
}
