// Owns what the API server of a whole cluster is told: the same in this process and in its workers.
import type { Random } from '../../base/random.ts';
import type { ApiServerOptions } from '../../server/options.ts';
import type { ApiServerSettings } from '../alone/api-server.ts';
import { readComponentArgs } from '../component-args.ts';
import type { KubeletAccess } from './kubelet-streams.ts';

/** Plain data: it goes to other processes. Keys and certificates are PEM. */
export interface ClusterServer {
  readonly bindAddress?: string;
  /** 0 takes any free one. */
  readonly securePort: number;
  readonly certificate: string;
  readonly key: string;
  readonly clientCa: string;
  readonly frontProxyCa: string;
  /** Shown to extension servers. */
  readonly frontProxyClient: { readonly certificate: string; readonly key: string };
  readonly signingKey: string;
  readonly serviceSubnet: string;
  readonly hostname?: string;
  readonly advertise?: { readonly address: string; readonly port: number };
  readonly kubelet: Omit<KubeletAccess, 'clock'>;
}

/** The settings that `componentArgs` give the server. */
export async function clusterServerSettings(
  args: Readonly<Record<string, string>>,
  random: Random,
): Promise<ApiServerSettings | undefined> {
  return (await readComponentArgs({ 'kube-apiserver': args }, random)).apiServer;
}

export function clusterServerOptions(
  {
    bindAddress,
    securePort,
    certificate,
    key,
    clientCa,
    frontProxyCa,
    frontProxyClient,
    signingKey,
    serviceSubnet,
    hostname,
    advertise,
  }: ClusterServer,
  settings: ApiServerSettings | undefined,
): ApiServerOptions {
  const { serviceAccounts, ...given } = settings ?? {};
  return {
    ...(bindAddress !== undefined && { bindAddress }),
    securePort,
    tls: { certificate, key },
    clientCa,
    requestHeader: { clientCa: frontProxyCa, allowedNames: ['front-proxy-client'] },
    proxyClient: () => frontProxyClient,
    // Service addresses work on a real node only, and there only once kube-proxy has written its rules.
    aggregatorRouting: true,
    enableAdmissionPlugins: ['NodeRestriction'],
    ...given,
    serviceAccounts: { ...serviceAccounts, signingKey },
    serviceClusterIpRange: serviceSubnet,
    ...(hostname !== undefined && { hostname }),
    ...(advertise !== undefined && { advertise }),
  };
}
