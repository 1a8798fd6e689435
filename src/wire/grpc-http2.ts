// Owns calling gRPC services straight over node:http2, for hot paths: a third of grpc-js's CPU. One connection, redialled by the
// next call when it breaks; no balancing, no compression, no retries. Knows no service of its own.
import { connect as connectHttp2, constants } from 'node:http2';
import type { ClientHttp2Session, ClientHttp2Stream, IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http2';
import { connect as connectSocket } from 'node:net';
import { systemClock } from '../base/clock.ts';
import { Stopped } from '../base/task-group.ts';
import type { GrpcClientOptions, GrpcConnection } from './grpc-client.ts';
import { GrpcFrames, frameOf } from './grpc-frames.ts';
import { type CallOptions, type Calls, type Duplex, GrpcError, grpcCodes, type Method } from './grpc-service.ts';

type AnyMethod = Method<object, object, boolean, boolean>;

/** Of one call: what a server may send ahead of a reader that waits, and so the most that a slow reader holds in memory. */
const streamWindowBytes = 2 * 1024 * 1024;
const connectionWindowBytes = 64 * 1024 * 1024;
/** Node ends connections that hold more than its default of 10 MB; the windows are what bounds us. */
const maxSessionMemoryMb = 1024;
const connectTimeoutMs = 5000;

/**
 * Connects with the first call. What certainly reached nobody says "No connection established"; what was under way when the
 * connection broke is UNAVAILABLE as well, without these words. `close` ends calls under way.
 */
export function http2Connection(options: GrpcClientOptions): GrpcConnection {
  const link = new Link(options);
  return {
    service<S extends object>(service: S): Calls<S> {
      const calls = Object.entries(service).map(([name, method]) => [name, callOf(link, method as AnyMethod)]);
      return Object.fromEntries(calls) as Calls<S>;
    },
    close: () => link.close(),
  };
}

class Link {
  readonly limit: number;
  readonly #options: GrpcClientOptions;
  #session: ClientHttp2Session | undefined;
  #closed = false;

  constructor(options: GrpcClientOptions) {
    this.#options = options;
    this.limit = options.maxMessageBytes ?? 16 * 1024 * 1024;
  }

  /** A new stream; `broken` tells what the session's end means to a call on it. */
  request(
    method: AnyMethod,
    metadata: CallOptions['metadata'],
  ): { stream: ClientHttp2Stream; broken: () => GrpcError } {
    if (this.#closed) throw new GrpcError('UNAVAILABLE', 'No connection established: the client is closed');
    const session = this.#live();
    const headers: OutgoingHttpHeaders = {
      ':method': 'POST',
      ':path': method.path,
      'content-type': 'application/grpc',
      te: 'trailers',
      ...metadata,
    };
    return { stream: session.request(headers), broken: () => brokenBy(session, method) };
  }

  close(): void {
    this.#closed = true;
    this.#session?.destroy();
    this.#session = undefined;
  }

  #live(): ClientHttp2Session {
    const known = this.#session;
    if (known !== undefined && !known.closed && !known.destroyed) return known;
    const session = this.#dial();
    this.#session = session;
    return session;
  }

  #dial(): ClientHttp2Session {
    const { address, tls, keepaliveMs } = this.#options;
    const settings = { initialWindowSize: streamWindowBytes, enablePush: false };
    const common = { settings, maxSessionMemory: maxSessionMemoryMb };
    const session = address.startsWith('unix:')
      ? // Servers on unix sockets refuse the escaped path as authority.
        connectHttp2('http://localhost', { ...common, createConnection: () => connectSocket(address.slice(5)) })
      : tls === undefined
        ? connectHttp2(`http://${address}`, common)
        : connectHttp2(`https://${address}`, {
            ...common,
            ...(tls.ca && { ca: tls.ca, allowPartialTrustChain: true }),
            ...(tls.cert && { cert: tls.cert }),
            ...(tls.key && { key: tls.key }),
            ...(tls.serverName && { servername: tls.serverName }),
          });
    const state: SessionState = { connected: false, reason: '' };
    states.set(session, state);
    const giveUp = systemClock.after(connectTimeoutMs, () => session.destroy(new Error('connecting took too long')));
    session.once('connect', () => {
      giveUp.cancel();
      state.connected = true;
      session.setLocalWindowSize(connectionWindowBytes);
      if (keepaliveMs !== undefined) keepAlive(session, keepaliveMs);
    });
    // The streams tell it to their callers.
    session.on('error', (error) => (state.reason = error.message || ((error as NodeJS.ErrnoException).code ?? '')));
    session.once('close', () => giveUp.cancel());
    // A member that is going away takes no new calls.
    session.once('goaway', () => this.#forget(session));
    session.once('close', () => this.#forget(session));
    return session;
  }

  #forget(session: ClientHttp2Session): void {
    if (this.#session === session) this.#session = undefined;
    if (!session.closed && !session.destroyed) session.close();
  }
}

interface SessionState {
  connected: boolean;
  reason: string;
}

const states = new WeakMap<ClientHttp2Session, SessionState>();

function brokenBy(session: ClientHttp2Session, method: AnyMethod): GrpcError {
  const { connected, reason } = states.get(session)!;
  const what = connected ? 'the connection broke' : 'No connection established';
  return new GrpcError('UNAVAILABLE', `${nameOf(method)}: ${what}${reason && `: ${reason}`}`);
}

/** Ends a session whose peer has gone without a word. */
function keepAlive(session: ClientHttp2Session, everyMs: number): void {
  let answered = true;
  let timer = systemClock.after(everyMs, beat);
  session.once('close', () => timer.cancel());
  function beat(): void {
    if (session.destroyed) return;
    if (!answered) {
      session.destroy(new Error('the peer does not answer'));
      return;
    }
    answered = false;
    session.ping((error) => (answered = error === null));
    timer = systemClock.after(everyMs, beat);
  }
}

function callOf(link: Link, method: AnyMethod): unknown {
  if (method.requestStream && method.responseStream)
    return (options?: CallOptions) => duplex(link, method, options ?? {});
  if (method.requestStream)
    return () => {
      throw new GrpcError('UNIMPLEMENTED', `${method.path} streams requests only, which this client does not do`);
    };
  return method.responseStream
    ? (request: object, options?: CallOptions) => serverStream(link, method, request, options ?? {})
    : (request: object, options?: CallOptions) => unary(link, method, request, options ?? {});
}

/** How a call ended: undefined is well. */
function failureOf(
  method: AnyMethod,
  status: IncomingHttpHeaders | undefined,
  broken: () => GrpcError,
): GrpcError | undefined {
  const code = status?.['grpc-status'];
  if (code === '0') return undefined;
  if (code !== undefined) {
    const message = decodeMessage(String(status?.['grpc-message'] ?? ''));
    return new GrpcError(grpcCodes[Number(code)] ?? 'UNKNOWN', `${nameOf(method)}: ${message}`);
  }
  const http = Number(status?.[':status'] ?? 200);
  if (http !== 200) return new GrpcError('UNAVAILABLE', `${nameOf(method)}: HTTP status ${http}`);
  return broken();
}

/** Follows a stream's status headers; they come in the trailers or, when there is no message, with the first headers. */
function statusOf(stream: ClientHttp2Stream): () => IncomingHttpHeaders | undefined {
  let status: IncomingHttpHeaders | undefined;
  stream.on('response', (headers) => (status = headers));
  stream.on('trailers', (trailers) => (status = trailers));
  return () => status;
}

function unary(link: Link, method: AnyMethod, request: object, options: CallOptions): Promise<object> {
  return new Promise((resolve, reject) => {
    const { signal, timeoutMs } = options;
    if (signal?.aborted) return reject(signal.reason as Error);
    const message = frameOf(method.request.encode(request as never));
    const { stream, broken } = link.request(method, options.metadata);
    const status = statusOf(stream);
    const chunks: Buffer[] = [];
    let bytes = 0;
    let failure: Error | undefined;
    const give = (error: Error): void => {
      failure ??= error;
      stream.close(constants.NGHTTP2_CANCEL);
    };
    const onAbort = (): void => give(signal!.reason as Error);
    const timer =
      timeoutMs === undefined
        ? undefined
        : systemClock.after(timeoutMs, () =>
            give(new GrpcError('DEADLINE_EXCEEDED', `${nameOf(method)}: no answer within ${Math.round(timeoutMs)} ms`)),
          );
    signal?.addEventListener('abort', onAbort, { once: true });
    stream.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > link.limit + 5)
        give(new GrpcError('RESOURCE_EXHAUSTED', `${nameOf(method)}: an answer of more than ${link.limit} bytes`));
    });
    // 'close' follows with the same meaning.
    stream.on('error', () => undefined);
    stream.once('close', () => {
      timer?.cancel();
      signal?.removeEventListener('abort', onAbort);
      failure ??= failureOf(method, status(), broken);
      if (failure !== undefined) return reject(failure);
      try {
        const [only, ...more] = new GrpcFrames(link.limit).push(
          chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks),
        );
        if (only === undefined || more.length > 0) throw new GrpcError('INTERNAL', 'not one message');
        resolve(method.response.decode(only));
      } catch (error) {
        reject(error instanceof GrpcError ? error : new GrpcError('INTERNAL', `${nameOf(method)}: ${String(error)}`));
      }
    });
    stream.end(message);
  });
}

