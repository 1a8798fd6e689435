// The AdmissionConfiguration file and the files that it names, read for `k8ts kube-apiserver`. What is not understood ends the start.
import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { parseKubeconfig } from '../../client/kubeconfig.ts';
import { pluginEntries } from '../../server/admission/plugins.ts';
import type { WebhookCredential } from '../../server/admission/webhook/credentials.ts';
import type { ApiServerOptions } from '../../server/options.ts';
import { UserError } from '../user-error.ts';
import { readYaml, remoteOf } from './access-files.ts';
import type { Loose } from './access-files.ts';

/** What the configuration of a plugin may be called; plugins that are absent take none. */
const kinds: Readonly<Record<string, readonly string[]>> = {
  PodSecurity: ['PodSecurityConfiguration'],
  PodNodeSelector: [''],
  PodTolerationRestriction: ['Configuration', ''],
  EventRateLimit: ['Configuration'],
  ResourceQuota: ['ResourceQuotaConfiguration', 'Configuration'],
  ImagePolicyWebhook: ['ImagePolicyWebhook', ''],
  MutatingAdmissionWebhook: ['WebhookAdmissionConfiguration', 'WebhookAdmission'],
  ValidatingAdmissionWebhook: ['WebhookAdmissionConfiguration', 'WebhookAdmission'],
};

type Settings = Pick<ApiServerOptions, 'admissionConfig' | 'admissionCredentials' | 'imagePolicy'>;

export function admissionConfiguration(file: string | undefined): Settings {
  if (file === undefined || file === '') return {};
  const wrong = (what: string): UserError => new UserError(`${file}: ${what}`, 'correct the file');
  const config = readYaml(file);
  if (
    config['kind'] !== 'AdmissionConfiguration' ||
    !/^apiserver\.(config\.)?k8s\.io\//.test(String(config['apiVersion']))
  )
    throw wrong('it must be an AdmissionConfiguration of apiserver.config.k8s.io/v1');
  const known = new Set(pluginEntries.map(({ name }) => name));
  const admissionConfig: Record<string, Loose> = {};
  const admissionCredentials: Record<string, readonly WebhookCredential[]> = {};
  let imagePolicy: Settings['imagePolicy'];
  const plugins = config['plugins'] ?? [];
  if (!Array.isArray(plugins)) throw wrong('plugins must be a list');
  for (const plugin of plugins as Loose[]) {
    const name = String(plugin['name']);
    if (!known.has(name)) throw wrong(`there is no admission plugin "${name}"`);
    if (name in admissionConfig) throw wrong(`the plugin ${name} is configured twice`);
    const { path, configuration } = plugin;
    if (configuration !== undefined && path) throw wrong(`the plugin ${name} has both a path and a configuration`);
    // Paths within are relative to the file that they stand in.
    const from = typeof path === 'string' && path !== '' ? resolve(dirname(file), path) : file;
    const own = from === file ? ((configuration ?? {}) as Loose) : readYaml(from);
    const allowed = kinds[name];
    if (Object.keys(own).length === 0) continue;
    if (allowed === undefined) throw wrong(`the plugin ${name} takes no configuration`);
    if (!allowed.includes(String(own['kind'] ?? '')))
      throw wrong(`the configuration of ${name} must be of kind ${allowed[0] || 'none'}, not ${String(own['kind'])}`);
    admissionConfig[name] = own;
    if (name === 'ImagePolicyWebhook') imagePolicy = imagePolicyOf(own, dirname(from), wrong);
    if (name.endsWith('AdmissionWebhook')) {
      const kubeconfig = own['kubeConfigFile'];
      if (kubeconfig !== undefined && (typeof kubeconfig !== 'string' || kubeconfig === ''))
        throw wrong(`${name}: kubeConfigFile must name a file`);
      if (kubeconfig !== undefined) admissionCredentials[name] = credentialsOf(resolve(dirname(from), kubeconfig));
    }
  }
  return {
    admissionConfig,
    ...(Object.keys(admissionCredentials).length > 0 && { admissionCredentials }),
    ...(imagePolicy && { imagePolicy }),
  };
}

/** Seconds from one second to half an hour, milliseconds from one to five minutes; upstream's bounds and defaults. */
function imagePolicyOf(own: Loose, directory: string, wrong: (what: string) => Error): Settings['imagePolicy'] {
  const policy = (own['imagePolicy'] ?? own) as Loose;
  const { kubeConfigFile } = policy;
  if (typeof kubeConfigFile !== 'string' || kubeConfigFile === '')
    throw wrong('ImagePolicyWebhook: imagePolicy.kubeConfigFile is needed');
  const within = (field: string, unitMs: number, fallback: number, least: number, most: number): number => {
    const value = policy[field] ?? 0;
    if (typeof value !== 'number') throw wrong(`ImagePolicyWebhook: ${field} must be a number`);
    // Less than nothing: never remembered, never tried again.
    if (value < 0) return 0;
    const ms = value === 0 ? fallback : value * unitMs;
    if (ms < least || ms > most)
      throw wrong(`ImagePolicyWebhook: ${field} must be between ${least / unitMs} and ${most / unitMs}`);
    return ms;
  };
  return {
    ...remoteOf(resolve(directory, kubeConfigFile)),
    allowTtlMs: within('allowTTL', 1000, 300_000, 1000, 1_800_000),
    denyTtlMs: within('denyTTL', 1000, 30_000, 1000, 1_800_000),
    retryBackoffMs: within('retryBackoff', 1, 500, 1, 300_000),
    defaultAllow: policy['defaultAllow'] === true,
  };
}

/** Each user of the kubeconfig, under the name of the server that it is for. */
function credentialsOf(file: string): readonly WebhookCredential[] {
  const wrong = (what: string): UserError => new UserError(`${file}: ${what}`, 'correct the file');
  const read = (path: string | undefined): string | undefined => {
    try {
      return path === undefined ? undefined : readFileSync(resolve(dirname(file), path), 'utf8');
    } catch (error) {
      throw wrong(`${path} cannot be read: ${(error as Error).message}`);
    }
  };
  const text = read(file)!;
  let users: ReturnType<typeof parseKubeconfig>['users'];
  try {
    ({ users } = parseKubeconfig(text, file));
  } catch (error) {
    throw wrong((error as Error).message);
  }
  return users.map(({ name, user }) => {
    if ('exec' in user) throw wrong(`user ${name}: credential plugins (exec) are not run`);
    const data = (value: string | undefined): string | undefined =>
      value === undefined ? undefined : Buffer.from(value, 'base64').toString('utf8');
    const certificate = data(user['client-certificate-data']) ?? read(user['client-certificate']);
    const key = data(user['client-key-data']) ?? read(user['client-key']);
    if ((certificate === undefined) !== (key === undefined))
      throw wrong(`user ${name}: a certificate and its key belong together`);
    const token = user.token ?? read(user.tokenFile)?.trim();
    return {
      server: name,
      ...(certificate !== undefined && key !== undefined && { clientCertificate: { certificate, key } }),
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    };
  });
}
