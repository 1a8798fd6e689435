// Owns the API services that stand for what this server serves itself: made, repaired and taken away as upstream does. Proxies nothing.
import type { APIService } from '../../api/generated/apiregistration.v1.ts';
import { thaw } from '../../api/meta.ts';
import { isAlreadyExists, isConflict, isNotFound, ignoring } from '../../api/status-error.ts';
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import type { MetricsRegistry } from '../../base/metrics.ts';
import type { Transport } from '../../client/transport.ts';
import { workQueue } from '../../client/work-queue.ts';
import { same } from '../verbs/equal.ts';
import { builtinServices, customPriority, type Service, serviceName } from './api-services.ts';
import { workThrough } from './work-through.ts';

const collection = '/apis/apiregistration.k8s.io/v1/apiservices';
/** "onstart": put right when a server starts, then the user's; "true": always put right. Without it: never touched. */
const managedLabel = 'kube-aggregator.kubernetes.io/automanaged';

interface Wanted {
  readonly managed: 'onstart' | 'true';
  readonly spec: object;
}

export interface LocalServicesOptions {
  /** As the server itself. */
  readonly transport: Transport;
  readonly find: (name: string) => Service | undefined;
  readonly clock: Clock;
  readonly metrics: MetricsRegistry;
  readonly log: Logger;
}

export interface LocalServices {
  /** A group version of a definition: made, and kept. Resolves when it is there. */
  ensure(group: string, version: string): Promise<void>;
  /** Takes away only what was made here. */
  remove(group: string, version: string): Promise<void>;
  changed(service: Service): void;
  /** Those of built-in groups, once: before the server is ready. */
  start(): Promise<void>;
  run(signal: AbortSignal): Promise<void>;
}

export function localServices({ transport, find, clock, metrics, log }: LocalServicesOptions): LocalServices {
  const wanted = new Map<string, Wanted>();
  const started = new Set<string>();
  const queue = workQueue({ name: 'autoregister', clock, metrics, firstBackoffMs: 50, maxBackoffMs: 30_000 });

  /** Throws what the API refuses: the caller tries again. */
  async function sync(name: string): Promise<void> {
    const want = wanted.get(name);
    const present = find(name);
    const managed = present?.metadata.labels?.[managedLabel];
    if (present === undefined) {
      if (want === undefined || (want.managed === 'onstart' && started.has(name))) return;
      await ignoring(isAlreadyExists, transport.call({ method: 'POST', path: collection, body: bodyOf(name, want) }));
      return;
    }
    if (managed !== 'true' && managed !== 'onstart') return;
    // What it was at the start is what counts: from then on the user may do as he likes.
    if (managed === 'onstart' && started.has(name)) return;
    const path = `${collection}/${encodeURIComponent(name)}`;
    if (want === undefined) {
      await ignoring(isNotFound, transport.call({ method: 'DELETE', path, body: preconditions(present) }));
      return;
    }
    if (same(present.spec, want.spec)) return;
    const next = thaw(present) as APIService;
    next.spec = want.spec as APIService['spec'];
    // Somebody was faster: the change comes here as well.
    await ignoring(isConflict, transport.call({ method: 'PUT', path, body: next }));
  }

  function failed(name: string, error: unknown): void {
    log.warn('an API service of this server cannot be kept', { error, name });
    queue.retry(name);
  }

  return {
    async ensure(group, version) {
      const name = serviceName(group, version);
      if (wanted.has(name)) return;
      wanted.set(name, { managed: 'true', spec: { group, ...customPriority, version } });
      await sync(name);
    },
    async remove(group, version) {
      const name = serviceName(group, version);
      if (wanted.get(name)?.managed !== 'true') return;
      wanted.delete(name);
      await sync(name);
    },
    changed({ metadata: { name, labels } }) {
      if (wanted.has(name) || labels?.[managedLabel] !== undefined) queue.add(name);
    },
    async start() {
      for (const { name, spec } of builtinServices()) wanted.set(name, { managed: 'onstart', spec });
      await Promise.all(
        [...wanted].map(async ([name]) => {
          try {
            await sync(name);
            if (wanted.get(name)?.managed === 'onstart') started.add(name);
          } catch (error) {
            // The rest of the server does not depend on it.
            log.error('an API service of this server cannot be made', { error, name });
          }
        }),
      );
    },
    run: (signal) => workThrough(queue, 1, { reconcile: sync, failed }, signal),
  };
}

function bodyOf(name: string, { managed, spec }: Wanted): object {
  return {
    apiVersion: 'apiregistration.k8s.io/v1',
    kind: 'APIService',
    metadata: { name, labels: { [managedLabel]: managed } },
    spec,
  };
}

function preconditions({ metadata: { uid } }: Service): object {
  return { kind: 'DeleteOptions', apiVersion: 'v1', preconditions: { uid } };
}
