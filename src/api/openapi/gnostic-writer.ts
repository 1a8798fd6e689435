// Owns how gnostic's messages (openapi.v2, openapi.v3) are written from JSON: by tables of fields, from the last to the first. Knows no message.
import { writeJson } from '../codec/json-write.ts';
import type { Writer } from '../codec/protobuf-bytes.ts';

export type Json = Readonly<Record<string, unknown>>;
export type Put = (writer: Writer, value: never) => void;

/**
 * How a key of an object travels: its field number and form. `any` is a value as YAML text. Objects are written field by field from the last to the first, as the writer wants it.
 */
export type Form =
  | { readonly as: 'text' | 'texts' | 'bool' | 'int' | 'double' | 'any' | 'anys' }
  | { readonly as: 'message' | 'messages'; readonly of: () => Message };

export interface Message {
  readonly fields: readonly (readonly [key: string, number: number, form: Form])[];
  /** Keys that start with "x-" go there. */
  readonly extensions?: number;
  /** Writes by itself instead: what Swagger writes as one thing and protobuf as several. */
  readonly own?: Put;
}

export const text: Form = { as: 'text' };
export const texts: Form = { as: 'texts' };
export const bool: Form = { as: 'bool' };
export const message = (of: () => Message): Form => ({ as: 'message', of });

export function nested(writer: Writer, number: number, write: () => void): void {
  const before = writer.length;
  write();
  writer.uint32(writer.length - before);
  writer.tag(number, 2);
}

export function put(writer: Writer, { fields, extensions, own }: Message, value: never): void {
  if (own !== undefined) {
    own(writer, value);
    return;
  }
  const object = value as Json;
  if (extensions !== undefined)
    for (const key of Object.keys(object).reverse())
      if (key.startsWith('x-'))
        nested(writer, extensions, () => {
          putAny(writer, 2, object[key]);
          writer.text(key);
          writer.tag(1, 2);
        });
  for (let at = fields.length - 1; at >= 0; at--) {
    const [key, number, form] = fields[at]!;
    if (object[key] !== undefined) putField(writer, number, form, object[key]);
  }
}

function putField(writer: Writer, number: number, form: Form, value: unknown): void {
  switch (form.as) {
    case 'text':
      putText(writer, number, value as string);
      break;
    case 'texts':
      for (const item of (value as string[]).toReversed()) putText(writer, number, item);
      break;
    case 'bool':
      writer.uint32(value === true ? 1 : 0);
      writer.tag(number, 0);
      break;
    case 'int':
      writer.int64(value as number);
      writer.tag(number, 0);
      break;
    case 'double':
      writer.double(value as number);
      writer.tag(number, 1);
      break;
    case 'any':
      putAny(writer, number, value);
      break;
    case 'anys':
      for (const item of (value as unknown[]).toReversed()) putAny(writer, number, item);
      break;
    case 'message':
      nested(writer, number, () => put(writer, form.of(), value as never));
      break;
    case 'messages':
      for (const item of (value as unknown[]).toReversed())
        nested(writer, number, () => put(writer, form.of(), item as never));
  }
}

export function putText(writer: Writer, number: number, value: string): void {
  writer.text(value);
  writer.tag(number, 2);
}

/** Any { yaml = 2 }: JSON is YAML. */
function putAny(writer: Writer, number: number, value: unknown): void {
  nested(writer, number, () => putText(writer, 2, `${writeJson(value)}\n`));
}

/** Maps are repeated pairs { name = 1, value = 2 }. */
export function putNamed(writer: Writer, number: number, of: Message, value: never): void {
  for (const [name, item] of Object.entries(value as Json).reverse())
    nested(writer, number, () => {
      nested(writer, 2, () => put(writer, of, item as never));
      putText(writer, 1, name);
    });
}
