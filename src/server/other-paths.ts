// Owns the list of everything served that is no resource: discovery, health, OpenAPI, version, metrics, pages for debugging.
import type { MetricsRegistry } from '../base/metrics.ts';
import { metricsRegistry } from '../base/metrics.ts';
import type { Aggregation } from './aggregation/aggregation.ts';
import { discoveryPaths } from './discovery/paths.ts';
import { healthPaths } from './health.ts';
import type { HealthCheck } from './health.ts';
import { openApiPaths } from './openapi.ts';
import { only, openIdPaths } from './openid.ts';
import type { ApiServerDeps, ApiServerOptions } from './options.ts';
import { exactPaths, json, listedPaths, onlyGet, rootPaths } from './paths.ts';
import type { PathHandler } from './paths.ts';
import { profilePaths } from './profiles.ts';
import type { ApiAnswer } from './request.ts';
import type { Catalog } from './served/served.ts';
import { version } from './version.ts';
import { noSuchResource } from './verbs/dispatch.ts';
import { zpages } from './zpages.ts';

export interface OtherPathsOptions {
  readonly catalog: Catalog;
  /** What is served elsewhere. */
  readonly others: Aggregation;
  readonly checks: readonly HealthCheck[];
  readonly options: ApiServerOptions;
  readonly deps: ApiServerDeps;
  readonly accounts: Parameters<typeof openIdPaths>[0];
  /** "host:port" that clients reach the server by. */
  readonly address: () => string;
  /** What is only known when asked for is asked for then. */
  readonly beforeScrape: () => Promise<void> | undefined;
  /** More that answers for paths of its own. */
  readonly more: readonly PathHandler[];
}

export function otherPaths(parts: OtherPathsOptions): PathHandler[] {
  const { catalog, others, checks, options, deps, accounts, address, more, beforeScrape } = parts;
  const slis = metricsRegistry();
  const startMs = deps.clock.now();
  const pages = [
    ...(options.featureGates?.['ComponentFlagz'] === false ? [] : ['/flagz']),
    ...(options.featureGates?.['ComponentStatusz'] === false ? [] : ['/statusz']),
  ];
  const listed = listedPaths(others.services, checks, pages);
  const shown = zpages({
    // As it calls itself there.
    component: 'apiserver',
    clock: deps.clock,
    random: deps.random,
    flags: options.flags ?? {},
    binaryVersion: version.gitVersion.slice(1),
    emulationVersion: `${version.emulationMajor}.${version.emulationMinor}`,
    paths: listed,
  });
  return [
    discoveryPaths(
      { catalog, ...others },
      address,
      deps.metrics?.counter(
        'aggregator_discovery_aggregation_count_total',
        'Times that all discovery was put together.',
      ),
    ),
    rootPaths(listed),
    ...more,
    healthPaths(checks, slis),
    openApiPaths({ catalog, ...others, clock: deps.clock }),
    (request) => (pages.includes(request.info.path) ? shown(request) : undefined),
    (request) => {
      if (request.info.path.startsWith('/version/') && request.info.path !== '/version/') throw noSuchResource();
      return undefined;
    },
    ...(options.profiling === false ? [] : [profilePaths(deps.clock)]),
    exactPaths({
      '/version': (request) => {
        only(onlyGet(request), 'application/json');
        return json(version);
      },
      ...openIdPaths(accounts, address),
    }),
    async (request) => {
      if (request.info.path === '/metrics/slis') return scrape(slis, startMs);
      if (request.info.path !== '/metrics') return undefined;
      await beforeScrape();
      return scrape(deps.metrics, startMs);
    },
  ];
}

function scrape(metrics: MetricsRegistry | undefined, startMs: number): ApiAnswer {
  return {
    type: 'bytes',
    code: 200,
    contentType: 'text/plain; version=0.0.4; charset=utf-8; escaping=underscores',
    body: metrics?.text() ?? '',
    headers: { 'Process-Start-Time-Unix': String(Math.floor(startMs / 1000)) },
  };
}
