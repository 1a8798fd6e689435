// Owns which files a volume made of API objects has: keys, items, modes. Pure.
import type { ConfigMap, KeyToPath, Secret } from '../../api/generated/core.v1.ts';
import type { Frozen } from '../../api/meta.ts';

export interface PayloadFile {
  readonly content: Uint8Array;
  readonly mode: number;
}

/** Content by relative path. */
export type Payload = ReadonlyMap<string, PayloadFile>;

export class VolumeError extends Error {
  override readonly name = 'VolumeError';
}

export const defaultFileMode = 0o644;

export interface Selection {
  readonly items?: readonly Frozen<KeyToPath>[];
  readonly defaultMode?: number;
  readonly optional?: boolean;
}

export function configMapBytes(object: Frozen<ConfigMap>): Map<string, Uint8Array> {
  return new Map([
    ...Object.entries(object.data ?? {}).map(([key, text]) => [key, Buffer.from(text)] as const),
    ...Object.entries(object.binaryData ?? {}).map(([key, text]) => [key, Buffer.from(text, 'base64')] as const),
  ]);
}

export function secretBytes(object: Frozen<Secret>): Map<string, Uint8Array> {
  return new Map(Object.entries(object.data ?? {}).map(([key, text]) => [key, Buffer.from(text, 'base64')] as const));
}

/** All keys, or the chosen ones under their paths. Throws VolumeError for a chosen key that is missing and not optional. */
export function selectKeys(what: string, keys: ReadonlyMap<string, Uint8Array>, selection: Selection): Payload {
  const mode = selection.defaultMode ?? defaultFileMode;
  const result = new Map<string, PayloadFile>();
  if (!selection.items || selection.items.length === 0) {
    for (const [key, content] of keys) result.set(key, { content, mode });
    return result;
  }
  for (const item of selection.items) {
    const content = keys.get(item.key);
    if (content !== undefined) result.set(safePath(item.path), { content, mode: item.mode ?? mode });
    else if (!selection.optional) throw new VolumeError(`${what} references non-existent config key: ${item.key}`);
  }
  return result;
}

/** Refuses what would leave the volume; the API server refuses it too, but static pods do not pass there. */
export function safePath(path: string): string {
  if (path.startsWith('/') || path.split('/').includes('..')) throw new VolumeError(`path ${path} leaves its volume`);
  return path;
}
