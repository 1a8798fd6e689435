// Generated from facts/protos by tools/generate; run `npm run generate`.
import { enumType, message, type Message } from '../protobuf.ts';

export interface KeyValue {
  key: Uint8Array;
  createRevision: bigint;
  modRevision: bigint;
  version: bigint;
  value: Uint8Array;
  lease: bigint;
}
export const KeyValue: Message<KeyValue> = message('mvccpb.KeyValue', () => [
  [1, 'key', 'bytes', 'one'],
  [2, 'createRevision', 'int64', 'one'],
  [3, 'modRevision', 'int64', 'one'],
  [4, 'version', 'int64', 'one'],
  [5, 'value', 'bytes', 'one'],
  [6, 'lease', 'int64', 'one'],
]);

export interface Event {
  type: EventEventType;
  kv?: KeyValue;
  prevKv?: KeyValue;
}
export const Event: Message<Event> = message('mvccpb.Event', () => [
  [1, 'type', EventEventType, 'one'],
  [2, 'kv', KeyValue, 'opt'],
  [3, 'prevKv', KeyValue, 'opt'],
]);

export type EventEventType = 'PUT' | 'DELETE';
export const EventEventType = enumType({ PUT: 0, DELETE: 1 });
