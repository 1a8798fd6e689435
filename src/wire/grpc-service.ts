// Owns the description of gRPC services: what a generated service table looks like, and the typed views of it. No transport.
import type { Init, Message } from './protobuf.ts';

export interface Method<Request extends object, Response extends object, Q extends boolean, R extends boolean> {
  /** "/runtime.v1.RuntimeService/Version". */
  readonly path: string;
  readonly request: Message<Request>;
  readonly response: Message<Response>;
  readonly requestStream: Q;
  readonly responseStream: R;
}

export function method<Request extends object, Response extends object, Q extends boolean, R extends boolean>(
  path: string,
  request: Message<Request>,
  response: Message<Response>,
  requestStream: Q,
  responseStream: R,
): Method<Request, Response, Q, R> {
  return { path, request, response, requestStream, responseStream };
}

export interface CallOptions {
  readonly signal?: AbortSignal;
  /** Absent: no deadline. */
  readonly timeoutMs?: number;
  /** Sent as gRPC metadata. */
  readonly metadata?: Readonly<Record<string, string>>;
}

/** Both directions at once. Iterating it to the end, or leaving the loop, ends the call. */
export interface Duplex<Q, R> extends AsyncIterable<R> {
  send(request: Init<Q>): void;
  /** No more requests follow. */
  end(): void;
}

type Call<M> =
  M extends Method<infer Q, infer R, false, false>
    ? (request: Init<Q>, options?: CallOptions) => Promise<R>
    : M extends Method<infer Q, infer R, false, true>
      ? (request: Init<Q>, options?: CallOptions) => AsyncIterable<R>
      : M extends Method<infer Q, infer R, true, true>
        ? (options?: CallOptions) => Duplex<Q, R>
        : never;

/** What a client of the service offers: its unary, server-streaming and bidirectional methods. */
export type Calls<S> = { readonly [K in keyof S]: Call<S[K]> };

type Handler<M> =
  M extends Method<infer Q, infer R, false, false>
    ? (request: Q, signal: AbortSignal) => Promise<Init<R>>
    : M extends Method<infer Q, infer R, false, true>
      ? (request: Q, signal: AbortSignal) => AsyncIterable<Init<R>>
      : M extends Method<infer Q, infer R, true, true>
        ? (requests: AsyncIterable<Q>, signal: AbortSignal) => AsyncIterable<Init<R>>
        : never;

/** What a server of the service gives; a method left out answers UNIMPLEMENTED. */
export type Handlers<S> = { readonly [K in keyof S]?: Handler<S[K]> };

/** The names of gRPC's status codes, by number. */
export const grpcCodes = [
  'OK',
  'CANCELLED',
  'UNKNOWN',
  'INVALID_ARGUMENT',
  'DEADLINE_EXCEEDED',
  'NOT_FOUND',
  'ALREADY_EXISTS',
  'PERMISSION_DENIED',
  'RESOURCE_EXHAUSTED',
  'FAILED_PRECONDITION',
  'ABORTED',
  'OUT_OF_RANGE',
  'UNIMPLEMENTED',
  'INTERNAL',
  'UNAVAILABLE',
  'DATA_LOSS',
  'UNAUTHENTICATED',
] as const;

export type GrpcCode = (typeof grpcCodes)[number];

export class GrpcError extends Error {
  override readonly name = 'GrpcError';
  readonly code: GrpcCode;
  constructor(code: GrpcCode, message: string) {
    super(message);
    this.code = code;
  }
}

export function isGrpcError(error: unknown, code?: GrpcCode): error is GrpcError {
  return error instanceof GrpcError && (code === undefined || error.code === code);
}
