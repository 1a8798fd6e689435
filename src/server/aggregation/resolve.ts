// Owns where the server behind an API service is reached: the address of its Service, or one of the endpoints. Pure.
import type { Service } from '../../api/generated/core.v1.ts';
import type { EndpointSlice } from '../../api/generated/discovery.v1.ts';
import type { Frozen } from '../../api/meta.ts';

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** Why a Service cannot be reached. */
export class Unresolvable extends Error {
  override readonly name = 'Unresolvable';
}

const serviceLabel = 'kubernetes.io/service-name';

type ServicePort = NonNullable<NonNullable<Frozen<Service>['spec']>['ports']>[number];

export function portOf(service: Frozen<Service>, port: number): ServicePort | undefined {
  return service.spec?.ports?.find((known) => known.port === port);
}

export function slicesOf(
  service: Frozen<Service>,
  slices: Iterable<Frozen<EndpointSlice>>,
): readonly Frozen<EndpointSlice>[] {
  const { name, namespace } = service.metadata;
  return [...slices].filter(
    ({ metadata }) => metadata.namespace === namespace && metadata.labels?.[serviceLabel] === name,
  );
}

/** The ready endpoints behind the port of that name, in the slices' order. */
export function endpointsOf(slices: readonly Frozen<EndpointSlice>[], portName: string): Address[] {
  return slices.flatMap((slice) => {
    const port = slice.ports?.find((known) => (known.name ?? '') === portName)?.port;
    if (port === undefined || port === null) return [];
    return (slice.endpoints ?? [])
      .filter(({ conditions }) => conditions?.ready !== false)
      .flatMap(({ addresses }) => addresses.map((host) => ({ host, port })));
  });
}

/**
 * At least one address; those of endpoints all, to be tried in an order of the caller's. `byEndpoints`: --enable-aggregator-routing.
 * Throws Unresolvable.
 */
export function resolveService(
  service: Frozen<Service> | undefined,
  slices: Iterable<Frozen<EndpointSlice>>,
  port: number,
  byEndpoints: boolean,
): readonly Address[] {
  if (service === undefined) throw new Unresolvable('the service does not exist');
  const { type = 'ClusterIP', clusterIP = '', externalName = '' } = service.spec ?? {};
  if (type === 'ExternalName') {
    if (externalName === '') throw new Unresolvable('the service has no external name');
    return [{ host: externalName, port }];
  }
  const wanted = portOf(service, port);
  if (wanted === undefined) throw new Unresolvable(`the service has no port ${port}`);
  if (!byEndpoints) {
    if (clusterIP === '' || clusterIP === 'None') throw new Unresolvable('the service has no cluster IP');
    return [{ host: clusterIP, port }];
  }
  const found = endpointsOf(slicesOf(service, slices), wanted.name ?? '');
  if (found.length === 0) throw new Unresolvable('the service has no endpoints that are ready');
  return found;
}
