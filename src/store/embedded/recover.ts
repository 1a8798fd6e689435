// Owns opening a directory: which segment files count, reading them, cutting a torn end, naming damage.
import type { LeaseTable } from '../mvcc/lease-table.ts';
import type { ByteKey } from '../mvcc/keys.ts';
import type { Mvcc } from '../mvcc/mvcc.ts';
import { StoreCorrupt } from '../store.ts';
import type { FileLayer } from './file-layer.ts';
import { decodeHeader, formatVersion, headerBytes, recordType } from './format.ts';
import type { RecordFields } from './format.ts';
import { createSegment } from './log.ts';
import type { LogDeps, Recovered } from './log.ts';
import { Segment, corrupt, scanSegment } from './segment.ts';
import { StoredValue } from './values.ts';

interface Target {
  readonly mvcc: Mvcc<StoredValue>;
  readonly leases: LeaseTable;
  readonly nowMs: number;
}

/** Fills the empty `mvcc` and `leases` from the directory. Leases begin their time anew, as etcd's do. */
export async function recover(deps: LogDeps, target: Target): Promise<Recovered> {
  const { files } = deps;
  const segments: Segment[] = [];
  try {
    for (const name of segmentFiles(files)) {
      const segment = openSegment(files, name);
      if (segment !== undefined) segments.push(segment);
    }
    checkSequence(files, segments);
    const revision = await readAll(deps, target, segments);
    if (segments.length === 0) segments.push(await createSegment(deps, { first: 1, last: 1, previousBytes: 0 }));
    const leases = new Map(target.leases.granted().map(({ id, ttlSeconds }) => [id, ttlSeconds]));
    return { segments, revision, leases };
  } catch (error) {
    for (const segment of segments) segment.retire();
    throw error;
  }
}

const namePattern = /^(\d{10})-(\d{10})\.log$/;

/** In order, without drafts and without files whose content was rewritten into another one; those are removed. */
function segmentFiles(files: FileLayer): string[] {
  const found: { name: string; first: number; last: number }[] = [];
  for (const name of files.list()) {
    const match = namePattern.exec(name);
    if (match !== null) found.push({ name, first: Number(match[1]), last: Number(match[2]) });
    else if (name.endsWith('.log.tmp')) files.remove(name);
  }
  // Wider ones first among those that begin together.
  found.sort((a, b) => a.first - b.first || b.last - a.last);
  let covered = 0;
  return found
    .filter(({ name, last }) => {
      if (last > covered) {
        covered = last;
        return true;
      }
      files.remove(name);
      return false;
    })
    .map(({ name }) => name);
}

/** Undefined for a file that a crash left without a header: it was never used, and is removed. */
function openSegment(files: FileLayer, name: string): Segment | undefined {
  const file = files.open(name);
  try {
    const bytes = Buffer.alloc(headerBytes);
    const size = file.size();
    file.read(bytes, 0);
    const header = decodeHeader(bytes);
    if (header !== undefined && header.version <= formatVersion) return new Segment(name, file, header);
    if (header !== undefined)
      throw new StoreCorrupt(
        `${files.directory}/${name}`,
        `written in format ${header.version}; this program reads formats up to ${formatVersion}`,
      );
    if (size > headerBytes) throw corrupt(files, name, 0, 'the header is damaged');
  } catch (error) {
    file.close();
    throw error;
  }
  file.close();
  files.remove(name);
  return undefined;
}

function checkSequence(files: FileLayer, segments: readonly Segment[]): void {
  let next = 1;
  for (const { header, name } of segments) {
    if (header.first !== next)
      throw new StoreCorrupt(`${files.directory}/${name}`, `segment ${next} before it is missing`);
    next = header.last + 1;
  }
}

async function readAll(deps: LogDeps, target: Target, segments: readonly Segment[]): Promise<number> {
  const { files, values } = deps;
  const state = { revision: 1, compactRevision: 0 };
  for (const [at, segment] of segments.entries()) {
    const result = scanSegment(files, segment, (record, offset, length) => {
      const stored = takeRecord(record, target, state);
      if (stored !== undefined) values.place(stored, segment, offset, length);
    });
    segment.bytes = result.end;
    state.revision = Math.max(state.revision, result.revision);
    const next = segments[at + 1];
    const short = segment.header.rewritten
      ? !result.sawEnd
      : next !== undefined && result.end !== next.header.previousBytes;
    if (short || (next !== undefined && result.torn))
      throw corrupt(files, segment.name, result.end, 'a batch is damaged');
    if (next === undefined && (result.torn || segment.file.size() > result.end)) {
      deps.log.warn('cut an unfinished write off the log', { file: segment.name, at: result.end });
      segment.file.truncate(result.end);
      await segment.file.sync();
    }
  }
  target.mvcc.recovered(state.revision, state.compactRevision);
  return target.mvcc.revision;
}

function takeRecord(
  record: RecordFields,
  { mvcc, leases, nowMs }: Target,
  state: { compactRevision: number },
): StoredValue | undefined {
  const { type, modRevision, createRevision, version, lease } = record;
  switch (type) {
    case recordType.put: {
      const stored = new StoredValue(undefined);
      mvcc.restore(record.key.toString('latin1') as ByteKey, { modRevision, createRevision, version, lease, stored });
      return stored;
    }
    case recordType.delete: {
      const deletion = { modRevision, createRevision: 0, version: 0, lease: 0, stored: undefined };
      mvcc.restore(record.key.toString('latin1') as ByteKey, deletion);
      return undefined;
    }
    case recordType.leaseGranted:
      if (!leases.has(lease)) leases.grant(lease, version, nowMs);
      return undefined;
    case recordType.leaseEnded:
      leases.end(lease);
      return undefined;
    case recordType.compacted:
      state.compactRevision = Math.max(state.compactRevision, modRevision);
      return undefined;
    default:
      throw new Error(`a record of unknown type ${type}`);
  }
}
