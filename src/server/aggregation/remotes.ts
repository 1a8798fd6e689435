// Owns connections to the servers behind API services: where, with which certificates, and one exchange. Follows no redirect.
import type { IncomingMessage } from 'node:http';
import { Agent, request as httpsRequest } from 'node:https';
import { connect, type ConnectionOptions, type TLSSocket } from 'node:tls';
import type { Service as CoreService } from '../../api/generated/core.v1.ts';
import type { EndpointSlice } from '../../api/generated/discovery.v1.ts';
import type { Frozen } from '../../api/meta.ts';
import type { Clock } from '../../base/clock.ts';
import { randomInteger } from '../../base/random.ts';
import type { Random } from '../../base/random.ts';
import type { Catalog } from '../served/served.ts';
import type { ApiServerDeps } from '../options.ts';
import type { Service } from './api-services.ts';
import { askWithin } from './within.ts';
import { type Address, resolveService, Unresolvable } from './resolve.ts';

export interface RemoteRequest {
  readonly method: string;
  /** Escaped, with the query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: Uint8Array;
  /** It is somebody else's, and told where it went. */
  readonly forwards?: boolean;
  readonly signal: AbortSignal;
}

export interface RemoteAnswer {
  readonly code: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** To be read to its end, or left by ending the loop, which cuts the connection. */
  readonly body: AsyncIterable<Uint8Array>;
}

export interface RemotesOptions {
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly random: Random;
  /** PEM, of --proxy-client-cert-file and --proxy-client-key-file: asked with each new connection. */
  readonly clientCertificate?: () => { readonly certificate: string; readonly key: string } | undefined;
  /** --enable-aggregator-routing. */
  readonly byEndpoints: boolean;
  readonly extensions?: ApiServerDeps['extensions'];
}

export interface Remotes {
  /** Rejects with the connection's error, or Unresolvable. */
  ask(service: Service, request: RemoteRequest): Promise<RemoteAnswer>;
  /** A connection for one upgraded exchange. */
  dial(service: Service): Promise<TLSSocket>;
  /** For the Host header and messages. */
  hostOf(service: Service): string;
  close(): void;
}

const connectTimeoutMs = 10_000;
/** Further endpoints are tried when the first cannot be connected to. */
const maxTries = 3;
const maxSockets = 1000;
const maxHeaderBytes = 64 * 1024;

