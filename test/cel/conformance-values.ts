// Owns the reading of the conformance set's types and values (protobuf's JSON form of cel.expr.Type and cel.expr.Value). Judges nothing.
import * as types from '../../src/api/cel/types.ts';
import type { CelType } from '../../src/api/cel/types.ts';
import { ArrayList, CelDuration, CelTimestamp, CelTypeValue, CelUint, EntryMap } from '../../src/api/cel/values.ts';
import type { CelValue } from '../../src/api/cel/values.ts';
import { parseDuration, parseInstant } from '../../src/api/time.ts';

export class Unsupported extends Error {
  override readonly name = 'Unsupported';
}

const primitives: Readonly<Record<string, CelType>> = {
  BOOL: types.bool,
  INT64: types.int,
  UINT64: types.uint,
  DOUBLE: types.double,
  STRING: types.string,
  BYTES: types.bytes,
};

const wellKnown: Readonly<Record<string, CelType>> = {
  TIMESTAMP: types.timestamp,
  DURATION: types.duration,
  ANY: types.dyn,
};

interface TypeJson {
  readonly dyn?: unknown;
  readonly null?: unknown;
  readonly primitive?: string;
  readonly wellKnown?: string;
  readonly listType?: { readonly elemType?: object };
  readonly mapType?: { readonly keyType?: object; readonly valueType?: object };
  readonly abstractType?: { readonly name: string; readonly parameterTypes?: readonly object[] };
  readonly type?: unknown;
}

export function typeOf(given: object | undefined): CelType {
  const json = (given ?? {}) as TypeJson;
  if (json.null !== undefined) return types.nullType;
  if (json.primitive !== undefined) return primitives[json.primitive]!;
  if (json.wellKnown !== undefined) return wellKnown[json.wellKnown]!;
  if (json.listType !== undefined) return types.list(typeOf(json.listType.elemType));
  if (json.mapType !== undefined) return types.map(typeOf(json.mapType.keyType), typeOf(json.mapType.valueType));
  if (json.abstractType?.name === 'optional_type') return types.optional(typeOf(json.abstractType.parameterTypes?.[0]));
  if (json.type !== undefined) return types.typeOf(types.dyn);
  if (given === undefined || json.dyn !== undefined) return types.dyn;
  throw new Unsupported(JSON.stringify(given));
}

export function valueOf(given: object): CelValue {
  const [[kind, value] = ['', undefined]] = Object.entries(given) as [string, unknown][];
  switch (kind) {
    case 'int64Value':
      return BigInt(value as string);
    case 'uint64Value':
      return new CelUint(BigInt(value as string));
    case 'doubleValue':
      return Number(value);
    case 'stringValue':
    case 'boolValue':
      return value as string | boolean;
    case 'bytesValue':
      return Buffer.from(value as string, 'base64');
    case 'nullValue':
      return null;
    case 'typeValue':
      return new CelTypeValue(value as string);
    case 'listValue':
      return new ArrayList(((value as { values?: object[] }).values ?? []).map(valueOf));
    case 'mapValue': {
      const { entries = [] } = value as { entries?: { key: object; value: object }[] };
      return new EntryMap(entries.map((entry) => [valueOf(entry.key), valueOf(entry.value)]));
    }
    case 'objectValue':
      return wellKnownValue(value as { '@type': string; value: string });
    default:
      throw new Unsupported(kind);
  }
}

function wellKnownValue({ '@type': type, value }: { '@type': string; value: string }): CelValue {
  if (type.endsWith('.Duration')) return new CelDuration(parseDuration(value)!);
  if (!type.endsWith('.Timestamp')) throw new Unsupported(type);
  const { seconds, nanos } = parseInstant(value)!;
  return new CelTimestamp(BigInt(seconds) * 1_000_000_000n + BigInt(nanos));
}
