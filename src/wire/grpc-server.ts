// Owns serving gRPC services over grpc-js: unary, server-streaming and bidirectional handlers from generated tables. Knows no service of its own.
import type { sendUnaryData, ServerDuplexStream, ServerUnaryCall } from '@grpc/grpc-js';
import type { ServerWritableStream, ServiceDefinition } from '@grpc/grpc-js';
import type { RequestListener } from 'node:http';
import { grpcPort } from './grpc-port.ts';
import { GrpcError, grpcCodes, type Handlers, type Method } from './grpc-service.ts';

type AnyMethod = Method<object, object, boolean, boolean>;
type UnaryHandler = (request: object, signal: AbortSignal) => Promise<object>;
type StreamHandler = (request: object, signal: AbortSignal) => AsyncIterable<object>;
type DuplexHandler = (requests: AsyncIterable<object>, signal: AbortSignal) => AsyncIterable<object>;
type AnyHandler = UnaryHandler & StreamHandler & DuplexHandler;

export interface GrpcServerOptions {
  /** Largest message taken and sent, in bytes; default 4 MiB taken, any size sent. */
  readonly maxMessageBytes?: number;
  /** PEM. With `clientCa`, clients must show a certificate that it signed. Absent: no TLS, for what only this host reaches. */
  readonly tls?: { readonly key: Buffer; readonly cert: Buffer; readonly clientCa?: Buffer };
  /** Answers those who come with HTTP/1.1 to the same address; absent: they are cut off. */
  readonly http1?: RequestListener;
}

export interface GrpcServer {
  /** What a client dials: the given unix address, or host:port with the chosen port. */
  readonly address: string;
  /** Ends all calls and frees the address. */
  close(): void;
}

export interface Served {
  readonly service: object;
  readonly handlers: object;
}

/** Pairs a service with its handlers, checked against each other. */
export function served<S extends object>(service: S, handlers: Handlers<S>): Served {
  return { service, handlers };
}

/** `address`: "unix:/path" or "127.0.0.1:0". */
export async function grpcServer(
  address: string,
  services: readonly Served[],
  options: GrpcServerOptions = {},
): Promise<GrpcServer> {
  const grpc = await import('@grpc/grpc-js');
  const limit = options.maxMessageBytes;
  const server = new grpc.Server(limit === undefined ? {} : { 'grpc.max_receive_message_length': limit });
  const { tls } = options;
  const credentials = tls
    ? grpc.ServerCredentials.createSsl(
        tls.clientCa ?? null,
        [{ private_key: tls.key, cert_chain: tls.cert }],
        tls.clientCa !== undefined,
      )
    : grpc.ServerCredentials.createInsecure();
  for (const { service, handlers } of services) {
    const definition: Record<string, ServiceDefinition[string]> = {};
    const implementation: Record<string, never> = {};
    for (const [name, entry] of Object.entries(service)) {
      const method = entry as AnyMethod;
      const handler = (handlers as Record<string, AnyHandler>)[name];
      definition[name] = {
        path: method.path,
        requestStream: method.requestStream,
        responseStream: method.responseStream,
        requestDeserialize: (bytes: Buffer) => method.request.decode(bytes),
        requestSerialize: (value: object) => Buffer.from(method.request.encode(value as never)),
        responseSerialize: (value: object) => Buffer.from(method.response.encode(value as never)),
        responseDeserialize: (bytes: Buffer) => method.response.decode(bytes),
      };
      if (handler) implementation[name] = implement(method, handler) as never;
    }
    server.addService(definition, implementation);
  }
  const { http1 } = options;
  if (http1 !== undefined) {
    // What is injected is read in plain: the port has taken TLS off.
    const injector = server.createConnectionInjector(grpc.ServerCredentials.createInsecure());
    const port = await grpcPort(address, (connection) => injector.injectConnection(connection), {
      http1,
      ...(tls && { tls }),
    });
    return {
      address: port.address,
      close() {
        port.close();
        server.forceShutdown();
      },
    };
  }
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync(address, credentials, (error, bound) => (error ? reject(error) : resolve(bound))),
  );
  return {
    address: address.startsWith('unix:') ? address : address.replace(/:\d+$/, `:${port}`),
    close: () => server.forceShutdown(),
  };
}

function implement(method: AnyMethod, handler: AnyHandler): unknown {
  if (!method.responseStream) return unary(handler);
  return method.requestStream ? duplex(handler) : streaming(handler);
}

function statusOf(error: unknown): { code: number; details: string } {
  if (error instanceof GrpcError) return { code: grpcCodes.indexOf(error.code), details: error.message };
  return { code: grpcCodes.indexOf('UNKNOWN'), details: error instanceof Error ? error.message : String(error) };
}

function unary(handler: UnaryHandler) {
  return (call: ServerUnaryCall<object, object>, answer: sendUnaryData<object>): void => {
    const abort = new AbortController();
    call.on('cancelled', () => abort.abort());
    handler(call.request, abort.signal).then(
      (value) => answer(null, value),
      (error: unknown) => answer(statusOf(error)),
    );
  };
}

function streaming(handler: StreamHandler) {
  return (call: ServerWritableStream<object, object>): void => {
    const abort = new AbortController();
    call.on('cancelled', () => abort.abort());
    void pump(call, handler(call.request, abort.signal), abort.signal);
  };
}

function duplex(handler: DuplexHandler) {
  return (call: ServerDuplexStream<object, object>): void => {
    const abort = new AbortController();
    call.on('cancelled', () => abort.abort());
    void pump(call, handler(requestsOf(call, abort.signal), abort.signal), abort.signal);
  };
}

/** Ends quietly when the client goes away: the handler sees its signal. */
async function* requestsOf(call: ServerDuplexStream<object, object>, signal: AbortSignal): AsyncIterable<object> {
  try {
    // A handler that leaves the loop (with an error to tell) must still be able to answer.
    for await (const request of call.iterator({ destroyOnReturn: false })) yield request as object;
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

async function pump(
  call: ServerWritableStream<object, object> | ServerDuplexStream<object, object>,
  items: AsyncIterable<object>,
  signal: AbortSignal,
): Promise<void> {
  try {
    for await (const item of items) {
      if (signal.aborted) return;
      if (!call.write(item)) await new Promise<void>((resolve) => call.once('drain', resolve).once('close', resolve));
    }
    call.end();
  } catch (error) {
    if (!signal.aborted) call.emit('error', statusOf(error));
  }
}
