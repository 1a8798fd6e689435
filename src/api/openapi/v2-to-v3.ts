// Owns the way from OpenAPI 2 to OpenAPI 3, for servers that tell of themselves in the old form only. It gets strangers' documents: what is
// not of the form is left out. Some is lost on the way, as upstream has it: limits of parameters, security.

import type { SwaggerPart } from './merge.ts';

type Json = Readonly<Record<string, unknown>>;

export interface Swagger extends SwaggerPart {
  readonly info?: unknown;
}

const oldPrefix = '#/definitions/';
const newPrefix = '#/components/schemas/';
const methods = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch'] as const;
/** What is said of an operation in the same words. */
const kept = ['tags', 'summary', 'description', 'externalDocs', 'operationId', 'deprecated'] as const;
/** Members of a schema that hold values, not schemas. */
const values: ReadonlySet<string> = new Set(['default', 'enum', 'example', 'required', 'type']);

export function swaggerToV3({ info, paths, definitions }: Swagger): Json {
  return {
    openapi: '3.0.0',
    info: isRecord(info) ? info : { title: '', version: '' },
    paths: mapRecords(paths, pathItem),
    components: { schemas: mapRecords(definitions, (schema) => convertSchema(schema) as Json) },
  };
}

function isRecord(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function recordsOf(value: unknown): readonly Json[] {
  return Array.isArray(value) ? (value as unknown[]).filter(isRecord) : [];
}

function mapRecords(all: unknown, change: (value: Json) => Json): Json {
  if (!isRecord(all)) return {};
  const changed: [string, Json][] = [];
  for (const [key, value] of Object.entries(all)) if (isRecord(value)) changed.push([key, change(value)]);
  return Object.fromEntries(changed);
}

/** `$ref` leads elsewhere now, and stands alone: what is said beside it is said beside an `allOf`. */
function convertSchema(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(convertSchema);
  if (!isRecord(schema)) return schema;
  const { $ref: reference, ...rest } = schema;
  const converted = Object.fromEntries(
    Object.entries(rest).map(([key, value]) => {
      if (key === 'properties') return [key, mapRecords(value, (property) => convertSchema(property) as Json)];
      return [key, values.has(key) || key.startsWith('x-') ? value : convertSchema(value)];
    }),
  );
  if (typeof reference !== 'string') return converted;
  const to = reference.startsWith(oldPrefix) ? newPrefix + reference.slice(oldPrefix.length) : reference;
  return Object.keys(converted).length === 0 ? { $ref: to } : { ...converted, allOf: [{ $ref: to }] };
}

function extensionsOf(value: Json): Json {
  return Object.fromEntries(Object.entries(value).filter(([key]) => key.startsWith('x-')));
}

function pathItem(item: Json): Json {
  const parameters = recordsOf(item['parameters']);
  const operations = methods.flatMap((method) => {
    const operation = item[method];
    return isRecord(operation) ? [[method, convertOperation(operation)] as const] : [];
  });
  return {
    ...extensionsOf(item),
    ...Object.fromEntries(operations),
    ...(parameters.length > 0 && { parameters: parameters.map(convertParameter) }),
  };
}

function convertOperation(operation: Json): Json {
  const parameters = recordsOf(operation['parameters']);
  const body = parameters.find(({ in: place, schema }) => place === 'body' && isRecord(schema));
  const others = parameters.filter((one) => one !== body);
  return {
    ...extensionsOf(operation),
    ...Object.fromEntries(kept.flatMap((key) => (operation[key] === undefined ? [] : [[key, operation[key]]]))),
    ...(others.length > 0 && { parameters: others.map(convertParameter) }),
    ...(body !== undefined && { requestBody: { content: contentOf(operation['consumes'], body['schema']) } }),
    responses: mapRecords(operation['responses'], (response) => ({
      ...extensionsOf(response),
      description: response['description'] ?? '',
      ...(isRecord(response['schema']) && { content: contentOf(operation['produces'], response['schema']) }),
    })),
  };
}

function contentOf(types: unknown, schema: unknown): Json {
  const names = Array.isArray(types) ? (types as unknown[]).filter((type) => typeof type === 'string') : ['*/*'];
  return Object.fromEntries(names.map((type) => [type, { schema: convertSchema(schema) }]));
}

function convertParameter({ type, format, items, uniqueItems, schema, ...said }: Json): Json {
  const simple = { type, format, items, uniqueItems };
  const own = Object.fromEntries(Object.entries(simple).filter(([, value]) => value !== undefined));
  return { ...said, schema: convertSchema(isRecord(schema) ? schema : own) };
}
