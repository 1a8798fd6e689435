// Owns the TLS port of a server: HTTP/2 and HTTP/1.1 side by side, limits, upgrades, and an end that never hangs. Knows no paths.
import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import * as http2 from 'node:http2';
import type { ServerHttp2Session } from 'node:http2';
import type { AddressInfo, Server, Socket } from 'node:net';
import { createSecureContext, createServer as createTlsServer } from 'node:tls';
import type { SecureContext, TLSSocket, TlsOptions } from 'node:tls';
import type { Duplex } from 'node:stream';
import type { Clock, Timer } from '../base/clock.ts';
import { exchangeOfHttp1, exchangeOfHttp2 } from './http-exchange.ts';
import type { HttpExchange } from './http-exchange.ts';
import { plainRefusal, refusalOf, unreadable } from './http-guards.ts';

export interface HttpListenerOptions {
  readonly clock: Clock;
  readonly host?: string;
  /** 0: any free one. */
  readonly port: number;
  /** PEM. */
  readonly key: string;
  readonly certificate: string;
  /** PEM of the authorities whose client certificates are verified; without it none is. */
  readonly clientAuthorities?: string;
  /** Default TLS 1.2. */
  readonly minVersion?: 'TLSv1.2' | 'TLSv1.3';
  /** OpenSSL's names; default node's. */
  readonly ciphers?: string;
  /** Further certificates by the name that the client asks for ("*.example.com" for one label). The last that fits wins. */
  readonly named?: readonly { readonly names: readonly string[]; readonly key: string; readonly certificate: string }[];
  /** Asked with each HTTP/2 request: true tells the client to go on over a new connection. */
  readonly sendsAway?: () => boolean;
  readonly maxHeaderBytes?: number;
  /** How long the headers of a request of HTTP/1.1 may take to come; default 32 s. */
  readonly headersTimeoutMs?: number;
  /** How long a connection of HTTP/2 may be silent before it is asked whether it lives, and how long it may take to say so; default 30 s. */
  readonly idlePingMs?: number;
  readonly maxConcurrentStreams?: number;
  /** In place of listening on `host` and `port`. */
  readonly handed?: HandedConnections;
  readonly onExchange: (exchange: HttpExchange) => void;
  /** A client that came no further than the TLS handshake. */
  readonly onHandshakeError?: () => void;
  /** The whole answer of HTTP/1.1 to a method that node does not know; default a plain 405. It ends the connection. */
  readonly unknownMethod?: string;
  readonly onUpgrade?: (message: IncomingMessage, socket: Duplex, head: Buffer) => void;
}

/** Connections that another process of this machine accepts and hands over. */
export interface HandedConnections {
  readonly port: number;
  readonly address: string;
  /** `serve` gets each connection, not yet read from, until the returned function is called. */
  take(serve: (connection: Socket) => void): () => void;
}

export interface HttpListener {
  readonly port: number;
  readonly address: string;
  /** New keys and authorities for connections to come; what is absent stays. */
  renew(next: Partial<Pick<HttpListenerOptions, 'key' | 'certificate' | 'clientAuthorities' | 'named'>>): void;
  /** Stops listening and tells clients to go on elsewhere; requests under way are finished. */
  drain(): void;
  /** Stops listening, lets requests under way finish for `graceMs`, then cuts every connection. Idempotent. */
  close(graceMs?: number): Promise<void>;
}

/**
 * Over which a connection with too many cancelled streams is told to go ("rapid reset"). Every ended watch of a Go client is one,
 * too. Node 20 knows no such options and takes a tenth.
 */
const resets = { streamResetBurst: 10_000, streamResetRate: 1000 };

/** How long a refused client may go on sending. */
const lingerMs = 500;

/** As Go's server has it. */
const defaultMaxHeaderBytes = (1 << 20) + 4096;

