// Owns the Service `kubernetes` through which pods reach the API server, its endpoints, and the recorded address range.
import type { Logger } from '../../base/log.ts';
import type { Clock } from '../../base/clock.ts';
import { sleep } from '../../base/clock.ts';
import { isAbort } from '../../base/task-group.ts';
import { isAlreadyExists, isConflict, isNotFound } from '../../api/status-error.ts';
import { thaw } from '../../api/meta.ts';
import type { Frozen, KubeObject } from '../../api/meta.ts';
import type { Transport } from '../../client/transport.ts';
import type { IpRange } from '../services/ip-range.ts';
import { same } from '../verbs/equal.ts';
import { ensure } from './objects.ts';
import type { BootstrapOptions } from './objects.ts';
import type { MasterLeases } from './master-leases.ts';

export interface KubernetesServiceOptions extends BootstrapOptions {
  readonly ranges: readonly IpRange[];
  readonly port: number;
  /** Without it the endpoints are left to others. */
  readonly advertiseAddress: string | undefined;
  /** When several servers share the store: the endpoints are all that are there. */
  readonly masters?: MasterLeases;
}

const plain = (value: object): KubeObject => value as KubeObject;

async function kubernetesService(options: KubernetesServiceOptions): Promise<void> {
  const { ranges, port } = options;
  await ensure(
    options,
    plain({
      apiVersion: 'networking.k8s.io/v1',
      kind: 'ServiceCIDR',
      metadata: { name: 'kubernetes' },
      spec: { cidrs: ranges.map(({ cidr }) => cidr) },
    }),
  );
  await ensure(
    options,
    plain({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: {
        name: 'kubernetes',
        namespace: 'default',
        labels: { component: 'apiserver', provider: 'kubernetes' },
      },
      spec: {
        clusterIP: ranges[0]!.at(0),
        ipFamilyPolicy: 'SingleStack',
        type: 'ClusterIP',
        sessionAffinity: 'None',
        ports: [{ name: 'https', port: 443, protocol: 'TCP', targetPort: port }],
      },
    }),
  );
}

/** Other servers write the same: who was slower looks again. */
async function put(
  transport: Transport,
  collection: string,
  wanted: KubeObject & Record<string, unknown>,
  fields: readonly string[],
): Promise<void> {
  for (let attempt = 1; ; attempt++)
    try {
      await putOnce(transport, collection, wanted, fields);
      return;
    } catch (error) {
      if (attempt === 5 || !(isConflict(error) || isAlreadyExists(error))) throw error;
    }
}

async function putOnce(
  transport: Transport,
  collection: string,
  wanted: KubeObject & Record<string, unknown>,
  fields: readonly string[],
): Promise<void> {
  const path = `${collection}/${wanted.metadata.name}`;
  let present: Frozen<KubeObject & Record<string, unknown>>;
  try {
    present = (await transport.call({ method: 'GET', path })) as Frozen<KubeObject & Record<string, unknown>>;
  } catch (error) {
    if (!isNotFound(error)) throw error;
    await transport.call({ method: 'POST', path: collection, body: wanted });
    return;
  }
  if (fields.every((field) => same(present[field], wanted[field]))) return;
  const next = thaw(present) as KubeObject & Record<string, unknown>;
  for (const field of fields) next[field] = wanted[field];
  await transport.call({ method: 'PUT', path, body: next });
}

async function kubernetesEndpoints(options: KubernetesServiceOptions): Promise<void> {
  const { advertiseAddress, masters } = options;
  if (advertiseAddress === undefined) return;
  await writeEndpoints(options, (await masters?.announce(advertiseAddress)) ?? [advertiseAddress]);
}

/** Takes this server off the endpoints, when there are others. A server that is alone leaves them to its next start. */
export async function leaveKubernetesService(options: KubernetesServiceOptions): Promise<void> {
  const { advertiseAddress, masters } = options;
  if (advertiseAddress === undefined || masters === undefined) return;
  const others = await masters.withdraw(advertiseAddress);
  if (others.length > 0) await writeEndpoints(options, others);
}

async function writeEndpoints(
  { transport, port, advertiseAddress }: KubernetesServiceOptions,
  addresses: readonly string[],
): Promise<void> {
  const labels = { 'endpointslice.kubernetes.io/skip-mirror': 'true' };
  await put(
    transport,
    '/api/v1/namespaces/default/endpoints',
    plain({
      apiVersion: 'v1',
      kind: 'Endpoints',
      metadata: { name: 'kubernetes', namespace: 'default', labels },
      subsets: [{ addresses: addresses.map((ip) => ({ ip })), ports: [{ name: 'https', port, protocol: 'TCP' }] }],
    }) as KubeObject & Record<string, unknown>,
    ['subsets'],
  );
  await put(
    transport,
    '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices',
    plain({
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { name: 'kubernetes', namespace: 'default', labels: { 'kubernetes.io/service-name': 'kubernetes' } },
      addressType: advertiseAddress!.includes(':') ? 'IPv6' : 'IPv4',
      endpoints: addresses.map((address) => ({ addresses: [address], conditions: { ready: true } })),
      ports: [{ name: 'https', port, protocol: 'TCP' }],
    }) as KubeObject & Record<string, unknown>,
    ['endpoints', 'ports'],
  );
}

const everyMs = 10_000;

/** Puts the endpoints right again when someone changed or deleted them. */
export async function keepKubernetesService(
  options: KubernetesServiceOptions,
  clock: Clock,
  log: Logger,
  signal: AbortSignal,
): Promise<void> {
  try {
    for (;;) {
      try {
        await kubernetesService(options);
        await kubernetesEndpoints(options);
      } catch (error) {
        if (isAbort(error) || signal.aborted) return;
        log.error('the kubernetes service cannot be kept', { error });
      }
      await sleep(clock, everyMs, signal);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
