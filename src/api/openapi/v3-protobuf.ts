// Owns the protobuf form of the OpenAPI v3 documents (gnostic's openapi.v3), which some clients ask for.
import { Writer } from '../codec/protobuf-bytes.ts';
import {
  bool,
  type Form,
  type Json,
  message,
  type Message,
  nested,
  put,
  type Put,
  putNamed,
  putText,
  text,
  texts,
} from './gnostic-writer.ts';

const int: Form = { as: 'int' };
const double: Form = { as: 'double' };

/** X or a Reference, which is field 2; `of` is X, field 1. */
const orReference = (of: () => Message): Message => ({
  fields: [],
  own: (writer, value) => {
    const { $ref } = value as { $ref?: string };
    if ($ref === undefined) nested(writer, 1, () => put(writer, of(), value));
    else nested(writer, 2, () => putText(writer, 1, $ref));
  },
});

/** A map: its entries are field 1. */
const mapOf = (of: () => Message): Message => ({
  fields: [],
  own: (writer, value) => putNamed(writer, 1, of(), value),
});

const schemaOrReference: Message = orReference(() => schemaMessage);
const schemas = { as: 'messages', of: () => schemaOrReference } as const;

/** DefaultType { number = 1, boolean = 2, string = 3 }: other values have no form there. */
const putDefault: Put = (writer, value: unknown) => {
  if (typeof value === 'string') putText(writer, 3, value);
  else if (typeof value === 'number' || typeof value === 'bigint') {
    writer.double(Number(value));
    writer.tag(1, 1);
  } else if (typeof value === 'boolean') {
    writer.uint32(value ? 1 : 0);
    writer.tag(2, 0);
  }
};

const additional: Message = {
  fields: [],
  own: (writer, value: unknown) => {
    if (typeof value === 'boolean') {
      writer.uint32(value ? 1 : 0);
      writer.tag(2, 0);
    } else nested(writer, 1, () => put(writer, schemaOrReference, value as never));
  },
};
const items: Message = {
  fields: [],
  own: (writer, value) => nested(writer, 1, () => put(writer, schemaOrReference, value)),
};

const schemaMessage: Message = {
  fields: [
    ['nullable', 1, bool],
    ['example', 7, { as: 'any' }],
    ['title', 9, text],
    ['multipleOf', 10, double],
    ['maximum', 11, double],
    ['exclusiveMaximum', 12, bool],
    ['minimum', 13, double],
    ['exclusiveMinimum', 14, bool],
    ['maxLength', 15, int],
    ['minLength', 16, int],
    ['pattern', 17, text],
    ['maxItems', 18, int],
    ['minItems', 19, int],
    ['uniqueItems', 20, bool],
    ['maxProperties', 21, int],
    ['minProperties', 22, int],
    ['required', 23, texts],
    ['enum', 24, { as: 'anys' }],
    ['type', 25, text],
    ['allOf', 26, schemas],
    ['oneOf', 27, schemas],
    ['anyOf', 28, schemas],
    ['not', 29, message(() => schemaMessage)],
    ['items', 30, message(() => items)],
    ['properties', 31, message(() => mapOf(() => schemaOrReference))],
    ['additionalProperties', 32, message(() => additional)],
    ['default', 33, message(() => ({ fields: [], own: putDefault }))],
    ['description', 34, text],
    ['format', 35, text],
  ],
  extensions: 36,
};

const mediaType: Message = { fields: [['schema', 1, message(() => schemaOrReference)]] };
const content = message(() => mapOf(() => mediaType));

const parameter: Message = orReference(() => ({
  fields: [
    ['name', 1, text],
    ['in', 2, text],
    ['description', 3, text],
    ['required', 4, bool],
    ['schema', 10, message(() => schemaOrReference)],
  ],
}));
const parameters: Form = { as: 'messages', of: () => parameter };

const requestBody: Message = orReference(() => ({
  fields: [
    ['description', 1, text],
    ['content', 2, content],
    ['required', 3, bool],
  ],
}));
const response: Message = orReference(() => ({
  fields: [
    ['description', 1, text],
    ['content', 3, content],
  ],
}));
const responses: Message = { fields: [], own: (writer, value) => putNamed(writer, 2, response, value) };

const operationMessage: Message = {
  fields: [
    ['tags', 1, texts],
    ['description', 3, text],
    ['operationId', 5, text],
    ['parameters', 6, parameters],
    ['requestBody', 7, message(() => requestBody)],
    ['responses', 8, message(() => responses)],
  ],
  extensions: 13,
};
const operation = message(() => operationMessage);
const pathItem: Message = {
  fields: [
    ['get', 4, operation],
    ['put', 5, operation],
    ['post', 6, operation],
    ['delete', 7, operation],
    ['options', 8, operation],
    ['head', 9, operation],
    ['patch', 10, operation],
    ['parameters', 13, parameters],
  ],
};

const securityScheme: Message = orReference(() => ({
  fields: [
    ['type', 1, text],
    ['description', 2, text],
    ['name', 3, text],
    ['in', 4, text],
  ],
}));
const components: Message = {
  fields: [
    ['schemas', 1, message(() => mapOf(() => schemaOrReference))],
    ['securitySchemes', 7, message(() => mapOf(() => securityScheme))],
  ],
};
const info: Message = {
  fields: [
    ['title', 1, text],
    ['version', 6, text],
  ],
};

const documentMessage: Message = {
  fields: [
    ['openapi', 1, text],
    ['info', 2, message(() => info)],
    ['paths', 4, message(() => mapOf(() => pathItem))],
    ['components', 5, message(() => components)],
  ],
};

/** The bytes of a document that `openApiV3` made. */
export function encodeOpenApiV3(document: Json): Buffer {
  const writer = new Writer();
  put(writer, documentMessage, document as never);
  return writer.finish();
}
