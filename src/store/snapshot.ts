// Owns backups: one file with all pairs and leases of one revision, taken from any store while it is written to, checked
// as a whole by SHA-256. Knows no engine; `restoreSnapshot` makes an embedded store's directory of it.
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { readRecord, recordBytes, recordHeaderBytes, recordOf, recordType, writeRecord } from './embedded/format.ts';
import type { RecordFields } from './embedded/format.ts';
import { byteKey, keyText } from './mvcc/keys.ts';
import type { ByteKey } from './mvcc/keys.ts';
import { Compacted, StoreCorrupt } from './store.ts';
import type { KeyValue, Operation, RangeResult, Store } from './store.ts';

export interface SnapshotStatus {
  /** The revision at which the store was. */
  readonly revision: number;
  readonly keys: number;
  readonly leases: number;
  readonly bytes: number;
  /** Of all before the sum itself, in hex. */
  readonly sha256: string;
}

const snapshotVersion = 1;
const magic = Buffer.from('k8tssnap', 'latin1');
const headBytes = 16;
const sumBytes = 32;
const blockBytes = 512;
const pageKeys = 500;
const attempts = 3;

/** The snapshot's bytes, chunk by chunk. Throws `Compacted` when reading takes longer than the store keeps history. */
export async function* snapshotChunks(store: Store, atRevision = 0): AsyncGenerator<Buffer, SnapshotStatus> {
  const sum = createHash('sha256');
  const counts = { keys: 0, leases: 0, bytes: 0 };
  const emit = (chunk: Buffer): Buffer => {
    sum.update(chunk);
    counts.bytes += chunk.length;
    return chunk;
  };
  const first = await store.range({ start: '\0', end: '\0' }, { limit: pageKeys, revision: atRevision });
  const revision = atRevision || first.revision;
  const head = Buffer.alloc(headBytes);
  magic.copy(head);
  head.writeUInt32LE(snapshotVersion, 8);
  yield emit(head);
  const leases = new Set<number>();
  for (let page: RangeResult | undefined = first; page !== undefined; ) {
    for (const { lease } of page.items) if (lease !== 0) leases.add(lease);
    counts.keys += page.items.length;
    if (page.items.length > 0) yield emit(encode(page.items.map(pairRecord)));
    const last: KeyValue | undefined = page.items.at(-1);
    page =
      page.more && last !== undefined
        ? await store.range({ start: `${last.key}\0`, end: '\0' }, { limit: pageKeys, revision })
        : undefined;
  }
  const granted: RecordFields[] = [];
  for (const id of leases) {
    const lease = await store.lease(id);
    if (lease !== undefined) granted.push(recordOf(recordType.leaseGranted, { lease: id, version: lease.ttlSeconds }));
  }
  counts.leases = granted.length;
  if (granted.length > 0) yield emit(encode(granted));
  // etcdctl takes a download for whole when it is some 512-byte blocks and a checksum.
  const value = Buffer.alloc(blockBytes - ((counts.bytes + recordHeaderBytes) % blockBytes));
  yield emit(encode([recordOf(recordType.end, { modRevision: revision, version: counts.keys, value })]));
  const digest = sum.digest();
  counts.bytes += digest.length;
  yield digest;
  return { revision, ...counts, sha256: digest.toString('hex') };
}

/** Writes a snapshot of the newest state (or of a kept revision) to `path`; the file appears only when it is whole. */
export async function saveSnapshot(store: Store, path: string, atRevision = 0): Promise<SnapshotStatus> {
  const draft = `${path}.partial`;
  for (let attempt = 1; ; attempt++)
    try {
      const status = await writeFile(draft, snapshotChunks(store, atRevision));
      await rename(draft, path);
      return status;
    } catch (error) {
      await rm(draft, { force: true });
      if (!(error instanceof Compacted) || atRevision !== 0 || attempt === attempts) throw error;
    }
}

async function writeFile<T>(path: string, chunks: AsyncGenerator<Buffer, T>): Promise<T> {
  const file = await open(path, 'w', 0o600);
  try {
    for (;;) {
      const { value, done } = await chunks.next();
      if (done) {
        await file.sync();
        return value;
      }
      await file.writeFile(value);
    }
  } finally {
    await file.close();
  }
}

