// The files that say who may do what and what is let in: read for `k8ts kube-apiserver`. Nothing is guessed: what is not understood ends the start.
import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { load } from 'js-yaml';
import { type Kubeconfig, parseKubeconfig } from '../../client/kubeconfig.ts';
import { auditPolicy } from '../../server/audit/policy.ts';
import type { JwtIssuer } from '../../server/authn/oidc.ts';
import type { AuthorizerOptions } from '../../server/authz/compose.ts';
import type { Callee } from '../../server/callout.ts';
import type { ApiServerOptions, AuthorizationMode } from '../../server/options.ts';
import { UserError } from '../user-error.ts';

export type Loose = Readonly<Record<string, unknown>>;

/** The YAML (or JSON) of a file as an object. */
export function readYaml(file: string): Loose {
  let parsed: unknown;
  try {
    parsed = load(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new UserError(`${file} cannot be read: ${(error as Error).message}`, 'check the flag that names it');
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed))
    throw new UserError(`${file} holds no object`, 'check the flag that names it');
  return parsed as Loose;
}

export interface AuditFlags {
  readonly policy?: string | undefined;
  readonly log?: string | undefined;
  readonly maxAgeDays?: number | undefined;
  readonly maxBackups?: number | undefined;
  readonly maxSizeMegabytes?: number | undefined;
  readonly webhook?: string | undefined;
  readonly maxBatch?: number | undefined;
  readonly maxWaitMs?: number | undefined;
  readonly initialBackoffMs?: number | undefined;
}

