// Owns the frames of SPDY/3.1: their bytes, read piece by piece and written whole. Keeps no state of streams.

const frameTypes = {
  synStream: 1,
  synReply: 2,
  rstStream: 3,
  settings: 4,
  ping: 6,
  goAway: 7,
  headers: 8,
  windowUpdate: 9,
} as const;

export const resetCodes = {
  protocolError: 1,
  invalidStream: 2,
  refusedStream: 3,
  cancel: 5,
  internalError: 6,
  flowControlError: 7,
  streamAlreadyClosed: 9,
  frameTooLarge: 11,
} as const;

const flagFin = 1;
const initialWindowSetting = 7;

/** Control frames hold headers or a few numbers; whatever is longer is no honest frame. */
const maxControlBytes = 128 * 1024;

export type Frame =
  | { readonly type: 'synStream'; readonly id: number; readonly fin: boolean; readonly block: Buffer }
  | { readonly type: 'synReply' | 'headers'; readonly id: number; readonly fin: boolean; readonly block: Buffer }
  | { readonly type: 'rstStream'; readonly id: number; readonly code: number }
  | { readonly type: 'settings'; readonly initialWindow: number | undefined }
  | { readonly type: 'ping'; readonly id: number }
  | { readonly type: 'goAway'; readonly lastId: number }
  | { readonly type: 'windowUpdate'; readonly id: number; readonly delta: number }
  /** A piece of a data frame: `fin` only with its last piece. */
  | { readonly type: 'data'; readonly id: number; readonly fin: boolean; readonly payload: Buffer };

export class SpdyProtocolError extends Error {
  override readonly name = 'SpdyProtocolError';
}

/** Cuts a byte stream into frames. Holds at most one control frame; the bytes of data frames pass through as they come. */
export class FrameReader {
  #pending: Buffer = Buffer.alloc(0);
  /** Set within a data frame. */
  #data: { readonly id: number; readonly fin: boolean; left: number } | undefined;

  /** Throws SpdyProtocolError; the reader is of no use afterwards. */
  *read(chunk: Buffer): Generator<Frame> {
    let bytes = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk]);
    this.#pending = Buffer.alloc(0);
    while (bytes.length > 0) {
      if (this.#data !== undefined) {
        const payload = bytes.subarray(0, this.#data.left);
        bytes = bytes.subarray(payload.length);
        this.#data.left -= payload.length;
        yield this.#dataFrame(this.#data, payload);
        continue;
      }
      if (bytes.length < 8) break;
      const length = bytes.readUInt32BE(4) & 0xffffff;
      if ((bytes[0]! & 0x80) === 0) {
        this.#data = { id: bytes.readUInt32BE(0), fin: (bytes[4]! & flagFin) !== 0, left: length };
        bytes = bytes.subarray(8);
        if (length === 0) yield this.#dataFrame(this.#data, bytes.subarray(0, 0));
        continue;
      }
      if (length > maxControlBytes) throw new SpdyProtocolError(`a control frame of ${length} bytes`);
      if (bytes.length < 8 + length) break;
      const frame = controlFrame(bytes.readUInt32BE(0) & 0x7fffffff, bytes[4]!, bytes.subarray(8, 8 + length));
      bytes = bytes.subarray(8 + length);
      if (frame !== undefined) yield frame;
    }
    this.#pending = Buffer.from(bytes);
  }

  #dataFrame(data: { readonly id: number; readonly fin: boolean; left: number }, payload: Buffer): Frame {
    const last = data.left === 0;
    if (last) this.#data = undefined;
    return { type: 'data', id: data.id, fin: data.fin && last, payload };
  }
}

function controlFrame(versionAndType: number, flags: number, body: Buffer): Frame | undefined {
  const version = versionAndType >>> 16;
  if (version !== 3) throw new SpdyProtocolError(`SPDY version ${version}`);
  const fin = (flags & flagFin) !== 0;
  switch (versionAndType & 0xffff) {
    case frameTypes.synStream:
      return { type: 'synStream', id: idAt(body, 0, 10), fin, block: body.subarray(10) };
    case frameTypes.synReply:
      return { type: 'synReply', id: idAt(body, 0, 4), fin, block: body.subarray(4) };
    case frameTypes.headers:
      return { type: 'headers', id: idAt(body, 0, 4), fin, block: body.subarray(4) };
    case frameTypes.rstStream:
      return { type: 'rstStream', id: idAt(body, 0, 8), code: body.readUInt32BE(4) };
    case frameTypes.settings:
      return { type: 'settings', initialWindow: initialWindowOf(body) };
    case frameTypes.ping:
      idAt(body, 0, 4);
      return { type: 'ping', id: body.readUInt32BE(0) };
    case frameTypes.goAway:
      return { type: 'goAway', lastId: idAt(body, 0, 4) };
    case frameTypes.windowUpdate:
      return { type: 'windowUpdate', id: idAt(body, 0, 8), delta: body.readUInt32BE(4) & 0x7fffffff };
    default:
      return undefined;
  }
}

function idAt(body: Buffer, at: number, needed: number): number {
  if (body.length < needed) throw new SpdyProtocolError('a control frame is too short');
  return body.readUInt32BE(at) & 0x7fffffff;
}

function initialWindowOf(body: Buffer): number | undefined {
  if (body.length < 4) throw new SpdyProtocolError('a control frame is too short');
  const count = body.readUInt32BE(0);
  for (let at = 0; at < count && 12 + at * 8 <= body.length; at++) {
    const id = body.readUInt32BE(4 + at * 8) & 0xffffff;
    if (id === initialWindowSetting) return body.readUInt32BE(8 + at * 8) & 0x7fffffff;
  }
  return undefined;
}

function control(type: number, flags: number, ...parts: readonly (number | Buffer)[]): Buffer {
  const body = parts.map((part) => (typeof part === 'number' ? uint32(part) : part));
  const length = body.reduce((sum, part) => sum + part.length, 0);
  return Buffer.concat([uint32((0x8003 << 16) | type), uint32((flags << 24) | length), ...body]);
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value >>> 0);
  return bytes;
}

export function synStreamFrame(id: number, block: Buffer): Buffer {
  return control(frameTypes.synStream, 0, id, 0, Buffer.alloc(2), block);
}

export function synReplyFrame(id: number, block: Buffer): Buffer {
  return control(frameTypes.synReply, 0, id, block);
}

export function rstStreamFrame(id: number, code: number): Buffer {
  return control(frameTypes.rstStream, 0, id, code);
}

export function settingsFrame(initialWindow: number): Buffer {
  return control(frameTypes.settings, 0, 1, initialWindowSetting, initialWindow);
}

export function pingFrame(id: number): Buffer {
  return control(frameTypes.ping, 0, id);
}

export function goAwayFrame(lastId: number): Buffer {
  return control(frameTypes.goAway, 0, lastId, 0);
}

export function windowUpdateFrame(id: number, delta: number): Buffer {
  return control(frameTypes.windowUpdate, 0, id, delta);
}

/** The eight bytes before the payload. */
export function dataHeader(id: number, length: number, fin: boolean): Buffer {
  return Buffer.concat([uint32(id), uint32(((fin ? flagFin : 0) << 24) | length)]);
}
