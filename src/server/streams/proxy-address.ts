// Owns what "scheme:name:port" in the path of a proxy request means: the address of a pod, a service's endpoint or a node.
import type { Pod, Service } from '../../api/generated/core.v1.ts';
import type { EndpointSlice } from '../../api/generated/discovery.v1.ts';
import type { Frozen } from '../../api/meta.ts';
import { badRequest, statusError } from '../../api/status-error.ts';
import type { BackendAddress } from './kubelet-address.ts';

export interface ProxyName {
  readonly tls: boolean;
  /** False: the name says no scheme. */
  readonly schemeSaid: boolean;
  readonly name: string;
  /** A number, the name of a port, or empty. */
  readonly port: string;
}

/** "name", "name:port", "scheme:name:port". Throws 400 for anything else. */
export function parseProxyName(text: string, what: string): ProxyName {
  const parts = text.split(':');
  const [scheme, name, port] = parts.length === 3 ? parts : ['', parts[0], parts[1] ?? ''];
  if (parts.length > 3 || name === undefined || name === '' || !['', 'http', 'https'].includes(scheme!))
    throw badRequest(`invalid ${what} request ${JSON.stringify(text)}`);
  return { tls: scheme === 'https', schemeSaid: scheme !== '', name, port: port! };
}

function portNumber(text: string): number | undefined {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  return port > 0 && port < 65_536 ? port : undefined;
}

/** Loopback and link-local addresses are the API server's own neighbourhood, not the cluster's. */
function refuseUnproxyable(host: string): void {
  if (/^(127\.|169\.254\.|0\.|22[4-9]\.|23\d\.)/.test(host) || /^(::1?$|fe[89ab])/i.test(host) || host === 'localhost')
    throw badRequest('address not allowed');
}

export function podBackend(pod: Frozen<Pod>, { tls, port }: ProxyName): BackendAddress {
  const first = pod.spec.containers.flatMap(({ ports = [] }) => ports).find(({ containerPort }) => containerPort > 0);
  const number = port === '' ? (first?.containerPort ?? (tls ? 443 : 80)) : portNumber(port);
  if (number === undefined) throw badRequest(`invalid port ${JSON.stringify(port)}`);
  const host = pod.status?.podIP ?? '';
  if (host === '') throw badRequest('address not allowed');
  refuseUnproxyable(host);
  return { host, port: number, tls };
}

/** A ready endpoint; `choose` gives an index below its argument. Throws 503 when there is none. */
export function serviceBackend(
  service: Frozen<Service> | undefined,
  slices: readonly Frozen<EndpointSlice>[],
  { name, tls, port }: ProxyName,
  choose: (below: number) => number,
): BackendAddress {
  const none = () => statusError('ServiceUnavailable', `no endpoints available for service ${JSON.stringify(name)}`);
  const ports = service?.spec?.ports ?? [];
  const wanted =
    port === ''
      ? ports.length === 1
        ? ports[0]
        : undefined
      : ports.find((known) => known.name === port || String(known.port) === port);
  if (wanted === undefined) throw none();
  const found = slices.flatMap((slice) => {
    const target = slice.ports?.find((known) => (known.name ?? '') === (wanted.name ?? ''))?.port;
    if (target === undefined || target === null) return [];
    return slice.endpoints
      .filter(({ conditions }) => conditions?.ready !== false)
      .flatMap(({ addresses }) => addresses.map((host) => ({ host, port: target, tls })));
  });
  const chosen = found[choose(found.length)];
  if (chosen === undefined) throw none();
  refuseUnproxyable(chosen.host);
  return chosen;
}

/** Undefined: the kubelet itself, over its own connection. */
export function nodeBackend(host: string, kubeletPort: number, { tls, port }: ProxyName): BackendAddress | undefined {
  if (port === '' || Number(port) === kubeletPort) return undefined;
  const number = portNumber(port);
  if (number === undefined) throw badRequest(`invalid port ${JSON.stringify(port)}`);
  refuseUnproxyable(host);
  return { host, port: number, tls };
}

/** What follows "/proxy" in the path as sent; undefined when not even a slash does. */
export function pathBehindProxy(path: string): string | undefined {
  const at = path.search(/\/proxy(?:\/|$)/);
  const rest = path.slice(at + '/proxy'.length);
  return at < 0 || rest === '' ? undefined : rest;
}

/** A Location of the backend's as the client must follow it: within the proxy's path. */
export function proxiedLocation(location: string, prefix: string, backendHost: string): string {
  try {
    const backend = new URL(`http://${backendHost}`);
    const url = new URL(location, backend);
    if (url.host !== backend.host) return location;
    return `${prefix}${url.pathname}${url.search}${url.hash}`;
  } catch (error) {
    if (error instanceof TypeError) return location;
    throw error;
  }
}
