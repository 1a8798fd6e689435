// Owns kubeconfig files: their shape, loading (several files merged as kubectl does), and adding or removing one cluster's entries.
import { mkdir, open, readFile, realpath, rename, rm, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { dump, loadAll } from 'js-yaml';
import type { Clock } from '../base/clock.ts';
import { sleep } from '../base/clock.ts';

export interface KubeconfigCluster {
  server: string;
  'certificate-authority'?: string;
  'certificate-authority-data'?: string;
  'insecure-skip-tls-verify'?: boolean;
  'tls-server-name'?: string;
  'proxy-url'?: string;
  [other: string]: unknown;
}

export interface KubeconfigUser {
  'client-certificate'?: string;
  'client-certificate-data'?: string;
  'client-key'?: string;
  'client-key-data'?: string;
  token?: string;
  tokenFile?: string;
  as?: string;
  'as-uid'?: string;
  'as-groups'?: string[];
  [other: string]: unknown;
}

export interface KubeconfigContext {
  cluster: string;
  user: string;
  namespace?: string;
  [other: string]: unknown;
}

export interface Kubeconfig {
  apiVersion: 'v1';
  kind: 'Config';
  clusters: { name: string; cluster: KubeconfigCluster }[];
  users: { name: string; user: KubeconfigUser }[];
  contexts: { name: string; context: KubeconfigContext }[];
  'current-context': string;
  preferences?: Record<string, unknown>;
  [other: string]: unknown;
}

/** What is wrong with a kubeconfig, in words for the one who runs the command. */
export class KubeconfigError extends Error {
  override readonly name = 'KubeconfigError';
}

function emptyKubeconfig(): Kubeconfig {
  return { apiVersion: 'v1', kind: 'Config', clusters: [], users: [], contexts: [], 'current-context': '' };
}

/** Reads several files into one: the first to name an entry or the current context wins. Missing files are skipped; relative paths in entries are made absolute. */
export async function loadKubeconfig(paths: readonly string[]): Promise<Kubeconfig> {
  const merged = emptyKubeconfig();
  for (const path of paths) {
    const config = await readKubeconfig(path);
    if (config === undefined) continue;
    absolutePaths(config, dirname(resolve(path)));
    for (const entry of config.clusters) addMissing(merged.clusters, entry);
    for (const entry of config.users) addMissing(merged.users, entry);
    for (const entry of config.contexts) addMissing(merged.contexts, entry);
    merged['current-context'] ||= config['current-context'];
  }
  return merged;
}

/** Undefined when there is no such file. */
export async function readKubeconfig(path: string): Promise<Kubeconfig | undefined> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new KubeconfigError(`${path}: ${(error as Error).message}`);
  }
  return parseKubeconfig(text, path);
}

export function parseKubeconfig(text: string, path: string): Kubeconfig {
  let raw: unknown;
  try {
    // An empty file has no document at all.
    [raw] = loadAll(text);
  } catch (error) {
    throw new KubeconfigError(`${path}: not valid YAML: ${(error as Error).message.split('\n')[0]}`);
  }
  if (raw === undefined || raw === null) return emptyKubeconfig();
  if (typeof raw !== 'object' || Array.isArray(raw)) throw new KubeconfigError(`${path}: not a kubeconfig`);
  const config = raw as Partial<Kubeconfig>;
  if (config.kind !== undefined && config.kind !== 'Config')
    throw new KubeconfigError(`${path}: kind is ${String(config.kind)}, not Config`);
  return {
    ...config,
    apiVersion: 'v1',
    kind: 'Config',
    clusters: entries(config.clusters, 'cluster', `${path}: clusters`),
    users: entries(config.users, 'user', `${path}: users`),
    contexts: entries(config.contexts, 'context', `${path}: contexts`),
    'current-context': String(config['current-context'] ?? ''),
  };
}

