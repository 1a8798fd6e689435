// Owns the OpenAPI v2 document (Swagger) of the whole API, which older clients read. Pure: facts in, document out.
import { parseExact } from '../codec/json-parse.ts';
import { writeJson } from '../codec/json-write.ts';
import {
  describeOperation,
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
import { inEvery } from './known-versions.ts';
import { pathItem } from './path-item.ts';
import { noTexts, parameterText, type Place, type Texts } from './texts.ts';
import { mapValues } from './v3.ts';

type Json = Record<string, unknown>;

/** The document from the recorded paths of all group versions. */
export function openApiV2(documents: readonly SlimDocument[], schemas: Schemas, texts: Texts = noTexts): Json {
  const names = reachable(
    schemas,
    documents.flatMap((document) => [...schemaNames(document)]),
  );
  const paths = Object.assign(
    {},
    ...documents.map((one) =>
      mapValues(one.paths, (path, at) => pathItem(at, path, texts, { operation: operationObject, parameter })),
    ),
  ) as Json;
  const shared = Object.entries(texts.shared).map(([name, one]) => [writeJson(one), name] as const);
  shareParameters(paths, new Map(shared));
  return {
    swagger: '2.0',
    info: documents[0]?.info ?? { title: 'Kubernetes', version: '1.37' },
    paths: Object.fromEntries(Object.entries(paths).toSorted(([a], [b]) => (a < b ? -1 : 1))),
    definitions: Object.fromEntries(names.map((name) => [name, inEvery(name, swagger(schemas[name]!))])),
    ...(shared.length > 0 && { parameters: texts.shared }),
    securityDefinitions: {
      BearerToken: { description: 'Bearer Token authentication', type: 'apiKey', name: 'authorization', in: 'header' },
    },
    security: [{ BearerToken: [] }],
  };
}

/** What many operations take is told once, in place: four fifths of the document would be parameters. */
function shareParameters(paths: Json, names: ReadonlyMap<string, string>): void {
  const share = (list: unknown[]): unknown[] =>
    list.map((one) => {
      const name = names.get(writeJson(one));
      return name === undefined ? one : { $ref: `#/parameters/${name}` };
    });
  for (const item of Object.values(paths) as Json[])
    for (const part of [item, ...(Object.values(item) as Json[])])
      if (Array.isArray(part['parameters'])) part['parameters'] = share(part['parameters']);
}

const usualTypes = ['application/json', 'application/yaml', 'application/vnd.kubernetes.protobuf'];

/** Others come first, streams and configurations to apply last. */
const mediaOrder: readonly string[] = [
  'application/json-patch+json',
  'application/merge-patch+json',
  'application/strategic-merge-patch+json',
  'application/apply-patch+yaml',
  ...usualTypes,
  'application/json;stream=watch',
  'application/vnd.kubernetes.protobuf;stream=watch',
];

function inOrder(types: Iterable<string>): string[] {
  return [...types].toSorted((a, b) => mediaOrder.indexOf(a) - mediaOrder.indexOf(b));
}

/** What a request may bring: who only asks brings anything, but where upstream's router says otherwise. */
function consumed({ body, action, consumes }: SlimOperation, produces: ReadonlySet<string>): string[] | undefined {
  if (consumes !== undefined) return [...consumes];
  if (body !== undefined) return inOrder(Object.keys(body));
  if (action !== undefined) return ['*/*'];
  return produces.has('application/yaml') ? usualTypes : undefined;
}

function operationObject(operation: SlimOperation, texts: Texts, place: Place): Json {
  const { tags, operationId, parameters = [], body, responses, action, gvk } = operation;
  const produces = new Set(Object.values(responses).flatMap((types) => Object.keys(types)));
  const bodySchema = body === undefined ? undefined : Object.values(body)[0];
  const isOptional = action === 'delete' || action === 'deletecollection';
  const bodyParameter =
    bodySchema === undefined
      ? []
      : [{ name: 'body', in: 'body', ...(!isOptional && { required: true }), schema: schemaRef(bodySchema) }];
  const consumes = consumed(operation, produces);
  const all = [...bodyParameter, ...parameters.map((text) => parameter(text, parameterText(texts, text, place)))];
  return {
    description: texts.operations[operation.operationId] ?? describeOperation(operation),
    ...(consumes && { consumes }),
    produces: inOrder(produces),
    schemes: ['https'],
    ...(tags !== undefined && { tags }),
    operationId,
    ...(all.length > 0 && { parameters: all }),
    responses: Object.fromEntries(
      Object.entries(responses).map(([code, types]) => {
        const name = Object.values(types)[0];
        return [code, { description: statusText(code), ...(name !== undefined && { schema: schemaRef(name) }) }];
      }),
    ),
    ...(action !== undefined && { 'x-kubernetes-action': action }),
    ...(gvk !== undefined && { 'x-kubernetes-group-version-kind': gvkOf(gvk) }),
  };
}

function parameter(text: string, description: string | undefined): Json {
  const { name, in: place, type, required } = parameterOf(text);
  return {
    uniqueItems: true,
    type,
    ...(description !== undefined && { description }),
    name,
    in: place,
    ...(required && { required: true }),
  };
}

function schemaRef(name: string): Json {
  return name.startsWith('{') ? (parseExact(name) as Json) : { $ref: `#/definitions/${name}` };
}

/** Swagger knows no oneOf, and no defaults where v3 has those of zero values; a lone allOf is the reference itself. */
function swagger(schema: SchemaObject): Json {
  const result: Json = {};
  for (const [key, value] of Object.entries(schema)) {
    if (key === '$ref') result['$ref'] = (value as string).replace(refPrefix, '#/definitions/');
    else if (key === 'allOf') Object.assign(result, swagger((value as SchemaObject[])[0]!));
    else if (key === 'oneOf') result['type'] = 'string';
    else if (key === 'items' || (key === 'additionalProperties' && typeof value === 'object'))
      result[key] = swagger(value as SchemaObject);
    else if (key === 'properties')
      result[key] = mapValues(value as Record<string, SchemaObject>, (property) => swagger(property));
    else if (key !== 'default' && key !== 'nullable') result[key] = value;
  }
  return result;
}
