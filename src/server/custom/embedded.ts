// Owns the judgement of embedded resources: what apiVersion, kind and metadata of an object within an object may be.
import { invalid, required } from '../../api/field-error.ts';
import { dns1035Label, pathSegmentName } from '../../api/names.ts';
import { validateObjectMeta } from '../../api/object-meta.ts';
import { decodeParsed } from '../../api/codec/decode.ts';
import { schemaOfType } from '../../api/schema/builtin.ts';
import type { ObjectSchema } from '../../api/schema/schema.ts';
import { type FieldError, isStatusError } from '../../api/status-error.ts';
import { isObject } from './structural.ts';
import type { JsonObject } from './structural.ts';

export function judgeEmbedded(resource: JsonObject, place: string): FieldError[] {
  const errors: FieldError[] = [];
  for (const name of ['apiVersion', 'kind'])
    if (!Object.hasOwn(resource, name)) errors.push(required(`${place}.${name}`));
  for (const [name, value] of Object.entries(resource)) {
    const field = `${place}.${name}`;
    if (name === 'metadata') {
      const unreadable = whyUnreadable(value);
      if (unreadable !== undefined) errors.push(invalid(field, value, unreadable));
      else if (isObject(value)) errors.push(...judgeMetadata(value, field));
      continue;
    }
    if (name !== 'apiVersion' && name !== 'kind') continue;
    if (typeof value !== 'string') errors.push(invalid(field, value, 'must be a string'));
    else if (value === '') errors.push(invalid(field, value, 'must not be empty'));
    else if (name === 'apiVersion') {
      if (value.split('/').length > 2) errors.push(invalid(field, value, `unexpected GroupVersion string: ${value}`));
    } else {
      const wrong = dns1035Label(value.toLowerCase());
      if (wrong.length > 0)
        errors.push(invalid(field, value, `may have mixed case, but should otherwise match: ${wrong.join(',')}`));
    }
  }
  return errors;
}

const readMetadata = (value: unknown): JsonObject =>
  decodeParsed(schemaOfType('meta.v1.ObjectMeta') as ObjectSchema, { value, problems: [], oddNumbers: false }, '', '')
    .object as unknown as JsonObject;

/** Leaves of the metadata what is known, in place; what cannot be read at all stays, to be refused. */
export function knownMetadata(resource: JsonObject): void {
  const { metadata } = resource;
  if (metadata === undefined || whyUnreadable(metadata) !== undefined) return;
  resource['metadata'] = readMetadata(metadata);
}

/** Objects have been read before, a schema's defaults have not. */
function whyUnreadable(metadata: unknown): string | undefined {
  try {
    readMetadata(metadata);
    return undefined;
  } catch (error) {
    if (isStatusError(error, 'BadRequest')) return error.message;
    throw error;
  }
}

function judgeMetadata(metadata: JsonObject, place: string): FieldError[] {
  // Something has to stand for the name where there is none.
  const named = { ...metadata, name: metadata['name'] || 'fakename' };
  const namespaced = (metadata['namespace'] ?? '') !== '';
  const rules = { namespaced, validateName: pathSegmentName, anyFinalizer: true };
  return validateObjectMeta(named as never, rules, place);
}
