// Owns the packed form of the generated schema table: what tools/generate writes and builtin.ts reads.
import type { PatchStrategy } from './schema.ts';

/** What tools/generate packs: an alias is a type expression, a struct is [atomic, fields]. */
export type PackedType = string | readonly [atomic: 0 | 1, fields: readonly PackedField[]];
export type PackedField = readonly [name: string, type: string, proto: number, flags: number, extra?: PackedExtra];
export interface PackedExtra {
  /** patch strategy and key, list type and keys, map type, default, enum, protobuf embedding. */
  readonly ps?: readonly PatchStrategy[];
  readonly pk?: string;
  readonly lt?: 'set' | 'map';
  readonly lk?: readonly string[];
  readonly at?: 0 | 1;
  readonly d?: unknown;
  readonly e?: readonly string[];
  readonly in?: readonly number[];
}
/** Bits of a packed field's flags. */
export const flagRequired = 1;
export const flagOmitempty = 2;
export const flagPointer = 4;
export const flagOmitzero = 8;
