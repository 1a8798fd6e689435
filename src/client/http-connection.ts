// Owns sockets to one API server: HTTP/2 where the server offers it, else kept-alive HTTP/1.1. Knows bytes, headers and TLS, no Kubernetes.
import * as http from 'node:http';
import * as http2 from 'node:http2';
import * as https from 'node:https';
import * as tls from 'node:tls';
import type { Clock } from '../base/clock.ts';
import { Stopped } from '../base/task-group.ts';

export interface TlsFiles {
  /** PEM. Without it the system's roots are trusted. */
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  /** The name to verify instead of the host's. */
  readonly serverName?: string;
  readonly insecureSkipVerify?: boolean;
}

export interface HttpRequest {
  readonly method: string;
  /** With the query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[]>>;
  readonly body?: Uint8Array;
  readonly signal?: AbortSignal;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | number | undefined>>;
  /** Must be read to its end or left by breaking out of the loop, which cancels the request. */
  readonly body: AsyncIterable<Uint8Array>;
}

export interface HttpConnection {
  send(request: HttpRequest): Promise<HttpAnswer>;
  close(): void;
}

export interface HttpConnectionOptions {
  /** "https://127.0.0.1:6443"; a path in front of the API is kept. */
  readonly server: string;
  readonly tls?: TlsFiles;
  /** Default "auto": HTTP/2 by ALPN when the server is https. */
  readonly protocol?: 'auto' | 'http1';
  readonly clock: Clock;
}

/** As client-go: an HTTP/2 connection silent for so long is pinged, and dropped when no answer comes. */
const pingAfterMs = 30_000;
const pingTimeoutMs = 15_000;
const maxSockets = 256;

export function httpConnection(options: HttpConnectionOptions): HttpConnection {
  const url = new URL(options.server);
  const secure = url.protocol === 'https:';
  if (!secure && url.protocol !== 'http:') throw new Error(`server ${options.server}: not an http or https address`);
  const tlsOptions = secure ? tlsOptionsOf(url, options.tls ?? {}) : {};
  const agent = secure
    ? new https.Agent({ keepAlive: true, maxSockets, ...tlsOptions })
    : new http.Agent({ keepAlive: true, maxSockets });
  let oneOnly = !secure || options.protocol === 'http1';
  let session: Promise<http2.ClientHttp2Session | undefined> | undefined;
  let closed = false;

  async function http2Session(): Promise<http2.ClientHttp2Session | undefined> {
    const opening = (session ??= openSession(url, tlsOptions, options.clock));
    try {
      const opened = await opening;
      if (opened === undefined) oneOnly = true;
      else if (opened.closed || opened.destroyed) {
        if (session === opening) session = undefined;
        return http2Session();
      }
      return opened;
    } catch (error) {
      if (session === opening) session = undefined;
      throw error;
    }
  }

  return {
    async send(request) {
      if (closed) throw new Stopped('connection closed');
      request.signal?.throwIfAborted();
      const opened = oneOnly ? undefined : await http2Session();
      request.signal?.throwIfAborted();
      return opened ? sendHttp2(opened, url, request) : sendHttp1(url, agent, request);
    },
    close() {
      closed = true;
      agent.destroy();
      session?.then(
        (opened) => opened?.destroy(),
        () => undefined,
      );
    },
  };
}

function tlsOptionsOf(url: URL, files: TlsFiles): tls.ConnectionOptions {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const serverName = files.serverName ?? host;
  return {
    ...(files.ca && { ca: files.ca, allowPartialTrustChain: true }),
    ...(files.cert && { cert: files.cert }),
    ...(files.key && { key: files.key }),
    // An address may not stand in SNI, but is what the certificate is checked against.
    ...(!/^[\d.]+$|:/.test(serverName) && { servername: serverName }),
    ...(files.serverName && {
      checkServerIdentity: (_host: string, peer: tls.PeerCertificate) => tls.checkServerIdentity(serverName, peer),
    }),
    rejectUnauthorized: !files.insecureSkipVerify,
  };
}

/** Undefined: the server speaks only HTTP/1.1. */
function openSession(
  url: URL,
  options: tls.ConnectionOptions,
  clock: Clock,
): Promise<http2.ClientHttp2Session | undefined> {
  return new Promise((resolve, reject) => {
    const host = url.hostname.replace(/^\[|\]$/g, '');
    const port = Number(url.port || 443);
    const socket = tls.connect({ host, port, ALPNProtocols: ['h2', 'http/1.1'], ...options });
    socket.setNoDelay(true);
    socket.once('error', reject);
    socket.once('secureConnect', () => {
      socket.off('error', reject);
      if (socket.alpnProtocol !== 'h2') {
        socket.on('error', () => undefined);
        socket.destroy();
        resolve(undefined);
        return;
      }
      const session = http2.connect(url.origin, {
        createConnection: () => socket,
        settings: { enablePush: false, initialWindowSize: 1 << 20 },
      });
      // Failures reach the streams; a listener must be there or they would end the process.
      session.on('error', () => undefined);
      session.on('goaway', () => session.close());
      session.setLocalWindowSize(16 << 20);
      keepAlive(session, clock);
      resolve(session);
    });
  });
}

function keepAlive(session: http2.ClientHttp2Session, clock: Clock): void {
  let timer = clock.after(pingAfterMs, check);
  function check(): void {
    if (session.closed || session.destroyed) return;
    const giveUp = clock.after(pingTimeoutMs, () => session.destroy(new Error('server does not answer pings')));
    session.ping((error) => {
      giveUp.cancel();
      if (!error) timer = clock.after(pingAfterMs, check);
    });
  }
  session.on('close', () => timer.cancel());
}

function sendHttp2(session: http2.ClientHttp2Session, url: URL, request: HttpRequest): Promise<HttpAnswer> {
  return new Promise((resolve, reject) => {
    const prefix = url.pathname.replace(/\/$/, '');
    const stream = session.request(
      { ':method': request.method, ':path': prefix + request.path, ':authority': url.host, ...request.headers },
      { endStream: request.body === undefined, ...(request.signal && { signal: request.signal }) },
    );
    let answered = false;
    stream.on('error', (error) => {
      if (!answered) reject(abortReason(request, error));
    });
    stream.on('close', () => {
      if (!answered) reject(new Error(`connection lost: stream closed with code ${stream.rstCode}`));
    });
    stream.once('response', (headers) => {
      answered = true;
      resolve({ status: headers[':status'] ?? 0, headers, body: stream });
    });
    if (request.body !== undefined) stream.end(request.body);
  });
}

function sendHttp1(url: URL, agent: http.Agent, request: HttpRequest): Promise<HttpAnswer> {
  return new Promise((resolve, reject) => {
    const send = url.protocol === 'https:' ? https.request : http.request;
    const outgoing = send({
      agent,
      host: url.hostname.replace(/^\[|\]$/g, ''),
      port: url.port || (url.protocol === 'https:' ? 443 : 80),
      method: request.method,
      path: url.pathname.replace(/\/$/, '') + request.path,
      headers: {
        ...request.headers,
        ...(request.body !== undefined && { 'content-length': String(request.body.length) }),
      },
      ...(request.signal && { signal: request.signal }),
    });
    outgoing.setNoDelay(true);
    outgoing.on('error', (error) => reject(abortReason(request, error)));
    outgoing.once('response', (incoming) =>
      resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, body: incoming }),
    );
    outgoing.end(request.body);
  });
}

function abortReason(request: HttpRequest, error: Error): Error {
  return request.signal?.aborted ? (request.signal.reason as Error) : error;
}