function entries<E extends { name: string }>(list: E[] | null | undefined, field: string, where: string): E[] {
  if (list === undefined || list === null) return [];
  if (!Array.isArray(list)) throw new KubeconfigError(`${where}: not a list`);
  return list.map((entry, at) => {
    if (typeof entry?.name !== 'string') throw new KubeconfigError(`${where}[${at}]: has no name`);
    const value = (entry as Record<string, unknown>)[field] ?? {};
    if (typeof value !== 'object') throw new KubeconfigError(`${where}[${at}].${field}: not an object`);
    return { ...entry, [field]: value };
  });
}

function addMissing<E extends { name: string }>(list: E[], entry: E): void {
  if (!list.some((other) => other.name === entry.name)) list.push(entry);
}

function absolutePaths(config: Kubeconfig, directory: string): void {
  const fix = (entry: Record<string, unknown>, field: string) => {
    const path = entry[field];
    if (typeof path === 'string' && path !== '') entry[field] = resolve(directory, path);
  };
  for (const { cluster } of config.clusters) fix(cluster, 'certificate-authority');
  for (const { user } of config.users)
    for (const field of ['client-certificate', 'client-key', 'tokenFile']) fix(user, field);
}

/** One cluster's entries, all under the same name. */
export interface KubeconfigEntry {
  readonly name: string;
  readonly cluster: KubeconfigCluster;
  readonly user: KubeconfigUser;
  readonly namespace?: string;
}

/** A file of its own for one cluster. */
export function kubeconfigOf(entry: KubeconfigEntry): Kubeconfig {
  return withEntry(emptyKubeconfig(), entry);
}

/** Adds or replaces the entries of that name and makes it the current context; others' entries stay as they are. */
export function withEntry(config: Kubeconfig, entry: KubeconfigEntry): Kubeconfig {
  const { name, cluster, user, namespace } = entry;
  const context = { cluster: name, user: name, ...(namespace && { namespace }) };
  return {
    ...config,
    clusters: replaced(config.clusters, { name, cluster }),
    users: replaced(config.users, { name, user }),
    contexts: replaced(config.contexts, { name, context }),
    'current-context': name,
  };
}

/** Removes the entries of that name; when it was the current context there is none afterwards, as with kind. */
export function withoutEntry(config: Kubeconfig, name: string): Kubeconfig {
  const keep = <E extends { name: string }>(list: E[]) => list.filter((entry) => entry.name !== name);
  return {
    ...config,
    clusters: keep(config.clusters),
    users: keep(config.users),
    contexts: keep(config.contexts),
    'current-context': config['current-context'] === name ? '' : config['current-context'],
  };
}

function replaced<E extends { name: string }>(list: E[], entry: E): E[] {
  const at = list.findIndex((other) => other.name === entry.name);
  return at < 0 ? [...list, entry] : list.with(at, entry);
}

/** Changes a kubeconfig under kubectl's lock file; written 0600 (an existing file keeps its mode) and swapped in whole. */
export async function updateKubeconfig(
  path: string,
  change: (config: Kubeconfig) => Kubeconfig,
  clock: Clock,
): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const unlock = await lock(`${path}.lock`, clock);
  try {
    const before = await readKubeconfig(path);
    await writeAtomically(path, dump(change(before ?? emptyKubeconfig()), { lineWidth: -1, noRefs: true }));
  } finally {
    await unlock();
  }
}

async function writeAtomically(link: string, text: string): Promise<void> {
  // A link to the file must go on being one.
  const path = await realpath(link).catch(() => link);
  const mode = await stat(path).then(
    (found) => found.mode & 0o777,
    () => 0o600,
  );
  const temporary = `${path}.new`;
  await rm(temporary, { force: true });
  const file = await open(temporary, 'wx', mode);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(temporary, path);
}

/** kubectl holds the same lock only for milliseconds; one that stays is left from a crash. */
async function lock(path: string, clock: Clock): Promise<() => Promise<void>> {
  for (let tries = 0; ; tries++) {
    try {
      const file = await open(path, 'wx', 0o600);
      await file.close();
      return () => rm(path, { force: true });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      if (tries === 50) throw new KubeconfigError(`${path} is held: remove it if no kubectl is running`);
      await sleep(clock, 100);
    }
  }
}
