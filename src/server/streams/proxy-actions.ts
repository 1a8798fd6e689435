// Owns the proxy subresource of nodes, services and pods: whom a request goes to, and its answer or upgraded connection back.
import type { Service } from '../../api/generated/core.v1.ts';
import type { EndpointSlice } from '../../api/generated/discovery.v1.ts';
import type { Frozen } from '../../api/meta.ts';
import { statusError } from '../../api/status-error.ts';
import { randomInteger } from '../../base/random.ts';
import { proxyUpgrade, type UpgradeTarget } from '../../wire/streams/upgrade.ts';
import type { Action } from '../action.ts';
import type { Parts } from '../parts.ts';
import type { ApiAnswer, ApiRequest } from '../request.ts';
import type { Served } from '../served/served.ts';
import { admitConnect, connection } from './connect-admission.ts';
import { askBackend, type BackendAnswer, backendHeaders } from './http-proxy.ts';
import { type BackendAddress, type BackendDialer, type Kubelets, requireKnownHost } from './kubelet-address.ts';
import { findKubelet, findPod, kubeletTarget, taken } from './pod-actions.ts';
import {
  nodeBackend,
  parseProxyName,
  pathBehindProxy,
  podBackend,
  proxiedLocation,
  serviceBackend,
} from './proxy-address.ts';
import { bodyBytes } from '../request.ts';

/** The actions for `ApiServerDeps.actions`. */
export function proxyActions(kubelets: Kubelets, backends: BackendDialer): Action[] {
  const action = (resource: string, find: Find): Action =>
    connection(resource, 'proxy', (parts, request, served) =>
      proxy(parts, request, served, (path) => find(parts, request, path)),
    );
  return [
    action('pods', (parts, request, path) => {
      const name = parseProxyName(request.info.name, 'pod');
      return backendTarget(podBackend(findPod(parts, named(request, name.name)), name), backends, path);
    }),
    action('services', (parts, request, path) => {
      const name = parseProxyName(request.info.name, 'service');
      const { namespace } = request.info;
      const service = lookup<Service>(parts, '', 'services', `${namespace}/${name.name}`);
      const backend = serviceBackend(service, slicesOf(parts, namespace, name.name), name, (below) =>
        randomInteger(parts.random, below),
      );
      return backendTarget(backend, backends, path);
    }),
    action('nodes', async (parts, request, path) => {
      const name = parseProxyName(request.info.name, 'node');
      const kubelet = findKubelet(parts, kubelets, name.name, 'nodes');
      await requireKnownHost(kubelets, kubelet.host);
      const backend = nodeBackend(kubelet.host, kubelet.port, name);
      return backend === undefined
        ? kubeletTarget(kubelet, kubelets.dial, path)
        : backendTarget(backend, backends, path);
    }),
  ];
}

type Find = (parts: Parts, request: ApiRequest, path: string) => UpgradeTarget | Promise<UpgradeTarget>;

function named(request: ApiRequest, name: string): Pick<ApiRequest, 'info'> {
  return { info: { ...request.info, name } };
}

function lookup<T>(parts: Parts, group: string, plural: string, key: string): Frozen<T> | undefined {
  const served = parts.catalog.stored(group, plural);
  return (served?.collection && parts.objects.get(served.collection, key))?.object as Frozen<T> | undefined;
}

function slicesOf(parts: Parts, namespace: string, service: string): Frozen<EndpointSlice>[] {
  const cache = parts.catalog.stored('discovery.k8s.io', 'endpointslices')?.collection?.cache;
  if (cache === undefined) return [];
  return [...cache.list({ type: 'namespace', namespace })]
    .map((entry) => entry.object as unknown as Frozen<EndpointSlice>)
    .filter((slice) => slice.metadata.labels?.['kubernetes.io/service-name'] === service);
}

function backendTarget(backend: BackendAddress, dial: BackendDialer, path: string): UpgradeTarget {
  const host = backend.host.includes(':') ? `[${backend.host}]` : backend.host;
  return { connect: () => dial(backend), host: `${host}:${backend.port}`, path };
}

async function reached(answer: Promise<BackendAnswer>): Promise<BackendAnswer> {
  try {
    return await answer;
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    throw statusError('ServiceUnavailable', `error trying to reach service: ${text}`);
  }
}

async function proxy(
  parts: Parts,
  request: ApiRequest,
  served: Served,
  find: (path: string) => UpgradeTarget | Promise<UpgradeTarget>,
): Promise<ApiAnswer> {
  const rest = pathBehindProxy(request.path);
  const query = request.query.size === 0 ? '' : `?${request.query}`;
  const target = await find((rest ?? '/') + query);
  await admitConnect(parts, request, served, { path: rest ?? '' });
  const { upgrade } = request;
  if (upgrade !== undefined) return taken(parts, proxyUpgrade(upgrade.message, upgrade.socket, upgrade.head, target));
  // Relative links of the backend's pages need the slash.
  if (rest === undefined && (request.method === 'GET' || request.method === 'HEAD'))
    return {
      type: 'bytes',
      code: 301,
      contentType: 'text/plain',
      body: '',
      headers: { Location: `${request.path}/${query}` },
    };
  const body = request.body === undefined ? undefined : await bodyBytes(request.body);
  const answer = await reached(
    askBackend(target, request.method, backendHeaders(request.headers), body, request.signal),
  );
  const { location, ...headers } = answer.headers;
  const prefix = rest === undefined ? request.path : request.path.slice(0, request.path.length - rest.length);
  return {
    type: 'stream',
    code: answer.code,
    headers: {
      ...headers,
      ...(typeof location === 'string' && { location: proxiedLocation(location, prefix, target.host) }),
    },
    body: answer.body,
  };
}