export async function httpListener(options: HttpListenerOptions): Promise<HttpListener> {
  const sockets = new Set<Socket>();
  const sessions = new Set<ServerHttp2Session>();
  const h1 = createHttpServer({
    maxHeaderSize: options.maxHeaderBytes ?? defaultMaxHeaderBytes,
    // Whether there is one is looked at with the rest of it.
    requireHostHeader: false,
    keepAliveTimeout: 90_000,
    headersTimeout: options.headersTimeoutMs ?? 32_000,
    // Bodies have a time limit of their own, for both versions.
    requestTimeout: 0,
    connectionsCheckingInterval: Math.min(5000, options.headersTimeoutMs ?? 5000),
  });
  // It never listens itself, and would not look for slow headers.
  h1.emit('listening');
  const unknownMethod = options.unknownMethod ?? plainRefusal('405 Method Not Allowed');
  const take = (message: IncomingMessage, response: ServerResponse): void => {
    const refusal = refusalOf(message);
    if (refusal !== undefined) message.socket.end(refusal);
    else if (message.url === '*' && message.method === 'OPTIONS')
      response.writeHead(200, { 'Content-Length': '0' }).end();
    else options.onExchange(exchangeOfHttp1(message, response));
  };
  h1.on('request', take);
  h1.on('checkContinue', (message, response) => {
    response.writeContinue();
    take(message, response);
  });
  h1.on('connect', (_message, socket: Duplex) => void socket.on('error', () => socket.destroy()).end(unknownMethod));
  h1.on('upgrade', (message: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on('error', () => socket.destroy());
    const refusal = refusalOf(message);
    if (refusal !== undefined) socket.end(refusal);
    else if (options.onUpgrade === undefined) socket.destroy();
    else options.onUpgrade(message, socket, head);
  });
  h1.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (!socket.writable) {
      socket.destroy();
      return;
    }
    // What is still on its way is let in and thrown away for a while: a reset would overtake the answer.
    socket.removeAllListeners('data').resume();
    socket.end(unreadable(error, unknownMethod));
    const late = options.clock.after(lingerMs, () => socket.destroy());
    socket.on('close', () => late.cancel());
  });
  const h2Options: http2.ServerOptions = {
    settings: {
      maxConcurrentStreams: options.maxConcurrentStreams ?? 250,
      initialWindowSize: 1_048_576,
      maxHeaderListSize: options.maxHeaderBytes ?? defaultMaxHeaderBytes,
    },
    maxSessionMemory: 64,
    ...resets,
  };
  const performServerHandshake = (
    http2 as unknown as {
      performServerHandshake(socket: Duplex, options: http2.ServerOptions): ServerHttp2Session;
    }
  ).performServerHandshake;

  let keys: HttpListenerOptions = options;
  let named = namedContexts(options);
  const tls = createTlsServer(
    {
      ...keysOf(options),
      SNICallback: (server, done) => done(null, contextFor(named, server)),
      ALPNProtocols: ['h2', 'http/1.1'],
      requestCert: true,
      rejectUnauthorized: false,
      handshakeTimeout: 30_000,
    },
    (socket) => {
      if (socket.alpnProtocol !== 'h2') {
        readByStream(socket);
        h1.emit('connection', socket);
        return;
      }
      const session = performServerHandshake(socket, h2Options);
      sessions.add(session);
      session.on('error', () => session.destroy());
      session.on('close', () => sessions.delete(session));
      watchOver(session, options.idlePingMs ?? 30_000, options.clock);
      session.on('stream', (stream, headers) => {
        // A peer that resets a stream is no event of ours: whoever uses the stream sees it close.
        stream.on('error', () => undefined);
        if (headers.expect?.toLowerCase() === '100-continue' && !stream.destroyed)
          (stream as http2.ServerHttp2Stream).additionalHeaders({ ':status': 100 });
        options.onExchange(exchangeOfHttp2(stream as http2.ServerHttp2Stream, headers));
        // Streams under way are finished first.
        if (options.sendsAway?.() === true) session.close();
      });
    },
  );
  tls.on('connection', (socket: Socket) => {
    socket.setNoDelay(true);
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  tls.on('tlsClientError', (_error, socket: TLSSocket) => {
    options.onHandshakeError?.();
    socket.destroy();
  });
  const { handed } = options;
  const leave = handed?.take((connection) => void tls.emit('connection', connection));
  if (handed === undefined) await listening(tls, options);
  const { port, address } = handed ?? (tls.address() as AddressInfo);
  let closing: Promise<void> | undefined;
  let closed: Promise<void> | undefined;

  function drain(): void {
    if (closed !== undefined) return;
    leave?.();
    closed = new Promise<void>((resolve) => {
      // Sockets that were not accepted here are not counted by the server.
      if (handed === undefined) tls.close(() => resolve());
      else void Promise.all([...sockets].map((socket) => once(socket, 'close'))).then(() => resolve());
    });
    for (const session of sessions) session.close();
    h1.closeIdleConnections();
  }

  async function close(graceMs: number): Promise<void> {
    drain();
    if (graceMs > 0) {
      let timer: Timer | undefined;
      const late = new Promise<void>((resolve) => {
        timer = options.clock.after(graceMs, resolve);
      });
      await Promise.race([closed, late]);
      timer?.cancel();
    }
    for (const session of sessions) session.destroy();
    for (const socket of sockets) socket.destroy();
    h1.closeAllConnections();
    h1.close(() => undefined);
    await closed;
  }

  return {
    port,
    address,
    renew(next) {
      const wanted = { ...keys, ...next };
      const contexts = namedContexts(wanted);
      tls.setSecureContext(keysOf(wanted));
      keys = wanted;
      named = contexts;
    },
    drain,
    close: (graceMs = 0) => (closing ??= close(graceMs)),
  };
}

async function listening(server: Server, { port, host }: HttpListenerOptions): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port, ...(host !== undefined && { host }) }, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

