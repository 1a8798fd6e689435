// Owns what etcd's refusals mean to a store. Pure. The texts are those of etcd's API (api/v3rpc/rpctypes).
import { isAbort } from '../../base/task-group.ts';
import { GrpcError } from '../../wire/grpc-service.ts';
import { InvalidRequest, LeaseExists, LeaseNotFound, StoreFull, StoreUnavailable } from '../store.ts';

/** Text, and what the caller gets. Compaction and future revisions need numbers and are handled by the engine. */
const meanings: readonly (readonly [string, (error: GrpcError, lease: number) => Error])[] = [
  ['database space exceeded', (error) => new StoreFull('etcd refuses writes: its database is full', { cause: error })],
  ['request is too large', () => new InvalidRequest('the request is larger than etcd takes', 'tooLarge')],
  [
    'too many operations',
    () => new InvalidRequest('more operations in one transaction than etcd takes', 'tooManyOperations'),
  ],
  ['duplicate key given', () => new InvalidRequest('a key is written twice in one transaction', 'duplicateKey')],
  ['key is not provided', () => new InvalidRequest('the key is empty', 'emptyKey')],
  ['requested lease not found', (_, lease) => new LeaseNotFound(lease)],
  ['lease already exists', (_, lease) => new LeaseExists(lease)],
  ['too large lease TTL', () => new InvalidRequest('the lease lasts longer than etcd takes')],
];

export function isCompacted(error: unknown): boolean {
  return error instanceof GrpcError && error.message.includes('required revision has been compacted');
}

export function isFuture(error: unknown): boolean {
  return error instanceof GrpcError && error.message.includes('required revision is a future revision');
}

/** The request certainly did nothing: nobody was there to take it. */
export function reachedNobody(error: unknown): boolean {
  return (
    error instanceof GrpcError &&
    error.code === 'UNAVAILABLE' &&
    /No connection established|ECONNREFUSED|Name resolution failed|no leader/.test(error.message)
  );
}

/** Another member, or the same one later, may answer. */
export function isPassing(error: unknown): boolean {
  return (
    error instanceof GrpcError &&
    (['UNAVAILABLE', 'DEADLINE_EXCEEDED', 'CANCELLED', 'INTERNAL'].includes(error.code) ||
      /leader changed|no leader|too many requests|request timed out/.test(error.message))
  );
}

export function storeError(error: unknown, lease = 0): Error {
  if (!(error instanceof GrpcError)) {
    if (isAbort(error)) return new StoreUnavailable('the store is closed');
    return error as Error;
  }
  for (const [text, meaning] of meanings) if (error.message.includes(text)) return meaning(error, lease);
  return new StoreUnavailable(`etcd: ${error.message}`, { cause: error });
}
