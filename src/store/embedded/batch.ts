// Owns making batches: entries to records, records to the bytes of one write. Pure.
import type { JournalEntry } from '../mvcc/engine.ts';
import type { Version } from '../mvcc/mvcc.ts';
import { batchHeaderBytes, recordBytes, recordOf, recordType } from './format.ts';
import { writeBatchHeader, writeRecord } from './format.ts';
import type { RecordFields } from './format.ts';
import type { StoredValue } from './values.ts';

/** A record on its way into a batch; `encodeBatch` sets where it is. */
export interface Place {
  readonly record: RecordFields;
  readonly bytes: number;
  /** Of a put: what learns its place once durable. */
  readonly stored: StoredValue | undefined;
  /** From the batch's begin. */
  offset: number;
}

export function recordsOf(entry: JournalEntry<StoredValue>): Place[] {
  const places = (entry.changes ?? []).map((version) => placeOf(version, version.stored?.bytes));
  if (entry.leaseGranted !== undefined) {
    const { id, ttlSeconds } = entry.leaseGranted;
    places.push(place(recordOf(recordType.leaseGranted, { lease: id, version: ttlSeconds })));
  }
  if (entry.leaseEnded !== undefined) places.push(place(recordOf(recordType.leaseEnded, { lease: entry.leaseEnded })));
  if (entry.compacted !== undefined)
    places.push(place(recordOf(recordType.compacted, { modRevision: entry.compacted })));
  return places;
}

/** The record of a version; `value` is read by the caller, since it may be on disk. */
export function placeOf(version: Version<StoredValue>, value: Uint8Array | undefined): Place {
  const { entry, modRevision, createRevision, lease, stored } = version;
  const key = Buffer.from(entry.key, 'latin1');
  if (stored === undefined) return place(recordOf(recordType.delete, { modRevision, key }));
  const fields = { modRevision, createRevision, version: version.version, lease, key, value: value! };
  return place(recordOf(recordType.put, fields), stored);
}

export function place(record: RecordFields, stored?: StoredValue): Place {
  return { record, bytes: recordBytes(record), stored, offset: 0 };
}

/** `memory` gives the bytes that are written to. */
export function encodeBatch(
  places: readonly Place[],
  recordsBytes: number,
  revision: number,
  nonce: Buffer,
  offset: number,
  memory: (size: number) => Buffer = Buffer.allocUnsafe,
): Buffer {
  const bytes = batchHeaderBytes + recordsBytes;
  const batch = memory(bytes);
  let at = batchHeaderBytes;
  for (const one of places) {
    one.offset = at;
    at = writeRecord(batch, at, one.record);
  }
  writeBatchHeader(batch, { bytes, records: places.length, revision }, nonce, offset);
  return batch;
}
