// Owns the cluster DNS server: sockets, resolver, published service and status endpoints put together.
import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import type { MetricsRegistry } from '../base/metrics.ts';
import type { Random } from '../base/random.ts';
import { deferred, taskGroup } from '../base/task-group.ts';
import type { InformerFactory } from '../client/informer-factory.ts';
import { DnsFormatError, errorReply, parseQuery } from '../wire/dns-message.ts';
import { type DnsServiceOptions, keepPublished, publishedPort } from './dns-service.ts';
import type { Upstream } from './exchange.ts';
import { Forwarder } from './forwarder.ts';
import { informerSource } from './informer-source.ts';
import { type Handle, type Listener, listen } from './listener.ts';
import { dnsMetrics, type DnsMetrics } from './metrics.ts';
import { Resolver } from './resolver.ts';
import { Zone, type ZoneSource } from './zone.ts';

export interface DnsServerOptions {
  /** Default "cluster.local". */
  readonly clusterDomain?: string;
  readonly ttlSeconds?: number;
  /** Where to listen; default 127.0.0.1. Give the node's address (or 0.0.0.0) for pods to reach it. */
  readonly host?: string;
  /** Default 0: any free port. Not 53, which the host may need itself. */
  readonly port?: number;
  /** Who answers names outside the cluster; empty: such names get SERVFAIL at once. */
  readonly upstreams?: readonly Upstream[];
  readonly upstreamTimeoutMs?: number;
  /** Keep the kube-dns service pointing here. The port is the one that was bound. */
  readonly publish?: Omit<DnsServiceOptions, 'port'>;
  /** Serves /health, /ready and /metrics. */
  readonly status?: { readonly host: string; readonly port: number };
  /** Queries under way at once; more are dropped, and clients ask again. Default 5000. */
  readonly maxConcurrent?: number;
}

export interface DnsServerDeps {
  readonly informers: InformerFactory;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: MetricsRegistry;
}

export interface DnsServer {
  /** True once all names are known and the sockets are open. */
  readonly ready: boolean;
  /** Resolves with the port when the sockets are open. */
  readonly listening: Promise<number>;
  run(signal: AbortSignal): Promise<void>;
}

export function dnsServer(options: DnsServerOptions, deps: DnsServerDeps): DnsServer {
  const { informers, clock, random, logger } = deps;
  const metrics = dnsMetrics(deps.metrics);
  const source = informerSource(informers);
  const zone = new Zone(source, {
    domain: options.clusterDomain ?? 'cluster.local',
    ttlSeconds: options.ttlSeconds ?? 30,
    ...(options.publish && { serverIP: options.publish.clusterIP }),
  });
  const forwarder = new Forwarder({
    upstreams: options.upstreams ?? [],
    clock,
    random,
    logger,
    ...(options.upstreamTimeoutMs !== undefined && { timeoutMs: options.upstreamTimeoutMs }),
  });
  const handle = handler(new Resolver(zone, forwarder, metrics), metrics, options.maxConcurrent ?? 5000, deps);
  const { promise: listening, resolve: opened, reject: failed } = deferred<number>();
  listening.catch(() => undefined);
  let ready = false;
  return {
    get ready() {
      return ready;
    },
    listening,
    async run(signal) {
      const group = taskGroup(signal);
      let listener: Listener | undefined;
      let status: Server | undefined;
      group.run('dns', async (inner) => {
        try {
          if (options.status) status = await serveStatus(options.status, () => ready, deps.metrics);
          // Wrong answers ("no such name") are kept by clients: none is given before all names are known.
          await source.whenSynced(inner);
          listener = await openListener(options, source, handle);
          opened(listener.port);
          ready = true;
          logger.info('DNS server is up', { host: options.host ?? '127.0.0.1', port: listener.port });
          const { publish } = options;
          if (publish)
            await keepPublished(informers.client, { ...publish, port: listener.port }, { clock, logger }, inner);
        } catch (error) {
          failed(error);
          throw error;
        }
      });
      try {
        await group.done;
      } finally {
        ready = false;
        await listener?.close();
        status?.closeAllConnections();
        status?.close();
      }
    },
  };
}

/** Without a port of its own choice the server takes the one it had before, so that a restart moves no client. */
async function openListener(options: DnsServerOptions, source: ZoneSource, handle: Handle): Promise<Listener> {
  const host = options.host ?? '127.0.0.1';
  const port = options.port ?? 0;
  const before = port === 0 && options.publish ? publishedPort(source) : undefined;
  if (before !== undefined) {
    try {
      return await listen({ host, port: before }, handle);
    } catch (error) {
      if ((error as { code?: unknown }).code !== 'EADDRINUSE') throw error;
    }
  }
  return listen({ host, port }, handle);
}

function handler(resolver: Resolver, metrics: DnsMetrics, maxConcurrent: number, { clock, logger }: DnsServerDeps) {
  let running = 0;
  return async (message: Buffer, transport: 'udp' | 'tcp'): Promise<Buffer | undefined> => {
    if (running >= maxConcurrent) {
      metrics.dropped();
      return undefined;
    }
    running++;
    const startMs = clock.monotonic();
    let reply: Buffer | undefined;
    try {
      const query = parseQuery(message);
      metrics.request(transport, query.question.type);
      reply = await resolver.resolve(query, transport);
    } catch (error) {
      const malformed = error instanceof DnsFormatError;
      if (!malformed) logger.error('DNS query failed', { error });
      reply = errorReply(message, malformed ? 'FORMERR' : 'SERVFAIL');
    } finally {
      running--;
    }
    if (reply !== undefined) metrics.response(reply[3]! & 15, (clock.monotonic() - startMs) / 1000);
    return reply;
  };
}

async function serveStatus(
  { host, port }: { readonly host: string; readonly port: number },
  ready: () => boolean,
  metrics: MetricsRegistry,
): Promise<Server> {
  const server = createServer((request, response) => {
    const [code, body] =
      request.url === '/health'
        ? [200, 'OK']
        : request.url === '/ready'
          ? [ready() ? 200 : 503, ready() ? 'OK' : 'informers are not synced']
          : request.url === '/metrics'
            ? [200, metrics.text()]
            : [404, 'not found'];
    response.writeHead(code, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' });
    response.end(body);
  });
  server.listen(port, host);
  await once(server, 'listening');
  return server;
}
