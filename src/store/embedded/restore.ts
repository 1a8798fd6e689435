// Owns making an embedded store's directory of a snapshot, with the revisions that it had. Never touches a directory in use.
import type { Random } from '../../base/random.ts';
import { readSnapshot, snapshotStatus } from '../snapshot.ts';
import type { SnapshotStatus } from '../snapshot.ts';
import { encodeBatch, place } from './batch.ts';
import type { Place } from './batch.ts';
import { diskFiles } from './file-layer.ts';
import type { FileLayer } from './file-layer.ts';
import { encodeHeader, headerBytes, recordOf, recordType } from './format.ts';
import { newHeader, segmentName } from './log.ts';

const chunkBytes = 1024 * 1024;

/** The directory must hold no store. The snapshot is checked as a whole first; history before it is not kept. */
export async function restoreSnapshot(
  path: string,
  directory: string,
  deps: { readonly random: Random; readonly files?: FileLayer },
): Promise<SnapshotStatus> {
  const status = await snapshotStatus(path);
  const files = deps.files ?? diskFiles(directory);
  const release = files.lock();
  try {
    if (files.list().some((name) => name.endsWith('.log'))) throw new Error(`${directory} holds a store already`);
    await writeSegment(path, status.revision, files, deps.random);
    return status;
  } finally {
    release();
  }
}

async function writeSegment(path: string, revision: number, files: FileLayer, random: Random): Promise<void> {
  const header = newHeader(random, { first: 1, last: 1, previousBytes: 0 }, true);
  const name = segmentName(header);
  const draft = `${name}.tmp`;
  files.remove(draft);
  const file = files.create(draft);
  try {
    file.write(encodeHeader(header), 0);
    let offset = headerBytes;
    let places: Place[] = [place(recordOf(recordType.compacted, { modRevision: revision }))];
    let bytes = places[0]!.bytes;
    const flush = (): void => {
      const batch = encodeBatch(places, bytes, revision, header.nonce, offset);
      file.write(batch, offset);
      offset += batch.length;
      places = [];
      bytes = 0;
    };
    for await (const record of readSnapshot(path)) {
      const one = place(record.type === recordType.end ? recordOf(recordType.end, {}) : record);
      places.push(one);
      bytes += one.bytes;
      if (bytes > chunkBytes) flush();
    }
    if (places.length > 0) flush();
    await file.sync();
    files.rename(draft, name);
    await files.syncDirectory();
  } catch (error) {
    files.remove(draft);
    throw error;
  } finally {
    file.close();
  }
}
