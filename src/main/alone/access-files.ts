// The files that say who may do what and what is let in: read for `k8ts kube-apiserver`. Nothing is guessed: what is not understood ends the start.
import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { load } from 'js-yaml';
import { type Kubeconfig, parseKubeconfig } from '../../client/kubeconfig.ts';
import { auditPolicy } from '../../server/audit/policy.ts';
import type { Callee } from '../../server/callout.ts';
import type { ApiServerOptions } from '../../server/options.ts';
import { UserError } from '../user-error.ts';

type Loose = Readonly<Record<string, unknown>>;

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

export function admissionConfiguration(file: string | undefined): Pick<ApiServerOptions, 'admissionConfig'> {
  if (file === undefined || file === '') return {};
  const config = readYaml(file);
  if (config['kind'] !== 'AdmissionConfiguration')
    throw new UserError(`${file} is no AdmissionConfiguration`, 'its kind must be AdmissionConfiguration');
  const admissionConfig: Record<string, Loose> = {};
  for (const plugin of (config['plugins'] ?? []) as Loose[]) {
    const path = plugin['path'];
    admissionConfig[String(plugin['name'])] =
      typeof path === 'string' && path !== ''
        ? readYaml(resolve(dirname(file), path))
        : ((plugin['configuration'] ?? {}) as Loose);
  }
  return { admissionConfig };
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
