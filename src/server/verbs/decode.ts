// Owns the step from bytes to objects: JSON, YAML and protobuf by media type, over the codecs of the API room.
import { decodeCbor } from '../../api/codec/cbor.ts';
import { decodeParsed, typeMetaOf } from '../../api/codec/decode.ts';
import { parseJson, plainValue } from '../../api/codec/json-parse.ts';
import { parseYaml } from '../../api/codec/yaml.ts';
import type { ParsedJson } from '../../api/codec/json-parse.ts';
import { decodeProtobuf } from '../../api/codec/protobuf.ts';
import { badRequest, statusError } from '../../api/status-error.ts';
import { apiVersionOf, parseApiVersion } from '../../api/meta.ts';
import type { KubeObject } from '../../api/meta.ts';
import { schemaOf } from '../../api/schema/builtin.ts';
import type { ObjectSchema } from '../../api/schema/schema.ts';
import { applyStaticDefaults } from '../../api/schema/static-defaults.ts';
import type { Resource } from '../resource.ts';

export interface Decoded {
  readonly object: KubeObject;
  /** Unknown and duplicate fields, in words. */
  readonly problems: readonly string[];
  /** A number that could not be kept as it was sent. */
  readonly inexact?: string;
}

/** Names a kind that a body is expected to be. */
export type Expected = Pick<Resource, 'group' | 'version' | 'kind' | 'schema' | 'decode' | 'sibling' | 'unreadable'>;

const readableTypes: readonly string[] = [
  'application/json',
  'application/yaml',
  'application/vnd.kubernetes.protobuf',
];

export function schemaOfKind(kind: Expected): ObjectSchema | undefined {
  return kind.schema ?? schemaOf(apiVersionOf(kind), kind.kind);
}

/** Throws BadRequest for what cannot be read, UnsupportedMediaType for forms that are not known. */
export function decodeBytes(
  bytes: Uint8Array,
  contentType: string,
  expected: Expected | undefined,
  cbor = false,
): Decoded {
  if (cbor && contentType === 'application/cbor')
    return decodeValue({ value: decodeCbor(bytes), problems: [], oddNumbers: false }, expected);
  switch (contentType) {
    case 'application/json':
      return decodeValue(parseJson(bytes, expected?.decode === undefined), expected);
    case 'application/yaml':
      return decodeValue(parseYaml(bytes), expected);
    case 'application/vnd.kubernetes.protobuf': {
      const fallback = expected && { apiVersion: apiVersionOf(expected), kind: expected.kind };
      return { object: decodeProtobuf(bytes, fallback).object as unknown as KubeObject, problems: [] };
    }
    default:
      throw statusError(
        'UnsupportedMediaType',
        `the body of the request was in an unknown format - accepted media types include: ${[...readableTypes, ...(cbor ? ['application/cbor'] : [])].join(', ')}`,
      );
  }
}

/** By the schema of what the body says it is, else of what is expected; a kind nobody knows stays as it was parsed. */
export function decodeValue(given: ParsedJson, expected: Expected | undefined, merged = false): Decoded {
  // null stands for an object with nothing in it, as Go reads it.
  const parsed = given.value === null ? { ...given, value: {} } : given;
  if (expected?.decode !== undefined && isAbout(parsed, expected)) return expected.decode(parsed, merged);
  const said = typeMetaOf(parsed);
  const kind = said.kind === '' ? (expected?.kind ?? '') : said.kind;
  const apiVersion =
    said.apiVersion === '' ? (expected === undefined ? 'v1' : apiVersionOf(expected)) : said.apiVersion;
  const isExpected = expected !== undefined && expected.kind === kind && apiVersionOf(expected) === apiVersion;
  const schema = isExpected ? schemaOfKind(expected) : schemaOf(apiVersion, kind);
  if (schema === undefined)
    return {
      object: (plainValue(parsed) ?? {}) as KubeObject,
      problems: [...parsed.problems, ...unknownIn(parsed, expected)],
    };
  const { object, strict, inexact } = decodeParsed(schema, parsed, kind, parseApiVersion(apiVersion).version);
  object['kind'] = kind;
  object['apiVersion'] = apiVersion;
  const wrong = isExpected ? expected.unreadable?.(object as unknown as KubeObject) : undefined;
  if (wrong !== undefined)
    throw badRequest(
      `${kind} in version "${parseApiVersion(apiVersion).version}" cannot be handled as a ${kind}: ${wrong}`,
    );
  // Said to be empty differs from unsaid here alone: it makes the server forget all field managers.
  const sent = (parsed.value as { metadata?: { managedFields?: unknown } | null } | undefined)?.metadata?.managedFields;
  const { metadata } = object as unknown as KubeObject;
  if (Array.isArray(sent) && sent.length === 0 && metadata !== undefined) metadata.managedFields = [];
  return { object: object as unknown as KubeObject, problems: strict, ...(inexact !== undefined && { inexact }) };
}

/** Of a version of a custom kind that is not there, all but the metadata is unknown. */
function unknownIn(parsed: ParsedJson, expected: Expected | undefined): string[] {
  const { kind, apiVersion } = typeMetaOf(parsed);
  if (expected?.decode === undefined || kind !== expected.kind || expected.sibling?.(apiVersion) !== undefined)
    return [];
  if (parseApiVersion(apiVersion).group !== expected.group) return [];
  return Object.keys(parsed.value as object)
    .filter((name) => name !== 'apiVersion' && name !== 'kind' && name !== 'metadata')
    .map((name) => `unknown field ${JSON.stringify(name)}`);
}

/** Custom kinds read what is of their version, and what does not say what it is: to refuse that. A wrong kind is judged with the rest. */
function isAbout(parsed: ParsedJson, expected: Expected): boolean {
  const { apiVersion } = typeMetaOf(parsed);
  return apiVersion === '' || apiVersion === apiVersionOf(expected);
}

/** Both kinds of defaults, in place: those of the schema, then those that depend on more. */
export function applyAllDefaults(resource: Resource, object: KubeObject, nowMs: number): void {
  const schema = schemaOfKind(resource);
  if (schema !== undefined && resource.decode === undefined) applyStaticDefaults(schema, object);
  resource.applyDefaults?.(object, nowMs);
}