/** Reads the whole file. Throws `StoreCorrupt`, naming it, unless every byte is as it was written. */
export async function snapshotStatus(path: string): Promise<SnapshotStatus> {
  const counts = { keys: 0, leases: 0 };
  for await (const record of readSnapshot(path)) {
    if (record.type === recordType.put) counts.keys++;
    if (record.type === recordType.leaseGranted) counts.leases++;
    if (record.type === recordType.end) {
      const { bytes, sha256 } = record;
      return { revision: record.modRevision, ...counts, bytes, sha256 };
    }
  }
  throw new StoreCorrupt(path, 'the snapshot is cut off');
}

export type SnapshotRecord = RecordFields & { readonly bytes: number; readonly sha256: string };

/** Every record; the last is the end record, given only after the sum was found right. Keys are byte keys in latin1. */
export async function* readSnapshot(path: string): AsyncGenerator<SnapshotRecord> {
  const sum = createHash('sha256');
  let rest: Buffer = Buffer.alloc(0);
  let total = 0;
  let begun = false;
  let end: RecordFields | undefined;
  for await (const chunk of createReadStream(path, { highWaterMark: 1024 * 1024 })) {
    rest = Buffer.concat([rest, chunk as Buffer]);
    let at = 0;
    if (!begun) {
      if (rest.length < headBytes) continue;
      if (!rest.subarray(0, 8).equals(magic)) throw new StoreCorrupt(path, 'not a snapshot');
      const version = rest.readUInt32LE(8);
      if (version > snapshotVersion)
        throw new StoreCorrupt(path, `written in format ${version}; this program reads up to ${snapshotVersion}`);
      begun = true;
      at = headBytes;
    }
    while (end === undefined && rest.length >= at + recordHeaderBytes) {
      const length = rest.readUInt32LE(at + 4);
      if (length < recordHeaderBytes) throw new StoreCorrupt(`${path} at byte ${total + at}`, 'the record is damaged');
      if (rest.length < at + length) break;
      const record = readRecord(rest, at);
      if (record === undefined) throw new StoreCorrupt(`${path} at byte ${total + at}`, 'the record is damaged');
      at += length;
      if (record.type === recordType.end) end = record;
      else yield { ...record, bytes: 0, sha256: '' };
    }
    sum.update(rest.subarray(0, at));
    total += at;
    rest = rest.subarray(at);
  }
  const digest = sum.digest();
  if (end === undefined || rest.length !== sumBytes) throw new StoreCorrupt(path, 'the snapshot is cut off');
  if (!digest.equals(rest)) throw new StoreCorrupt(path, 'the checksum is wrong');
  yield { ...end, bytes: total + sumBytes, sha256: digest.toString('hex') };
}

/**
 * Puts a snapshot's pairs into any store, for instance an etcd cluster, as new writes: revisions are the store's own.
 * Returns the number of pairs. Checks the file first; refuses a store that holds keys already.
 */
export async function importSnapshot(path: string, store: Store): Promise<number> {
  await snapshotStatus(path);
  const { count } = await store.range({ start: '\0', end: '\0' }, { countOnly: true });
  if (count > 0) throw new Error(`the store holds ${count} keys already; a snapshot is restored into an empty one`);
  const leases = new Map<number, number>();
  for await (const { type, lease, version } of readSnapshot(path))
    if (type === recordType.leaseGranted) leases.set(lease, (await store.grantLease(version)).id);
  let pairs = 0;
  for await (const record of readSnapshot(path)) {
    if (record.type !== recordType.put) continue;
    const key = keyText(record.key.toString('latin1') as ByteKey);
    const put: Operation = { type: 'put', key, value: record.value, lease: leases.get(record.lease) ?? 0 };
    await store.transact({ compare: [], then: [put] });
    pairs++;
  }
  return pairs;
}

function pairRecord({ key, value, createRevision, modRevision, version, lease }: KeyValue): RecordFields {
  const bytes = Buffer.from(byteKey(key), 'latin1');
  return recordOf(recordType.put, { key: bytes, value, createRevision, modRevision, version, lease });
}

function encode(records: readonly RecordFields[]): Buffer {
  const bytes = Buffer.allocUnsafe(records.reduce((sum, record) => sum + recordBytes(record), 0));
  let at = 0;
  for (const record of records) at = writeRecord(bytes, at, record);
  return bytes;
}
