// Owns the composition of aggregation: what is known of API services, the proxy, and the loops that keep both true.
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import { metricsRegistry } from '../../base/metrics.ts';
import type { MetricsRegistry } from '../../base/metrics.ts';
import type { Random } from '../../base/random.ts';
import type { TaskGroup } from '../../base/task-group.ts';
import type { Transport } from '../../client/transport.ts';
import type { ApiServerDeps, ApiServerOptions } from '../options.ts';
import type { Catalog } from '../served/served.ts';
import { type ApiServices, apiServices, type Service } from './api-services.ts';
import { availabilityKeeper } from './availability-keeper.ts';
import { identityHeaders } from './identity.ts';
import { localServices, type LocalServices } from './local-services.ts';
import { type AggregationProxy, aggregationProxy } from './proxy.ts';
import { remoteDocuments, type RemoteDocuments } from './remote-documents.ts';
import { remotes } from './remotes.ts';

export interface AggregationDeps {
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly metrics?: MetricsRegistry;
  readonly extensions?: ApiServerDeps['extensions'];
  /** The server's own; called when there are requests to make. */
  readonly transport: () => Transport;
}

export interface Aggregation {
  readonly services: ApiServices;
  readonly documents: RemoteDocuments;
  readonly proxy: AggregationProxy;
  readonly local: LocalServices;
  /** Begins to follow API services, whose cache is filled. */
  follow(): void;
  run(group: TaskGroup): void;
  close(): void;
}

export function aggregation(
  { requestHeader, proxyClient, aggregatorRouting = false }: ApiServerOptions,
  { catalog, clock, random, log, metrics = metricsRegistry(), extensions, transport }: AggregationDeps,
): Aggregation {
  const cache = catalog.cache('apiregistration.k8s.io', 'apiservices');
  const services = apiServices(catalog, cache);
  const connections = remotes({
    catalog,
    clock,
    random,
    byEndpoints: aggregatorRouting,
    ...(proxyClient && { clientCertificate: proxyClient }),
    ...(extensions && { extensions }),
  });
  const shared = { clock, metrics, log };
  const late: Transport = {
    call: (request) => transport().call(request),
    watch: (request) => transport().watch(request),
  };
  const documents = remoteDocuments({ ...shared, remotes: connections });
  const keeper = availabilityKeeper({ ...shared, catalog, remotes: connections, transport: late });
  const local = localServices({
    ...shared,
    transport: late,
    find: (name) => cache.get(name)?.object as unknown as Service | undefined,
  });
  let stop: (() => void) | undefined;
  return {
    services,
    documents,
    local,
    proxy: aggregationProxy({
      services,
      remotes: connections,
      isIdentity: identityHeaders(requestHeader),
      clock,
      random,
      log,
    }),
    follow() {
      stop ??= services.follow((service, isGone) => {
        keeper.changed(service, isGone);
        documents.changed(service, isGone);
        local.changed(service);
      });
    },
    run(group) {
      group.run('local API services', (signal) => local.run(signal));
      group.run('availability of API services', (signal) => keeper.run(signal));
      group.run('documents of API services', (signal) => documents.run(signal));
    },
    close() {
      stop?.();
      connections.close();
    },
  };
}
