// Owns what a relayed store and its users say to each other, and how errors cross over. No behaviour.
import {
  Compacted,
  FutureRevision,
  InvalidRequest,
  LeaseExists,
  LeaseNotFound,
  StoreCorrupt,
  StoreFull,
  StoreUnavailable,
  WatchOverrun,
} from '../store.ts';
import type { InvalidReason, KeyRange, Store, WatchBatch, WatchOptions } from '../store.ts';

/** The calls that pass; `watch` and `close` are other messages. */
export const calls = [
  'range',
  'transact',
  'requestProgress',
  'compact',
  'grantLease',
  'keepLeaseAlive',
  'revokeLease',
  'lease',
  'leases',
  'status',
] as const satisfies readonly (keyof Store)[];

export type Call = (typeof calls)[number];

/** From the user. Ids are the user's; those of calls and of watches are apart. */
export type Request =
  | readonly ['call', id: number, call: Call, args: readonly unknown[]]
  | readonly ['watch', id: number, range: KeyRange, options: Omit<WatchOptions, 'signal'>]
  /** So many more batches may be sent. */
  | readonly ['more', id: number, batches: number]
  | readonly ['unwatch', id: number];

/** From the store's process. */
export type Reply =
  | readonly ['result', id: number, result: unknown]
  | readonly ['failed', id: number, error: SentError]
  | readonly ['batch', id: number, batch: WatchBatch]
  /** The watch has ended; with an error or because the store was closed. */
  | readonly ['ended', id: number, error: SentError | undefined];

/** Batches of a watch that may be under way: what a slow consumer costs the memory of its process. */
export const watchWindow = 64;

export interface SentError {
  readonly name: string;
  readonly message: string;
  readonly compactRevision?: number;
  readonly reason?: InvalidReason;
}

export function sentError(error: unknown): SentError {
  if (!(error instanceof Error)) return { name: 'Error', message: String(error) };
  const { name, message } = error;
  return {
    name,
    message,
    ...(error instanceof Compacted && { compactRevision: error.compactRevision }),
    ...(error instanceof InvalidRequest && { reason: error.reason }),
  };
}

/** Their constructors make the message of other things; here it is there already. */
const byName = { FutureRevision, LeaseNotFound, LeaseExists, StoreCorrupt, StoreFull, StoreUnavailable, WatchOverrun };

export function receivedError({ name, message, compactRevision, reason }: SentError): Error {
  if (name === 'Compacted') return new Compacted(compactRevision!);
  if (name === 'InvalidRequest') return new InvalidRequest(message, reason);
  if (!Object.hasOwn(byName, name)) return new Error(`${name}: ${message}`);
  const { prototype } = byName[name as keyof typeof byName];
  return Object.assign(Object.create(prototype) as Error, { name, message, stack: `${name}: ${message}` });
}
