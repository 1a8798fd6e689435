// `k8ts etcd`: the embedded store served as etcd, told by etcd's flags; for several API servers, upstream's, or etcdctl.
import { readFileSync } from 'node:fs';
import { systemClock } from '../../base/clock.ts';
import { systemRandom } from '../../base/random.ts';
import type { FlagTable, Values } from '../../cli/flags.ts';
import { diskFiles } from '../../store/embedded/file-layer.ts';
import { openEmbeddedStore } from '../../store/embedded/embedded.ts';
import { serveEtcd } from '../../store/face/face.ts';
import type { EtcdFace, EtcdFaceOptions } from '../../store/face/face.ts';
import { serveEtcdHttp } from '../../store/face/http.ts';
import { StoreCorrupt, StoreLocked, defaultLimits } from '../../store/store.ts';
import { UserError } from '../user-error.ts';
import { type AloneDeps, commonFlags } from './alone.ts';

/** Flags of a cluster of several members; one member has no use for them. */
const ofMembers = (help: string) => ({ type: 'text', help, ignored: 'there is one member' }) as const;
const ofEngine = (help: string) =>
  ({ type: 'text', help, ignored: 'the store keeps its log short by itself, without stopping' }) as const;

export const etcdFlags = {
  ...commonFlags,
  'auto-compaction-mode': {
    type: 'text',
    help: 'periodic or revision',
    ignored: 'the API server compacts what it stores',
  },
  'auto-compaction-retention': {
    type: 'text',
    help: 'how much history is kept',
    ignored: 'the API server compacts what it stores',
  },
  'election-timeout': ofMembers('milliseconds without a leader before an election'),
  'experimental-initial-corrupt-check': {
    type: 'switch',
    help: 'check the data before serving',
    ignored: 'the store always checks what it reads',
  },
  'feature-gates': { type: 'map', help: "etcd's features", ignored: 'they choose between ways of etcd itself' },
  'heartbeat-interval': ofMembers('milliseconds between heartbeats'),
  'initial-advertise-peer-urls': ofMembers('where other members would reach this one'),
  'initial-cluster': { type: 'list', help: 'name=url of the members; one only' },
  'initial-cluster-state': ofMembers('new or existing'),
  'initial-cluster-token': ofMembers('tells clusters apart'),
  'listen-metrics-urls': { type: 'list', help: 'where health is served beside the client URLs' },
  'listen-peer-urls': ofMembers('where to listen for other members'),
  'log-outputs': { type: 'text', help: 'where logs go', ignored: 'they go to standard error' },
  logger: { type: 'text', help: 'zap', ignored: 'logs are lines of JSON' },
  'max-snapshots': ofEngine('snapshots that are kept'),
  'max-wals': ofEngine('logs that are kept'),
  name: ofMembers('of this member'),
  'peer-cert-file': ofMembers('certificate for other members'),
  'peer-client-cert-auth': { type: 'switch', help: 'members must show a certificate', ignored: 'there is one member' },
  'peer-key-file': ofMembers('its key'),
  'peer-trusted-ca-file': ofMembers('authorities of other members'),
  'quota-backend-bytes': {
    type: 'number',
    help: 'size at which writes are refused',
    ignored: 'the disk is the limit: a full one refuses writes and recovers',
  },
  'snapshot-count': ofEngine('writes between snapshots'),
  'strict-reconfig-check': { type: 'switch', help: 'refuse risky changes of members', ignored: 'there is one member' },
  'unsafe-no-fsync': {
    type: 'switch',
    help: 'do not wait for the disk: faster, and what was written last is lost when the host dies',
    default: 'false',
  },
  'advertise-client-urls': { type: 'list', help: 'what clients are told to dial; default: where it listens' },
  'cert-file': { type: 'text', help: 'serving certificate' },
  'client-cert-auth': {
    type: 'switch',
    help: 'clients must show a certificate of --trusted-ca-file',
    default: 'false',
  },
  'data-dir': { type: 'text', help: 'directory of the store', default: 'default.k8ts-etcd' },
  'key-file': { type: 'text', help: 'its key' },
  'listen-client-urls': { type: 'list', help: 'where to serve', default: 'http://127.0.0.1:2379' },
  'max-request-bytes': { type: 'number', help: 'largest request', default: String(defaultLimits.maxRequestBytes) },
  'max-txn-ops': {
    type: 'number',
    help: 'most operations in a transaction',
    default: String(defaultLimits.maxOperations),
  },
  'trusted-ca-file': { type: 'text', help: 'authorities of client certificates' },
  'watch-progress-notify-interval': { type: 'duration', help: 'how often watches get progress', default: '5s' },
} as const satisfies FlagTable;

