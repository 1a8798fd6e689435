// Owns objects as Kubernetes protobuf, both ways: enveloped objects, and the frames of a watch.
import { schemaOf } from '../schema/builtin.ts';
import type { ObjectSchema } from '../schema/schema.ts';
import { badRequest } from '../status-error.ts';
import { ProtobufError, Reader, Writer } from './protobuf-bytes.ts';
import { isEnveloped, openEnvelope, sealEnvelope } from './protobuf-envelope.ts';
import { readMessage, writeMessage } from './protobuf-message.ts';
import { normalize } from './structure.ts';

export interface DecodedProtobuf {
  readonly apiVersion: string;
  readonly kind: string;
  readonly object: Record<string, unknown>;
}

/** The enveloped object. apiVersion and kind are those of `object`. Quantities and times must be in their canonical forms. */
export function encodeProtobuf(schema: ObjectSchema, object: unknown): Buffer {
  const { apiVersion = '', kind } = object as { apiVersion?: string; kind: string };
  return sealEnvelope(apiVersion, kind, (writer) => writeMessage(schema, writer, object));
}

/**
 * Opens an envelope and decodes the built-in kind within. `fallback` names the kind when the envelope does not.
 * Throws StatusError 400 for malformed bytes and unknown kinds.
 */
export function decodeProtobuf(bytes: Uint8Array, fallback?: { apiVersion: string; kind: string }): DecodedProtobuf {
  if (!isEnveloped(bytes))
    throw badRequest('provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]');
  try {
    const envelope = openEnvelope(bytes);
    const apiVersion = envelope.apiVersion || (fallback?.apiVersion ?? '');
    const kind = envelope.kind || (fallback?.kind ?? '');
    const schema = schemaOf(apiVersion, kind);
    if (schema === undefined) throw badRequest(`no kind "${kind}" is registered for version "${apiVersion}"`);
    const read = readMessage(schema, new Reader(envelope.raw));
    // Protobuf does not tell an empty list from none; a list of objects is never none.
    if (kind.endsWith('List') && schema.byName.has('items')) read['items'] ??= [];
    return { apiVersion, kind, object: normalize(schema, { ...read, kind, apiVersion }) as Record<string, unknown> };
  } catch (error) {
    if (error instanceof ProtobufError || error instanceof RangeError)
      throw badRequest(`the body is no valid Kubernetes protobuf: ${error.message}`);
    throw error;
  }
}

/** One event of a protobuf watch: four bytes of length, then a WatchEvent around an enveloped object. */
export function encodeWatchFrame(type: string, enveloped: Uint8Array): Buffer {
  const writer = new Writer();
  writer.bytes(enveloped);
  writer.tag(1, 2);
  writer.uint32(writer.length);
  writer.tag(2, 2);
  writer.text(type);
  writer.tag(1, 2);
  const { length } = writer;
  writer.raw(Uint8Array.of(length >>> 24, (length >>> 16) & 0xff, (length >>> 8) & 0xff, length & 0xff));
  return writer.finish();
}

/** A frame without its four bytes of length. Throws StatusError 400. */
export function decodeWatchFrame(bytes: Uint8Array): { type: string; enveloped: Buffer } {
  const reader = new Reader(bytes);
  let type = '';
  let enveloped: Buffer = Buffer.alloc(0);
  try {
    while (reader.at < reader.end) {
      const tag = reader.uint32();
      if (tag === 10) type = reader.text();
      else if (tag === 18) {
        const outer = reader.enter();
        while (reader.at < reader.end) {
          const inner = reader.uint32();
          if (inner === 10) enveloped = reader.bytes();
          else reader.skip(inner & 7);
        }
        reader.leave(outer);
      } else reader.skip(tag & 7);
    }
  } catch (error) {
    if (error instanceof ProtobufError) throw badRequest(`the frame is no valid watch event: ${error.message}`);
    throw error;
  }
  return { type, enveloped };
}
