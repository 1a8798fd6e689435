// Owns header blocks: names and values packed, and the one compressed stream of each direction that carries them.
import { createInflate, constants, type Inflate } from 'node:zlib';
import { spdyDictionary } from './dictionary.ts';
import { SpdyProtocolError } from './frames.ts';

/** Names in lower case. */
export type SpdyHeaders = Readonly<Record<string, string>>;

/** A block inflated may be so long: a small block must not become a large one. */
const maxBlockBytes = 64 * 1024;

function packed(headers: SpdyHeaders): Buffer {
  const entries = Object.entries(headers);
  const parts: Buffer[] = [uint32(entries.length)];
  for (const [name, value] of entries)
    for (const text of [name.toLowerCase(), value]) {
      const bytes = Buffer.from(text);
      parts.push(uint32(bytes.length), bytes);
    }
  return Buffer.concat(parts);
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value >>> 0);
  return bytes;
}

function unpacked(bytes: Buffer): SpdyHeaders {
  let at = 0;
  const next = (): number => {
    if (at + 4 > bytes.length) throw new SpdyProtocolError('a header block is cut');
    at += 4;
    return bytes.readUInt32BE(at - 4);
  };
  const text = (): string => {
    const length = next();
    if (at + length > bytes.length) throw new SpdyProtocolError('a header block is cut');
    at += length;
    return bytes.toString('utf8', at - length, at);
  };
  const count = next();
  const headers = new Map<string, string>();
  for (let entry = 0; entry < count; entry++) {
    const name = text().toLowerCase();
    headers.set(name, text());
  }
  return Object.fromEntries(headers);
}

/** Writes blocks as stored (not compressed) parts of one zlib stream: any inflater reads them, and each is whole at once. */
export class HeaderWriter {
  #begun = false;

  /** Throws RangeError for headers too long for a frame. */
  block(headers: SpdyHeaders): Buffer {
    const bytes = packed(headers);
    if (bytes.length > 0xffff) throw new RangeError('the headers are too long');
    const stored = Buffer.alloc(5);
    stored.writeUInt16LE(bytes.length, 1);
    stored.writeUInt16LE(~bytes.length & 0xffff, 3);
    const parts = [...(this.#begun ? [] : [zlibBeginning()]), stored, bytes, flushMark];
    this.#begun = true;
    return Buffer.concat(parts);
  }
}

/** An empty stored part: Go's inflater hands out what it has only when it sees one. */
const flushMark = Buffer.from([0, 0, 0, 0xff, 0xff]);

/** The head of a zlib stream that needs the dictionary. */
function zlibBeginning(): Buffer {
  return Buffer.concat([Buffer.from([0x78, 0x20]), uint32(adler32(spdyDictionary))]);
}

function adler32(bytes: Buffer): number {
  let a = 1;
  let b = 0;
  for (const byte of bytes) {
    a = (a + byte) % 65_521;
    b = (b + a) % 65_521;
  }
  return b * 65_536 + a;
}

/** Reads blocks; they must be given in the order in which they came, each after the one before has been read. */
export class HeaderReader {
  readonly #inflate: Inflate = createInflate({ dictionary: spdyDictionary, flush: constants.Z_SYNC_FLUSH });
  #chunks: Buffer[] = [];
  #size = 0;
  #fail: (error: Error) => void = () => undefined;

  constructor() {
    this.#inflate.on('data', (chunk: Buffer) => {
      this.#size += chunk.length;
      if (this.#size > maxBlockBytes) this.#inflate.destroy(new SpdyProtocolError('a header block is too long'));
      else this.#chunks.push(chunk);
    });
    this.#inflate.on('error', (error) =>
      this.#fail(error instanceof SpdyProtocolError ? error : new SpdyProtocolError(error.message)),
    );
    this.#inflate.on('close', () => this.#fail(new SpdyProtocolError('the header stream has ended')));
  }

  /** Rejects with SpdyProtocolError; the reader is of no use afterwards. */
  read(block: Buffer): Promise<SpdyHeaders> {
    return new Promise((resolve, reject) => {
      this.#fail = reject;
      if (this.#inflate.destroyed) {
        reject(new SpdyProtocolError('the header stream has ended'));
        return;
      }
      this.#inflate.write(block, (error) => {
        if (error) {
          reject(error instanceof SpdyProtocolError ? error : new SpdyProtocolError(error.message));
          return;
        }
        // What is still buffered comes as 'data' now.
        while (this.#inflate.read() !== null) continue;
        if (this.#size > maxBlockBytes) {
          reject(new SpdyProtocolError('a header block is too long'));
          return;
        }
        const bytes = Buffer.concat(this.#chunks);
        this.#chunks = [];
        this.#size = 0;
        try {
          resolve(unpacked(bytes));
        } catch (problem) {
          reject(problem as Error);
        }
      });
    });
  }

  close(): void {
    this.#inflate.destroy();
  }
}
