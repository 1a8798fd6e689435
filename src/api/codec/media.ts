// Owns bodies by media type: from bytes to typed objects and back, for JSON, YAML, protobuf and CBOR.
import { writeJson } from './json-write.ts';
import { schemaOf } from '../schema/builtin.ts';
import { statusError } from '../status-error.ts';
import { decodeCbor, encodeCbor } from './cbor.ts';
import { asBadRequest, decodeParsed, typeMetaOf } from './decode.ts';
import { encodeJson } from './encode.ts';
import { type ParsedJson, parseJson, plainValue } from './json-parse.ts';
import { decodeProtobuf, encodeProtobuf } from './protobuf.ts';
import { normalize } from './structure.ts';
import { parseYaml } from './yaml.ts';
import { writeYaml } from './yaml-write.ts';

export type MediaType =
  | 'application/json'
  | 'application/yaml'
  | 'application/vnd.kubernetes.protobuf'
  | 'application/cbor';

export const mediaTypes: readonly MediaType[] = [
  'application/json',
  'application/yaml',
  'application/vnd.kubernetes.protobuf',
  'application/cbor',
];

export interface TypeMeta {
  readonly apiVersion: string;
  readonly kind: string;
}

export interface Body extends TypeMeta {
  /** Typed and canonical for built-in kinds; as sent for others. apiVersion and kind are set. */
  readonly object: Record<string, unknown>;
  /** What fieldValidation is about: `unknown field "spec.foo"`, … */
  readonly strict: readonly string[];
  /** The kind is built in: `object` was decoded against its schema. */
  readonly isTyped: boolean;
}

/**
 * Reads a body. `expected` stands in for an absent apiVersion and kind.
 * Throws StatusError: 400 for what cannot be read, 415 for media types that are not known.
 */
export function decodeBody(bytes: Uint8Array, mediaType: string, expected?: TypeMeta): Body {
  switch (mediaType) {
    case 'application/json':
    case 'text/json':
      return typed(parseJson(bytes), expected);
    case 'application/yaml':
    case 'text/yaml':
    case 'application/apply-patch+yaml':
      return typed(parseYaml(bytes), expected);
    case 'application/cbor':
    case 'application/apply-patch+cbor':
      return typed({ value: decodeCbor(bytes), problems: [], oddNumbers: false }, expected);
    case 'application/vnd.kubernetes.protobuf':
      return { ...decodeProtobuf(bytes, expected), strict: [], isTyped: true };
    default:
      throw statusError(
        'UnsupportedMediaType',
        `the body of the request was in an unknown format - accepted media types include: ${mediaTypes.join(', ')}`,
      );
  }
}

function typed(parsed: ParsedJson, expected: TypeMeta | undefined): Body {
  const meta = typeMetaOf(parsed);
  const apiVersion = meta.apiVersion || (expected?.apiVersion ?? '');
  const kind = meta.kind || (expected?.kind ?? '');
  const schema = schemaOf(apiVersion, kind);
  if (schema === undefined) {
    const object = {
      ...(plain(parsed, kind) as Record<string, unknown>),
      ...(apiVersion && { apiVersion }),
      ...(kind && { kind }),
    };
    return { apiVersion, kind, object, strict: parsed.problems, isTyped: false };
  }
  const { object, strict } = decodeParsed(schema, parsed, kind, apiVersion.slice(apiVersion.indexOf('/') + 1));
  // In the order of the schema: kind and apiVersion come first.
  const complete = meta.kind && meta.apiVersion ? object : { kind, apiVersion, ...object };
  return { apiVersion, kind, object: complete, strict, isTyped: true };
}

function plain(parsed: ParsedJson, kind: string): unknown {
  try {
    return plainValue(parsed);
  } catch (error) {
    throw asBadRequest(error, `${kind} cannot be read`);
  }
}

/**
 * Checks and completes an object of a built-in kind that was put together in memory (by a patch): the same as if its
 * JSON had been sent. Objects of other kinds come back as they are.
 */
export function retype(object: Readonly<Record<string, unknown>>): Body {
  return typed({ value: object, problems: [], oddNumbers: false }, undefined);
}

/** Writes an object of our own. Kinds that are not built in have no protobuf form: 406. */
export function encodeBody(object: unknown, mediaType: MediaType): Buffer {
  const { apiVersion = '', kind = '' } = object as Partial<TypeMeta>;
  const schema = schemaOf(apiVersion, kind);
  const value = schema === undefined ? object : normalize(schema, object);
  switch (mediaType) {
    case 'application/json':
      return schema === undefined ? Buffer.from(`${writeJson(object)}\n`) : encodeJson(schema, object);
    case 'application/yaml':
      return Buffer.from(writeYaml(value));
    case 'application/cbor':
      return encodeCbor(value);
    case 'application/vnd.kubernetes.protobuf':
      if (schema === undefined || schema.fields.every((field) => field.proto === 0))
        throw statusError('NotAcceptable', `${kind} in version "${apiVersion}" has no protobuf form`);
      return encodeProtobuf(schema, value);
  }
}
