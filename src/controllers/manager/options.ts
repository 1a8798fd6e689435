// Owns what the controller manager can be told: upstream's flags as typed options, and what it needs from outside.
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import type { MetricsRegistry } from '../../base/metrics.ts';
import type { Random } from '../../base/random.ts';
import type { Client } from '../../client/client.ts';
import type { InformerFactory } from '../../client/informer-factory.ts';

export interface SigningOptions {
  readonly signerName: string;
  /** Of the certificate: "client auth", "digital signature", … as in the request. */
  readonly usages: readonly string[];
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
}

/** What a certificate request says, as far as approvers need it. */
export interface CertificateRequestFacts {
  readonly commonName: string;
  readonly organizations: readonly string[];
  readonly dnsNames: readonly string[];
  readonly ipAddresses: readonly string[];
  readonly emailAddresses: readonly string[];
  readonly uris: readonly string[];
}

export interface CertificateAuthority {
  /** Rejects what is no certificate request. */
  parseRequest(csrPem: string): Promise<CertificateRequestFacts>;
  /** PEM of the signed certificate. */
  signCertificate(csrPem: string, options: SigningOptions): Promise<string>;
}

/** Durations in milliseconds. */
export interface AutoscalerOptions {
  /** Default 15 s. */
  readonly syncPeriodMs?: number;
  /** A relative difference that is left alone; default 0.1. */
  readonly tolerance?: number;
  /** Default 5 minutes. */
  readonly downscaleStabilizationMs?: number;
  /** Default 5 minutes. */
  readonly cpuInitializationPeriodMs?: number;
  /** Default 30 s. */
  readonly initialReadinessDelayMs?: number;
}

export interface ControllerManagerOptions {
  /** --controllers. Default ["*"]. */
  readonly controllers?: readonly string[];
  /** Absent: no election, this is the only one. */
  readonly leaderElection?: {
    readonly identity: string;
    /** Default kube-system/kube-controller-manager. */
    readonly namespace?: string;
    readonly name?: string;
    readonly leaseMs?: number;
    readonly renewMs?: number;
    readonly retryMs?: number;
  };
  /** --root-ca-file as PEM, published to every namespace as kube-root-ca.crt. */
  readonly rootCaPem?: string;
  /** Of --cluster-signing-cert-file and -key-file: signs approved certificate requests. */
  readonly certificateAuthority?: CertificateAuthority;
  /** Also approve serving certificates that nodes ask for themselves. Upstream never does; default false. */
  readonly approveKubeletServing?: boolean;
  /** --cluster-signing-duration. Default a year. */
  readonly signingDurationMs?: number;
  /** Signs tokens of Secrets of type service-account-token. */
  readonly signServiceAccountToken?: (claims: Readonly<Record<string, unknown>>) => string | Promise<string>;
  /** --allocate-node-cidrs with --cluster-cidr, at most one of each family. */
  readonly clusterCidrs?: readonly string[];
  /** --node-cidr-mask-size-ipv4 and -ipv6. Default 24 and 64. */
  readonly nodeCidrMaskSizes?: { readonly ipv4?: number; readonly ipv6?: number };
  /** --node-monitor-period and --node-monitor-grace-period. Default 5 s and 50 s. */
  readonly nodeMonitorPeriodMs?: number;
  readonly nodeMonitorGracePeriodMs?: number;
  /** --horizontal-pod-autoscaler-*. */
  readonly horizontalPodAutoscaler?: AutoscalerOptions;
  /** --terminated-pod-gc-threshold. Default 12 500. */
  readonly terminatedPodThreshold?: number;
}

export interface ControllerManagerDeps {
  /** Reads everything, and writes events and the lease. */
  readonly client: Client;
  /** A client for a controller's own ServiceAccount in kube-system (--use-service-account-credentials). Absent: all write as `client`. */
  readonly clientOf?: (serviceAccount: string) => Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: MetricsRegistry;
  /** Shared with other components of the process, whose owner runs it. Absent: the manager makes and runs its own. */
  readonly informers?: InformerFactory;
}
