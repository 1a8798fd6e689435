// Owns the OpenAPI v3 documents: one a group version, and the index of them. Pure: facts in, documents out.
import { inEvery } from './known-versions.ts';
import { parseExact } from '../codec/json-parse.ts';
import {
  describeOperation,
  type GroupVersionKind,
  gvkOf,
  parameterOf,
  reachable,
  refPrefix,
  type SchemaObject,
  type Schemas,
  type SlimDocument,
  type SlimOperation,
  schemaNames,
  statusText,
} from './facts.ts';
import { pathItem } from './path-item.ts';
import { noTexts, parameterText, type Place, type Texts } from './texts.ts';

type Json = Record<string, unknown>;

/** The document of a group version from its recorded paths and all recorded schemas. */
/** `ofCustom`: of custom kinds, which are told of by a server of their own. */
export function openApiV3(document: SlimDocument, schemas: Schemas, texts: Texts = noTexts, ofCustom = false): Json {
  const names = reachable(schemas, schemaNames(document));
  return {
    openapi: '3.0.0',
    info: document.info,
    paths: mapValues(document.paths, (path, at) =>
      pathItem(at, path, texts, { operation: operationObject, parameter }),
    ),
    components: {
      ...(names.length > 0 && {
        schemas: Object.fromEntries(
          names.map((name) => [
            name,
            ofCustom ? inEvery(name, schemas[name]!, true) : ofEveryGroup(schemas[name]!, document),
          ]),
        ),
      }),
      ...(!ofCustom && {
        securitySchemes: {
          BearerToken: {
            type: 'apiKey',
            description: 'Bearer Token authentication',
            name: 'authorization',
            in: 'header',
          },
        },
      }),
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

export function mapValues<T, R>(
  record: Readonly<Record<string, T>>,
  map: (value: T, key: string) => R,
): Record<string, R> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value, key)]));
}

function operationObject(operation: SlimOperation, texts: Texts, place: Place): Json {
  const { tags, operationId, parameters, body, responses, action, gvk } = operation;
  return {
    ...(tags !== undefined && { tags }),
    description: texts.operations[operation.operationId] ?? describeOperation(operation),
    operationId,
    ...(parameters !== undefined &&
      parameters.length > 0 && {
        parameters: parameters.map((text) => parameter(text, parameterText(texts, text, place))),
      }),
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

function parameter(text: string, description: string | undefined): Json {
  const { name, in: place, type, required } = parameterOf(text);
  return {
    name,
    in: place,
    ...(description !== undefined && { description }),
    ...(required && { required: true }),
    schema: { type, uniqueItems: true },
  };
}

function content(types: Readonly<Record<string, string>>): Json {
  return mapValues(types, (name) => ({
    schema: name.startsWith('{') ? (parseExact(name) as Json) : { $ref: `${refPrefix}${name}` },
  }));
}

/** Some kinds are in every group: of the core's they say so, and of the document's own. */
function ofEveryGroup(schema: SchemaObject, { paths }: SlimDocument): SchemaObject {
  const kinds = schema[kindsKey] as readonly GroupVersionKind[] | undefined;
  if (kinds === undefined || kinds.length < 2) return schema;
  const [, , group, version] = Object.keys(paths)[0]?.split('/') ?? [];
  const { kind } = kinds[0]!;
  const own = group === undefined || version === '' || version === undefined ? [] : [{ group, kind, version }];
  const core = { group: '', kind, version: 'v1' };
  return { ...schema, [kindsKey]: Object.keys(paths)[0]!.startsWith('/api/') ? [core] : [core, ...own] };
}

const kindsKey = 'x-kubernetes-group-version-kind';
