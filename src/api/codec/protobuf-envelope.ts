// Owns the envelope of Kubernetes protobuf: four magic bytes and a runtime.Unknown around every object.
import { ProtobufError, Reader, Writer } from './protobuf-bytes.ts';

const envelopeMagic: Uint8Array = Uint8Array.of(0x6b, 0x38, 0x73, 0x00);

export interface Envelope {
  readonly apiVersion: string;
  readonly kind: string;
  readonly raw: Buffer;
  readonly contentType: string;
}

export function isEnveloped(bytes: Uint8Array): boolean {
  return bytes.length >= 4 && envelopeMagic.every((byte, at) => bytes[at] === byte);
}

/** Throws ProtobufError for bytes without the magic. */
export function openEnvelope(bytes: Uint8Array): Envelope {
  if (!isEnveloped(bytes)) throw new ProtobufError('provided data does not appear to be a protobuf message');
  if (bytes.length === 4) throw new ProtobufError('empty body');
  const reader = new Reader(bytes);
  reader.at = 4;
  const result = { apiVersion: '', kind: '', raw: Buffer.alloc(0), contentType: '' };
  while (reader.at < reader.end) {
    const tag = reader.uint32();
    if (tag === 10) {
      const outer = reader.enter();
      while (reader.at < reader.end) {
        const inner = reader.uint32();
        if (inner === 10) result.apiVersion = reader.text();
        else if (inner === 18) result.kind = reader.text();
        else reader.skip(inner & 7);
      }
      reader.leave(outer);
    } else if (tag === 18) result.raw = reader.bytes() as typeof result.raw;
    else if (tag === 34) result.contentType = reader.text();
    else if (tag >>> 3 === 0) throw new ProtobufError('proto: illegal tag 0');
    else reader.skip(tag & 7);
  }
  return result;
}

/** `writeRaw` puts the message in front of what the writer holds. */
export function sealEnvelope(apiVersion: string, kind: string, writeRaw: (writer: Writer) => void): Buffer {
  const writer = new Writer();
  writer.text('');
  writer.tag(4, 2);
  writer.text('');
  writer.tag(3, 2);
  const before = writer.length;
  writeRaw(writer);
  writer.uint32(writer.length - before);
  writer.tag(2, 2);
  const inner = writer.length;
  writer.text(kind);
  writer.tag(2, 2);
  writer.text(apiVersion);
  writer.tag(1, 2);
  writer.uint32(writer.length - inner);
  writer.tag(1, 2);
  writer.raw(envelopeMagic);
  return writer.finish();
}