/** A session that was told to go for what it did is deaf, but its connection stays; so it does when the peer has vanished. */
function watchOver(session: ServerHttp2Session, idleMs: number, clock: Clock): void {
  session.setTimeout(idleMs, () => {
    if (session.destroyed) return;
    const late = clock.after(idleMs, () => session.destroy());
    const sent = session.ping((error) => {
      late.cancel();
      if (error !== null) session.destroy();
    });
    if (!sent) session.destroy();
  });
}

/**
 * Node's HTTP parser reads from the handle below the stream if it may. While an answer waits to be sent it pauses, yet TLS goes on
 * to hand it what is decrypted already, and the request fails as malformed (HPE_PAUSED). Read by the stream, nothing comes in a pause.
 */
function readByStream(socket: TLSSocket): void {
  const { _handle: handle } = socket as unknown as { readonly _handle?: { _consumed?: boolean } | null };
  if (handle !== undefined && handle !== null) handle._consumed = true;
}

function keysOf(options: HttpListenerOptions): TlsOptions {
  return {
    key: options.key,
    cert: options.certificate,
    minVersion: options.minVersion ?? 'TLSv1.2',
    ...(options.ciphers !== undefined && { ciphers: options.ciphers }),
    ...(options.clientAuthorities !== undefined && {
      ca: options.clientAuthorities,
      allowPartialTrustChain: true,
    }),
  };
}

interface NamedContext {
  readonly names: readonly string[];
  readonly context: SecureContext;
}

function namedContexts({
  named = [],
  minVersion,
  ciphers,
  clientAuthorities,
}: HttpListenerOptions): readonly NamedContext[] {
  return named.map(({ names, key, certificate }) => ({
    names,
    context: createSecureContext({
      key,
      cert: certificate,
      minVersion: minVersion ?? 'TLSv1.2',
      ...(ciphers !== undefined && { ciphers }),
      ...(clientAuthorities !== undefined && { ca: clientAuthorities, allowPartialTrustChain: true }),
    }),
  }));
}

/** The last that fits; undefined: the server's own. */
function contextFor(contexts: readonly NamedContext[], server: string): SecureContext | undefined {
  const wanted = server.toLowerCase();
  const fits = (pattern: string): boolean =>
    pattern === wanted || (pattern.startsWith('*.') && wanted.slice(wanted.indexOf('.')) === pattern.slice(1));
  return contexts.findLast(({ names }) => names.some(fits))?.context;
}