type Flags = Values<typeof etcdFlags>;

export async function runEtcd(flags: Flags, { logger, signal, ready }: AloneDeps): Promise<void> {
  const deps = { clock: systemClock, random: systemRandom, log: logger };
  const limits = { maxRequestBytes: flags['max-request-bytes']!, maxOperations: flags['max-txn-ops']! };
  const members = flags['initial-cluster'] ?? [];
  if (members.length > 1)
    throw new UserError(
      `--initial-cluster: ${members.length} members: this etcd has one`,
      "use etcd's own program for a cluster of several",
    );
  const served = flags['listen-client-urls']!.map((url, at) => optionsOf(url, at, flags));
  const metrics = (flags['listen-metrics-urls'] ?? []).map((url) => optionsOf(url, -1, flags));
  const directory = flags['data-dir']!;
  const files = diskFiles(directory, { durable: flags['unsafe-no-fsync'] !== true });
  const store = await open(directory, { ...deps, limits, files });
  const faces: EtcdFace[] = [];
  const ports: { close(): void }[] = [];
  try {
    for (const options of served) faces.push(await serveEtcd(store, options, deps));
    for (const { address, tls } of metrics) ports.push(await serveEtcdHttp(store, address, tls));
    ready(`serving ${flags['data-dir']} at ${faces.map(({ endpoint }) => endpoint).join(', ')}`);
    if (!signal.aborted)
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
  } finally {
    for (const port of [...faces, ...ports]) port.close();
    await store.close();
  }
}

async function open(directory: string, deps: Parameters<typeof openEmbeddedStore>[1]) {
  try {
    return await openEmbeddedStore(directory, deps);
  } catch (error) {
    if (error instanceof StoreLocked)
      throw new UserError(error.message, 'stop that process, or use another --data-dir');
    if (error instanceof StoreCorrupt)
      throw new UserError(`the store is damaged: ${error.message}`, 'restore a backup with `k8ts snapshot restore`');
    throw error;
  }
}

function optionsOf(url: string, at: number, flags: Flags): EtcdFaceOptions {
  const match = /^(https?):\/\/([^/]+)\/?$|^unix:(?:\/\/)?(\/.+)$/.exec(url);
  if (match === null)
    throw new UserError(
      `${url} is no address to listen on`,
      'write http://host:port, https://host:port or unix:///path',
    );
  const advertise = flags['advertise-client-urls']?.[at];
  return {
    address: match[3] === undefined ? match[2]! : `unix:${match[3]}`,
    maxRequestBytes: flags['max-request-bytes']!,
    progressIntervalMs: flags['watch-progress-notify-interval']!,
    ...(advertise !== undefined && { advertise }),
    ...(match[1] === 'https' && { tls: tlsOf(flags) }),
  };
}

function tlsOf(flags: Flags): NonNullable<EtcdFaceOptions['tls']> {
  const file = (name: 'cert-file' | 'key-file' | 'trusted-ca-file'): Buffer => {
    const path = flags[name];
    if (path === undefined) throw new UserError(`https needs --${name}`, 'give the file, or listen on http://');
    try {
      return readFileSync(path);
    } catch (error) {
      throw new UserError(`--${name}: ${(error as Error).message}`, 'give a file that can be read');
    }
  };
  const own = { cert: file('cert-file'), key: file('key-file') };
  return flags['client-cert-auth'] ? { ...own, clientCa: file('trusted-ca-file') } : own;
}
