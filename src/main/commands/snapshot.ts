// `k8ts snapshot save|restore|status`: backups of a store, an etcd or an embedded one.
import { readFileSync } from 'node:fs';
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
import { UserError } from '../user-error.ts';

/** Which store: endpoints of a running etcd (`k8ts etcd` too), or the directory of a store that is not running. */
export interface SnapshotOptions {
  readonly endpoints?: string;
  readonly cacert?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly storeDir?: string;
  readonly revision?: number;
  readonly output?: string;
}

const deps = { clock: systemClock, log: silentLogger, random: systemRandom };

export async function save(path: string, options: SnapshotOptions): Promise<void> {
  await explained(async () => {
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
      if (options.storeDir === undefined) throw whichStore();
      say(path, await restoreSnapshot(path, options.storeDir, deps), options);
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
  if (options.storeDir !== undefined) return openEmbeddedStore(options.storeDir, deps);
  throw whichStore();
}

function whichStore(): UserError {
  return new UserError(
    'which store?',
    'give --endpoints of a running etcd, or --store-dir of a store that is not running',
  );
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
