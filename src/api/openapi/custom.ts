// Owns the OpenAPI v3 facts of custom kinds: paths and schemas in the recorded form, made from what is served. Pure.
import { mapValues } from './v3.ts';
import type { SchemaObject, Schemas, SlimDocument, SlimOperation, SlimPath } from './facts.ts';

export interface CustomKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly listKind: string;
  readonly plural: string;
  readonly namespaced: boolean;
  /** The schema of the definition, without metadata. */
  readonly schema: SchemaObject;
  /** "status", "scale". */
  readonly subresources: readonly string[];
  /** "spec.color" */
  readonly selectable?: readonly string[];
}

const metaV1 = 'io.k8s.apimachinery.pkg.apis.meta.v1';
const ref = (name: string): SchemaObject => ({ $ref: `#/components/schemas/${name}` });

const ofEveryObject: Readonly<Record<string, SchemaObject>> = {
  apiVersion: { type: 'string' },
  kind: { type: 'string' },
  metadata: { allOf: [ref(`${metaV1}.ObjectMeta`)] },
};

/** What every object within an object has, added to what its schema says. */
export function withEmbedded(schema: SchemaObject): SchemaObject {
  if (schema['x-kubernetes-embedded-resource'] !== true) return schema;
  const { properties, required = [] } = schema as { properties?: object; required?: readonly string[] };
  const missing = ['kind', 'apiVersion'].filter((name) => !required.includes(name));
  return { ...schema, properties: { ...properties, ...ofEveryObject }, required: [...required, ...missing] };
}

const isTypePair = (list: unknown): boolean =>
  Array.isArray(list) && list.length === 2 && list[0]?.type === 'integer' && list[1]?.type === 'string';

/** A structural schema as version 3 tells it: what extensions mean is said in plain OpenAPI, too. */
export function openApiOfStructural(schema: SchemaObject): SchemaObject {
  const { properties, items, additionalProperties, anyOf, allOf } = schema;
  const result: Record<string, unknown> = { ...schema };
  if (properties !== undefined) result['properties'] = mapValues(properties, openApiOfStructural);
  if (items !== undefined) result['items'] = openApiOfStructural(items);
  if (typeof additionalProperties === 'object')
    result['additionalProperties'] = openApiOfStructural(additionalProperties);
  const first = allOf?.[0]?.['anyOf'];
  if (schema['x-kubernetes-int-or-string'] === true && !isTypePair(anyOf) && !isTypePair(first)) {
    const pair = [{ type: 'integer' }, { type: 'string' }];
    if (anyOf === undefined) result['anyOf'] = pair;
    else result['allOf'] = [{ anyOf: pair }, ...(allOf ?? [])];
  }
  return withEmbedded(result as SchemaObject);
}

/** "com.example.v1.Widget" */
function componentName({ group, version }: CustomKind, kind: string): string {
  return [...group.split('.').reverse(), version, kind].join('.');
}

export function customDocument(kinds: readonly CustomKind[]): {
  readonly document: SlimDocument;
  readonly schemas: Schemas;
} {
  const paths: Record<string, SlimPath> = {};
  const schemas: Record<string, SchemaObject> = {};
  for (const kind of kinds) {
    Object.assign(paths, pathsOf(kind));
    Object.assign(schemas, schemasOf(kind));
  }
  return { document: { info: { title: 'Kubernetes CRD Swagger', version: 'v0.1.0' }, paths }, schemas };
}

function schemasOf(kind: CustomKind): Schemas {
  const { group, version } = kind;
  const gvk = (name: string) => [{ group, version, kind: name }];
  const name = componentName(kind, kind.kind);
  const { selectable: fields = [] } = kind;
  const selectable = fields.length > 0 && {
    'x-kubernetes-selectable-fields': fields.map((fieldPath) => ({ fieldPath })),
  };
  return {
    [name]: {
      ...kind.schema,
      type: 'object',
      properties: {
        ...kind.schema.properties,
        ...ofEveryObject,
      },
      'x-kubernetes-group-version-kind': gvk(kind.kind),
      ...selectable,
    },
    [componentName(kind, kind.listKind)]: {
      type: 'object',
      required: ['items'],
      properties: {
        apiVersion: { type: 'string' },
        items: { type: 'array', items: ref(name) },
        kind: { type: 'string' },
        metadata: { allOf: [ref(`${metaV1}.ListMeta`)] },
      },
      'x-kubernetes-group-version-kind': gvk(kind.listKind),
      ...selectable,
    },
  };
}

