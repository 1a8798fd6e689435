// Owns the shapes of the recorded OpenAPI facts and the words that both versions of the documents need from them.

/** A component schema as recorded; `$ref` starts with "#/components/schemas/". */
export interface SchemaObject {
  readonly [key: string]: unknown;
  readonly $ref?: string;
  readonly properties?: Readonly<Record<string, SchemaObject>>;
  readonly items?: SchemaObject;
  readonly additionalProperties?: SchemaObject | boolean;
  readonly allOf?: readonly SchemaObject[];
}

export type Schemas = Readonly<Record<string, SchemaObject>>;

/** An operation of facts/openapi-v3: content types to schema names (or a schema as JSON text). */
export interface SlimOperation {
  /** Said only where it does not follow from the rest. */
  readonly consumes?: readonly string[];
  readonly operationId: string;
  /** Where there is more to say than its action and kind. */
  readonly description?: string;
  readonly action?: string;
  /** "apps/v1/Deployment", "/v1/Pod". */
  readonly gvk?: string;
  readonly tags?: readonly string[];
  /** "query:dryRun", "path:name". */
  readonly parameters?: readonly string[];
  readonly body?: Readonly<Record<string, string>>;
  readonly responses: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

export const methods = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch'] as const;
export type Method = (typeof methods)[number];

export type SlimPath = Readonly<Partial<Record<Method, SlimOperation>>> & { readonly parameters?: readonly string[] };

/** A file of facts/openapi-v3: the paths of one group version. */
export interface SlimDocument {
  readonly info: { readonly title: string; readonly version: string };
  readonly paths: Readonly<Record<string, SlimPath>>;
}

const booleans: ReadonlySet<string> = new Set(
  'allowWatchBookmarks watch sendInitialEvents force orphanDependents ignoreStoreReadErrorWithClusterBreakingPotential stderr stdin stdout tty follow insecureSkipTLSVerifyBackend previous timestamps'.split(
    ' ',
  ),
);
const integers: ReadonlySet<string> = new Set(
  'limit timeoutSeconds gracePeriodSeconds limitBytes sinceSeconds tailLines ports'.split(' '),
);

export interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly type: 'boolean' | 'integer' | 'string';
  readonly required: boolean;
}

export function parameterOf(text: string): Parameter {
  const colon = text.indexOf(':');
  const [place, name] = [text.slice(0, colon), text.slice(colon + 1)];
  const type = booleans.has(name) ? 'boolean' : integers.has(name) ? 'integer' : 'string';
  return { name, in: place, type, required: place === 'path' };
}

export interface GroupVersionKind {
  readonly group: string;
  readonly kind: string;
  readonly version: string;
}

export function gvkOf(text: string): GroupVersionKind {
  const [kind = '', version = '', group = ''] = text.split('/').reverse();
  return { group, kind, version };
}

const statusTexts: Readonly<Record<string, string>> = {
  200: 'OK',
  201: 'Created',
  202: 'Accepted',
  401: 'Unauthorized',
};

export const statusText = (code: string): string => statusTexts[code] ?? code;

/** What is said of an operation: its action and kind, in a short sentence. */
export function describeOperation(operation: SlimOperation): string {
  if (operation.description !== undefined) return operation.description;
  const kind = operation.gvk === undefined ? '' : gvkOf(operation.gvk).kind;
  switch (operation.action) {
    case 'list':
      return `list objects of kind ${kind}`;
    case 'deletecollection':
      return `delete a collection of ${kind}`;
    case 'post':
      return `create a ${kind}`;
    case 'put':
      return `replace the ${kind}`;
    case 'patch':
      return `partially update the ${kind}`;
    case undefined:
      if (operation.operationId.endsWith('APIResources')) return 'get available resources';
      return operation.operationId.endsWith('APIGroup') ? 'get information of a group' : 'get available API versions';
    default:
      return kind === '' ? operation.action : `${operation.action} ${kind}`;
  }
}

/** The names of all schemas that `roots` need, in order of name. */
export function reachable(schemas: Schemas, roots: Iterable<string>): string[] {
  const found = new Set<string>();
  const waiting = [...roots].filter((name) => schemas[name] !== undefined);
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    if (found.has(name)) continue;
    found.add(name);
    for (const next of references(schemas[name]!))
      if (!found.has(next) && schemas[next] !== undefined) waiting.push(next);
  }
  return [...found].toSorted();
}

export const refPrefix = '#/components/schemas/';

function references(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  if (Array.isArray(value)) return value.flatMap(references);
  return Object.entries(value).flatMap(([key, inner]) =>
    key === '$ref' && typeof inner === 'string' && inner.startsWith(refPrefix)
      ? [inner.slice(refPrefix.length)]
      : references(inner),
  );
}

/** The schema names in bodies and responses of a document. */
export function schemaNames(document: SlimDocument): Set<string> {
  const names = new Set<string>();
  for (const path of Object.values(document.paths))
    for (const method of methods) {
      const operation = path[method];
      for (const content of [operation?.body ?? {}, ...Object.values(operation?.responses ?? {})])
        for (const name of Object.values(content)) names.add(name);
    }
  return names;
}
