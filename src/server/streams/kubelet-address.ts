// Owns how a node's kubelet is found and reached: its address from the Node, a connection from whoever was given to dial.
import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import { connect as connectTcp, isIP } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Node } from '../../api/generated/core.v1.ts';
import type { Frozen } from '../../api/meta.ts';
import { badRequest, statusError } from '../../api/status-error.ts';
import type { Clock } from '../../base/clock.ts';

export interface KubeletAddress {
  readonly nodeName: string;
  readonly host: string;
  readonly port: number;
}

/** Opens a connection on which the kubelet answers HTTP/1.1. A cluster in one process may hand over one end of a pair. */
export type KubeletDialer = (kubelet: KubeletAddress) => Promise<Duplex>;

/** How kubelets are found and reached. */
export interface Kubelets {
  readonly dial: KubeletDialer;
  /** --kubelet-preferred-address-types. */
  readonly addressTypes?: readonly string[];
  /** Resolves a host name; rejects when there is none. */
  readonly lookup?: (host: string) => Promise<unknown>;
}

/** A node whose name means nothing here is the caller's mistake, not the server's. Throws 400. */
export async function requireKnownHost({ lookup }: Kubelets, host: string): Promise<void> {
  if (lookup === undefined || isIP(host) !== 0) return;
  try {
    await lookup(host);
  } catch (error) {
    throw badRequest(`lookup ${host}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** Within one process addresses come before names: small clusters run no resolver for nodes. */
const preferred = ['InternalIP', 'ExternalIP', 'Hostname', 'InternalDNS', 'ExternalDNS'] as const;

export function kubeletAddress(node: Frozen<Node>, types: readonly string[] = preferred): KubeletAddress {
  const addresses = node.status?.addresses ?? [];
  const found = types.map((type) => addresses.find((address) => address.type === type)).find(Boolean);
  if (found === undefined)
    throw statusError(
      'InternalError',
      `Internal error occurred: no preferred addresses found; known addresses: ${JSON.stringify(addresses)}`,
    );
  const port = node.status?.daemonEndpoints?.kubeletEndpoint?.Port ?? 0;
  return { nodeName: node.metadata.name, host: found.address, port: port > 0 ? port : 10_250 };
}

export interface TlsDialerOptions {
  readonly clock: Clock;
  /** --kubelet-client-certificate and --kubelet-client-key, PEM. */
  readonly certificate?: string;
  readonly key?: string;
  /** --kubelet-certificate-authority, PEM; without it serving certificates are not verified, as upstream has it. */
  readonly certificateAuthority?: string;
  /** --kubelet-timeout for connecting; default 5 s. */
  readonly timeoutMs?: number;
}

/** Dials kubelets over TLS, with the API server's client certificate. */
export function tlsKubeletDialer(options: TlsDialerOptions): KubeletDialer {
  const { certificate, key, certificateAuthority } = options;
  const tls: ConnectionOptions = {
    ALPNProtocols: ['http/1.1'],
    rejectUnauthorized: certificateAuthority !== undefined,
    ...(certificate !== undefined && { cert: certificate }),
    ...(key !== undefined && { key }),
    ...(certificateAuthority !== undefined && { ca: certificateAuthority, allowPartialTrustChain: true }),
  };
  return ({ host, port }) =>
    dialed(() => connectTls({ ...tls, host, port }), 'secureConnect', options.clock, options.timeoutMs ?? 5_000);
}

export interface BackendAddress {
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
}

/** Opens connections to pods and services' endpoints. */
export type BackendDialer = (backend: BackendAddress) => Promise<Duplex>;

/** Dials pods directly; their certificates are not verified, as upstream has it. */
export function tcpBackendDialer(clock: Clock, timeoutMs = 30_000): BackendDialer {
  return ({ host, port, tls }) =>
    tls
      ? dialed(
          () => connectTls({ host, port, rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] }),
          'secureConnect',
          clock,
          timeoutMs,
        )
      : dialed(() => connectTcp({ host, port }), 'connect', clock, timeoutMs);
}

function dialed(connect: () => Duplex, event: string, clock: Clock, timeoutMs: number): Promise<Duplex> {
  return new Promise((resolve, reject) => {
    const socket = connect();
    const timer = clock.after(timeoutMs, () => socket.destroy(new Error('connecting took too long')));
    const fail = (error: Error): void => {
      timer.cancel();
      reject(error);
    };
    socket.once('error', fail);
    socket.once(event, () => {
      timer.cancel();
      socket.off('error', fail);
      resolve(socket);
    });
  });
}
