// Owns how objects become stored bytes and back: protobuf for built-in kinds, JSON for custom ones, as kube-apiserver stores them.
import { writeJson } from '../../api/codec/json-write.ts';
import { parseExact } from '../../api/codec/json-parse.ts';
import { settle } from '../../api/codec/structure.ts';
import { decodeProtobuf, encodeProtobuf } from '../../api/codec/protobuf.ts';
import { isEnveloped } from '../../api/codec/protobuf-envelope.ts';
import type { Frozen, KubeObject } from '../../api/meta.ts';
import type { ObjectSchema } from '../../api/schema/schema.ts';
import { nullEmpties } from './empties.ts';
import { StoreCorrupt } from '../../store/store.ts';
import { isEncrypted } from './encryption/transformer.ts';
import { whyUnreadable } from './unreadable.ts';

export interface StorageCodec {
  /** The form in which the object will be read again: fields in order, zero values as upstream has them. */
  canonical(object: KubeObject): KubeObject;
  /** Without resourceVersion: the store's revision is the version. */
  encode(object: KubeObject | Frozen<KubeObject>): Uint8Array;
  /** Reads either form. */
  decode(value: Uint8Array): KubeObject;
  /** What is read has more than what was written: a written object is not taken for the one that is read. */
  readonly completesReads?: boolean;
}

function decode(value: Uint8Array): KubeObject {
  const why = whyUnreadable(value);
  if (why !== undefined) throw new StoreCorrupt('registry', why);
  if (isEncrypted(value))
    throw new StoreCorrupt(
      'registry',
      'the value is encrypted, and no --encryption-provider-config says how to read it',
    );
  try {
    if (isEnveloped(value)) return decodeProtobuf(value).object as unknown as KubeObject;
    return parseExact(Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString()) as KubeObject;
  } catch (error) {
    throw new StoreCorrupt('registry', error instanceof Error ? error.message : String(error));
  }
}

function withoutVersion(object: KubeObject | Frozen<KubeObject>): object {
  const { resourceVersion, ...metadata } = object.metadata;
  return resourceVersion === undefined ? object : { ...object, metadata };
}

export function jsonStorage(schema?: ObjectSchema): StorageCodec {
  return {
    canonical: (object) => (schema === undefined ? object : (settle(schema, object) as unknown as KubeObject)),
    encode: (object) => Buffer.from(writeJson(withoutVersion(object))),
    decode,
  };
}

export function protobufStorage(schema: ObjectSchema): StorageCodec {
  return {
    canonical(object) {
      const result = settle(schema, object) as unknown as KubeObject;
      nullEmpties(schema, result);
      return result;
    },
    encode: (object) => encodeProtobuf(schema, withoutVersion(object)),
    decode,
  };
}