const defined = <T extends object>(values: T): { [K in keyof T]?: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as never;

export function auditSettings(flags: AuditFlags): Pick<ApiServerOptions, 'audit'> {
  const { policy, log, webhook } = flags;
  if (policy === undefined || policy === '') {
    if (log !== undefined || webhook !== undefined)
      throw new UserError('auditing needs to know what to note', 'give --audit-policy-file');
    return {};
  }
  let read: ReturnType<typeof auditPolicy>;
  try {
    read = auditPolicy(readYaml(policy));
  } catch (error) {
    if (error instanceof UserError) throw error;
    throw new UserError(`${policy}: ${(error as Error).message}`, 'correct the file');
  }
  const { maxAgeDays, maxBackups, maxSizeMegabytes, maxBatch, maxWaitMs, initialBackoffMs } = flags;
  return {
    audit: {
      policy: read,
      ...(log !== undefined && {
        log: {
          path: log,
          ...defined({ maxAgeDays, maxBackups, maxSizeMegabytes }),
          standardOutput: (text: string) => process.stdout.write(text),
        },
      }),
      ...(webhook !== undefined && {
        webhook: { ...remoteOf(webhook), ...defined({ maxBatch, maxWaitMs, initialBackoffMs }) },
      }),
    },
  };
}

/** Where a kubeconfig's current context leads, and with which credentials. */
export function remoteOf(file: string): { readonly callee: Callee; readonly bearerToken?: string } {
  let config: Kubeconfig;
  try {
    config = parseKubeconfig(readFileSync(file, 'utf8'), file);
  } catch (error) {
    throw new UserError(`${file}: ${(error as Error).message}`, 'check the flag that names it');
  }
  const context = config.contexts.find(({ name }) => name === config['current-context'])?.context;
  const cluster = config.clusters.find(({ name }) => name === context?.cluster)?.cluster;
  const user = config.users.find(({ name }) => name === context?.user)?.user;
  if (cluster?.server === undefined)
    throw new UserError(`${file} names no server`, 'its current context needs a cluster');
  const pem = (data: string | undefined, path: string | undefined): string | undefined =>
    data !== undefined
      ? Buffer.from(data, 'base64').toString('utf8')
      : path === undefined
        ? undefined
        : readFileSync(resolve(dirname(file), path), 'utf8');
  const ca = pem(cluster['certificate-authority-data'], cluster['certificate-authority']);
  const certificate = pem(user?.['client-certificate-data'], user?.['client-certificate']);
  const key = pem(user?.['client-key-data'], user?.['client-key']);
  return {
    callee: {
      url: new URL(cluster.server),
      ...(ca !== undefined && { ca }),
      ...(certificate !== undefined && key !== undefined && { clientCertificate: { certificate, key } }),
    },
    ...(user?.token !== undefined && { bearerToken: user.token }),
  };
}

export interface AuthenticationFlags {
  readonly config?: string | undefined;
  readonly issuerUrl?: string | undefined;
  readonly clientId?: string | undefined;
  readonly ca?: string | undefined;
  readonly usernameClaim?: string | undefined;
  readonly usernamePrefix?: string | undefined;
  readonly groupsClaim?: string | undefined;
  readonly groupsPrefix?: string | undefined;
  readonly requiredClaims?: readonly string[] | undefined;
  readonly signingAlgorithms?: readonly string[] | undefined;
  readonly webhook?: string | undefined;
  readonly webhookTtlMs?: number | undefined;
}

type AuthenticationOptions = Pick<ApiServerOptions, 'jwtIssuers' | 'tokenWebhook' | 'anonymousAuth' | 'anonymousPaths'>;

export function authenticationSettings(flags: AuthenticationFlags): AuthenticationOptions {
  const { config, issuerUrl, webhook, webhookTtlMs } = flags;
  if (config !== undefined && issuerUrl !== undefined)
    throw new UserError('--authentication-config and --oidc-issuer-url do not go together', 'give one of them');
  return {
    ...(issuerUrl !== undefined && { jwtIssuers: [issuerOfFlags(issuerUrl, flags)] }),
    ...(config !== undefined && issuersOfFile(config)),
    ...(webhook !== undefined && { tokenWebhook: { ...remoteOf(webhook), ...defined({ ttlMs: webhookTtlMs }) } }),
  };
}

function issuerOfFlags(url: string, flags: AuthenticationFlags): JwtIssuer {
  const { clientId, ca, groupsClaim, groupsPrefix = '', usernameClaim = 'sub', usernamePrefix } = flags;
  if (clientId === undefined) throw new UserError('--oidc-issuer-url needs --oidc-client-id', 'give both');
  // Names of the issuer's own kind must not pass for others, but for addresses, which are told apart by themselves.
  const prefix = usernamePrefix === '-' ? '' : (usernamePrefix ?? (usernameClaim === 'email' ? '' : `${url}#`));
  return {
    issuer: {
      url,
      audiences: [clientId],
      ...(ca !== undefined && { certificateAuthority: readFileSync(ca, 'utf8') }),
    },
    claimValidationRules: (flags.requiredClaims ?? []).map((pair) => {
      const at = pair.indexOf('=');
      return { claim: pair.slice(0, at), requiredValue: pair.slice(at + 1) };
    }),
    // Upstream's default: who wants others names them.
    signingAlgorithms: flags.signingAlgorithms ?? ['RS256'],
    claimMappings: {
      username: { claim: usernameClaim, prefix },
      ...(groupsClaim !== undefined && { groups: { claim: groupsClaim, prefix: groupsPrefix } }),
    },
  };
}

export function issuersOfFile(file: string): AuthenticationOptions {
  const config = readYaml(file);
  if (config['kind'] !== 'AuthenticationConfiguration')
    throw new UserError(`${file} is no AuthenticationConfiguration`, 'its kind must be AuthenticationConfiguration');
  const anonymous = config['anonymous'] as { enabled?: boolean; conditions?: { path: string }[] } | undefined;
  const wrong = (what: string): UserError => new UserError(`${file}: ${what}`, 'correct the file');
  if (!/^apiserver\.(config\.)?k8s\.io\//.test(String(config['apiVersion'])))
    throw wrong('its apiVersion must be apiserver.config.k8s.io/v1');
  for (const field of Object.keys(config))
    if (!['apiVersion', 'kind', 'jwt', 'anonymous'].includes(field)) throw wrong(`${field} is no field`);
  if (!Array.isArray(config['jwt'] ?? [])) throw wrong('jwt must be a list');
  if (anonymous?.conditions !== undefined && anonymous.enabled !== true)
    throw wrong('anonymous.conditions go with anonymous.enabled: true');
  return {
    jwtIssuers: (config['jwt'] ?? []) as JwtIssuer[],
    ...(anonymous?.enabled !== undefined && { anonymousAuth: anonymous.enabled }),
    ...(anonymous?.conditions !== undefined && { anonymousPaths: anonymous.conditions.map(({ path }) => path) }),
  };
}

export interface AuthorizationFlags {
  readonly config?: string | undefined;
  readonly modes?: readonly string[] | undefined;
  readonly policy?: string | undefined;
  readonly webhook?: string | undefined;
  readonly authorizedTtlMs?: number | undefined;
  readonly unauthorizedTtlMs?: number | undefined;
}

export function authorizationSettings(
  flags: AuthorizationFlags,
): Pick<ApiServerOptions, 'authorizers' | 'authorizationModes'> {
  const { config, modes, policy, webhook, authorizedTtlMs, unauthorizedTtlMs } = flags;
  if (config !== undefined && config !== '') return { authorizers: authorizersOfFile(config) };
  if (modes === undefined) return {};
  if (!modes.includes('ABAC') && !modes.includes('Webhook'))
    return { authorizationModes: modes as readonly AuthorizationMode[] };
  return {
    authorizers: modes.map((type): AuthorizerOptions => {
      if (type === 'ABAC') {
        if (policy === undefined)
          throw new UserError('the ABAC mode needs a policy', 'give --authorization-policy-file');
        return { type, policy: readFileSync(policy, 'utf8') };
      }
      if (type === 'Webhook') {
        if (webhook === undefined)
          throw new UserError('the Webhook mode needs a webhook', 'give --authorization-webhook-config-file');
        return {
          type,
          name: 'webhook',
          failurePolicy: 'NoOpinion',
          ...remoteOf(webhook),
          ...defined({ authorizedTtlMs, unauthorizedTtlMs }),
        };
      }
      return { type } as AuthorizerOptions;
    }),
  };
}

const duration = (text: unknown): number | undefined => {
  const match = typeof text === 'string' ? /^(\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(text) : null;
  return match === null
    ? undefined
    : Number(match[1]) * { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }[match[2] as 'ms' | 's' | 'm' | 'h'];
};

export function authorizersOfFile(file: string): AuthorizerOptions[] {
  const config = readYaml(file);
  if (config['kind'] !== 'AuthorizationConfiguration')
    throw new UserError(`${file} is no AuthorizationConfiguration`, 'its kind must be AuthorizationConfiguration');
  return ((config['authorizers'] ?? []) as Loose[]).map((entry): AuthorizerOptions => {
    if (entry['type'] !== 'Webhook') return { type: entry['type'] } as AuthorizerOptions;
    const hook = (entry['webhook'] ?? {}) as Loose;
    const connection = (hook['connectionInfo'] ?? {}) as Loose;
    const kubeconfig = connection['kubeConfigFile'];
    const failurePolicy = hook['failurePolicy'];
    if (connection['type'] !== 'KubeConfigFile' || typeof kubeconfig !== 'string')
      throw new UserError(`${file}: a webhook needs connectionInfo of type KubeConfigFile`, 'correct the file');
    if (failurePolicy !== 'NoOpinion' && failurePolicy !== 'Deny')
      throw new UserError(`${file}: failurePolicy must be NoOpinion or Deny`, 'correct the file');
    return {
      type: 'Webhook',
      name: String(entry['name'] ?? 'webhook'),
      failurePolicy,
      ...remoteOf(resolve(dirname(file), kubeconfig)),
      ...defined({
        authorizedTtlMs: duration(hook['authorizedTTL']),
        unauthorizedTtlMs: duration(hook['unauthorizedTTL']),
        timeoutMs: duration(hook['timeout']),
      }),
      matchConditions: (hook['matchConditions'] ?? []) as { expression: string }[],
    };
  });
}
