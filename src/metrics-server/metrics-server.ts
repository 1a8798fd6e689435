// Owns the metrics server: the API metrics.k8s.io over what kubelets say of their usage, served as an extension API server is.
import type { Node, Pod } from '../api/generated/core.v1.ts';
import { nodes as nodesRef, pods as podsRef } from '../api/generated/resources.ts';
import type { Frozen } from '../api/meta.ts';
import { notFound, statusError } from '../api/status-error.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import type { MetricsRegistry } from '../base/metrics.ts';
import type { Random } from '../base/random.ts';
import { deferred, taskGroup } from '../base/task-group.ts';
import type { Client } from '../client/client.ts';
import type { Lister } from '../client/object-store.ts';
import type { InformerFactory } from '../client/informer-factory.ts';
import type { Entry } from '../server/cache/entry.ts';
import { everywhere, healthPaths } from '../server/health.ts';
import { groupList, groupOf, resourceList } from '../server/discovery/legacy.ts';
import { httpTransport } from '../server/http/transport.ts';
import { exactPaths, json, pathsStage, plainText, type PathHandler } from '../server/paths.ts';
import { pipeline } from '../server/pipeline.ts';
import type { ApiAnswer, ApiRequest } from '../server/request.ts';
import { Catalog, type Served } from '../server/served/served.ts';
import { authenticateStage } from '../server/stages/authenticate.ts';
import { authorizeStage, exceptAt, isAmong } from '../server/stages/authorize.ts';
import { negotiateStage } from '../server/stages/negotiate.ts';
import { selectionOf } from '../server/verbs/selection.ts';
import type { HttpExchange } from '../wire/http-exchange.ts';
import { httpListener } from '../wire/http-listener.ts';
import { delegatedAccess } from './access.ts';
import { group, nodeEntry, podEntry, servedNodes, servedPods, version } from './kinds.ts';
import { openApiOf } from './openapi.ts';
import { type AskKubelet, scraper } from './scraper.ts';
import { UsageStore } from './usage-store.ts';

export interface MetricsServerOptions {
  /** Absent: no port is opened; exchanges come through `serve`. */
  readonly listen?: {
    readonly host?: string;
    /** 0: any free one. */
    readonly port: number;
    /** PEM. */
    readonly certificate: string;
    readonly key: string;
  };
  /** --metric-resolution; default 15 s. */
  readonly resolutionMs?: number;
}

export interface MetricsServerDeps {
  readonly client: Client;
  /** Running; its nodes and pods are what is told of. */
  readonly informers: InformerFactory;
  readonly ask: AskKubelet;
  readonly clock: Clock;
  /** By which certificates are valid or not: the host's, where the cluster lives in another time. Default `clock`. */
  readonly certificateClock?: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: MetricsRegistry;
}

export interface MetricsServer {
  run(signal: AbortSignal): Promise<void>;
  /** Resolves when requests are answered. */
  readonly ready: Promise<{ readonly port: number | undefined }>;
  serve(exchange: HttpExchange): void;
}

const defaultResolutionMs = 15_000;
/** As upstream's: paths that probes ask for without credentials. */
const isOpen = isAmong(new Set(['/healthz', '/livez', '/readyz']));

export function metricsServer(options: MetricsServerOptions, deps: MetricsServerDeps): MetricsServer {
  const { client, informers, clock, random, logger, metrics } = deps;
  const resolutionMs = options.resolutionMs ?? defaultResolutionMs;
  const store = new UsageStore();
  const nodes = informers.informer(nodesRef);
  const pods = informers.informer(podsRef);
  const rounds = scraper({ nodes, ask: deps.ask, store, clock, metrics, log: logger, resolutionMs });
  const access = delegatedAccess({ client, clock, certificateClock: deps.certificateClock ?? clock, log: logger });
  const fresh = (): string | undefined =>
    rounds.lastRoundMs !== undefined && clock.now() - rounds.lastRoundMs <= 3 * resolutionMs
      ? undefined
      : 'usage has not been asked for lately';
  const shown = new Catalog();
  for (const served of [servedNodes, servedPods]) shown.add(served);
  const line = pipeline(
    [
      authenticateStage({
        authenticators: access.authenticators,
        anonymous: { allowedAt: isOpen },
      }),
      exceptAt(isOpen, authorizeStage(access.authorizers)),
      pathsStage([
        healthPaths([
          everywhere('ping', () => undefined),
          { name: 'metric-collection-timely', on: ['livez'], check: fresh },
          { name: 'metric-storage-ready', on: ['readyz'], check: fresh },
        ]),
        discovery(shown),
        openApiOf([servedNodes, servedPods]),
        exactPaths({ '/metrics': () => plainText(metrics.text()) }),
      ]),
      negotiateStage(shown),
      { name: 'verb', run: (request) => answer(request, { nodes, pods, store, clock }) },
    ],
    logger,
  );
  const transport = httpTransport(line, clock, random);
  const started = deferred<{ readonly port: number | undefined }>();
  started.promise.catch(() => undefined);

  return {
    ready: started.promise,
    serve: (exchange) => transport.serve(exchange),
    async run(signal) {
      const tasks = taskGroup(signal);
      try {
        await Promise.all([nodes.whenSynced(signal), pods.whenSynced(signal), access.load(signal)]);
        tasks.run('trust', (inner) => access.run(inner));
        tasks.run('rounds', (inner) => rounds.run(inner));
        const listener =
          options.listen === undefined
            ? undefined
            : await httpListener({ ...options.listen, clock, onExchange: (exchange) => transport.serve(exchange) });
        try {
          started.resolve({ port: listener?.port });
          await tasks.done;
        } finally {
          transport.turnAway();
          await transport.endLong(0);
          await listener?.close();
        }
      } catch (error) {
        started.reject(error);
        throw error;
      } finally {
        await tasks.stop();
      }
    },
  };
}

