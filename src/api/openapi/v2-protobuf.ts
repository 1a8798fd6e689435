// Owns the protobuf form of the OpenAPI v2 document (gnostic's openapi.v2), which client-go's discovery reads.
import { Writer } from '../codec/protobuf-bytes.ts';

type Json = Readonly<Record<string, unknown>>;
type Put = (writer: Writer, value: never) => void;

/**
 * How a key of an object travels: its field number and form. `any` is a value as YAML text. Objects are written field by field from the last to the first, as the writer wants it.
 */
type Form =
  | { readonly as: 'text' | 'texts' | 'bool' | 'any' | 'anys' }
  | { readonly as: 'message' | 'messages'; readonly of: () => Message };

interface Message {
  readonly fields: readonly (readonly [key: string, number: number, form: Form])[];
  /** Keys that start with "x-" go there. */
  readonly extensions?: number;
  /** Writes by itself instead: what Swagger writes as one thing and protobuf as several. */
  readonly own?: Put;
}

const text: Form = { as: 'text' };
const texts: Form = { as: 'texts' };
const bool: Form = { as: 'bool' };
const message = (of: () => Message): Form => ({ as: 'message', of });

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

function nested(writer: Writer, number: number, write: () => void): void {
  const before = writer.length;
  write();
  writer.uint32(writer.length - before);
  writer.tag(number, 2);
}

function put(writer: Writer, { fields, extensions, own }: Message, value: never): void {
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

function putText(writer: Writer, number: number, value: string): void {
  writer.text(value);
  writer.tag(number, 2);
}

/** Any { yaml = 2 }: JSON is YAML. */
function putAny(writer: Writer, number: number, value: unknown): void {
  nested(writer, number, () => putText(writer, 2, `${JSON.stringify(value)}\n`));
}

/** Maps are repeated pairs { name = 1, value = 2 }. */
function putNamed(writer: Writer, number: number, of: Message, value: never): void {
  for (const [name, item] of Object.entries(value as Json).reverse())
    nested(writer, number, () => {
      nested(writer, 2, () => put(writer, of, item as never));
      putText(writer, 1, name);
    });
}
