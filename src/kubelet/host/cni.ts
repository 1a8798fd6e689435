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
