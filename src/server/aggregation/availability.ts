// Owns the judgement whether an API service can be used, with upstream's reasons: from its Service and endpoints, then from what it answers. Pure.
import type { APIService } from '../../api/generated/apiregistration.v1.ts';
import type { Service as CoreService } from '../../api/generated/core.v1.ts';
import type { EndpointSlice } from '../../api/generated/discovery.v1.ts';
import type { Frozen } from '../../api/meta.ts';
import type { Service } from './api-services.ts';
import { endpointsOf, portOf, slicesOf } from './resolve.ts';

export type Condition = NonNullable<APIService['status']['conditions']>[number];

export interface Verdict {
  readonly status: 'True' | 'False';
  readonly reason: string;
  readonly message: string;
}

export const passed: Verdict = { status: 'True', reason: 'Passed', message: 'all checks passed' };

export function failedCheck(message: string): Verdict {
  return { status: 'False', reason: 'FailedDiscoveryCheck', message };
}

export function isAvailable({ status }: Service): boolean {
  return (
    status?.conditions?.some((condition) => condition.type === 'Available' && condition.status === 'True') ?? false
  );
}

/** Undefined: nothing speaks against it, so the server itself is to be asked. */
export function judgeByObjects(
  { spec }: Service,
  find: (key: string) => Frozen<CoreService> | undefined,
  slices: (namespace: string) => Iterable<Frozen<EndpointSlice>>,
): Verdict | undefined {
  if (!spec.service) return { status: 'True', reason: 'Local', message: 'Local APIServices are always available' };
  const { namespace = '', name = '', port = 443 } = spec.service;
  const not = (reason: string, message: string): Verdict => ({ status: 'False', reason, message });
  const service = find(`${namespace}/${name}`);
  if (service === undefined) return not('ServiceNotFound', `service/${name} in "${namespace}" is not present`);
  // Other types lead outside, where there is nothing to be seen.
  if ((service.spec?.type ?? 'ClusterIP') !== 'ClusterIP') return undefined;
  const wanted = portOf(service, port);
  if (wanted === undefined)
    return not('ServicePortError', `service/${name} in "${namespace}" is not listening on port ${port}`);
  const own = slicesOf(service, slices(namespace));
  if (own.length === 0)
    return not('EndpointsNotFound', `cannot find endpointslices for service/${name} in "${namespace}"`);
  if (endpointsOf(own, wanted.name ?? '').length === 0)
    return not(
      'MissingEndpoints',
      `endpointslices for service/${name} in "${namespace}" have no addresses with port name "${wanted.name ?? ''}"`,
    );
  return undefined;
}

/** Undefined when the condition says so already. `now`: as on the wire. */
export function nextCondition({ status }: Service, verdict: Verdict, now: string): Condition | undefined {
  const present = status?.conditions?.find(({ type }) => type === 'Available');
  if (present?.status === verdict.status && present.reason === verdict.reason && present.message === verdict.message)
    return undefined;
  const since = present?.status === verdict.status ? present.lastTransitionTime : undefined;
  return { type: 'Available', ...verdict, lastTransitionTime: (since ?? now) as unknown as never };
}
