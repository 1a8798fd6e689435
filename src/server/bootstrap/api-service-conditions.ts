// Owns what can be said of API services without asking them: local ones are available, those whose service is missing are not.
// Whether a service that exists answers is not judged here.
import type { APIService } from '../../api/generated/apiregistration.v1.ts';
import type { Frozen } from '../../api/meta.ts';
import { thaw } from '../../api/meta.ts';
import { isConflict, isNotFound } from '../../api/status-error.ts';
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import { deferred, isAbort } from '../../base/task-group.ts';
import type { Transport } from '../../client/transport.ts';
import { followCache } from '../cache/follow.ts';
import type { WatchCache } from '../cache/watch-cache.ts';
import { timeText } from '../verbs/metadata.ts';

type Condition = NonNullable<APIService['status']['conditions']>[number];

export interface ApiServiceConditionsOptions {
  readonly apiServices: WatchCache;
  readonly services: WatchCache;
  /** As the server itself. */
  readonly transport: Transport;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Undefined when nothing is to be written. `exists`: whether there is a service of that key ("namespace/name"). */
export function planAvailability(
  { spec, status }: Frozen<APIService>,
  exists: (key: string) => boolean,
  now: string,
): Condition | undefined {
  const { namespace = '', name = '' } = spec.service ?? {};
  if (spec.service && exists(`${namespace}/${name}`)) return undefined;
  const wanted = spec.service
    ? { status: 'False', reason: 'ServiceNotFound', message: `service/${name} in "${namespace}" is not present` }
    : { status: 'True', reason: 'Local', message: 'Local APIServices are always available' };
  const present = status?.conditions?.find(({ type }) => type === 'Available');
  if (present?.status === wanted.status && present.reason === wanted.reason && present.message === wanted.message)
    return undefined;
  const since = present?.status === wanted.status ? present.lastTransitionTime : undefined;
  return { type: 'Available', ...wanted, lastTransitionTime: (since ?? now) as unknown as never };
}

/** Runs until `signal` is aborted. */
export async function keepApiServiceConditions(
  { apiServices, services, transport, clock, log }: ApiServiceConditionsOptions,
  signal: AbortSignal,
): Promise<void> {
  const known = new Map<string, Frozen<APIService>>();
  const existing = new Set<string>();
  const pending = new Set<string>();
  let wake = deferred();
  const mark = (name: string): void => {
    pending.add(name);
    wake.resolve();
  };
  const keyOf = ({ metadata }: { readonly metadata: { readonly namespace?: string; readonly name: string } }): string =>
    `${metadata.namespace ?? ''}/${metadata.name}`;
  const markThoseOf = (key: string): void => {
    for (const [name, { spec }] of known)
      if (spec.service && `${spec.service.namespace}/${spec.service.name}` === key) mark(name);
  };
  const stops = [
    followCache(services, {
      put: ({ object }) => void existing.add(keyOf(object)),
      removed: ({ object }) => {
        existing.delete(keyOf(object));
        markThoseOf(keyOf(object));
      },
      reset: () => existing.clear(),
    }),
    followCache(apiServices, {
      put: ({ object }) => {
        known.set(object.metadata.name, object as unknown as Frozen<APIService>);
        mark(object.metadata.name);
      },
      removed: ({ object }) => void known.delete(object.metadata.name),
      reset: () => known.clear(),
    }),
  ];
  const onAbort = (): void => wake.resolve();
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    while (!signal.aborted) {
      const [name] = pending;
      if (name === undefined) {
        await wake.promise;
        wake = deferred();
        continue;
      }
      pending.delete(name);
      await judge(name);
    }
  } finally {
    signal.removeEventListener('abort', onAbort);
    for (const stop of stops) stop();
  }

  async function judge(name: string): Promise<void> {
    const seen = known.get(name);
    const plan = (service: Frozen<APIService>): Condition | undefined =>
      planAvailability(service, (key) => existing.has(key), timeText(clock.now()));
    if (seen === undefined || plan(seen) === undefined) return;
    const path = `/apis/apiregistration.k8s.io/v1/apiservices/${encodeURIComponent(name)}`;
    try {
      const newest = (await transport.call({ method: 'GET', path, signal })) as Frozen<APIService>;
      const condition = plan(newest);
      if (condition === undefined) return;
      const next = thaw(newest) as APIService;
      const others = (next.status?.conditions ?? []).filter(({ type }) => type !== 'Available');
      next.status = { ...next.status, conditions: [...others, condition] };
      await transport.call({ method: 'PUT', path: `${path}/status`, body: next, signal });
    } catch (error) {
      // A conflict comes back as the change that made it.
      if (isAbort(error) || signal.aborted || isNotFound(error) || isConflict(error)) return;
      log.warn('the condition of an API service cannot be written', { error, name });
    }
  }
}