function discovery(catalog: Catalog): PathHandler {
  const groups = [{ name: group, versions: [version] }];
  return (request) => {
    const path = request.info.path.replace(/\/+$/, '');
    if (path === '/apis') return json(groupList(groups));
    if (path === `/apis/${group}`) return json(groupOf(groups, group));
    return path === `/apis/${group}/${version}` ? json(resourceList(catalog, group, version)) : undefined;
  };
}

interface Sources {
  readonly nodes: Lister<Node>;
  readonly pods: Lister<Pod>;
  readonly store: UsageStore;
  readonly clock: Clock;
}

function answer(request: ApiRequest, sources: Sources): ApiAnswer | undefined {
  const { info } = request;
  if (!info.isResource || info.group !== group || info.version !== version || info.subresource !== '') return undefined;
  const served = info.resource === 'nodes' ? servedNodes : info.resource === 'pods' ? servedPods : undefined;
  const isPlaced = served === servedPods ? info.name === '' || info.namespace !== '' : info.namespace === '';
  if (served === undefined || !isPlaced) return undefined;
  if (info.verb !== 'get' && info.verb !== 'list')
    throw statusError('MethodNotAllowed', 'the server does not allow this method on the requested resource', {});
  return info.verb === 'get' ? one(request, served, sources) : all(request, served, sources);
}

function entryOf(owner: Frozen<Node> | Frozen<Pod>, served: Served, { store, clock }: Sources): Entry | undefined {
  if (served === servedNodes) {
    const usage = store.node(owner.metadata.name);
    return usage && nodeEntry(owner as Frozen<Node>, usage, clock.now());
  }
  // What ended uses nothing any more.
  const pod = owner as Frozen<Pod>;
  const usages =
    pod.status?.phase === 'Running' ? store.pod(`${pod.metadata.namespace}/${pod.metadata.name}`) : undefined;
  return usages && podEntry(pod, usages, clock.now());
}

function one({ info: { name, namespace } }: ApiRequest, served: Served, sources: Sources): ApiAnswer {
  const { nodes, pods } = sources;
  const owner = served === servedNodes ? nodes.get({ namespace: '', name }) : pods.get({ namespace, name });
  const entry = owner && entryOf(owner, served, sources);
  if (entry === undefined) throw notFound({ group, plural: served.resource.plural }, name);
  return { type: 'object', code: 200, object: entry.object, entry, served };
}

function all(request: ApiRequest, served: Served, sources: Sources): ApiAnswer {
  const { scope, matches } = selectionOf(request, served);
  const key = scope.type === 'key' ? scope.key : undefined;
  const namespace = scope.type === 'namespace' ? scope.namespace : request.info.namespace;
  const entries: Entry[] = [];
  const owners =
    served === servedNodes ? sources.nodes.list() : sources.pods.list(namespace === '' ? undefined : namespace);
  for (const owner of owners) {
    const entry = entryOf(owner, served, sources);
    if (entry === undefined || (key !== undefined && entry.key !== key)) continue;
    if (matches === undefined || matches(entry)) entries.push(entry);
  }
  entries.sort((a, b) => (a.key < b.key ? -1 : 1));
  return { type: 'list', served, list: { resourceVersion: '', continue: '', entries } };
}
