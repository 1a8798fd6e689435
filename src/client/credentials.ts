// Owns the way from a kubeconfig's context to a transport: which server, which certificates, which token.
import { readFile } from 'node:fs/promises';
import type { Clock } from '../base/clock.ts';
import type { TlsFiles } from './http-connection.ts';
import { type HttpTransport, httpTransport, type HttpTransportOptions } from './http-transport.ts';
import { type Kubeconfig, type KubeconfigCluster, KubeconfigError, type KubeconfigUser } from './kubeconfig.ts';
import { fixedToken, tokenFile } from './token.ts';

export interface KubeconfigTransportOptions {
  readonly clock: Clock;
  readonly userAgent: string;
  /** Default: the current context. */
  readonly context?: string;
  readonly timeoutMs?: number;
}

/** A transport as the kubeconfig's context says. Reads the files that it names. */
export async function transportFromKubeconfig(
  config: Kubeconfig,
  options: KubeconfigTransportOptions,
): Promise<HttpTransport> {
  return httpTransport(await httpOptionsFromKubeconfig(config, options));
}

export async function httpOptionsFromKubeconfig(
  config: Kubeconfig,
  options: KubeconfigTransportOptions,
): Promise<HttpTransportOptions> {
  const { cluster, user } = resolveContext(config, options.context);
  if (user['exec'] || user['auth-provider'])
    throw new KubeconfigError('credential plugins (users[].user.exec, auth-provider) are not supported');
  if (user['username']) throw new KubeconfigError('basic authentication is not supported');
  if (cluster['proxy-url']) throw new KubeconfigError('clusters[].cluster.proxy-url is not supported');
  const token = tokenOf(user, options.clock);
  return {
    server: cluster.server,
    tls: await tlsFiles(cluster, user),
    clock: options.clock,
    userAgent: options.userAgent,
    ...(options.timeoutMs !== undefined && { timeoutMs: options.timeoutMs }),
    ...(token && { token }),
    ...(user.as && {
      impersonate: {
        user: user.as,
        ...(user['as-uid'] && { uid: user['as-uid'] }),
        ...(user['as-groups'] && { groups: user['as-groups'] }),
      },
    }),
  };
}

export function resolveContext(
  config: Kubeconfig,
  name: string = config['current-context'],
): { cluster: KubeconfigCluster; user: KubeconfigUser; namespace: string } {
  if (name === '') throw new KubeconfigError('no context is chosen: set current-context');
  const context = config.contexts.find((entry) => entry.name === name)?.context;
  if (!context) throw new KubeconfigError(`context "${name}" does not exist`);
  const cluster = config.clusters.find((entry) => entry.name === context.cluster)?.cluster;
  if (!cluster) throw new KubeconfigError(`cluster "${context.cluster}" of context "${name}" does not exist`);
  if (typeof cluster.server !== 'string' || cluster.server === '')
    throw new KubeconfigError(`cluster "${context.cluster}" has no server`);
  const user = config.users.find((entry) => entry.name === context.user)?.user ?? {};
  return { cluster, user, namespace: context.namespace ?? 'default' };
}

function tokenOf(user: KubeconfigUser, clock: Clock) {
  if (user.tokenFile) return tokenFile(user.tokenFile, clock);
  return user.token ? fixedToken(user.token) : undefined;
}

async function tlsFiles(cluster: KubeconfigCluster, user: KubeconfigUser): Promise<TlsFiles> {
  const ca = await pem(cluster['certificate-authority-data'], cluster['certificate-authority']);
  const cert = await pem(user['client-certificate-data'], user['client-certificate']);
  const key = await pem(user['client-key-data'], user['client-key']);
  return {
    ...(ca && { ca }),
    ...(cert && { cert }),
    ...(key && { key }),
    ...(cluster['tls-server-name'] && { serverName: cluster['tls-server-name'] }),
    ...(cluster['insecure-skip-tls-verify'] && { insecureSkipVerify: true }),
  };
}

/** Inline data wins over a file. */
async function pem(data: string | undefined, path: string | undefined): Promise<string | undefined> {
  if (data) return Buffer.from(data, 'base64').toString('utf8');
  if (!path) return undefined;
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw new KubeconfigError(`${path}: ${(error as Error).message}`);
  }
}
