// `k8ts api-worker`: one of several API server processes behind one port, begun by api-workers.ts and told all by it. Not for users.
import { Socket } from 'node:net';
import { extname } from 'node:path';
import { systemClock } from '../base/clock.ts';
import { logger } from '../base/log.ts';
import { metricsRegistry } from '../base/metrics.ts';
import { systemRandom } from '../base/random.ts';
import { apiServer } from '../server/api-server.ts';
import type { ApiServerOptions } from '../server/options.ts';
import { relayedStore } from '../store/relay/relayed-store.ts';
import type { Store } from '../store/store.ts';
import type { HandedConnections } from '../wire/http-listener.ts';
import { kubeletAccess, openStore, optionsOf } from './alone/api-server.ts';
import type { FromWorker, ToWorker } from './api-workers.ts';
import { clusterServerOptions, clusterServerSettings } from './components/cluster-server.ts';
import { type KubeletAccess, kubeletActions } from './components/kubelet-streams.ts';
import { UserError } from './user-error.ts';

type Begin = Extract<ToWorker, { readonly type: 'begin' }>;

/** Descriptor of the stream to the store; see `begin` of api-workers.ts. */
const storeDescriptor = 4;

export async function apiWorker(): Promise<void> {
  if (process.send === undefined)
    throw new UserError('api-worker is no command of yours', 'use --api-workers of `k8ts up` or `k8ts kube-apiserver`');
  const stopping = new AbortController();
  const say = (message: FromWorker): void => void process.send?.(message, undefined, undefined, () => undefined);
  // Ctrl-C reaches every process of the terminal; when to end is for the one that began this one to say.
  process.on('SIGINT', () => undefined);
  process.on('SIGTERM', () => say({ type: 'leaving' }));
  process.once('disconnect', () => stopping.abort());
  const begin = await new Promise<Begin | undefined>((resolve) => {
    process.on('message', (message: ToWorker) => {
      if (message.type === 'begin') resolve(message);
      else if (message.type === 'stop') systemClock.after(message.afterMs, () => stopping.abort());
    });
    stopping.signal.addEventListener('abort', () => resolve(undefined), { once: true });
    // Who began it may have gone before anybody listened here.
    if (!process.connected) resolve(undefined);
  });
  try {
    if (begin !== undefined) await serve(begin, stopping, () => say({ type: 'ready' }));
  } catch (error) {
    const advice = error instanceof UserError ? { advice: error.advice } : {};
    say({ type: 'failed', message: error instanceof Error ? error.message : String(error), ...advice });
    process.exitCode = 1;
  } finally {
    if (process.connected) process.disconnect();
  }
}

async function serve(begin: Begin, stopping: AbortController, ready: () => void): Promise<void> {
  const { settings, relayed, count, index } = begin;
  const log = logger(settings.level, 2).child(`kube-apiserver-${index}`);
  const { options, kubelet, store } = await parts(begin, log);
  if (relayed) store.stream?.once('close', () => stopping.abort());
  try {
    const server = apiServer(options, {
      store: store.store,
      exclusiveStore: false,
      clock: systemClock,
      random: systemRandom,
      log,
      metrics: metricsRegistry(),
      handed: handed(begin),
      actions: kubeletActions({ clock: systemClock, ...kubelet }),
      ...(settings.server.type === 'cluster' && { components: withinTheFirst }),
    });
    const running = server.run(stopping.signal);
    await Promise.race([server.ready.then(ready), running]);
    await running;
    log.info('worker ends', { index, count });
  } finally {
    await store.store.close();
  }
}

/** They run in the process that began this one, and end with it. */
const withinTheFirst = { scheduler: () => 'ok', 'controller-manager': () => 'ok' };

interface WorkerParts {
  readonly options: ApiServerOptions;
  readonly kubelet: Omit<KubeletAccess, 'clock'>;
  readonly store: { readonly store: Store; readonly stream?: Socket };
}

async function parts(begin: Begin, log: ReturnType<typeof logger>): Promise<WorkerParts> {
  const { settings, port } = begin;
  const stream = begin.relayed ? new Socket({ fd: storeDescriptor, readable: true, writable: true }) : undefined;
  if (settings.server.type === 'cluster') {
    const { server, args } = settings.server;
    const options = clusterServerOptions(
      { ...server, securePort: port },
      await clusterServerSettings(args, systemRandom),
    );
    return {
      options: asOneOf(begin, options),
      kubelet: server.kubelet,
      store: { store: relayedStore(stream!), stream: stream! },
    };
  }
  const { flags, keys } = settings.server;
  return {
    options: asOneOf(begin, await optionsOf(flags, { port, keys })),
    kubelet: kubeletAccess(flags),
    store:
      stream === undefined
        ? { store: await openStore(flags, { clock: systemClock, random: systemRandom, log: log.child('store') }) }
        : { store: relayedStore(stream), stream },
  };
}

/** What holds for the port as a whole is shared out; what only one process can write gets a name for each. */
function asOneOf({ index, count, keepsRecords, relayed }: Begin, options: ApiServerOptions): ApiServerOptions {
  const { audit, maxInflight: { reads, writes } = { reads: 400, writes: 200 } } = options;
  const { path } = audit?.log ?? {};
  const ending = path === undefined ? '' : extname(path);
  const own =
    path === undefined || path === '-' || index === 0
      ? path
      : `${path.slice(0, path.length - ending.length)}-${index}${ending}`;
  return {
    ...options,
    keepsOwnRecords: keepsRecords,
    maxInflight: { reads: Math.ceil(reads / count), writes: Math.ceil(writes / count) },
    // A relayed store drops its history by itself.
    ...(relayed && { compactionIntervalMs: 0 }),
    ...(audit?.log !== undefined && own !== undefined && { audit: { ...audit, log: { ...audit.log, path: own } } }),
  };
}

function handed({ port, address }: Begin): HandedConnections {
  return {
    port,
    address,
    take(serve) {
      const receive = (message: ToWorker, socket: unknown): void => {
        // One that was closed on the way comes as nothing.
        if (message.type !== 'connection') return;
        process.send?.({ type: 'taken', id: message.id } satisfies FromWorker, undefined, undefined, () => undefined);
        if (socket instanceof Socket) serve(socket);
      };
      process.on('message', receive);
      return () => void process.off('message', receive);
    },
  };
}
