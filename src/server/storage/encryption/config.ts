// Owns reading an EncryptionConfiguration: checks, and which providers a resource has. Pure; opens nothing.
import { load } from 'js-yaml';

export interface KeyConfig {
  readonly name: string;
  readonly secret: Uint8Array;
}

export type ProviderConfig =
  | { readonly type: 'identity' }
  | { readonly type: 'aescbc' | 'aesgcm' | 'secretbox'; readonly keys: readonly KeyConfig[] }
  | { readonly type: 'kms'; readonly name: string; readonly endpoint: string; readonly timeoutMs: number };

export interface ResourcesConfig {
  /** "secrets", "deployments.apps", "*.apps", "*." (the core group), "*.*". */
  readonly resources: readonly string[];
  readonly providers: readonly ProviderConfig[];
}

export class EncryptionConfigError extends Error {
  override readonly name = 'EncryptionConfigError';
}

const keyBytes = { aescbc: [16, 24, 32], aesgcm: [16, 24, 32], secretbox: [32] } as const;
const defaultTimeoutMs = 3000;

/** From YAML or JSON. Throws EncryptionConfigError, which names the field. */
export function parseEncryptionConfig(text: string): readonly ResourcesConfig[] {
  let document: unknown;
  try {
    document = load(text);
  } catch (error) {
    throw new EncryptionConfigError(`not YAML: ${(error as Error).message}`);
  }
  const config = record('the file', document);
  if (config['apiVersion'] !== 'apiserver.config.k8s.io/v1' || config['kind'] !== 'EncryptionConfiguration')
    throw new EncryptionConfigError('apiVersion and kind must be apiserver.config.k8s.io/v1, EncryptionConfiguration');
  onlyFields('the file', config, ['apiVersion', 'kind', 'resources']);
  const items = list('resources', config['resources']).map((item, at) => resourcesOf(`resources[${at}]`, item));
  const names = new Set<string>();
  for (const { providers } of items)
    for (const provider of providers) {
      if (provider.type !== 'kms') continue;
      if (names.has(provider.name)) throw new EncryptionConfigError(`two kms providers have the name ${provider.name}`);
      names.add(provider.name);
    }
  return items;
}

/** The providers of a resource: of the first entry that names it, or the wildcard of its group, or everything. */
export function providersOf(
  config: readonly ResourcesConfig[],
  group: string,
  plural: string,
): readonly ProviderConfig[] | undefined {
  const names = [group === '' ? plural : `${plural}.${group}`, `*.${group}`, '*.*'];
  return config.find(({ resources }) => names.some((name) => resources.includes(name)))?.providers;
}

function resourcesOf(path: string, value: unknown): ResourcesConfig {
  const item = record(path, value);
  onlyFields(path, item, ['resources', 'providers']);
  const resources = list(`${path}.resources`, item['resources']).map((name, at) =>
    resourceName(`${path}.resources[${at}]`, name),
  );
  checkOverlap(`${path}.resources`, resources);
  const providers = list(`${path}.providers`, item['providers']).map((provider, at) =>
    providerOf(`${path}.providers[${at}]`, provider),
  );
  return { resources, providers };
}

function resourceName(path: string, value: unknown): string {
  const name = text(path, value);
  if (name === '*') throw new EncryptionConfigError(`${path}: write "*.*" for everything, "*." for the core group`);
  if (name !== name.toLowerCase()) throw new EncryptionConfigError(`${path}: ${name} must be lower case`);
  if (name.includes('/')) throw new EncryptionConfigError(`${path}: subresources are not stored`);
  if (name !== '*.' && name.endsWith('.')) throw new EncryptionConfigError(`${path}: ${name} has an empty group`);
  if (/^\*[^.]|.\*(?!$)/.test(name) || (name.includes('*') && !name.startsWith('*.')))
    throw new EncryptionConfigError(`${path}: ${name}: only "*.", "*.<group>" and "*.*" are wildcards`);
  if (name === 'events.events.k8s.io') throw new EncryptionConfigError(`${path}: events are stored as "events"`);
  if (/(^|\.)extensions$/.test(name) && name !== 'extensions')
    throw new EncryptionConfigError(`${path}: the group extensions is not served any more`);
  return name;
}

/** What a wildcard of the same list names already would have no effect of its own. */
function checkOverlap(path: string, names: readonly string[]): void {
  for (const [at, name] of names.entries()) {
    if (names.indexOf(name) !== at) throw new EncryptionConfigError(`${path}: ${name} is there twice`);
    if (name === '*.*') {
      if (names.length > 1) throw new EncryptionConfigError(`${path}: "*.*" includes all the others`);
      continue;
    }
    if (name.startsWith('*.')) continue;
    const dot = name.indexOf('.');
    const wildcard = dot < 0 ? '*.' : `*.${name.slice(dot + 1)}`;
    if (names.includes(wildcard)) throw new EncryptionConfigError(`${path}: "${wildcard}" includes ${name}`);
  }
}

