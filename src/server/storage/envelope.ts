// Owns how objects become stored bytes and back. Custom kinds are JSON; built-in kinds are read in either form.
import type { Frozen, KubeObject } from '../../api/meta.ts';
import { StoreCorrupt } from '../../store/store.ts';

export interface StorageCodec {
  /** Without resourceVersion: the store's revision is the version. */
  encode(object: KubeObject | Frozen<KubeObject>): Uint8Array;
  decode(value: Uint8Array): KubeObject;
}

export const jsonStorage: StorageCodec = {
  encode(object) {
    const { resourceVersion, ...metadata } = object.metadata;
    return Buffer.from(JSON.stringify(resourceVersion === undefined ? object : { ...object, metadata }));
  },
  decode(value) {
    try {
      return JSON.parse(Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString()) as KubeObject;
    } catch (error) {
      throw new StoreCorrupt('registry', error instanceof Error ? error.message : String(error));
    }
  },
};
