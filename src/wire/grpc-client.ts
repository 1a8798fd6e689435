// Owns calling gRPC services over grpc-js: unary, server-streaming and bidirectional. Knows no service of its own.
import type { Client, ClientDuplexStream, ClientReadableStream, Metadata, ServiceError } from '@grpc/grpc-js';
import { systemClock } from '../base/clock.ts';
import { Stopped } from '../base/task-group.ts';
import { type CallOptions, type Calls, type Duplex, GrpcError, grpcCodes, type Method } from './grpc-service.ts';

type AnyMethod = Method<object, object, boolean, boolean>;

export interface GrpcConnection {
  /** A typed client of a generated service table. Calls throw GrpcError, or the signal's reason when aborted. */
  service<S extends object>(service: S): Calls<S>;
  close(): void;
}

export interface GrpcClientOptions {
  /** "unix:/run/containerd.sock" or "host:port". */
  readonly address: string;
  /** Largest message taken, in bytes. */
  readonly maxMessageBytes?: number;
  /** PEM: absent means no TLS. */
  /** Ping an otherwise silent connection so often, to notice a dead peer. Absent: never. */
  readonly keepaliveMs?: number;
  readonly tls?: { readonly ca?: Buffer; readonly key?: Buffer; readonly cert?: Buffer; readonly serverName?: string };
}

/** Connects lazily: the first call reports an unreachable server as UNAVAILABLE. */
export async function grpcConnection(options: GrpcClientOptions): Promise<GrpcConnection> {
  const grpc = await import('@grpc/grpc-js');
  const limit = options.maxMessageBytes ?? 16 * 1024 * 1024;
  const credentials = options.tls
    ? grpc.credentials.createSsl(options.tls.ca ?? null, options.tls.key ?? null, options.tls.cert ?? null)
    : grpc.credentials.createInsecure();
  const client = new grpc.Client(options.address, credentials, {
    'grpc.max_receive_message_length': limit,
    'grpc.max_send_message_length': limit,
    // Servers on unix sockets refuse the escaped path as authority.
    ...(options.address.startsWith('unix:') && { 'grpc.default_authority': 'localhost' }),
    ...(options.tls?.serverName && { 'grpc.ssl_target_name_override': options.tls.serverName }),
    ...(options.keepaliveMs && {
      'grpc.keepalive_time_ms': options.keepaliveMs,
      'grpc.keepalive_timeout_ms': options.keepaliveMs,
      'grpc.keepalive_permit_without_calls': 1,
    }),
    'grpc.initial_reconnect_backoff_ms': 100,
    'grpc.max_reconnect_backoff_ms': 2000,
  });
  return {
    service<S extends object>(service: S): Calls<S> {
      const metadataOf: MetadataOf = ({ metadata = {} }) => {
        const sent = new grpc.Metadata();
        for (const [key, value] of Object.entries(metadata)) sent.set(key, value);
        return sent;
      };
      const calls = Object.entries(service).map(([name, method]) => [
        name,
        callOf(client, method as AnyMethod, metadataOf),
      ]);
      return Object.fromEntries(calls) as Calls<S>;
    },
    close: () => client.close(),
  };
}

type MetadataOf = (options: CallOptions) => Metadata;

function callOf(client: Client, method: AnyMethod, metadataOf: MetadataOf): unknown {
  if (method.requestStream && method.responseStream)
    return (options?: CallOptions) => duplex(client, method, options ?? {}, metadataOf);
  if (method.requestStream)
    return () => {
      throw new GrpcError('UNIMPLEMENTED', `${method.path} streams requests only, which this client does not do`);
    };
  return method.responseStream
    ? (request: object, options?: CallOptions) => stream(client, method, request, options ?? {}, metadataOf)
    : (request: object, options?: CallOptions) => unary(client, method, request, options ?? {}, metadataOf);
}

/** grpc-js measures deadlines by the system's clock, whatever clock the component runs on. */
function deadlineOf(options: CallOptions): { deadline?: number } {
  return options.timeoutMs === undefined ? {} : { deadline: systemClock.now() + options.timeoutMs };
}

const encode = (method: AnyMethod) => (value: object) => Buffer.from(method.request.encode(value as never));
const decode = (method: AnyMethod) => (bytes: Buffer) => method.response.decode(bytes);

function unary(
  client: Client,
  method: AnyMethod,
  request: object,
  options: CallOptions,
  metadataOf: MetadataOf,
): Promise<object> {
  return new Promise((resolve, reject) => {
    if (options.signal?.aborted) return reject(options.signal.reason as Error);
    const onAbort = () => call.cancel();
    const call = client.makeUnaryRequest(
      method.path,
      encode(method),
      decode(method),
      request,
      metadataOf(options),
      deadlineOf(options),
      (error, answer) => {
        options.signal?.removeEventListener('abort', onAbort);
        if (error) reject(options.signal?.aborted ? (options.signal.reason as Error) : translate(method, error));
        else resolve(answer!);
      },
    );
    options.signal?.addEventListener('abort', onAbort, { once: true });
  });
}

async function* stream(
  client: Client,
  method: AnyMethod,
  request: object,
  options: CallOptions,
  metadataOf: MetadataOf,
): AsyncIterable<object> {
  options.signal?.throwIfAborted();
  const call: ClientReadableStream<object> = client.makeServerStreamRequest(
    method.path,
    encode(method),
    decode(method),
    request,
    metadataOf(options),
    deadlineOf(options),
  );
  yield* received(call, method, options);
}

function duplex(
  client: Client,
  method: AnyMethod,
  options: CallOptions,
  metadataOf: MetadataOf,
): Duplex<object, object> {
  options.signal?.throwIfAborted();
  const call: ClientDuplexStream<object, object> = client.makeBidiStreamRequest(
    method.path,
    encode(method),
    decode(method),
    metadataOf(options),
    deadlineOf(options),
  );
  const responses = received(call, method, options)[Symbol.asyncIterator]();
  // Begun at once: a failure before the caller listens must have a listener.
  let first: Promise<IteratorResult<object>> | undefined = responses.next();
  first.catch(() => undefined);
  const iterator: AsyncIterator<object> = {
    next() {
      const next = first ?? responses.next();
      first = undefined;
      return next;
    },
    async return() {
      call.cancel();
      // Lets go of the signal.
      responses.return?.().catch(() => undefined);
      return { value: undefined, done: true };
    },
  };
  return {
    send: (request) => void call.write(request),
    end: () => call.end(),
    [Symbol.asyncIterator]: () => iterator,
  };
}

async function* received(
  call: ClientReadableStream<object> | ClientDuplexStream<object, object>,
  method: AnyMethod,
  options: CallOptions,
): AsyncIterable<object> {
  const onAbort = () => call.cancel();
  options.signal?.addEventListener('abort', onAbort, { once: true });
  try {
    for await (const item of call) yield item as object;
  } catch (error) {
    if (options.signal?.aborted) throw (options.signal.reason as Error | undefined) ?? new Stopped();
    throw translate(method, error as ServiceError);
  } finally {
    options.signal?.removeEventListener('abort', onAbort);
    call.cancel();
  }
}

function translate(method: AnyMethod, error: ServiceError): GrpcError {
  const code = grpcCodes[error.code] ?? 'UNKNOWN';
  const name = method.path.slice(method.path.lastIndexOf('/') + 1);
  return new GrpcError(code, `${name}: ${error.details || error.message}`);
}
