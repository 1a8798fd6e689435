// Owns what the API server can be told (upstream's flags as a value) and what it is given to work with. No behaviour.
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import type { MetricsRegistry } from '../base/metrics.ts';
import type { Random } from '../base/random.ts';
import type { Store } from '../store/store.ts';
import type { ComponentChecks } from './actions/component-status.ts';
import type { HttpExchange } from '../wire/http-exchange.ts';
import type { HandedConnections } from '../wire/http-listener.ts';
import type { Action } from './action.ts';
import type { ImagePolicyOptions } from './admission/image-policy.ts';
import type { WebhookCredential } from './admission/webhook/credentials.ts';
import type { JwtIssuer } from './authn/oidc.ts';
import type { WebhookTokenOptions } from './authn/webhook.ts';
import type { AuthorizerOptions } from './authz/compose.ts';
import type { AuditOptions } from './audit/compose.ts';
import type { ShutdownOptions } from './shutdown.ts';
import type { InflightLimits } from './stages/limit.ts';
import type { EncryptionOptions } from './storage/encryption/encryption.ts';

export type AuthorizationMode = 'Node' | 'RBAC' | 'AlwaysAllow' | 'AlwaysDeny';

export interface ApiServerOptions {
  /** --bind-address; default all addresses. */
  readonly bindAddress?: string;
  /** --secure-port; 0 takes any free one. */
  readonly securePort: number;
  /** --tls-cert-file, --tls-private-key-file: their PEM text. */
  readonly tls: {
    readonly certificate: string;
    readonly key: string;
    /** Reads both anew: asked now and then, so that a renewed certificate is served without a restart. */
    readonly reread?: () => Promise<{ readonly certificate: string; readonly key: string }>;
  };
  /** --tls-min-version, --tls-cipher-suites (OpenSSL's names), --tls-sni-cert-key, --goaway-chance, --strict-transport-security-directives. */
  readonly transport?: {
    readonly minVersion?: 'TLSv1.2' | 'TLSv1.3';
    readonly ciphers?: string;
    readonly named?: readonly {
      readonly names: readonly string[];
      readonly key: string;
      readonly certificate: string;
    }[];
    /** --http2-max-streams-per-connection; default 250. */
    readonly maxConcurrentStreams?: number;
    /** --cors-allowed-origins: patterns that hold the origin at both ends. */
    readonly corsAllowedOrigins?: readonly string[];
    /** How long its headers may take; default 32 s. */
    readonly headersTimeoutMs?: number;
    /** How long a connection of HTTP/2 may be silent before it is asked whether it lives; default 30 s. */
    readonly idlePingMs?: number;
    /** Between 0 and 0.02. */
    readonly goawayChance?: number;
    readonly strictTransportSecurity?: readonly string[];
  };
  /** What is read anew while it runs, from the files of the flags. What cannot be read, or is wrong, leaves what was there before. */
  readonly reread?: {
    /** Default 10 s. */
    readonly everyMs?: number;
    readonly clientCa?: () => Promise<string>;
    readonly requestHeaderCa?: () => Promise<string>;
    readonly named?: () => Promise<NonNullable<NonNullable<ApiServerOptions['transport']>['named']>>;
    readonly authentication?: () => Promise<Pick<ApiServerOptions, 'jwtIssuers' | 'anonymousAuth' | 'anonymousPaths'>>;
    readonly authorization?: () => Promise<readonly AuthorizerOptions[]>;
  };
  /** --client-ca-file: PEM text. Client certificates of these authorities are believed. */
  readonly clientCa?: string;
  /** --token-auth-file: its text. */
  readonly tokenFile?: string;
  /** --anonymous-auth; default true. */
  readonly anonymousAuth?: boolean;
  /** --requestheader-*: a front proxy may speak for users. */
  readonly requestHeader?: {
    readonly clientCa: string;
    readonly allowedNames?: readonly string[];
    readonly usernameHeaders?: readonly string[];
    readonly groupHeaders?: readonly string[];
    readonly extraHeaderPrefixes?: readonly string[];
    readonly uidHeaders?: readonly string[];
  };
  /** --proxy-client-cert-file, --proxy-client-key-file: what this server shows to those behind API services. Asked anew with each connection. */
  readonly proxyClient?: () => { readonly certificate: string; readonly key: string } | undefined;
  /** --enable-aggregator-routing: those servers are reached by endpoint instead of by their Service's address. */
  readonly aggregatorRouting?: boolean;
  /** --authorization-mode; default Node, RBAC. */
  readonly authorizationModes?: readonly AuthorizationMode[];
  /** --authorization-config (or the older flags): in place of `authorizationModes`, with more to say. */
  readonly authorizers?: readonly AuthorizerOptions[];
  /** --authentication-config, --oidc-*: issuers of tokens. */
  readonly jwtIssuers?: readonly JwtIssuer[];
  /** --authentication-token-webhook-config-file. */
  readonly tokenWebhook?: WebhookTokenOptions;
  /** Paths that requests without credentials may have at all; absent: any. */
  readonly anonymousPaths?: readonly string[];
  /** --service-account-signing-key-file (PEM, private), further --service-account-key-file (PEM, public), --service-account-issuer, --api-audiences. */
  readonly serviceAccounts?: {
    readonly signingKey: string;
    readonly verifyKeys?: readonly string[];
    /** Default https://kubernetes.default.svc. The first signs, all are accepted. */
    readonly issuers?: readonly string[];
    readonly audiences?: readonly string[];
    /** --service-account-max-token-expiration in seconds; default one year. */
    readonly maxExpirationSeconds?: number;
  };
  /** --service-cluster-ip-range; default 10.96.0.0/16. */
  readonly serviceClusterIpRange?: string;
  /** --service-node-port-range, "30000-32767". */
  readonly serviceNodePortRange?: string;
  /** --advertise-address and port: what the `kubernetes` Service points to. Without it the endpoints are not reconciled. */
  readonly advertise?: { readonly address: string; readonly port: number };
  /** --enable-admission-plugins and --disable-admission-plugins, beside the defaults. */
  readonly enableAdmissionPlugins?: readonly string[];
  readonly disableAdmissionPlugins?: readonly string[];
  /** --admission-control-config-file: each plugin's configuration, parsed. */
  readonly admissionConfig?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  /** What admission webhooks are shown, by plugin (kubeConfigFile of WebhookAdmissionConfiguration). */
  readonly admissionCredentials?: Readonly<Record<string, readonly WebhookCredential[]>>;
  /** Of the ImagePolicyWebhook plugin, which cannot be without it. */
  readonly imagePolicy?: ImagePolicyOptions;
  /** --default-not-ready-toleration-seconds, --default-unreachable-toleration-seconds; default 300 each. */
  readonly defaultTolerationSeconds?: { readonly notReady?: number; readonly unreachable?: number };
  /** --audit-*: absent, nothing is noted. */
  readonly audit?: AuditOptions;
  /** --enable-priority-and-fairness; default true. Without it only the bound on requests under way. */
  readonly priorityAndFairness?: boolean;
  /** --event-ttl in seconds; default one hour. */
  readonly eventTtlSeconds?: number;
  /** --request-timeout: how long requests may take that are no watches; default a minute. */
  readonly requestTimeoutMs?: number;
  /** --min-request-timeout in seconds; default 1800. */
  readonly minRequestTimeoutSeconds?: number;
  /** --shutdown-*: how it ends; default at once. */
  readonly shutdown?: ShutdownOptions;
  /** --max-requests-inflight, --max-mutating-requests-inflight; default 400 and 200. With fairness their sum is what is shared out. */
  readonly maxInflight?: InflightLimits;
  /** --encryption-provider-config: values are encrypted at rest. */
  readonly encryption?: EncryptionOptions;
  /** --profiling: profiles under /debug/pprof, for those who may; default true. */
  readonly profiling?: boolean;
  /** What /flagz tells: flags with their values in Go's way of writing. */
  readonly flags?: Readonly<Record<string, string>>;
  /** --feature-gates: those that are set. */
  readonly featureGates?: Readonly<Record<string, boolean>>;
  /** How often superseded versions are dropped (--etcd-compaction-interval); default 5 minutes; 0 never. */
  readonly compactionIntervalMs?: number;
  /** Of this host: tells in a Lease of kube-system that a server is there. Absent: no such lease. */
  readonly hostname?: string;
  /**
   * False: what one server of several behind one address does is another's: the `kubernetes` Service, its endpoints and the lease
   * that tells of this server. Default true.
   */
  readonly keepsOwnRecords?: boolean;
  /** Objects kept per collection for watches that start in the past; default 10 000. */
  readonly watchHistory?: number;
}

export interface ApiServerDeps {
  readonly store: Store;
  /** True when nobody else writes to the store: reads then need not ask it for its revision. */
  readonly exclusiveStore: boolean;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly metrics?: MetricsRegistry;
  /** Connections accepted by another process, in place of a port of its own. */
  readonly handed?: HandedConnections;
  /** Servers of this process behind Services ("namespace/name"), which API services lead to without sockets. */
  readonly extensions?: (service: string) => ((exchange: HttpExchange) => void) | undefined;
  /** Handlers of the composition (exec, log, proxy over kubelets); they win over the server's own. */
  readonly actions?: readonly Action[];
  /** How the other components are, for ComponentStatus; default: asked on the well-known ports of this machine. */
  readonly components?: ComponentChecks;
}
