// Owns HTTP/2 as bytes, for tests of what no library would send.
import assert from 'node:assert/strict';

/** Frames as a hostile client writes them; no library would. */
export function frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** A literal field that is not remembered. */
export function field(name: string, value: string): Buffer {
  assert.ok(name.length < 127 && value.length < 127);
  return Buffer.concat([
    Buffer.from([0x00, name.length]),
    Buffer.from(name),
    Buffer.from([value.length]),
    Buffer.from(value),
  ]);
}
