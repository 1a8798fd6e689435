// Owns the protobuf form of the OpenAPI v2 document (gnostic's openapi.v2), which client-go's discovery reads.
import { Writer } from '../codec/protobuf-bytes.ts';
import {
  bool,
  type Json,
  message,
  type Message,
  nested,
  put,
  type Put,
  putNamed,
  text,
  texts,
} from './gnostic-writer.ts';

const schemaMessage: Message = {
  fields: [
    ['$ref', 1, text],
    ['format', 2, text],
    ['description', 4, text],
    ['default', 5, { as: 'any' }],
    ['required', 19, texts],
    ['enum', 20, { as: 'anys' }],
    ['additionalProperties', 21, message(() => additionalMessage)],
    ['type', 22, message(() => typeMessage)],
    ['items', 23, message(() => itemsMessage)],
    ['properties', 25, message(() => namedSchemas)],
  ],
  extensions: 31,
};

const typeMessage: Message = {
  fields: [],
  own: (writer, value) => {
    writer.text(value);
    writer.tag(1, 2);
  },
};
/** Both wrap a schema as their field 1. */
const wrapsSchema: Put = (writer, value) => nested(writer, 1, () => put(writer, schemaMessage, value));
const itemsMessage: Message = { fields: [], own: wrapsSchema };
const additionalMessage: Message = {
  fields: [],
  own: (writer, value) => {
    if (typeof value === 'boolean') {
      writer.uint32(value ? 1 : 0);
      writer.tag(2, 0);
    } else wrapsSchema(writer, value);
  },
};
const namedSchemas: Message = {
  fields: [],
  own: (writer, value) => putNamed(writer, 1, schemaMessage, value),
};

const bodyParameter: Message = {
  fields: [
    ['description', 1, text],
    ['name', 2, text],
    ['in', 3, text],
    ['required', 4, bool],
    ['schema', 5, message(() => schemaMessage)],
  ],
  extensions: 6,
};
const queryParameter: Message = {
  fields: [
    ['required', 1, bool],
    ['in', 2, text],
    ['description', 3, text],
    ['name', 4, text],
    ['type', 6, text],
    ['uniqueItems', 20, bool],
  ],
};
const pathParameter: Message = {
  fields: [
    ['required', 1, bool],
    ['in', 2, text],
    ['description', 3, text],
    ['name', 4, text],
    ['type', 5, text],
    ['uniqueItems', 19, bool],
  ],
};
/** ParametersItem { parameter { body | nonBody { query | path } } } */
const parameterMessage: Message = {
  fields: [],
  own: (writer, value) => {
    const place = (value as Json)['in'];
    nested(writer, 1, () => {
      if (place === 'body') nested(writer, 1, () => put(writer, bodyParameter, value));
      else
        nested(writer, 2, () =>
          place === 'path'
            ? nested(writer, 4, () => put(writer, pathParameter, value))
            : nested(writer, 3, () => put(writer, queryParameter, value)),
        );
    });
  },
};
const responseMessage: Message = {
  fields: [
    ['description', 1, text],
    ['schema', 2, { as: 'message', of: () => itemsMessage }],
  ],
};
/** ResponseValue { response } */
const responseValue: Message = {
  fields: [],
  own: (writer, value) => nested(writer, 1, () => put(writer, responseMessage, value)),
};
const responsesMessage: Message = { fields: [], own: (writer, value) => putNamed(writer, 1, responseValue, value) };

const operationMessage: Message = {
  fields: [
    ['tags', 1, texts],
    ['description', 3, text],
    ['operationId', 5, text],
    ['produces', 6, texts],
    ['consumes', 7, texts],
    ['parameters', 8, { as: 'messages', of: () => parameterMessage }],
    ['responses', 9, message(() => responsesMessage)],
    ['schemes', 10, texts],
  ],
  extensions: 13,
};
const operation = message(() => operationMessage);
const pathItem: Message = {
  fields: [
    ['get', 2, operation],
    ['put', 3, operation],
    ['post', 4, operation],
    ['delete', 5, operation],
    ['options', 6, operation],
    ['head', 7, operation],
    ['patch', 8, operation],
    ['parameters', 9, { as: 'messages', of: () => parameterMessage }],
  ],
};
const pathsMessage: Message = { fields: [], own: (writer, value) => putNamed(writer, 2, pathItem, value) };

const documentMessage: Message = {
  fields: [
    ['swagger', 1, text],
    [
      'info',
      2,
      message(() => ({
        fields: [
          ['title', 1, text],
          ['version', 2, text],
        ],
      })),
    ],
    ['paths', 8, message(() => pathsMessage)],
    ['definitions', 9, message(() => namedSchemas)],
    ['securityDefinitions', 13, message(() => securityMessage)],
  ],
};
/** SecurityDefinitionsItem { …, api_key_security = 2 } */
const securityMessage: Message = { fields: [], own: (writer, value) => putNamed(writer, 1, securityItem, value) };
const securityItem: Message = {
  fields: [],
  own: (writer, value) =>
    nested(writer, 2, () =>
      put(
        writer,
        {
          fields: [
            ['type', 1, text],
            ['name', 2, text],
            ['in', 3, text],
            ['description', 4, text],
          ],
        },
        value,
      ),
    ),
};

/** The bytes of a document that `openApiV2` made. */
export function encodeOpenApiV2(document: Json): Buffer {
  const writer = new Writer();
  put(writer, documentMessage, document as never);
  return writer.finish();
}
