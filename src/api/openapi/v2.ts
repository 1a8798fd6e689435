// Owns the OpenAPI v2 document (Swagger) of the whole API, which older clients read. Pure: facts in, document out.
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
import { mapValues } from './v3.ts';

type Json = Record<string, unknown>;

/** The document from the recorded paths of all group versions. */
export function openApiV2(documents: readonly SlimDocument[], schemas: Schemas): Json {
  const names = reachable(
    schemas,
    documents.flatMap((document) => [...schemaNames(document)]),
  );
  const paths = Object.assign({}, ...documents.map(({ paths }) => mapValues(paths, pathItem))) as Json;
  return {
    swagger: '2.0',
    info: documents[0]?.info ?? { title: 'Kubernetes', version: '1.37' },
    paths: Object.fromEntries(Object.entries(paths).toSorted(([a], [b]) => (a < b ? -1 : 1))),
    definitions: Object.fromEntries(names.map((name) => [name, definition(schemas[name]!)])),
    securityDefinitions: {
      BearerToken: { description: 'Bearer Token authentication', type: 'apiKey', name: 'authorization', in: 'header' },
    },
    security: [{ BearerToken: [] }],
  };
}

function pathItem(path: SlimPath): Json {
  const item: Json = {};
  for (const method of methods) if (path[method] !== undefined) item[method] = operationObject(path[method]);
  if (path.parameters !== undefined && path.parameters.length > 0) item['parameters'] = path.parameters.map(parameter);
  return item;
}

function operationObject(operation: SlimOperation): Json {
  const { tags, operationId, parameters = [], body, responses, action, gvk } = operation;
  const produces = new Set(Object.values(responses).flatMap((types) => Object.keys(types)));
  const bodySchema = body === undefined ? undefined : Object.values(body)[0];
  const isOptional = action === 'delete' || action === 'deletecollection';
  const bodyParameter =
    bodySchema === undefined
      ? []
      : [{ name: 'body', in: 'body', ...(!isOptional && { required: true }), schema: schemaRef(bodySchema) }];
  return {
    description: describeOperation(operation),
    consumes: body === undefined ? ['*/*'] : Object.keys(body),
    produces: [...produces],
    schemes: ['https'],
    ...(tags !== undefined && { tags }),
    operationId,
    parameters: [...bodyParameter, ...parameters.map(parameter)],
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

function parameter(text: string): Json {
  const { name, in: place, type, required } = parameterOf(text);
  return { uniqueItems: true, type, name, in: place, ...(required && { required: true }) };
}

function schemaRef(name: string): Json {
  return name.startsWith('{') ? (JSON.parse(name) as Json) : { $ref: `#/definitions/${name}` };
}

function definition(schema: SchemaObject): Json {
  const description = describeType(schema);
  return { ...(description !== '' && { description }), ...swagger(schema) };
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
      result[key] = mapValues(value as Record<string, SchemaObject>, (property) => {
        const text = describeProperty(property);
        return { ...(text !== '' && { description: text }), ...swagger(property) };
      });
    else if (key !== 'default' && key !== 'nullable') result[key] = value;
  }
  return result;
}
