// Owns one segment file: reading a value back with its checksum, and reading all batches when the store opens.
import { StoreCorrupt, StoreUnavailable } from '../store.ts';
import type { FileLayer, StoreFile } from './file-layer.ts';
import { batchHeaderBytes, headerBytes, readBatchHeader, readRecord, recordType } from './format.ts';
import type { RecordFields, SegmentHeader } from './format.ts';

export class Segment {
  readonly name: string;
  readonly file: StoreFile;
  readonly header: SegmentHeader;
  /** Durable bytes with the header. */
  bytes = headerBytes;
  /** Bytes of the records that the index still points to. */
  liveBytes = 0;

  #users = 1;

  constructor(name: string, file: StoreFile, header: SegmentHeader) {
    this.name = name;
    this.file = file;
    this.header = header;
  }

  /** Another store reads values here: the file stays open until each user retired it. */
  share(): void {
    this.#users++;
  }

  retire(): void {
    this.#users--;
    if (this.#users === 0) this.file.close();
  }

  /** The value of the put record at `offset`. Throws `StoreCorrupt` rather than give damaged bytes. */
  readValue(files: FileLayer, offset: number, length: number): Uint8Array {
    const bytes = Buffer.allocUnsafe(length);
    let got: number;
    try {
      got = this.file.read(bytes, offset);
    } catch (error) {
      throw new StoreUnavailable(`reading ${files.directory}/${this.name} failed`, { cause: error });
    }
    const record = got === length ? readRecord(bytes, 0) : undefined;
    if (record === undefined || record.type !== recordType.put || length !== bytes.readUInt32LE(4))
      throw corrupt(files, this.name, offset, 'the record is damaged');
    return record.value;
  }
}

export function corrupt(files: FileLayer, name: string, offset: number, what: string): StoreCorrupt {
  return new StoreCorrupt(`${files.directory}/${name} at byte ${offset}`, what);
}

export interface ScanResult {
  /** Where the last whole batch ends. */
  readonly end: number;
  readonly revision: number;
  /** Set when what follows `end` is no whole batch (and not just zeros). */
  readonly torn: boolean;
  readonly sawEnd: boolean;
}

/**
 * Gives every record of every whole batch to `take`, with its offset and length. Stops at the first place that is no
 * whole batch; throws `StoreCorrupt` when a later batch proves that the place had been durable.
 */
export function scanSegment(
  files: FileLayer,
  segment: Segment,
  take: (record: RecordFields, offset: number, length: number) => void,
): ScanResult {
  const size = segment.file.size();
  let offset = headerBytes;
  let revision = 0;
  let sawEnd = false;
  for (;;) {
    const batch = readBatch(segment, offset, size);
    if (batch === undefined) break;
    for (const { record, at, length } of batch.records) {
      if (record.type === recordType.end) sawEnd = true;
      else take(record, offset + at, length);
    }
    revision = Math.max(revision, batch.revision);
    offset += batch.bytes;
  }
  const rest = Buffer.alloc(Math.max(0, size - offset));
  segment.file.read(rest, offset);
  const torn = rest.some((byte) => byte !== 0);
  if (torn && laterBatch(segment, rest, offset))
    throw corrupt(files, segment.name, offset, 'a batch is damaged, and later ones show that it was complete');
  return { end: offset, revision, torn, sawEnd };
}

interface Batch {
  readonly bytes: number;
  readonly revision: number;
  readonly records: { readonly record: RecordFields; readonly at: number; readonly length: number }[];
}

function readBatch(segment: Segment, offset: number, size: number): Batch | undefined {
  const head = Buffer.allocUnsafe(batchHeaderBytes);
  if (segment.file.read(head, offset) < batchHeaderBytes) return undefined;
  const header = readBatchHeader(head, segment.header.nonce, offset);
  if (header === undefined || header.bytes < batchHeaderBytes || offset + header.bytes > size) return undefined;
  const bytes = Buffer.allocUnsafe(header.bytes);
  segment.file.read(bytes, offset);
  const records: Batch['records'] = [];
  let at = batchHeaderBytes;
  for (let count = 0; count < header.records; count++) {
    const record = readRecord(bytes, at);
    if (record === undefined) return undefined;
    const length = bytes.readUInt32LE(at + 4);
    records.push({ record, at, length });
    at += length;
  }
  return at === header.bytes ? { bytes: header.bytes, revision: header.revision, records } : undefined;
}

/** A batch is begun only when the one before is durable: any later header proves the damaged place was acknowledged. */
function laterBatch(segment: Segment, rest: Buffer, offset: number): boolean {
  const { nonce } = segment.header;
  for (let found = rest.indexOf(nonce, 9); found >= 0; found = rest.indexOf(nonce, found + 1)) {
    const start = found - 8;
    if (readBatchHeader(rest.subarray(start), nonce, offset + start) !== undefined) return true;
  }
  return false;
}
