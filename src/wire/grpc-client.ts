// Owns calling gRPC services over grpc-js: unary and server-streaming. Knows no service of its own.
import type { Client, ClientReadableStream, ServiceError } from '@grpc/grpc-js';
import { systemClock } from '../base/clock.ts';
import { Stopped } from '../base/task-group.ts';
import { type CallOptions, type Calls, GrpcError, grpcCodes, type Method } from './grpc-service.ts';

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
    'grpc.initial_reconnect_backoff_ms': 100,
    'grpc.max_reconnect_backoff_ms': 2000,
  });
  return {
    service<S extends object>(service: S): Calls<S> {
      const calls = Object.entries(service).map(([name, method]) => [name, callOf(client, method as AnyMethod)]);
      return Object.fromEntries(calls) as Calls<S>;
    },
    close: () => client.close(),
  };
}

function callOf(client: Client, method: AnyMethod): unknown {
  if (method.requestStream)
    return () => {
      throw new GrpcError('UNIMPLEMENTED', `${method.path} streams requests, which this client does not do`);
    };
  return method.responseStream
    ? (request: object, options?: CallOptions) => stream(client, method, request, options ?? {})
    : (request: object, options?: CallOptions) => unary(client, method, request, options ?? {});
}

/** grpc-js measures deadlines by the system's clock, whatever clock the component runs on. */
function deadlineOf(options: CallOptions): { deadline?: number } {
  return options.timeoutMs === undefined ? {} : { deadline: systemClock.now() + options.timeoutMs };
}

const encode = (method: AnyMethod) => (value: object) => Buffer.from(method.request.encode(value as never));
const decode = (method: AnyMethod) => (bytes: Buffer) => method.response.decode(bytes);

function unary(client: Client, method: AnyMethod, request: object, options: CallOptions): Promise<object> {
  return new Promise((resolve, reject) => {
    if (options.signal?.aborted) return reject(options.signal.reason as Error);
    const onAbort = () => call.cancel();
    const call = client.makeUnaryRequest(
      method.path,
      encode(method),
      decode(method),
      request,
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
): AsyncIterable<object> {
  options.signal?.throwIfAborted();
  const call: ClientReadableStream<object> = client.makeServerStreamRequest(
    method.path,
    encode(method),
    decode(method),
    request,
    deadlineOf(options),
  );
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
