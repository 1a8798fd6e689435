// Owns the texts by which etcd's clients know what went wrong (api/v3rpc/rpctypes of etcd): the counterpart of etcd/errors.ts.
import { GrpcError } from '../../wire/grpc-service.ts';
import type { GrpcCode } from '../../wire/grpc-service.ts';
import { Compacted, FutureRevision, InvalidRequest, LeaseExists, LeaseNotFound } from '../store.ts';
import { StoreCorrupt, StoreFull, StoreUnavailable } from '../store.ts';
import type { InvalidReason } from '../store.ts';

const invalid: Readonly<Record<InvalidReason, string | undefined>> = {
  emptyKey: 'etcdserver: key is not provided',
  duplicateKey: 'etcdserver: duplicate key given in txn request',
  tooManyOperations: 'etcdserver: too many operations in txn request',
  tooLarge: 'etcdserver: request is too large',
  other: undefined,
};

const kinds: readonly (readonly [new (...args: never[]) => Error, GrpcCode, string | undefined])[] = [
  [Compacted, 'OUT_OF_RANGE', 'etcdserver: mvcc: required revision has been compacted'],
  [FutureRevision, 'OUT_OF_RANGE', 'etcdserver: mvcc: required revision is a future revision'],
  [LeaseNotFound, 'NOT_FOUND', 'etcdserver: requested lease not found'],
  [LeaseExists, 'FAILED_PRECONDITION', 'etcdserver: lease already exists'],
  [StoreFull, 'RESOURCE_EXHAUSTED', 'etcdserver: mvcc: database space exceeded'],
  [StoreCorrupt, 'DATA_LOSS', undefined],
  [StoreUnavailable, 'UNAVAILABLE', undefined],
];

export function grpcError(error: unknown): GrpcError {
  if (error instanceof GrpcError) return error;
  if (error instanceof InvalidRequest) return new GrpcError('INVALID_ARGUMENT', invalid[error.reason] ?? error.message);
  for (const [kind, code, text] of kinds) if (error instanceof kind) return new GrpcError(code, text ?? error.message);
  return new GrpcError('INTERNAL', error instanceof Error ? error.message : String(error));
}

/** Wraps a handler so that its errors are etcd's. */
export function answering<Q, R>(handler: (request: Q) => Promise<R>): (request: Q) => Promise<R> {
  return async (request) => {
    try {
      return await handler(request);
    } catch (error) {
      throw grpcError(error);
    }
  };
}

export function unsupported(what: string): GrpcError {
  return new GrpcError('UNIMPLEMENTED', `k8ts serves the part of etcd that Kubernetes uses: ${what} is not in it`);
}
