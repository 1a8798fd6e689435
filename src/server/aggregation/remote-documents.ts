// Owns what is known of other servers' discovery and OpenAPI: asked for regularly, kept with its tags, marked stale when it cannot be had.
import type { Swagger } from '../../api/openapi/v2-to-v3.ts';
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import type { MetricsRegistry } from '../../base/metrics.ts';
import { workQueue } from '../../client/work-queue.ts';
import type { Service } from './api-services.ts';
import { isAvailable } from './availability.ts';
import { aggregatorUser } from './availability-keeper.ts';
import type { Remotes } from './remotes.ts';
import { resourcesOf } from './remote-discovery.ts';
import { workThrough } from './work-through.ts';
import { readWhole } from '../../base/read-whole.ts';

export interface RemoteVersion {
  /** As in aggregated discovery. */
  readonly resources: readonly object[];
  readonly freshness: 'Current' | 'Stale';
}

export interface RemoteDocuments {
  changed(service: Service, isGone: boolean): void;
  version(service: Service): RemoteVersion;
  /** The entry of its /openapi/v3 for the service's own group version, as it says it. */
  openApiV3(service: Service): string | undefined;
  openApiV2(service: Service): Swagger | undefined;
  /** Rises with each change of what is known. */
  readonly generation: number;
  run(signal: AbortSignal): Promise<void>;
}

export interface RemoteDocumentsOptions {
  readonly remotes: Remotes;
  readonly clock: Clock;
  readonly metrics: MetricsRegistry;
  readonly log: Logger;
}

interface Known {
  service: Service;
  version: RemoteVersion;
  openApiV3: string | undefined;
  openApiV2: { readonly tag: string | undefined; readonly part: Swagger | undefined } | undefined;
}

const workers = 4;
const againMs = 60_000;
const againAfterFailureMs = 5000;
const timeoutMs = 10_000;
const maxDocumentBytes = 32 * 1024 * 1024;
const unknown: RemoteVersion = { resources: [], freshness: 'Stale' };

export function remoteDocuments({ remotes, clock, metrics, log }: RemoteDocumentsOptions): RemoteDocuments {
  const known = new Map<string, Known>();
  const queue = workQueue({ name: 'aggregated-documents', clock, metrics });
  let generation = 0;

  async function get(
    { service }: Known,
    path: string,
    accept: string,
    signal: AbortSignal,
    tag?: string,
  ): Promise<{ readonly code: number; readonly tag: string | undefined; readonly value: unknown }> {
    const late = new AbortController();
    const timer = clock.after(timeoutMs, () => late.abort());
    try {
      const answer = await remotes.ask(service, {
        method: 'GET',
        path,
        headers: { ...aggregatorUser, accept, ...(tag !== undefined && { 'if-none-match': tag }) },
        signal: AbortSignal.any([signal, late.signal]),
      });
      const bytes = await readWhole(answer.body, maxDocumentBytes);
      const value: unknown = answer.code === 200 ? JSON.parse(bytes.toString('utf8')) : undefined;
      const { etag } = answer.headers;
      return { code: answer.code, tag: typeof etag === 'string' ? etag : undefined, value };
    } catch (error) {
      if (late.signal.aborted) throw new Error(`no answer within ${timeoutMs / 1000} s`);
      throw error;
    } finally {
      timer.cancel();
    }
  }

  async function refreshDiscovery(one: Known, signal: AbortSignal): Promise<void> {
    const { group = '', version = '' } = one.service.spec;
    const resources = await resourcesOf(group, version, (path, accept) => get(one, path, accept, signal));
    update(one, () => {
      if (JSON.stringify(one.version.resources) === JSON.stringify(resources) && one.version.freshness === 'Current')
        return false;
      one.version = { resources, freshness: 'Current' };
      return true;
    });
  }

  async function refreshOpenApi(one: Known, signal: AbortSignal): Promise<void> {
    const { group = '', version = '' } = one.service.spec;
    const index = await get(one, '/openapi/v3', 'application/json', signal);
    const paths = (index.value as { paths?: Record<string, { serverRelativeURL?: unknown }> } | undefined)?.paths ?? {};
    const own = `apis/${group}/${version}`;
    const url = Object.hasOwn(paths, own) ? paths[own]?.serverRelativeURL : undefined;
    const before = one.openApiV2;
    const v2 = await get(one, '/openapi/v2', 'application/json', signal, before?.tag);
    update(one, () => {
      const next = typeof url === 'string' ? url : undefined;
      const isNew = v2.code !== 304 || next !== one.openApiV3;
      one.openApiV3 = next;
      if (v2.code !== 304) one.openApiV2 = { tag: v2.tag, part: partOf(v2.value, `/${own}/`) };
      return isNew;
    });
  }

  /** Only when it is still the service that was asked. */
  function update(one: Known, change: () => boolean): void {
    if (known.get(one.service.metadata.name) === one && change()) generation++;
  }

  async function reconcile(name: string, signal: AbortSignal): Promise<void> {
    const one = known.get(name);
    if (one === undefined) return;
    try {
      if (!isAvailable(one.service)) throw new Error('the API service is not available');
      await refreshDiscovery(one, signal);
      await refreshOpenApi(one, signal);
      queue.addAfter(name, againMs);
    } catch (error) {
      if (signal.aborted) throw error;
      log.debug('documents of an aggregated server cannot be had', { error, name });
      update(one, () => {
        if (one.version.freshness === 'Stale') return false;
        one.version = { ...one.version, freshness: 'Stale' };
        return true;
      });
      queue.addAfter(name, againAfterFailureMs);
    }
  }

  function failed(_name: string, error: unknown): never {
    throw error;
  }

  const of = ({ metadata: { name } }: Service): Known | undefined => known.get(name);

  return {
    changed(service, isGone) {
      const { name } = service.metadata;
      const before = known.get(name);
      if (isGone || service.spec.service === undefined) {
        if (known.delete(name)) generation++;
        return;
      }
      if (before !== undefined && leadsTheSameWay(before.service, service)) {
        const changes = isAvailable(before.service) !== isAvailable(service);
        before.service = service;
        if (changes) queue.add(name);
        return;
      }
      known.set(name, { service, version: unknown, openApiV3: undefined, openApiV2: undefined });
      generation++;
      queue.add(name);
    },
    version: (service) => of(service)?.version ?? unknown,
    openApiV3: (service) => of(service)?.openApiV3,
    openApiV2: (service) => of(service)?.openApiV2?.part,
    get generation() {
      return generation;
    },
    run: (signal) => workThrough(queue, workers, { reconcile, failed }, signal),
  };
}

function leadsTheSameWay(a: Service, b: Service): boolean {
  return a.metadata.uid === b.metadata.uid && JSON.stringify(a.spec) === JSON.stringify(b.spec);
}

/** What of a server's document is about the group version that it was asked for: its paths, and all definitions these may need. */
function partOf(value: unknown, prefix: string): Swagger | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { info, paths, definitions } = value as { info?: unknown; paths?: unknown; definitions?: unknown };
  if (typeof paths !== 'object' || paths === null) return undefined;
  return {
    info,
    paths: Object.fromEntries(Object.entries(paths).filter(([path]) => path === prefix || path.startsWith(prefix))),
    definitions: typeof definitions === 'object' && definitions !== null ? { ...definitions } : {},
  };
}
