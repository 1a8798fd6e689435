// `k8ts kube-apiserver`: the API server alone, told by upstream's flags.
import { readFileSync, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../base/clock.ts';
import { kubeletActions, type KubeletAccess } from '../components/kubelet-streams.ts';
import { metricsRegistry } from '../../base/metrics.ts';
import { systemRandom } from '../../base/random.ts';
import { flagTexts, type FlagTable, type Values } from '../../cli/flags.ts';
import { apiServer } from '../../server/api-server.ts';
import type { ApiServerOptions } from '../../server/options.ts';
import { longestEnd } from '../../server/shutdown.ts';
import { EncryptionConfigError, parseEncryptionConfig } from '../../server/storage/encryption/config.ts';
import type { EtcdTls } from '../../store/etcd/members.ts';
import type { Store } from '../../store/store.ts';
import { apiWorkers, maxWorkers } from '../api-workers.ts';
import { hostAddress } from '../host-address.ts';
import { openPki } from '../pki.ts';
import { UserError } from '../user-error.ts';
import { admissionConfiguration } from './admission-file.ts';
import { servingCertificateOf } from './serving-files.ts';
import {
  auditSettings,
  authenticationSettings,
  authorizationSettings,
  authorizersOfFile,
  issuersOfFile,
} from './access-files.ts';
import { type AloneDeps, commonFlags, given, textOf } from './alone.ts';
import { certificatesByName, transportSettings } from './transport-flags.ts';

const unneeded = (help: string, ignored: string, type: 'text' | 'switch' | 'number' | 'duration' | 'list' = 'text') =>
  ({ type, help, ignored }) as const;

export const apiServerFlags = {
  ...commonFlags,
  'admission-control-config-file': {
    type: 'text',
    help: 'configuration of admission plugins (AdmissionConfiguration)',
  },
  'api-workers': {
    type: 'number',
    help: 'processes that serve the port together, to use several cores; each has caches of its own',
    default: '1',
  },
  'advertise-address': { type: 'text', help: 'address that members of the cluster reach this server by' },
  'allow-privileged': unneeded('allow privileged containers', 'they are always allowed; PodSecurity decides', 'switch'),
  'anonymous-auth': {
    type: 'switch',
    help: 'accept requests without credentials as system:anonymous',
    default: 'true',
  },
  'api-audiences': { type: 'list', help: 'identifiers of the API, audiences of tokens for it' },
  'authentication-config': {
    type: 'text',
    help: 'issuers of tokens and who is anonymous (AuthenticationConfiguration)',
  },
  'authentication-token-webhook-cache-ttl': { type: 'duration', help: 'how long answers about tokens are remembered' },
  'authentication-token-webhook-config-file': { type: 'text', help: 'kubeconfig of the webhook that knows tokens' },
  'authorization-config': { type: 'text', help: 'chain of authorizers (AuthorizationConfiguration)' },
  'authorization-policy-file': { type: 'text', help: 'policies of the ABAC mode' },
  'authorization-webhook-cache-authorized-ttl': { type: 'duration', help: 'how long a yes is remembered' },
  'authorization-webhook-cache-unauthorized-ttl': { type: 'duration', help: 'how long a no is remembered' },
  'authorization-webhook-config-file': { type: 'text', help: 'kubeconfig of the webhook of the Webhook mode' },
  'oidc-ca-file': { type: 'text', help: 'authority of the OpenID issuer' },
  'oidc-client-id': { type: 'text', help: 'audience of tokens of the OpenID issuer' },
  'oidc-groups-claim': { type: 'text', help: 'claim with the groups' },
  'oidc-groups-prefix': { type: 'text', help: 'what is put before groups' },
  'oidc-issuer-url': { type: 'text', help: 'OpenID issuer whose tokens are accepted' },
  'oidc-required-claim': { type: 'list', help: 'key=value that a token must claim' },
  'oidc-signing-algs': {
    type: 'list',
    help: 'algorithms that tokens of the OpenID issuer may be signed with; default RS256',
  },
  'oidc-username-claim': { type: 'text', help: 'claim with the user; sub when absent' },
  'oidc-username-prefix': { type: 'text', help: 'what is put before users; - is nothing' },
  'audit-log-maxage': { type: 'number', help: 'days that rotated audit logs are kept; 0 for ever' },
  'audit-log-maxbackup': { type: 'number', help: 'rotated audit logs that are kept; 0 all' },
  'audit-log-maxsize': { type: 'number', help: 'megabytes at which the audit log is rotated' },
  'audit-log-path': { type: 'text', help: 'file of the audit log; - is standard output' },
  'audit-policy-file': { type: 'text', help: 'what is audited (Policy of audit.k8s.io/v1)' },
  'audit-webhook-batch-max-size': { type: 'number', help: 'audit events in one batch' },
  'audit-webhook-batch-max-wait': { type: 'duration', help: 'how long a batch is waited for' },
  'audit-webhook-config-file': { type: 'text', help: 'kubeconfig of the webhook that takes audit events' },
  'audit-webhook-initial-backoff': { type: 'duration', help: 'wait before the second try of a batch' },
  'authorization-mode': { type: 'list', help: 'Node, RBAC, AlwaysAllow, AlwaysDeny, in order', default: 'Node,RBAC' },
  'bind-address': { type: 'text', help: 'address to listen on', default: '0.0.0.0' },
  'cert-dir': {
    type: 'text',
    help: 'apiserver.crt and apiserver.key there are used, or made, without --tls-cert-file; else pki below --data-dir',
  },
  'client-ca-file': { type: 'text', help: 'authorities of client certificates' },
  'cors-allowed-origins': {
    type: 'list',
    help: 'patterns of the origins whose pages may speak with the server; each must begin with ^ or // and end with $ or :',
  },
  'data-dir': {
    type: 'text',
    help: 'directory of the embedded store, used without --etcd-servers; in memory when empty',
  },
  'disable-admission-plugins': { type: 'list', help: 'plugins to leave out' },
  'enable-admission-plugins': { type: 'list', help: 'plugins beside the default ones' },
  'default-not-ready-toleration-seconds': {
    type: 'number',
    help: 'how long pods stay on a node that is not ready',
    default: '300',
  },
  'default-unreachable-toleration-seconds': {
    type: 'number',
    help: 'how long pods stay on a node that cannot be reached',
    default: '300',
  },
  'enable-aggregator-routing': {
    type: 'switch',
    help: "reach aggregated servers by endpoint instead of by their Service's address",
    default: 'false',
  },
  'enable-priority-and-fairness': { type: 'switch', help: 'fair queuing of requests', default: 'true' },
  'encryption-provider-config': {
    type: 'text',
    help: 'file with the EncryptionConfiguration: how values are encrypted at rest',
  },
  'encryption-provider-config-automatic-reload': {
    type: 'switch',
    help: 'take over changes of that file (looked for every minute)',
    default: 'false',
  },
  'etcd-cafile': { type: 'text', help: 'authority of etcd' },
  'etcd-certfile': { type: 'text', help: 'client certificate for etcd' },
  'etcd-compaction-interval': { type: 'duration', help: 'how often superseded versions are dropped', default: '5m' },
  'etcd-keyfile': { type: 'text', help: 'key of the client certificate for etcd' },
  'contention-profiling': unneeded('profile contention', 'there is one thread', 'switch'),
  vmodule: unneeded('how much single files log', 'it names files of other programs'),
  'delete-collection-workers': unneeded('deletions of a collection at once', 'they share one thread', 'number'),
  'enable-bootstrap-token-auth': unneeded('accept bootstrap tokens', 'they are always understood', 'switch'),
  'enable-garbage-collector': unneeded('owners are watched over', 'dependents are always told of', 'switch'),
  'endpoint-reconciler-type': {
    type: 'text',
    help: "lease, or none: who keeps the addresses of Service 'kubernetes'",
    default: 'lease',
  },
  'external-hostname': unneeded('name of this server for the world', 'no answer says it'),
  'kubelet-timeout': { type: 'duration', help: 'how long connecting to a kubelet may take', default: '5s' },
  'service-account-lookup': unneeded('accounts of tokens must be there', 'they always must', 'switch'),
  'watch-cache': unneeded('read from the watch cache', 'it is always read from', 'switch'),
  'watch-cache-sizes': unneeded('changes that are kept, by resource', 'they are kept as memory allows', 'list'),
  'etcd-prefix': unneeded('prefix of keys in etcd', 'it is /registry'),
  'etcd-servers': { type: 'list', help: 'etcd to store in; without it the embedded store' },
  'event-ttl': { type: 'duration', help: 'how long events are kept', default: '1h' },
  'feature-gates': { type: 'map', help: 'features to turn on or off' },
  'kubelet-client-certificate': { type: 'text', help: 'client certificate for kubelets' },
  'kubelet-client-key': { type: 'text', help: 'its key' },
  'kubelet-certificate-authority': { type: 'text', help: 'authority of kubelets' },
  'kubelet-preferred-address-types': {
    type: 'list',
    help: "which of a node's addresses to use, in order",
    default: 'Hostname,InternalDNS,InternalIP,ExternalDNS,ExternalIP',
  },
  'max-mutating-requests-inflight': { type: 'number', help: 'writes at once', default: '200' },
  'max-requests-inflight': { type: 'number', help: 'reads at once', default: '400' },
  'request-timeout': { type: 'duration', help: 'how long requests may take that are no watches', default: '1m0s' },
  'min-request-timeout': { type: 'number', help: 'seconds that a watch lasts at least', default: '1800' },
  profiling: { type: 'switch', help: "profiles under /debug/pprof, in the forms of node's tools", default: 'true' },
  'proxy-client-cert-file': { type: 'text', help: 'client certificate for aggregated servers' },
  'proxy-client-key-file': { type: 'text', help: 'its key' },
  'requestheader-allowed-names': { type: 'list', help: 'common names of front proxies' },
  'requestheader-client-ca-file': { type: 'text', help: 'authority of front proxies' },
  'requestheader-extra-headers-prefix': { type: 'list', help: 'headers with extra fields of the user' },
  'requestheader-group-headers': { type: 'list', help: 'headers with groups' },
  'requestheader-uid-headers': { type: 'list', help: 'headers with the uid' },
  'requestheader-username-headers': { type: 'list', help: 'headers with the user' },
  'runtime-config': { type: 'map', help: 'API versions to turn on or off' },
  'secure-port': { type: 'number', help: 'port to listen on', default: '6443' },
  'service-account-issuer': { type: 'list', help: 'issuer of ServiceAccount tokens; further ones are accepted' },
  'service-account-key-file': { type: 'list', help: 'keys that verify ServiceAccount tokens' },
  'service-account-max-token-expiration': { type: 'duration', help: 'longest life of a token' },
  'egress-selector-config-file': { type: 'text', help: 'not there: this server reaches others directly' },
  'service-account-signing-endpoint': { type: 'text', help: 'not there: tokens are signed here, with a key file' },
  'service-account-signing-key-file': { type: 'text', help: 'key that signs ServiceAccount tokens' },
  'service-cluster-ip-range': { type: 'text', help: 'addresses of Services', default: '10.96.0.0/16' },
  'service-node-port-range': { type: 'text', help: 'ports of NodePort Services', default: '30000-32767' },
  'shutdown-delay-duration': {
    type: 'duration',
    help: 'how long to go on serving after the signal to stop',
    default: '0s',
  },
  'shutdown-send-retry-after': {
    type: 'switch',
    help: 'tell new requests to come back while those under way are finished',
    default: 'false',
  },
  'shutdown-watch-termination-grace-period': {
    type: 'duration',
    help: 'end watches one by one over this time',
    default: '0s',
  },
  'storage-backend': unneeded('storage engine', 'etcd3 with --etcd-servers, else the embedded one'),
  'storage-media-type': unneeded('encoding of stored objects', "protobuf for built-in kinds, as upstream's default"),
  'tls-cert-file': { type: 'text', help: 'serving certificate' },
  'http2-max-streams-per-connection': {
    type: 'number',
    help: 'requests at once on one HTTP/2 connection',
    default: '250',
  },
  'goaway-chance': { type: 'text', help: 'chance that a request ends its HTTP/2 connection, 0 to 0.02' },
  'strict-transport-security-directives': { type: 'list', help: 'directives of the Strict-Transport-Security header' },
  'tls-cipher-suites': { type: 'list', help: 'cipher suites of TLS 1.2, by their IANA names' },
  'tls-min-version': { type: 'text', help: 'VersionTLS12 or VersionTLS13' },
  'tls-sni-cert-key': {
    type: 'text',
    help: 'certificate,key[:names]: further certificates by the name asked for; several with ;',
  },
  'tls-private-key-file': { type: 'text', help: 'its key' },
  'token-auth-file': { type: 'text', help: 'static tokens: token,user,uid,"groups"' },
} as const satisfies FlagTable;

export type ApiServerFlags = Values<typeof apiServerFlags>;
type Flags = ApiServerFlags;

export async function runApiServer(flags: Flags, deps: AloneDeps): Promise<void> {
  const { logger, signal, ready } = deps;
  const clock = systemClock;
  const random = systemRandom;
  const workers = flags['api-workers'] ?? 1;
  if (!Number.isInteger(workers) || workers < 1 || workers > maxWorkers)
    throw new UserError(`--api-workers ${workers}`, `give a whole number from 1 to ${maxWorkers}`);
  if (workers > 1) return runInWorkers(flags, workers, deps);
  const store = await openStore(flags, { clock, random, log: logger.child('store') });
  try {
    const server = apiServer(await optionsOf(flags), {
      store,
      exclusiveStore: flags['etcd-servers'] === undefined,
      clock,
      random,
      log: logger,
      metrics: metricsRegistry(),
      actions: kubeletActions({ clock, ...kubeletAccess(flags) }),
    });
    const running = server.run(signal);
    await Promise.race([server.ready.then(({ port }) => ready(`serving on port ${port}`)), running]);
    await running;
  } finally {
    await store.close();
  }
}

/** This process holds the store and the port; others serve. On etcd it holds the port only. */
async function runInWorkers(
  flags: Flags,
  count: number,
  { logger, level = 'info', signal, ready }: AloneDeps,
): Promise<void> {
  const clock = systemClock;
  const store =
    flags['etcd-servers'] === undefined
      ? await openStore(flags, { clock, random: systemRandom, log: logger.child('store') })
      : undefined;
  try {
    const { tls, serviceAccounts, bindAddress, securePort, shutdown } = await optionsOf(flags);
    const keys = { certificate: tls.certificate, key: tls.key, signingKey: serviceAccounts!.signingKey };
    const workers = await apiWorkers({
      count,
      port: securePort,
      ...(bindAddress !== undefined && { host: bindAddress }),
      settings: { level, server: { type: 'alone', flags, keys } },
      ...(store !== undefined && { store }),
      clock,
      log: logger,
      ...(shutdown !== undefined && { graceMs: longestEnd(shutdown) }),
    });
    const running = workers.run(signal);
    await Promise.race([
      workers.ready.then(() => ready(`serving on port ${workers.port} with ${count} workers`)),
      running,
    ]);
    await running;
  } finally {
    await store?.close();
  }
}

export function kubeletAccess(flags: Flags): Omit<KubeletAccess, 'clock'> {
  const certificate = textOf(flags['kubelet-client-certificate']);
  const key = textOf(flags['kubelet-client-key']);
  const certificateAuthority = textOf(flags['kubelet-certificate-authority']);
  const addressTypes = flags['kubelet-preferred-address-types'];
  const timeoutMs = flags['kubelet-timeout'];
  return {
    ...(certificate !== undefined && { certificate }),
    ...(key !== undefined && { key }),
    ...(certificateAuthority !== undefined && { certificateAuthority }),
    ...(addressTypes !== undefined && { addressTypes }),
    ...(timeoutMs !== undefined && { timeoutMs }),
  };
}

/** What a process that begins others has decided for all of them. */
export interface DecidedKeys {
  readonly certificate: string;
  readonly key: string;
  readonly signingKey: string;
}

/** Without `decided`, keys that no file holds are made. */
export async function optionsOf(
  flags: Flags,
  decided?: { readonly port: number; readonly keys: DecidedKeys },
): Promise<ApiServerOptions> {
  const port = decided?.port ?? flags['secure-port'] ?? 6443;
  const advertised = flags['advertise-address'] ?? hostAddress();
  const reconciler = flags['endpoint-reconciler-type'];
  const reconciles = reconciler !== 'none';
  if (reconciles && reconciler !== undefined && reconciler !== 'lease')
    throw new UserError(`--endpoint-reconciler-type ${reconciler} is not known`, 'use lease or none');
  const { serviceAccounts, ...settings } = apiServerSettings(flags);
  return {
    ...settings,
    hostname: hostname(),
    securePort: port,
    tls: await servingCertificateOf(flags, 'apiserver', () => ownPki(flags), decided?.keys),
    serviceAccounts: {
      ...serviceAccounts,
      signingKey: serviceAccounts.signingKey ?? decided?.keys.signingKey ?? (await ownPki(flags)).serviceAccountKeyPem,
    },
    ...(advertised !== undefined && port !== 0 && reconciles && { advertise: { address: advertised, port } }),
  };
}

type ServiceAccounts = NonNullable<ApiServerOptions['serviceAccounts']>;

export interface ApiServerSettings extends Omit<Partial<ApiServerOptions>, 'serviceAccounts'> {
  readonly serviceAccounts: Partial<ServiceAccounts>;
}

/** What the flags say of the server; what they do not say is absent. */
export function apiServerSettings(flags: Flags): ApiServerSettings {
  const frontProxyCa = textOf(flags['requestheader-client-ca-file']);
  const eventTtl = flags['event-ttl'];
  return {
    serviceAccounts: serviceAccounts(flags),
    ...admissionConfiguration(flags['admission-control-config-file']),
    ...transportSettings({
      minVersion: flags['tls-min-version'],
      suites: flags['tls-cipher-suites'],
      named: flags['tls-sni-cert-key'],
      goawayChance: flags['goaway-chance'],
      strictTransport: flags['strict-transport-security-directives'],
      streams: flags['http2-max-streams-per-connection'],
      origins: flags['cors-allowed-origins'],
    }),
    reread: rereadOf(flags),
    ...authorizationSettings({
      config: flags['authorization-config'],
      modes: flags['authorization-mode'],
      policy: flags['authorization-policy-file'],
      webhook: flags['authorization-webhook-config-file'],
      authorizedTtlMs: flags['authorization-webhook-cache-authorized-ttl'],
      unauthorizedTtlMs: flags['authorization-webhook-cache-unauthorized-ttl'],
    }),
    ...auditSettings({
      policy: flags['audit-policy-file'],
      log: flags['audit-log-path'],
      maxAgeDays: flags['audit-log-maxage'],
      maxBackups: flags['audit-log-maxbackup'],
      maxSizeMegabytes: flags['audit-log-maxsize'],
      webhook: flags['audit-webhook-config-file'],
      maxBatch: flags['audit-webhook-batch-max-size'],
      maxWaitMs: flags['audit-webhook-batch-max-wait'],
      initialBackoffMs: flags['audit-webhook-initial-backoff'],
    }),
    ...given({
      bindAddress: flags['bind-address'],
      clientCa: textOf(flags['client-ca-file']),
      tokenFile: textOf(flags['token-auth-file']),
      anonymousAuth: flags['anonymous-auth'],
      requestHeader: frontProxyCa === undefined ? undefined : requestHeader(flags, frontProxyCa),
      proxyClient: proxyClient(flags),
      aggregatorRouting: flags['enable-aggregator-routing'],
      serviceClusterIpRange: flags['service-cluster-ip-range'],
      serviceNodePortRange: flags['service-node-port-range'],
      defaultTolerationSeconds: given({
        notReady: flags['default-not-ready-toleration-seconds'],
        unreachable: flags['default-unreachable-toleration-seconds'],
      }),
      enableAdmissionPlugins: flags['enable-admission-plugins'],
      disableAdmissionPlugins: flags['disable-admission-plugins'],
      eventTtlSeconds: eventTtl === undefined ? undefined : eventTtl / 1000,
      featureGates: featureGates(flags['feature-gates']),
      flags: flagTexts(apiServerFlags, flags),
      profiling: flags.profiling,
      minRequestTimeoutSeconds: flags['min-request-timeout'],
      requestTimeoutMs: flags['request-timeout'],
      maxInflight: inflightOf(flags),
      priorityAndFairness: flags['enable-priority-and-fairness'],
      encryption: encryptionOf(flags),
      compactionIntervalMs: flags['etcd-compaction-interval'],
      shutdown: given({
        delayMs: flags['shutdown-delay-duration'],
        graceMs: flags['request-timeout'],
        watchGraceMs: flags['shutdown-watch-termination-grace-period'],
        sendRetryAfter: flags['shutdown-send-retry-after'],
      }),
    }),
    // Its file wins over --anonymous-auth.
    ...authenticationSettings({
      config: flags['authentication-config'],
      issuerUrl: flags['oidc-issuer-url'],
      clientId: flags['oidc-client-id'],
      ca: flags['oidc-ca-file'],
      usernameClaim: flags['oidc-username-claim'],
      usernamePrefix: flags['oidc-username-prefix'],
      groupsClaim: flags['oidc-groups-claim'],
      groupsPrefix: flags['oidc-groups-prefix'],
      requiredClaims: flags['oidc-required-claim'],
      signingAlgorithms: flags['oidc-signing-algs'],
      webhook: flags['authentication-token-webhook-config-file'],
      webhookTtlMs: flags['authentication-token-webhook-cache-ttl'],
    }),
  };
}

/** What of the files may change while the server runs. */
function rereadOf(flags: Flags): NonNullable<ApiServerOptions['reread']> {
  const text = (file: string | undefined) =>
    file === undefined || file === '' ? undefined : () => readFile(file, 'utf8');
  const authentication = flags['authentication-config'];
  const authorization = flags['authorization-config'];
  const named = flags['tls-sni-cert-key'];
  return given({
    clientCa: text(flags['client-ca-file']),
    requestHeaderCa: text(flags['requestheader-client-ca-file']),
    named: named === undefined ? undefined : async () => certificatesByName(named),
    authentication:
      authentication === undefined
        ? undefined
        : async () => ({ ...given({ anonymousAuth: flags['anonymous-auth'] }), ...issuersOfFile(authentication) }),
    authorization: authorization === undefined ? undefined : async () => authorizersOfFile(authorization),
  });
}

/** Gates that say nothing of what is there are taken and change nothing, as upstream's own that are locked. */
function featureGates(gates: Flags['feature-gates']): Readonly<Record<string, boolean>> | undefined {
  if (gates === undefined) return undefined;
  return Object.fromEntries(
    [...gates].map(([name, value]) => {
      if (!/^(?:true|false)$/i.test(value))
        throw new UserError(`--feature-gates: ${name}=${value} is neither true nor false`, 'say true or false');
      return [name, value.toLowerCase() === 'true'];
    }),
  );
}

function inflightOf(flags: Flags): ApiServerOptions['maxInflight'] {
  const [reads = 400, writes = 200] = [flags['max-requests-inflight'], flags['max-mutating-requests-inflight']];
  if (reads < 0 || writes < 0)
    throw new UserError(
      '--max-requests-inflight and --max-mutating-requests-inflight: less than nothing',
      '0 is no limit',
    );
  if (reads + writes === 0 && flags['enable-priority-and-fairness'] !== false)
    throw new UserError(
      'priority and fairness has nothing to share out',
      'give --max-requests-inflight or --max-mutating-requests-inflight, or --enable-priority-and-fairness=false',
    );
  return { reads, writes };
}

function encryptionOf(flags: Flags): ApiServerOptions['encryption'] {
  const file = flags['encryption-provider-config'];
  const config = textOf(file);
  if (file === undefined || config === undefined) {
    if (flags['encryption-provider-config-automatic-reload'])
      throw new UserError(
        '--encryption-provider-config-automatic-reload: there is no file',
        'give --encryption-provider-config',
      );
    return undefined;
  }
  try {
    parseEncryptionConfig(config);
  } catch (error) {
    if (error instanceof EncryptionConfigError) throw new UserError(`${file}: ${error.message}`, 'correct the file');
    throw error;
  }
  return {
    config,
    ...(flags['encryption-provider-config-automatic-reload'] && { reread: () => readFileSync(file, 'utf8') }),
  };
}

/** Read anew when the files have changed: asked for with each new connection. */
function proxyClient(flags: Flags): ApiServerOptions['proxyClient'] {
  const [certificateFile, keyFile] = [flags['proxy-client-cert-file'], flags['proxy-client-key-file']];
  if ((certificateFile === undefined) !== (keyFile === undefined))
    throw new UserError('--proxy-client-cert-file and --proxy-client-key-file belong together', 'give both or neither');
  if (certificateFile === undefined || keyFile === undefined) return undefined;
  let kept = { stamp: '', certificate: textOf(certificateFile)!, key: textOf(keyFile)! };
  return () => {
    const stamp = [certificateFile, keyFile].map((file) => statSync(file, { throwIfNoEntry: false })?.mtimeMs).join();
    if (stamp !== kept.stamp) kept = { stamp, certificate: textOf(certificateFile)!, key: textOf(keyFile)! };
    return kept;
  };
}

function requestHeader(flags: Flags, clientCa: string): NonNullable<ApiServerOptions['requestHeader']> {
  return {
    clientCa,
    ...(flags['requestheader-allowed-names'] && { allowedNames: flags['requestheader-allowed-names'] }),
    ...(flags['requestheader-username-headers'] && { usernameHeaders: flags['requestheader-username-headers'] }),
    ...(flags['requestheader-group-headers'] && { groupHeaders: flags['requestheader-group-headers'] }),
    ...(flags['requestheader-extra-headers-prefix'] && {
      extraHeaderPrefixes: flags['requestheader-extra-headers-prefix'],
    }),
    ...(flags['requestheader-uid-headers'] && { uidHeaders: flags['requestheader-uid-headers'] }),
  };
}

function serviceAccounts(flags: Flags): Partial<ServiceAccounts> {
  if (flags['service-account-signing-endpoint'] !== undefined)
    throw new UserError(
      '--service-account-signing-endpoint: no external program signs tokens for this server',
      'give --service-account-signing-key-file',
    );
  if (flags['egress-selector-config-file'] !== undefined)
    throw new UserError(
      '--egress-selector-config-file: this server reaches nodes, webhooks and issuers directly',
      'leave it out, and see that it can reach them',
    );
  const maxExpiration = flags['service-account-max-token-expiration'];
  return given({
    signingKey: textOf(flags['service-account-signing-key-file']),
    verifyKeys: flags['service-account-key-file']?.map((file) => textOf(file)!),
    issuers: flags['service-account-issuer'],
    audiences: flags['api-audiences'],
    maxExpirationSeconds: maxExpiration === undefined ? undefined : maxExpiration / 1000,
  });
}

function ownPki(flags: Flags) {
  const isOne = (address: string | undefined): address is string =>
    address !== undefined && isIP(address) > 0 && !/^[0:.]+$/.test(address);
  const addresses = ['127.0.0.1', hostAddress(), flags['bind-address'], flags['advertise-address']].filter(isOne);
  const names = {
    dnsNames: ['localhost', 'kubernetes', 'kubernetes.default.svc'],
    ipAddresses: [...new Set(addresses)],
  };
  const directory = flags['data-dir'] === undefined ? undefined : join(flags['data-dir'], 'pki');
  return openPki(directory, names, { clock: systemClock, random: systemRandom });
}

export async function openStore(
  flags: Flags,
  deps: Parameters<typeof import('../../store/memory.ts').memoryStore>[0],
): Promise<Store> {
  const endpoints = flags['etcd-servers'];
  if (endpoints !== undefined) {
    const { openEtcdStore } = await import('../../store/etcd/etcd.ts');
    return openEtcdStore({ endpoints, ...etcdTls(flags) }, deps);
  }
  if (flags['data-dir'] === undefined) return (await import('../../store/memory.ts')).memoryStore(deps);
  return (await import('../../store/embedded/embedded.ts')).openEmbeddedStore(join(flags['data-dir'], 'store'), deps);
}

function etcdTls(flags: Flags): { tls?: EtcdTls } {
  const [ca, cert, key] = [flags['etcd-cafile'], flags['etcd-certfile'], flags['etcd-keyfile']].map((file) =>
    textOf(file),
  );
  if (ca === undefined && cert === undefined) return {};
  const bytes = (text: string | undefined) => (text === undefined ? undefined : Buffer.from(text));
  return {
    tls: { ...(ca && { ca: bytes(ca)! }), ...(cert && { cert: bytes(cert)! }), ...(key && { key: bytes(key)! }) },
  };
}
