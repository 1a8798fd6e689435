// Owns the OpenAPI v3 documents: one a group version, and the index of them. Pure: facts in, documents out.
import {
  describeOperation,
  describeProperty,
  describeType,
  gvkOf,
  methods,
  parameterOf,
  reachable,
  refPrefix,
  type SchemaObject,
  type Schemas,
  type SlimDocument,
  type SlimOperation,
  type SlimPath,
  schemaNames,
  statusText,
} from './facts.ts';

type Json = Record<string, unknown>;

/** The document of a group version from its recorded paths and all recorded schemas. */
export function openApiV3(document: SlimDocument, schemas: Schemas): Json {
  const names = reachable(schemas, schemaNames(document));
  return {
    openapi: '3.0.0',
    info: document.info,
    paths: mapValues(document.paths, pathItem),
    components: {
      schemas: Object.fromEntries(names.map((name) => [name, described(schemas[name]!)])),
      securitySchemes: {
        BearerToken: {
          type: 'apiKey',
          description: 'Bearer Token authentication',
          name: 'authorization',
          in: 'header',
        },
      },
    },
  };
}

/** By path under /openapi/v3 ("apis/apps/v1"): the hash of each document, or for those of other servers the URL that they say. */
export function openApiV3Index(
  hashes: ReadonlyMap<string, string>,
  elsewhere: ReadonlyMap<string, string> = new Map(),
): Json {
  const urls = new Map([...hashes].map(([path, hash]) => [path, `/openapi/v3/${path}?hash=${hash}`]));
  for (const [path, url] of elsewhere) urls.set(path, url);
  return { paths: Object.fromEntries([...urls].map(([path, serverRelativeURL]) => [path, { serverRelativeURL }])) };
}

/** "apis_apps_v1.json" is the file of "apis/apps/v1". */
export function factFileOf(path: string): string {
  return `${path.replaceAll('/', '_')}.json`;
}

export function mapValues<T, R>(record: Readonly<Record<string, T>>, map: (value: T) => R): Record<string, R> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value)]));
}

function pathItem(path: SlimPath): Json {
  const item: Json = {};
  for (const method of methods) if (path[method] !== undefined) item[method] = operationObject(path[method]);
  if (path.parameters !== undefined && path.parameters.length > 0) item['parameters'] = path.parameters.map(parameter);
  return item;
}

function operationObject(operation: SlimOperation): Json {
  const { tags, operationId, parameters, body, responses, action, gvk } = operation;
  return {
    ...(tags !== undefined && { tags }),
    description: describeOperation(operation),
    operationId,
    ...(parameters !== undefined && parameters.length > 0 && { parameters: parameters.map(parameter) }),
    ...(body !== undefined && {
      requestBody: {
        content: content(body),
        ...(action !== 'delete' && action !== 'deletecollection' && { required: true }),
      },
    }),
    responses: Object.fromEntries(
      Object.entries(responses).map(([code, types]) => [
        code,
        { description: statusText(code), ...(Object.keys(types).length > 0 && { content: content(types) }) },
      ]),
    ),
    ...(action !== undefined && { 'x-kubernetes-action': action }),
    ...(gvk !== undefined && { 'x-kubernetes-group-version-kind': gvkOf(gvk) }),
  };
}

function parameter(text: string): Json {
  const { name, in: place, type, required } = parameterOf(text);
  return { name, in: place, ...(required && { required: true }), schema: { type, uniqueItems: true } };
}

function content(types: Readonly<Record<string, string>>): Json {
  return mapValues(types, (name) => ({
    schema: name.startsWith('{') ? (JSON.parse(name) as Json) : { $ref: `${refPrefix}${name}` },
  }));
}

/** A recorded schema with what can be said of it and of its properties. */
function described(schema: SchemaObject): Json {
  const description = describeType(schema);
  return {
    ...(description !== '' && { description }),
    ...schema,
    ...(schema.properties !== undefined && {
      properties: mapValues(schema.properties, (property) => {
        const text = describeProperty(property);
        return text === '' || property.$ref !== undefined ? property : { description: text, ...property };
      }),
    }),
  };
}
