// Owns the bytes of segment files: header, batches, records, each with its checksum. Reads and writes buffers, no files.
// docs/adr/0004-embedded-store.md describes the layout and why it is so.
import { crc32 } from './crc32.ts';

/** Written into every segment. Readers of all earlier versions stay; rewriting a segment brings it to this one. */
export const formatVersion = 1;
export const headerBytes = 64;
export const batchHeaderBytes = 40;
export const recordHeaderBytes = 48;
export const nonceBytes = 8;

const magic = Buffer.from('k8tslog\n', 'latin1');

export interface SegmentHeader {
  readonly version: number;
  /** The segments this file stands for: more than one after reclaiming. */
  readonly first: number;
  readonly last: number;
  /** Rewritten by reclaiming: ends with an end record. */
  readonly rewritten: boolean;
  /** Random; in every batch header, so that a value cannot pass for a batch. */
  readonly nonce: Buffer;
  /** The size of the segment before, when this one was begun; a lost tail is noticed. */
  readonly previousBytes: number;
}

export function encodeHeader(header: SegmentHeader): Buffer {
  const bytes = Buffer.alloc(headerBytes);
  magic.copy(bytes, 0);
  bytes.writeUInt32LE(header.version, 8);
  bytes.writeUInt32LE(header.first, 12);
  bytes.writeUInt32LE(header.last, 16);
  bytes.writeUInt32LE(header.rewritten ? 1 : 0, 20);
  header.nonce.copy(bytes, 24);
  bytes.writeDoubleLE(header.previousBytes, 32);
  bytes.writeUInt32LE(crc32(bytes.subarray(0, 60)), 60);
  return bytes;
}

/** Undefined when it is no header or damaged. */
export function decodeHeader(bytes: Buffer): SegmentHeader | undefined {
  if (bytes.length < headerBytes || !bytes.subarray(0, 8).equals(magic)) return undefined;
  if (bytes.readUInt32LE(60) !== crc32(bytes.subarray(0, 60))) return undefined;
  return {
    version: bytes.readUInt32LE(8),
    first: bytes.readUInt32LE(12),
    last: bytes.readUInt32LE(16),
    rewritten: bytes.readUInt32LE(20) === 1,
    nonce: Buffer.from(bytes.subarray(24, 24 + nonceBytes)),
    previousBytes: bytes.readDoubleLE(32),
  };
}

export interface BatchHeader {
  /** With this header. */
  readonly bytes: number;
  readonly records: number;
  /** The store's revision after the batch. */
  readonly revision: number;
}

export function writeBatchHeader(into: Buffer, batch: BatchHeader, nonce: Buffer, offset: number): void {
  into.writeUInt32LE(batch.bytes, 4);
  nonce.copy(into, 8);
  into.writeDoubleLE(offset, 16);
  into.writeUInt32LE(batch.records, 24);
  into.writeUInt32LE(0, 28);
  into.writeDoubleLE(batch.revision, 32);
  into.writeUInt32LE(crc32(into.subarray(4, batchHeaderBytes)), 0);
}

/** Undefined when there is no whole batch header of this segment and place. */
export function readBatchHeader(from: Buffer, nonce: Buffer, offset: number): BatchHeader | undefined {
  if (from.length < batchHeaderBytes) return undefined;
  if (from.readUInt32LE(0) !== crc32(from.subarray(4, batchHeaderBytes))) return undefined;
  if (!from.subarray(8, 8 + nonceBytes).equals(nonce) || from.readDoubleLE(16) !== offset) return undefined;
  return { bytes: from.readUInt32LE(4), records: from.readUInt32LE(24), revision: from.readDoubleLE(32) };
}

export const recordType = { put: 1, delete: 2, leaseGranted: 3, leaseEnded: 4, compacted: 5, end: 6 } as const;

/** One record; which fields mean something depends on the type, the others are 0. */
export interface RecordFields {
  readonly type: number;
  /** Of a change: its revision. Of `compacted`: the revision compacted to. */
  readonly modRevision: number;
  readonly createRevision: number;
  /** Of `leaseGranted`: the seconds granted. */
  readonly version: number;
  readonly lease: number;
  readonly key: Buffer;
  readonly value: Uint8Array;
}

const noBytes = Buffer.alloc(0);

export function recordOf(type: number, fields: Partial<RecordFields>): RecordFields {
  return { modRevision: 0, createRevision: 0, version: 0, lease: 0, key: noBytes, value: noBytes, ...fields, type };
}

export function recordBytes({ key, value }: RecordFields): number {
  return recordHeaderBytes + key.length + value.length;
}

export function writeRecord(into: Buffer, at: number, record: RecordFields): number {
  const end = at + recordBytes(record);
  into.writeUInt32LE(end - at, at + 4);
  into.writeUInt32LE(record.type, at + 8);
  into.writeUInt32LE(record.key.length, at + 12);
  into.writeDoubleLE(record.modRevision, at + 16);
  into.writeDoubleLE(record.createRevision, at + 24);
  into.writeDoubleLE(record.version, at + 32);
  into.writeDoubleLE(record.lease, at + 40);
  into.set(record.key, at + recordHeaderBytes);
  into.set(record.value, at + recordHeaderBytes + record.key.length);
  into.writeUInt32LE(crc32(into.subarray(at + 4, end)), at);
  return end;
}

/** Views into `from`. Undefined when there is no whole, undamaged record at `at`. */
export function readRecord(from: Buffer, at: number): RecordFields | undefined {
  if (from.length < at + recordHeaderBytes) return undefined;
  const length = from.readUInt32LE(at + 4);
  const keyBytes = from.readUInt32LE(at + 12);
  if (length < recordHeaderBytes + keyBytes || at + length > from.length) return undefined;
  if (from.readUInt32LE(at) !== crc32(from.subarray(at + 4, at + length))) return undefined;
  const keyEnd = at + recordHeaderBytes + keyBytes;
  return {
    type: from.readUInt32LE(at + 8),
    modRevision: from.readDoubleLE(at + 16),
    createRevision: from.readDoubleLE(at + 24),
    version: from.readDoubleLE(at + 32),
    lease: from.readDoubleLE(at + 40),
    key: from.subarray(at + recordHeaderBytes, keyEnd),
    value: from.subarray(keyEnd, at + length),
  };
}
