// `k8ts snapshot save|restore|status|fork`: backups of a cluster (running or not), of an etcd, or of an embedded store.
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { systemClock } from '../../base/clock.ts';
import { silentLogger } from '../../base/log.ts';
import { systemRandom } from '../../base/random.ts';
import { openEmbeddedStore } from '../../store/embedded/embedded.ts';
import { restoreSnapshot } from '../../store/embedded/restore.ts';
import { openEtcdStore } from '../../store/etcd/etcd.ts';
import { importSnapshot, saveSnapshot, snapshotStatus } from '../../store/snapshot.ts';
import type { SnapshotStatus } from '../../store/snapshot.ts';
import { StoreCorrupt, StoreLocked, StoreUnavailable } from '../../store/store.ts';
import type { Store } from '../../store/store.ts';
import { readRecord, readRunning, replaceFile } from '../data-directory.ts';
import { commandFor, dataDirectoryOf, thisEnvironment } from '../places.ts';
import { saveFromRunning } from '../snapshot-socket.ts';
import { UserError } from '../user-error.ts';

/** Which store: endpoints of a running etcd (`k8ts etcd` too), the directory of a store that is not running, else a cluster's. */
export interface SnapshotOptions {
  readonly endpoints?: string;
  readonly cacert?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly storeDir?: string;
  /** Or a cluster of `k8ts up`, running or not: by name, or by its directory. */
  readonly name?: string;
  readonly dataDir?: string;
  readonly revision?: number;
  readonly output?: string;
}

const deps = { clock: systemClock, log: silentLogger, random: systemRandom };

export async function save(path: string, options: SnapshotOptions): Promise<void> {
  await explained(async () => {
    const cluster = clusterDirectory(options);
    if (cluster !== undefined && readRunning(cluster) !== undefined) {
      say(path, await saveFromRunning(cluster, path, options.revision ?? 0), options);
      return;
    }
    const store = await open(options);
    try {
      say(path, await saveSnapshot(store, path, options.revision ?? 0), options);
    } finally {
      await store.close();
    }
  });
}

export async function restore(path: string, options: SnapshotOptions): Promise<void> {
  await explained(async () => {
    if (options.endpoints === undefined) {
      say(path, await restoreSnapshot(path, storeDirectory(options), deps), options);
      return;
    }
    const store = await open(options);
    try {
      await importSnapshot(path, store);
      say(path, await snapshotStatus(path), options);
    } finally {
      await store.close();
    }
  });
}

export async function status(path: string, options: SnapshotOptions): Promise<void> {
  await explained(async () => say(path, await snapshotStatus(path), options));
}

async function open(options: SnapshotOptions): Promise<Store> {
  if (options.endpoints !== undefined) {
    const file = (name: 'cacert' | 'cert' | 'key') =>
      options[name] === undefined ? undefined : readFileSync(options[name]);
    const [ca, cert, key] = [file('cacert'), file('cert'), file('key')];
    const endpoints = options.endpoints.split(',').map((one) => (/^[a-z]+:\/\//.test(one) ? one : `http://${one}`));
    return openEtcdStore({ endpoints, tls: { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) } }, deps);
  }
  const directory = storeDirectory(options);
  if (!existsSync(directory))
    throw new UserError(`there is no store in ${directory}`, 'give --name, --data-dir or --store-dir');
  return openEmbeddedStore(directory, deps);
}

/** The directory of the cluster that is meant, unless another kind of store is. */
function clusterDirectory(options: SnapshotOptions): string | undefined {
  if (options.endpoints !== undefined || options.storeDir !== undefined) return undefined;
  return dataDirectoryOf(options, thisEnvironment());
}

/** Of a store that is not running; made if need be. */
function storeDirectory(options: SnapshotOptions): string {
  const cluster = clusterDirectory(options);
  if (cluster === undefined) return options.storeDir!;
  const running = readRunning(cluster);
  if (running !== undefined)
    throw new UserError(
      `the cluster in ${cluster} runs (process ${running.pid})`,
      `stop it with \`${commandFor('down', options, thisEnvironment())}\``,
    );
  return join(cluster, 'store');
}

/** Makes another cluster's directory that begins as this one is (or was): its objects, its keys and its networks. */
export async function fork(target: string, options: SnapshotOptions): Promise<void> {
  await explained(async () => {
    const to = resolve(target);
    if (existsSync(to)) throw new UserError(`${to} exists`, 'give a directory that does not exist yet');
    const from = dataDirectoryOf(options, thisEnvironment());
    const record = readRecord(from);
    if (record === undefined) throw new UserError(`there is no cluster in ${from}`, 'give --name or --data-dir');
    mkdirSync(join(to, 'store'), { recursive: true, mode: 0o700 });
    try {
      const file = join(to, 'fork.snapshot');
      if (readRunning(from) !== undefined) await saveFromRunning(from, file, options.revision ?? 0);
      else {
        const store = await open(options);
        try {
          await saveSnapshot(store, file, options.revision ?? 0);
        } finally {
          await store.close();
        }
      }
      const status = await restoreSnapshot(file, join(to, 'store'), deps);
      rmSync(file);
      cpSync(join(from, 'pki'), join(to, 'pki'), { recursive: true });
      const fresh = { ...record, name: basename(to), createdAt: new Date(systemClock.now()).toISOString(), port: 0 };
      replaceFile(join(to, 'cluster.json'), `${JSON.stringify(fresh, null, 2)}\n`);
      say(to, status, options);
    } catch (error) {
      rmSync(to, { recursive: true, force: true });
      throw error;
    }
  });
}

function say(
  path: string,
  { revision, keys, leases, bytes, sha256 }: SnapshotStatus,
  { output }: SnapshotOptions,
): void {
  const text =
    output === 'json'
      ? JSON.stringify({ revision, keys, leases, bytes, sha256 })
      : `${path}: revision ${revision}, ${keys} keys, ${leases} leases, ${bytes} bytes, sha256 ${sha256}`;
  process.stdout.write(`${text}\n`);
}

async function explained(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (error instanceof StoreLocked) throw new UserError(error.message, 'stop it, or save through its --endpoints');
    if (error instanceof StoreCorrupt) throw new UserError(error.message, 'use another snapshot');
    if (error instanceof StoreUnavailable)
      throw new UserError(error.message, 'see that the endpoints are right and up');
    const { code } = error as { code?: unknown };
    if (typeof code === 'string' && /^E[A-Z]+$/.test(code))
      throw new UserError((error as Error).message, 'give a file that can be used');
    if (error instanceof Error && /already/.test(error.message))
      throw new UserError(error.message, 'restore into an empty store');
    throw error;
  }
}
