// Owns keeping the condition Available of API services true: judged when their Service, endpoints or they change, asked again regularly.
import type { APIService } from '../../api/generated/apiregistration.v1.ts';
import type { Service as CoreService } from '../../api/generated/core.v1.ts';
import type { EndpointSlice } from '../../api/generated/discovery.v1.ts';
import type { Frozen, KubeObject } from '../../api/meta.ts';
import { thaw } from '../../api/meta.ts';
import { isConflict, isNotFound } from '../../api/status-error.ts';
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import type { MetricsRegistry } from '../../base/metrics.ts';
import type { Transport } from '../../client/transport.ts';
import { workQueue } from '../../client/work-queue.ts';
import { followCache } from '../cache/follow.ts';
import type { Catalog } from '../served/served.ts';
import { timeText } from '../verbs/metadata.ts';
import type { Service } from './api-services.ts';
import { failedCheck, judgeByObjects, nextCondition, passed, type Verdict } from './availability.ts';
import { userHeaders } from './identity.ts';
import type { Remotes } from './remotes.ts';
import { Unresolvable } from './resolve.ts';
import { workThrough } from './work-through.ts';
import { readWhole } from '../../base/read-whole.ts';

export interface AvailabilityOptions {
  readonly catalog: Catalog;
  readonly remotes: Remotes;
  /** As the server itself. */
  readonly transport: Transport;
  readonly clock: Clock;
  readonly metrics: MetricsRegistry;
  readonly log: Logger;
}

export interface AvailabilityKeeper {
  /** An API service came, changed or went. */
  changed(service: Service, isGone: boolean): void;
  run(signal: AbortSignal): Promise<void>;
}

const workers = 5;
const checkTimeoutMs = 6000;
const againMs = 30_000;
const againAfterFailureMs = 5000;
/** Of a discovery answer; only its status counts. */
const maxAnswerBytes = 4 * 1024 * 1024;

/** The user that servers see asking for their discovery. */
export const aggregatorUser = userHeaders({ name: 'system:kube-aggregator', groups: ['system:masters'] });

export function availabilityKeeper(options: AvailabilityOptions): AvailabilityKeeper {
  const { catalog, remotes, transport, clock, metrics, log } = options;
  const services = catalog.cache('', 'services');
  const slices = catalog.cache('discovery.k8s.io', 'endpointslices');
  const known = new Map<string, Service>();
  const queue = workQueue({ name: 'AvailableConditionController', clock, metrics });
  const unavailable = metrics.gauges(
    'aggregator_unavailable_apiservice',
    'API services that cannot be used, by name.',
    ['name'],
  );

  const markThoseOf = (namespace: string | undefined, name: string | undefined): void => {
    for (const [key, { spec }] of known)
      if (spec.service !== undefined && spec.service.namespace === namespace && spec.service.name === name)
        queue.add(key);
  };
  const serviceChanged = ({ metadata }: Frozen<KubeObject>): void => markThoseOf(metadata.namespace, metadata.name);
  const sliceChanged = ({ metadata }: Frozen<KubeObject>): void =>
    markThoseOf(metadata.namespace, metadata.labels?.['kubernetes.io/service-name']);

  const judge = async (service: Service, signal: AbortSignal): Promise<Verdict> =>
    judgeByObjects(
      service,
      (key) => services.get(key)?.object as unknown as Frozen<CoreService> | undefined,
      (namespace) =>
        [...slices.list({ type: 'namespace', namespace })].map(
          ({ object }) => object as unknown as Frozen<EndpointSlice>,
        ),
    ) ?? probe(service, signal);

  async function probe(service: Service, signal: AbortSignal): Promise<Verdict> {
    const path = `/apis/${service.spec.group ?? ''}/${service.spec.version ?? ''}`;
    const late = new AbortController();
    const timer = clock.after(checkTimeoutMs, () => late.abort());
    const failing = (why: string): Verdict =>
      failedCheck(`failing or missing response from https://${remotes.hostOf(service)}${path}: ${why}`);
    try {
      const answer = await remotes.ask(service, {
        method: 'GET',
        path,
        headers: { ...aggregatorUser, accept: 'application/json' },
        signal: AbortSignal.any([signal, late.signal]),
      });
      await readWhole(answer.body, maxAnswerBytes);
      return answer.code >= 200 && answer.code < 300 ? passed : failing(`bad status: ${answer.code}`);
    } catch (error) {
      if (signal.aborted) throw error;
      if (late.signal.aborted) return failing(`no answer within ${checkTimeoutMs / 1000} s`);
      if (error instanceof Unresolvable) return failing(error.message);
      return failing(error instanceof Error ? error.message : String(error));
    } finally {
      timer.cancel();
    }
  }

  async function reconcile(name: string, signal: AbortSignal): Promise<void> {
    const seen = known.get(name);
    if (seen === undefined) return;
    const verdict = await judge(seen, signal);
    unavailable.of(name).set(verdict.status === 'True' ? 0 : 1);
    if (seen.spec.service !== undefined && known.has(name))
      queue.addAfter(name, verdict.status === 'True' ? againMs : againAfterFailureMs);
    if (nextCondition(seen, verdict, timeText(clock.now())) === undefined) return;
    const path = `/apis/apiregistration.k8s.io/v1/apiservices/${encodeURIComponent(name)}`;
    const newest = (await transport.call({ method: 'GET', path, signal })) as Service;
    // Another object by now, or another spec: the change itself brings it here again.
    if (newest.metadata.uid !== seen.metadata.uid) return;
    const condition = nextCondition(newest, verdict, timeText(clock.now()));
    if (condition === undefined) return;
    const next = thaw(newest) as APIService;
    const others = (next.status?.conditions ?? []).filter(({ type }) => type !== 'Available');
    next.status = { ...next.status, conditions: [...others, condition] };
    await transport.call({ method: 'PUT', path: `${path}/status`, body: next, signal });
  }

  function failed(name: string, error: unknown): void {
    // A conflict comes back as the change that made it.
    if (isNotFound(error) || isConflict(error)) return;
    log.warn('the condition of an API service cannot be kept', { error, name });
    queue.retry(name);
  }

  return {
    changed(service, isGone) {
      const { name } = service.metadata;
      if (isGone) {
        known.delete(name);
        unavailable.delete(name);
      } else {
        known.set(name, service);
        queue.add(name);
      }
    },
    async run(signal) {
      const stops = [
        followCache(services, {
          put: ({ object }) => serviceChanged(object),
          removed: ({ object }) => serviceChanged(object),
          reset: () => undefined,
        }),
        followCache(slices, {
          put: ({ object }) => sliceChanged(object),
          removed: ({ object }) => sliceChanged(object),
          reset: () => undefined,
        }),
      ];
      try {
        await workThrough(queue, workers, { reconcile, failed }, signal);
      } finally {
        for (const stop of stops) stop();
      }
    },
  };
}