export function remotes(options: RemotesOptions): Remotes {
  const { catalog, clock, random, clientCertificate, byEndpoints, extensions } = options;
  // The agent keeps connections apart by address, certificates and authorities.
  const agent = new Agent({ keepAlive: true, maxTotalSockets: maxSockets, maxFreeSockets: 64 });

  function addressesOf({ spec }: Service): readonly Address[] {
    const { namespace = '', name = '', port = 443 } = spec.service ?? {};
    const found = catalog.cache('', 'services').get(`${namespace}/${name}`)?.object as unknown;
    const slices = byEndpoints
      ? [...catalog.cache('discovery.k8s.io', 'endpointslices').list({ type: 'namespace', namespace })]
      : [];
    const addresses = resolveService(
      found as Frozen<CoreService> | undefined,
      slices.map(({ object }) => object as unknown as Frozen<EndpointSlice>),
      port,
      byEndpoints,
    );
    const start = randomInteger(random, addresses.length);
    return [...addresses.slice(start), ...addresses.slice(0, start)].slice(0, maxTries);
  }

  function tlsOf({ spec }: Service): ConnectionOptions {
    const { namespace = '', name = '' } = spec.service ?? {};
    const own = clientCertificate?.();
    const caBundle = (spec.caBundle ?? '') as unknown as string;
    return {
      servername: `${name}.${namespace}.svc`,
      rejectUnauthorized: spec.insecureSkipTLSVerify !== true,
      ALPNProtocols: ['http/1.1'],
      ...(caBundle !== '' && { ca: Buffer.from(caBundle, 'base64').toString('utf8') }),
      ...(own !== undefined && { cert: own.certificate, key: own.key }),
    };
  }

  const hostOf = (service: Service): string => {
    try {
      return textOf(addressesOf(service)[0]!);
    } catch (error) {
      if (!(error instanceof Unresolvable)) throw error;
      const { namespace = '', name = '', port = 443 } = service.spec.service ?? {};
      return `${name}.${namespace}.svc:${port}`;
    }
  };

  function once(address: Address, service: Service, wanted: RemoteRequest): Promise<RemoteAnswer> {
    return new Promise((resolve, reject) => {
      const outgoing = httpsRequest({
        ...tlsOf(service),
        agent,
        host: address.host,
        port: address.port,
        method: wanted.method,
        path: wanted.path,
        maxHeaderSize: maxHeaderBytes,
        headers: {
          ...(wanted.headers as Record<string, string | string[]>),
          host: textOf(address),
          ...(wanted.forwards === true && { 'x-forwarded-host': textOf(address) }),
          ...(wanted.body !== undefined && { 'content-length': String(wanted.body.length) }),
        },
        signal: wanted.signal,
      });
      outgoing.once('socket', (socket) => {
        if (!socket.connecting) return;
        const timer = clock.after(connectTimeoutMs, () =>
          outgoing.destroy(new CannotConnect('connecting took too long')),
        );
        socket.once('secureConnect', () => timer.cancel());
        socket.once('close', () => timer.cancel());
      });
      outgoing.once('response', (answer) => resolve(answerOf(answer)));
      outgoing.once('error', (error: NodeJS.ErrnoException) => {
        // A kept connection that the server closed meanwhile: the request did not get through.
        const isStale = outgoing.reusedSocket && error.code === 'ECONNRESET' && isSafe(wanted.method);
        if (isStale) once(address, service, wanted).then(resolve, reject);
        else reject(error);
      });
      outgoing.end(wanted.body);
    });
  }

  async function eachAddress<T>(service: Service, attempt: (address: Address) => Promise<T>): Promise<T> {
    let failure: unknown = new Unresolvable('the service has no address');
    for (const address of addressesOf(service)) {
      try {
        return await attempt(address);
      } catch (error) {
        failure = error;
        if (!isUnconnected(error)) break;
      }
    }
    throw failure;
  }

  const here = ({ spec }: Service) => extensions?.(`${spec.service?.namespace ?? ''}/${spec.service?.name ?? ''}`);

  return {
    ask(service, request) {
      const serve = here(service);
      return serve === undefined
        ? eachAddress(service, (address) => once(address, service, request))
        : askWithin(serve, request, clientCertificate?.()?.certificate);
    },
    dial: (service) => eachAddress(service, (address) => dialed({ ...tlsOf(service), ...address }, clock)),
    hostOf,
    close: () => agent.destroy(),
  };
}

class CannotConnect extends Error {
  override readonly name = 'CannotConnect';
}

function textOf({ host, port }: Address): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

function isSafe(method: string): boolean {
  return method === 'GET' || method === 'HEAD';
}

const unconnected: ReadonlySet<string> = new Set(['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'ETIMEDOUT']);

/** Nothing has been sent: another address may be tried. */
function isUnconnected(error: unknown): boolean {
  return error instanceof CannotConnect || unconnected.has((error as NodeJS.ErrnoException).code ?? '');
}

function answerOf(answer: IncomingMessage): RemoteAnswer {
  return {
    code: answer.statusCode ?? 502,
    headers: answer.headers,
    body: answer,
  };
}

function dialed(options: ConnectionOptions, clock: Clock): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const socket = connect(options);
    const timer = clock.after(connectTimeoutMs, () => socket.destroy(new CannotConnect('connecting took too long')));
    socket.once('secureConnect', () => {
      timer.cancel();
      socket.off('error', fail);
      resolve(socket);
    });
    const fail = (error: Error): void => {
      timer.cancel();
      reject(error);
    };
    socket.once('error', fail);
  });
}
