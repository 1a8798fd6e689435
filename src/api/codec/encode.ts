// Owns the way from an object to JSON bytes, in upstream's order of fields and with its rules of what is left out.
import { writeJson } from './json-write.ts';
import { type ObjectSchema } from '../schema/schema.ts';
import { normalize } from './structure.ts';

/** The JSON text of an object of a known kind. Does not change `object`, which may be frozen. */
export function encodeText(schema: ObjectSchema, object: unknown): string {
  return writeJson(normalize(schema, object));
}

/** The bytes of an answer: the text and upstream's newline behind it. */
export function encodeJson(schema: ObjectSchema, object: unknown): Buffer {
  return Buffer.from(`${encodeText(schema, object)}\n`, 'utf8');
}