async function* serverStream(
  link: Link,
  method: AnyMethod,
  request: object,
  options: CallOptions,
): AsyncIterable<object> {
  const call = duplex(link, method, options);
  call.send(request);
  call.end();
  yield* call;
}

function duplex(link: Link, method: AnyMethod, options: CallOptions): Duplex<object, object> {
  options.signal?.throwIfAborted();
  const opened = open(link, method, options);
  const iterator = received(link, method, options, opened);
  return {
    send: (request) => {
      if (opened.stream?.writable) opened.stream.write(frameOf(method.request.encode(request as never)));
    },
    end: () => void opened.stream?.end(),
    [Symbol.asyncIterator]: () => ({
      next: () => iterator.next(),
      async return() {
        opened.cancel();
        // Lets go of the signal.
        iterator.return(undefined).catch(() => undefined);
        return { value: undefined, done: true };
      },
    }),
  };
}

interface Opened {
  readonly stream: ClientHttp2Stream | undefined;
  /** Why there is none. */
  readonly error?: Error;
  cancel(): void;
  failure(): GrpcError | undefined;
  timedOut(): boolean;
}

/** What cannot be opened fails when it is read, as what breaks later. */
function open(link: Link, method: AnyMethod, { signal, timeoutMs, metadata }: CallOptions): Opened {
  try {
    const { stream, broken } = link.request(method, metadata);
    const status = statusOf(stream);
    let late = false;
    const cancel = (): void => stream.close(constants.NGHTTP2_CANCEL);
    const expire = (): void => {
      late = true;
      cancel();
    };
    const timer = timeoutMs === undefined ? undefined : systemClock.after(timeoutMs, expire);
    signal?.addEventListener('abort', cancel, { once: true });
    // Read by the iterator; a failure before the caller listens must have a listener.
    stream.on('error', () => undefined);
    stream.once('close', () => {
      timer?.cancel();
      signal?.removeEventListener('abort', cancel);
    });
    return { stream, cancel, failure: () => failureOf(method, status(), broken), timedOut: () => late };
  } catch (error) {
    return {
      stream: undefined,
      error: error as Error,
      cancel: () => undefined,
      failure: () => undefined,
      timedOut: () => false,
    };
  }
}

async function* received(
  link: Link,
  method: AnyMethod,
  { signal }: CallOptions,
  { stream, error, cancel, failure, timedOut }: Opened,
): AsyncGenerator<object, undefined> {
  if (stream === undefined) throw error!;
  const frames = new GrpcFrames(link.limit);
  try {
    try {
      for await (const chunk of stream)
        for (const message of frames.push(chunk as Buffer)) yield method.response.decode(message);
    } catch (problem) {
      if (problem instanceof GrpcError) throw problem;
    }
    if (signal?.aborted) throw (signal.reason as Error | undefined) ?? new Stopped();
    if (timedOut()) throw new GrpcError('DEADLINE_EXCEEDED', `${nameOf(method)}: no answer in time`);
    const failed = failure();
    if (failed !== undefined) throw failed;
    return undefined;
  } finally {
    cancel();
  }
}

function nameOf(method: AnyMethod): string {
  return method.path.slice(method.path.lastIndexOf('/') + 1);
}

/** Percent-encoded by the gRPC protocol. */
function decodeMessage(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
