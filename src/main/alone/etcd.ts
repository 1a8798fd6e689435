// `k8ts etcd`: the embedded store served as etcd, told by etcd's flags; for several API servers, upstream's, or etcdctl.
import { readFileSync } from 'node:fs';
import { systemClock } from '../../base/clock.ts';
import { systemRandom } from '../../base/random.ts';
import type { FlagTable, Values } from '../../cli/flags.ts';
import { openEmbeddedStore } from '../../store/embedded/embedded.ts';
import { serveEtcd } from '../../store/face/face.ts';
import type { EtcdFace, EtcdFaceOptions } from '../../store/face/face.ts';
import { StoreCorrupt, StoreLocked, defaultLimits } from '../../store/store.ts';
import { UserError } from '../user-error.ts';
import { type AloneDeps, commonFlags } from './alone.ts';

export const etcdFlags = {
  ...commonFlags,
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
  const served = flags['listen-client-urls']!.map((url, at) => optionsOf(url, at, flags));
  const store = await open(flags['data-dir']!, { ...deps, limits });
  const faces: EtcdFace[] = [];
  try {
    for (const options of served) faces.push(await serveEtcd(store, options, deps));
    ready(`serving ${flags['data-dir']} at ${faces.map(({ endpoint }) => endpoint).join(', ')}`);
    if (!signal.aborted)
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
  } finally {
    for (const face of faces) face.close();
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
      `--listen-client-urls: ${url} is no address`,
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
