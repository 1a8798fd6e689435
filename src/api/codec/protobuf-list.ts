// Owns lists in protobuf put together from items that are encoded already: what stands before, between and behind them.
import type { ObjectSchema } from '../schema/schema.ts';
import { Writer } from './protobuf-bytes.ts';
import { openEnvelope, sealEnvelope } from './protobuf-envelope.ts';
import { writeMessage } from './protobuf-message.ts';

export interface ProtobufList {
  /** Of the whole. */
  readonly length: number;
  readonly head: Buffer;
  readonly end: Buffer;
}

/** The message within an enveloped object: as an item of a list has it. No copy. */
export function messageOf(enveloped: Buffer): Buffer {
  return openEnvelope(enveloped).raw;
}

/** What stands before an item of so many bytes. */
export function itemHead(number: number, length: number): Buffer {
  const writer = new Writer();
  writer.uint32(length);
  writer.tag(number, 2);
  return writer.finish();
}

/** The list `empty` (an object with apiVersion, kind, metadata) around items that take `itemBytes` with their heads. */
export function protobufList(schema: ObjectSchema, empty: object, itemBytes: number): ProtobufList {
  const { apiVersion, kind } = empty as { apiVersion: string; kind: string };
  const first = new Writer();
  writeMessage(schema, first, empty);
  const message = first.finish();
  // The envelope of nothing: magic, kind, the length of the message, the message, two empty texts.
  const sealed = sealEnvelope(apiVersion, kind, () => undefined);
  const end = sealed.subarray(sealed.length - 4);
  const writer = new Writer();
  writer.raw(message);
  writer.uint32(message.length + itemBytes);
  writer.raw(sealed.subarray(0, sealed.length - end.length - 1));
  const head = writer.finish();
  return { length: head.length + itemBytes + end.length, head, end };
}
