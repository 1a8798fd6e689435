// Owns CRC-32 (the polynomial of zlib and Ethernet): Node's own where there is one (20.15 and later), else a table.
import * as zlib from 'node:zlib';

const table = Uint32Array.from({ length: 256 }, (_, byte) => {
  let rest = byte;
  for (let bit = 0; bit < 8; bit++) rest = rest & 1 ? (rest >>> 1) ^ 0xedb88320 : rest >>> 1;
  return rest;
});

function tableCrc32(bytes: Uint8Array): number {
  let rest = 0xffffffff;
  for (let at = 0; at < bytes.length; at++) rest = table[(rest ^ bytes[at]!) & 0xff]! ^ (rest >>> 8);
  return (rest ^ 0xffffffff) >>> 0;
}

const native = (zlib as { readonly crc32?: (bytes: Uint8Array) => number }).crc32;

export const crc32: (bytes: Uint8Array) => number = native ?? tableCrc32;
