// Owns serving a store as an etcd server: the part of etcd's v3 API that Kubernetes uses, for kube-apiserver, etcdctl or our
// own etcd engine. One member, authentication off (client certificates instead).
import { Auth, Cluster, KV, Lease, Maintenance, Watch } from '../../wire/generated/etcd-rpc.ts';
import type { ResponseHeader } from '../../wire/generated/etcd-rpc.ts';
import { grpcServer, served } from '../../wire/grpc-server.ts';
import type { GrpcServerOptions } from '../../wire/grpc-server.ts';
import { GrpcError } from '../../wire/grpc-service.ts';
import type { Handlers } from '../../wire/grpc-service.ts';
import type { Init } from '../../wire/protobuf.ts';
import type { Clock, Timer } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import { crc32 } from '../embedded/crc32.ts';
import { snapshotChunks } from '../snapshot.ts';
import { defaultLimits } from '../store.ts';
import type { Store } from '../store.ts';
import { answering, grpcError, unsupported } from './errors.ts';
import { etcdHttp, etcdVersion } from './http.ts';
import { keyValueHandlers } from './key-values.ts';
import { leaseHandlers } from './leases.ts';
import { safeNumber } from './requests.ts';
import { watchFace } from './watches.ts';

export type Header = (revision: number) => Init<ResponseHeader>;

export interface EtcdFaceOptions {
  /** "127.0.0.1:2379", port 0 for any free one, or "unix:/path". */
  readonly address: string;
  readonly tls?: GrpcServerOptions['tls'];
  /** What MemberList tells clients to dial; default: the address. */
  readonly advertise?: string;
  readonly maxRequestBytes?: number;
  /** How often watches that ask for progress get it; default 5 s, as Kubernetes' set-up asks of etcd. */
  readonly progressIntervalMs?: number;
}

export interface EtcdFace {
  /** "http://127.0.0.1:2379" */
  readonly endpoint: string;
  /** Ends all streams; the store stays open. */
  close(): void;
}

const member = { clusterId: 0x6b38747373746f72n, memberId: 0x6b387473n, raftTerm: 1n };

export async function serveEtcd(
  store: Store,
  options: EtcdFaceOptions,
  deps: { readonly clock: Clock; readonly log: Logger },
): Promise<EtcdFace> {
  const maxRequestBytes = options.maxRequestBytes ?? defaultLimits.maxRequestBytes;
  const header: Header = (revision) => ({ ...member, revision });
  // Room for the request's frame, so that slightly too large ones are refused by their own error.
  const maxMessageBytes = maxRequestBytes + 512 * 1024;
  const watches = watchFace(store, header, maxMessageBytes);
  const scheme = options.tls === undefined ? 'http' : 'https';
  let url = options.advertise ?? '';
  const services = [
    served(KV, keyValueHandlers(store, header)),
    served(Watch, watches.handlers),
    served(Lease, leaseHandlers(store, header)),
    served(Maintenance, maintenanceHandlers(store, header)),
    served(Cluster, {
      memberList: answering(async () => {
        const { revision } = await store.status();
        const members = [{ ID: member.memberId, name: 'k8ts', peerURLs: [], clientURLs: [url] }];
        return { header: header(revision), members };
      }),
    }),
    served(Auth, {
      authStatus: answering(async () => ({ header: header((await store.status()).revision), enabled: false })),
      authEnable: answering(async () => {
        throw unsupported('authentication by password');
      }),
      authenticate: answering(async () => {
        throw new GrpcError('FAILED_PRECONDITION', 'etcdserver: authentication is not enabled');
      }),
    }),
  ];
  const server = await grpcServer(options.address, services, {
    maxMessageBytes,
    http1: etcdHttp(store),
    ...(options.tls && { tls: options.tls }),
  });
  const endpoint = server.address.startsWith('unix:') ? server.address : `${scheme}://${server.address}`;
  url ||= endpoint;
  const progress = everyProgress(store, options.progressIntervalMs ?? 5000, watches.wantsProgress, deps);
  return {
    endpoint,
    close() {
      progress.cancel();
      server.close();
    },
  };
}

function maintenanceHandlers(store: Store, header: Header): Handlers<typeof Maintenance> {
  return {
    status: answering(async () => {
      const { revision, sizeBytes, sizeInUseBytes } = await store.status();
      return {
        header: header(revision),
        version: etcdVersion,
        dbSize: sizeBytes,
        dbSizeInUse: sizeInUseBytes,
        leader: member.memberId,
        raftIndex: revision,
        raftAppliedIndex: revision,
        raftTerm: member.raftTerm,
      };
    }),
    alarm: answering(async ({ action }) => {
      if (action === 'ACTIVATE') throw unsupported('raising an alarm');
      return { header: header((await store.status()).revision), alarms: [] };
    }),
    hash: answering(async () => {
      const { hash, revision } = await contentHash(store, 0);
      return { header: header(revision), hash };
    }),
    hashKV: answering(async ({ revision: asked }) => {
      const { compactRevision } = await store.status();
      const { hash, revision, at } = await contentHash(store, safeNumber(asked, 'the revision'));
      return {
        header: header(revision),
        hash,
        compactRevision: BigInt(compactRevision),
        hashRevision: BigInt(at),
      };
    }),
    // Space is given back by itself.
    defragment: answering(async () => ({ header: header((await store.status()).revision) })),
    snapshot: async function* () {
      try {
        for await (const blob of snapshotChunks(store)) yield { blob };
      } catch (error) {
        throw grpcError(error);
      }
    },
  };
}

/** Keys read at once, so that a large store is not held in memory. */
const hashPage = 500;

/**
 * Of all pairs as they were at a revision (0: now): the same for every k8ts that holds the same. etcd's own hash is over its files' form and
 * differs.
 */
async function contentHash(
  store: Store,
  asked: number,
): Promise<{ readonly hash: number; readonly revision: number; readonly at: number }> {
  let hash = 0;
  let at = asked;
  for (let start = '\0'; ; ) {
    const { items, more, revision } = await store.range({ start, end: '\0' }, { revision: at, limit: hashPage });
    at ||= revision;
    for (const pair of items) {
      const { key, value, createRevision, modRevision, version, lease } = pair;
      const text = `${hash} ${key}\0${createRevision} ${modRevision} ${version} ${lease} `;
      hash = crc32(Buffer.concat([Buffer.from(text), value]));
    }
    if (!more) return { hash, revision, at };
    start = `${items.at(-1)!.key}\0`;
  }
}

function everyProgress(
  store: Store,
  intervalMs: number,
  wanted: () => boolean,
  { clock, log }: { readonly clock: Clock; readonly log: Logger },
): Timer {
  let timer: Timer;
  const arm = (): void => {
    timer = clock.after(intervalMs, () => {
      if (wanted()) store.requestProgress().catch((error: unknown) => log.warn('no progress for watches', { error }));
      arm();
    });
  };
  arm();
  return { cancel: () => timer.cancel() };
}