function providerOf(path: string, value: unknown): ProviderConfig {
  const provider = record(path, value);
  const [type, ...more] = Object.keys(provider);
  if (type === undefined || more.length > 0) throw new EncryptionConfigError(`${path}: exactly one provider is needed`);
  const inner = provider[type];
  switch (type) {
    case 'identity':
      if (inner !== null) onlyFields(`${path}.identity`, record(`${path}.identity`, inner), []);
      return { type };
    case 'aescbc':
    case 'aesgcm':
    case 'secretbox':
      return { type, keys: keysOf(`${path}.${type}`, record(`${path}.${type}`, inner), keyBytes[type]) };
    case 'kms':
      return kmsOf(`${path}.kms`, record(`${path}.kms`, inner));
    default:
      throw new EncryptionConfigError(`${path}: unknown provider ${type}`);
  }
}

function keysOf(path: string, value: Record<string, unknown>, sizes: readonly number[]): readonly KeyConfig[] {
  onlyFields(path, value, ['keys']);
  const keys = list(`${path}.keys`, value['keys']).map((item, at): KeyConfig => {
    const where = `${path}.keys[${at}]`;
    const key = record(where, item);
    onlyFields(where, key, ['name', 'secret']);
    const name = text(`${where}.name`, key['name']);
    if (name.includes(':')) throw new EncryptionConfigError(`${where}.name: no colons, please`);
    const encoded = text(`${where}.secret`, key['secret']);
    const secret = Buffer.from(encoded, 'base64');
    if (!/^[A-Za-z0-9+/]+={0,2}$/.test(encoded) || encoded.length % 4 !== 0)
      throw new EncryptionConfigError(`${where}.secret: not base64`);
    if (!sizes.includes(secret.length))
      throw new EncryptionConfigError(`${where}.secret: ${secret.length} bytes instead of ${sizes.join(', ')}`);
    return { name, secret };
  });
  for (const [at, { name }] of keys.entries())
    if (keys.findIndex((other) => other.name === name) !== at)
      throw new EncryptionConfigError(`${path}.keys: the name ${name} is there twice`);
  return keys;
}

function kmsOf(path: string, kms: Record<string, unknown>): ProviderConfig {
  onlyFields(path, kms, ['apiVersion', 'name', 'endpoint', 'timeout', 'cachesize']);
  if (kms['apiVersion'] !== 'v2')
    throw new EncryptionConfigError(`${path}.apiVersion: must be v2; version 1 is off in Kubernetes since 1.29`);
  if (kms['cachesize'] !== undefined) throw new EncryptionConfigError(`${path}.cachesize: not for v2`);
  const name = text(`${path}.name`, kms['name']);
  if (name.includes(':')) throw new EncryptionConfigError(`${path}.name: no colons, please`);
  const endpoint = text(`${path}.endpoint`, kms['endpoint']);
  if (!/^unix:(\/\/)?[/@]./.test(endpoint))
    throw new EncryptionConfigError(`${path}.endpoint: ${endpoint} is no unix:///path/to/socket`);
  const timeout = kms['timeout'];
  return { type: 'kms', name, endpoint, timeoutMs: timeout === undefined ? defaultTimeoutMs : duration(path, timeout) };
}

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

function duration(path: string, value: unknown): number {
  const written = text(`${path}.timeout`, value);
  const parts = [...written.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g)];
  const totalMs = parts.reduce((sum, [, count, unit]) => sum + Number(count) * unitMs[unit!]!, 0);
  if (parts.map(([part]) => part).join('') !== written || totalMs <= 0)
    throw new EncryptionConfigError(`${path}.timeout: ${written} is no duration like 3s`);
  return totalMs;
}

function record(path: string, value: unknown): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new EncryptionConfigError(`${path}: must be an object`);
  return value as Record<string, unknown>;
}

function list(path: string, value: unknown): readonly unknown[] {
  if (!Array.isArray(value) || value.length === 0) throw new EncryptionConfigError(`${path}: at least one is needed`);
  return value;
}

function text(path: string, value: unknown): string {
  if (typeof value !== 'string' || value === '') throw new EncryptionConfigError(`${path}: must be a text`);
  return value;
}

function onlyFields(path: string, value: Record<string, unknown>, known: readonly string[]): void {
  const unknown = Object.keys(value).find((name) => !known.includes(name));
  if (unknown !== undefined) throw new EncryptionConfigError(`${path}: unknown field ${unknown}`);
}
