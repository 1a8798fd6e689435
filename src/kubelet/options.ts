// Owns what a kubelet is told: its options and what it depends on. No behaviour.
import type { Taint } from '../api/generated/core.v1.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import type { MetricsRegistry } from '../base/metrics.ts';
import type { Random } from '../base/random.ts';
import type { Client } from '../client/client.ts';
import type { InformerFactory } from '../client/informer-factory.ts';

export interface KubeletOptions {
  readonly nodeName: string;
  /** Pods' volumes and the kubelet's own files. */
  readonly rootFolder: string;
  /** Container logs. Default: `<rootFolder>/logs`. */
  readonly logFolder?: string;
  /** "unix:/run/containerd/containerd.sock". */
  readonly runtimeEndpoint: string;
  /** Default: "/kubepods". Empty: pods get no cgroup. */
  readonly cgroupRoot?: string;
  readonly maxPods?: number;
  /** Default: the address of the default route's interface. */
  readonly nodeIp?: string;
  readonly nodeLabels?: Readonly<Record<string, string>>;
  readonly registerWithTaints?: readonly Taint[];
  readonly clusterDns?: readonly string[];
  readonly clusterDomain?: string;
  /** Default: /etc/resolv.conf. Empty: none. */
  readonly resolvConf?: string;
  /** A folder of pod manifests that run without an API server's say. */
  readonly staticPodFolder?: string;
  /** Write the CNI configuration once the node has a podCIDR. Absent: the network is someone else's. */
  readonly cni?: {
    readonly confFolder: string;
    readonly dataFolder: string;
    readonly networkName: string;
    readonly bridge: string;
  };
  readonly server?: KubeletServerOptions;
  /** Images that are never removed: pause and those that cannot be pulled again. */
  readonly keepImages?: readonly string[];
}

export interface KubeletServerOptions {
  readonly address: string;
  /** 0: any free port. */
  readonly port: number;
  /** PEM. */
  readonly certificate: string;
  readonly key: string;
  /** PEM of the authority that client certificates must be from. */
  readonly clientCa?: string;
  /** Who may do what: throws StatusError (Unauthorized, Forbidden). Default: the API server says so. */
  readonly authorize?: (request: KubeletRequestInfo) => Promise<void>;
}

export interface KubeletRequestInfo {
  /** From the client certificate, when there was one. */
  readonly user?: { readonly name: string; readonly groups: readonly string[] };
  readonly bearerToken?: string;
  /** As SubjectAccessReview has it. */
  readonly verb: string;
  readonly subresource: string;
  readonly path: string;
}

export interface KubeletDeps {
  readonly client: Client;
  /** Shared with other components of the process, or the kubelet's own; must be running. */
  readonly informers: InformerFactory;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: MetricsRegistry;
}

export interface Kubelet {
  /** Runs until the signal aborts; containers stay. */
  run(signal: AbortSignal): Promise<void>;
  /** Resolves once the node is registered and its pods are known. */
  readonly ready: Promise<void>;
  /** The server's port once it listens; 0 without a server. */
  readonly port: number;
}
