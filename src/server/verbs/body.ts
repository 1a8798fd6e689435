// Owns reading the body of a request as an object: media type, size, shape, unknown fields. Decides nothing about its meaning.
import * as fieldError from '../../api/field-error.ts';
import { badRequest, invalid, isStatusError } from '../../api/status-error.ts';
import type { KubeObject } from '../../api/meta.ts';
import { apiVersionOf, thaw } from '../../api/meta.ts';
import type { Frozen } from '../../api/meta.ts';
import type { ApiRequest } from '../request.ts';
import { warn } from '../request.ts';
import { decodeBytes, decodeValue } from './decode.ts';
import type { Expected } from './decode.ts';
import type { FieldValidation } from './options.ts';

/** "application/json; charset=utf-8" without its parameters. */
export function contentTypeOf(request: ApiRequest): string {
  const header = request.headers['content-type'];
  const text = Array.isArray(header) ? header[0] : header;
  if (text === undefined || text === '') return 'application/json';
  const type = text.split(';')[0]!.trim().toLowerCase();
  // What is no media type at all is none that anybody reads.
  return text === type || (text.length < 1000 && mediaType.test(text)) ? type : text;
}

/** RFC 9110, section 8.3: a type with parameters. */
const mediaType =
  /^\s*[-\w!#$%&'*+.^`|~]+(?:\/[-\w!#$%&'*+.^`|~]+)?\s*(?:;\s*[-\w!#$%&'*+.^`|~]+=(?:[-\w!#$%&'*+.^`|~]+|"(?:[^"\\]|\\.)*")\s*)*;?\s*$/;

/** A body with apiVersion and kind, of any kind. A private copy: the caller may change it. */
export async function readObject(
  request: ApiRequest,
  validation: FieldValidation,
  expected?: Expected,
): Promise<KubeObject | undefined> {
  const { body } = request;
  if (body === undefined) return undefined;
  if (body.type === 'object') {
    if (body.object === undefined) return undefined;
    if (expected?.decode === undefined) return thaw(body.object as Frozen<KubeObject>) as KubeObject;
    const { object, problems } = decodeValue({ value: body.object, problems: [], oddNumbers: false }, expected);
    complain(request, problems, validation, object);
    return object;
  }
  const bytes = await body.read();
  if (bytes.length === 0) return undefined;
  const contentType = contentTypeOf(request);
  let decoded: ReturnType<typeof decodeBytes>;
  try {
    decoded = decodeBytes(bytes, contentType, expected, request.cbor);
  } catch (error) {
    throw expected === undefined || expected.kind === 'DeleteOptions' ? error : unrecognized(error, bytes, expected);
  }
  const { object, problems, inexact } = decoded;
  if (inexact !== undefined) request.inexact = inexact;
  // What is of another kind is refused without a word about its fields.
  if (expected === undefined || expected.decode !== undefined || isOfKind(object, expected))
    complain(request, problems, validation, object);
  return object;
}

function isOfKind({ kind, apiVersion }: Partial<KubeObject>, expected: Expected): boolean {
  return (kind ?? expected.kind) === expected.kind && (apiVersion ?? apiVersionOf(expected)) === apiVersionOf(expected);
}

const unreadable = /^(couldn't get version\/kind|provided data does not appear|empty data)/;
const mostShown = 30;

/** What does not say what it is, is told with what it should have been and how it begins. */
function unrecognized(error: unknown, bytes: Uint8Array, { kind }: Expected): unknown {
  if (!isStatusError(error, 'BadRequest') || !unreadable.test(error.message)) return error;
  const text = Buffer.from(bytes.subarray(0, mostShown));
  const shown = bytes.length === 0 ? '<empty>' : bytes[0] === 0x7b ? text.toString() : text.toString('hex');
  const rest = bytes.length > mostShown ? ' ...' : '';
  return badRequest(
    `the object provided is unrecognized (must be of type ${kind}): ${error.message} (${shown}${rest})`,
  );
}

/** What fieldValidation asks for: refused, told, or nothing. */
export function complain(
  request: ApiRequest,
  problems: readonly string[],
  validation: FieldValidation,
  about: { readonly kind?: string; readonly apiVersion?: string },
): void {
  if (problems.length === 0 || validation === 'Ignore') return;
  if (validation === 'Strict') {
    const version = (about.apiVersion ?? '').split('/').at(-1);
    throw badRequest(
      `${about.kind} in version "${version}" cannot be handled as a ${about.kind}: strict decoding error: ${problems.join(', ')}`,
    );
  }
  for (const problem of problems) warn(request, problem);
}

/** The object of a create or update, which must be of the served kind. */
export async function readResource(
  request: ApiRequest,
  resource: Expected,
  validation: FieldValidation,
): Promise<KubeObject> {
  const object = (await readObject(request, validation, resource)) ?? emptyDocument(request);
  if (object === undefined || object === null) throw unrecognized(emptyBody(request), Buffer.alloc(0), resource);
  return checkWritten(object, resource);
}

/** As `checkKind`, but custom objects have been read whole: that they are of another kind is told with all else that is wrong. */
export function checkWritten(object: KubeObject, resource: Expected): KubeObject {
  const isRead = resource.decode !== undefined && object.apiVersion === apiVersionOf(resource);
  return isRead ? object : checkKind(object, resource);
}

function emptyBody(request: ApiRequest): Error {
  const isProtobuf = contentTypeOf(request) === 'application/vnd.kubernetes.protobuf';
  return badRequest(
    isProtobuf ? 'empty data' : "couldn't get version/kind; json parse error: unexpected end of JSON input",
  );
}

/** YAML of nothing is null, and null is an object with nothing in it. */
function emptyDocument(request: ApiRequest): KubeObject | undefined {
  return contentTypeOf(request) === 'application/yaml' ? ({} as KubeObject) : undefined;
}

export function checkKind(
  object: KubeObject,
  resource: { readonly group: string; readonly version: string; readonly kind: string; readonly decode?: unknown },
): KubeObject {
  const apiVersion = resource.group === '' ? resource.version : `${resource.group}/${resource.version}`;
  if (typeof object !== 'object' || Array.isArray(object)) throw badRequest('the body must be an object');
  object.apiVersion = object.apiVersion === undefined || object.apiVersion === '' ? apiVersion : object.apiVersion;
  object.kind = object.kind === undefined || object.kind === '' ? resource.kind : object.kind;
  if (object.kind !== resource.kind && resource.decode !== undefined)
    throw notOf(resource.group, object, 'kind', `must be ${resource.kind}`);
  if (object.kind !== resource.kind)
    throw badRequest(
      `${object.kind} in version "${versionOf(object.apiVersion)}" cannot be handled as a ${resource.kind}`,
    );
  if (object.apiVersion !== apiVersion)
    throw badRequest(
      `the API version in the data (${String(object.apiVersion)}) does not match the expected API version (${apiVersion})`,
    );
  if (object.metadata === undefined || object.metadata === null) object.metadata = {} as KubeObject['metadata'];
  if (typeof object.metadata !== 'object' || Array.isArray(object.metadata))
    throw badRequest('metadata must be an object');
  return object;
}

/** Of an object that does not say which it is. */
export function nameless({ info }: ApiRequest): Error {
  return badRequest(`the name of the object (${info.name} based on URL) was undeterminable: name must be provided`);
}

/** Throws BadRequest for an object with another name than the request's. */
export function checkName(said: string, { info }: ApiRequest): void {
  if (said !== info.name)
    throw badRequest(`the name of the object (${said}) does not match the name on the URL (${info.name})`);
}

/** Custom kinds judge what an object says it is, as they judge everything else of it. */
export function notOf(group: string, object: KubeObject, field: 'kind' | 'apiVersion', why: string): Error {
  const { name = '' } = (object.metadata ?? {}) as { readonly name?: string };
  return invalid({ group, kind: String(object.kind) }, name, [fieldError.invalid(field, object[field], why)]);
}

function versionOf(apiVersion: unknown): string {
  return typeof apiVersion === 'string' ? apiVersion : '';
}