const listParameters = [
  'allowWatchBookmarks',
  'continue',
  'fieldSelector',
  'labelSelector',
  'limit',
  'resourceVersion',
  'resourceVersionMatch',
  'sendInitialEvents',
  'timeoutSeconds',
  'watch',
].map((name) => `query:${name}`);
const writeParameters = ['dryRun', 'fieldManager', 'fieldValidation'].map((name) => `query:${name}`);
const deleteParameters = ['dryRun', 'gracePeriodSeconds', 'orphanDependents', 'propagationPolicy'].map(
  (name) => `query:${name}`,
);
const patchTypes = ['application/apply-patch+yaml', 'application/json-patch+json', 'application/merge-patch+json'];

const forms = (name: string): Readonly<Record<string, string>> => ({
  'application/json': name,
  'application/yaml': name,
});

function pathsOf(kind: CustomKind): Record<string, SlimPath> {
  const { group, version, plural, namespaced } = kind;
  const root = `/apis/${group}/${version}`;
  const collection = namespaced ? `${root}/namespaces/{namespace}/${plural}` : `${root}/${plural}`;
  const place = namespaced ? ['path:namespace'] : [];
  const one = componentName(kind, kind.kind);
  const paths: Record<string, SlimPath> = {
    [collection]: {
      get: operation(kind, 'list', 'list', {
        parameters: listParameters,
        responses: { 200: forms(componentName(kind, kind.listKind)) },
      }),
      post: operation(kind, 'create', 'post', {
        parameters: writeParameters,
        body: forms(one),
        responses: { 200: forms(one), 201: forms(one), 202: forms(one) },
      }),
      delete: operation(kind, 'deleteCollection', 'deletecollection', {
        parameters: listParameters,
        responses: { 200: forms(`${metaV1}.Status`) },
      }),
      parameters: [...place, 'query:pretty'],
    },
    [`${collection}/{name}`]: itemPaths(kind, one, [...place, 'path:name', 'query:pretty'], ''),
  };
  for (const subresource of kind.subresources)
    paths[`${collection}/{name}/${subresource}`] = itemPaths(
      kind,
      subresource === 'scale' ? 'io.k8s.api.autoscaling.v1.Scale' : one,
      [...place, 'path:name', 'query:pretty'],
      subresource,
    );
  return paths;
}

function itemPaths(kind: CustomKind, schema: string, parameters: readonly string[], subresource: string): SlimPath {
  const responses = { 200: forms(schema) };
  const patchBody = Object.fromEntries(patchTypes.map((type) => [type, `${metaV1}.Patch`]));
  return {
    get: operation(kind, 'read', 'get', { parameters: ['query:resourceVersion'], responses }, subresource),
    put: operation(
      kind,
      'replace',
      'put',
      { parameters: writeParameters, body: forms(schema), responses: { ...responses, 201: forms(schema) } },
      subresource,
    ),
    patch: operation(
      kind,
      'patch',
      'patch',
      { parameters: [...writeParameters, 'query:force'], body: patchBody, responses },
      subresource,
    ),
    ...(subresource === '' && {
      delete: operation(kind, 'delete', 'delete', {
        parameters: deleteParameters,
        body: forms(`${metaV1}.DeleteOptions`),
        responses: { 200: forms(`${metaV1}.Status`), 202: forms(`${metaV1}.Status`) },
      }),
    }),
    parameters,
  };
}

function operation(
  kind: CustomKind,
  word: string,
  action: string,
  rest: Pick<SlimOperation, 'parameters' | 'body' | 'responses'>,
  subresource = '',
): SlimOperation {
  const { group, version, namespaced } = kind;
  const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
  const owner = group
    .split('.')
    .map((part) => capital(part))
    .join('');
  return {
    operationId: `${word}${owner}${capital(version)}${namespaced ? 'Namespaced' : ''}${kind.kind}${capital(subresource)}`,
    action,
    gvk: `${group}/${version}/${kind.kind}`,
    tags: [`${group.replaceAll(/[^A-Za-z0-9]+(.)/g, (_, letter: string) => letter.toUpperCase())}_${version}`],
    ...rest,
  };
}
