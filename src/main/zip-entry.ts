// Owns taking files out of a ZIP archive (APPNOTE.TXT 4.3: end record, central directory, local header). No ZIP64, no encryption.
import { inflateRawSync } from 'node:zlib';

export interface ZipEntry {
  readonly name: string;
  read(): Buffer;
}

/** Throws for what is no archive. */
export function* zipEntries(zip: Buffer): Generator<ZipEntry, void, undefined> {
  const end = zip.lastIndexOf(Buffer.from('PK\x05\x06', 'latin1'));
  if (end < 0) throw new Error('this is no ZIP archive');
  const entries = zip.readUInt16LE(end + 10);
  let at = zip.readUInt32LE(end + 16);
  for (let i = 0; i < entries; i++) {
    const header = at;
    const nameLength = zip.readUInt16LE(at + 28);
    const name = zip.toString('utf8', at + 46, at + 46 + nameLength);
    yield {
      name,
      read() {
        const local = zip.readUInt32LE(header + 42);
        const start = local + 30 + zip.readUInt16LE(local + 26) + zip.readUInt16LE(local + 28);
        const bytes = zip.subarray(start, start + zip.readUInt32LE(header + 20));
        return zip.readUInt16LE(header + 10) === 0 ? bytes : inflateRawSync(bytes);
      },
    };
    at += 46 + nameLength + zip.readUInt16LE(at + 30) + zip.readUInt16LE(at + 32);
  }
}

/** Throws when the archive does not have the entry. */
export function zipEntry(zip: Buffer, name: string): Buffer {
  for (const entry of zipEntries(zip)) if (entry.name === name) return entry.read();
  throw new Error(`the archive has no ${name}`);
}
