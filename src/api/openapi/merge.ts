// Owns putting OpenAPI v2 documents together: paths side by side, definitions once, names that clash told apart. Pure.
import { withEmbedded } from './custom.ts';
import { writeJson } from '../codec/json-write.ts';
import type { SchemaObject } from './facts.ts';

type Json = Record<string, unknown>;

export interface SwaggerPart {
  readonly paths: Readonly<Record<string, unknown>>;
  readonly definitions: Readonly<Record<string, unknown>>;
}

const prefix = '#/definitions/';

/** `base` with the parts added. A path of an earlier document wins; of the definitions only those that paths need come along. */
export function mergeSwagger(base: Json, parts: readonly SwaggerPart[]): Json {
  const paths = new Map(Object.entries((base['paths'] ?? {}) as Json));
  const definitions = new Map(Object.entries((base['definitions'] ?? {}) as Json));
  for (const part of parts) {
    const added = Object.entries(part.paths).filter(([path]) => !paths.has(path));
    const renamed = new Map<string, string>();
    const needed = neededDefinitions(
      added.map(([, item]) => item),
      part.definitions,
    );
    for (const name of needed) {
      const known = definitions.get(name);
      if (known !== undefined && writeJson(known) !== writeJson(part.definitions[name]))
        renamed.set(name, freeName(name, definitions));
    }
    for (const name of needed) {
      const target = renamed.get(name) ?? name;
      if (!definitions.has(target)) definitions.set(target, withNames(part.definitions[name], renamed));
    }
    for (const [path, item] of added) paths.set(path, withNames(item, renamed));
  }
  return { ...base, paths: sorted(paths), definitions: sorted(definitions) };
}

function freeName(name: string, taken: ReadonlyMap<string, unknown>): string {
  for (let number = 2; ; number++) if (!taken.has(`${name}_v${number}`)) return `${name}_v${number}`;
}

function sorted(entries: ReadonlyMap<string, unknown>): Json {
  return Object.fromEntries([...entries].sort(([a], [b]) => (a < b ? -1 : 1)));
}

function neededDefinitions(roots: readonly unknown[], definitions: SwaggerPart['definitions']): ReadonlySet<string> {
  const found = new Set<string>();
  const waiting: unknown[] = [...roots];
  for (let value = waiting.pop(); value !== undefined; value = waiting.pop()) {
    if (typeof value !== 'object' || value === null) continue;
    for (const [key, inner] of Object.entries(value)) {
      if (key === '$ref' && typeof inner === 'string' && inner.startsWith(prefix)) {
        const name = inner.slice(prefix.length);
        if (found.has(name) || !Object.hasOwn(definitions, name)) continue;
        found.add(name);
        waiting.push(definitions[name]);
      } else if (typeof inner === 'object' && inner !== null) waiting.push(inner);
    }
  }
  return found;
}

function withNames(value: unknown, renamed: ReadonlyMap<string, string>): unknown {
  if (renamed.size === 0 || typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => withNames(item, renamed));
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => {
      const name = key === '$ref' && typeof inner === 'string' ? renamed.get(inner.slice(prefix.length)) : undefined;
      return [key, name === undefined ? withNames(inner, renamed) : `${prefix}${name}`];
    }),
  );
}

const unsaid: ReadonlySet<string> = new Set(['oneOf', 'anyOf', 'allOf', 'not', 'nullable', 'default']);
const shape: ReadonlySet<string> = new Set(['type', 'items', 'properties', 'additionalProperties', 'required', 'enum']);

/** A structural schema in the words of Swagger: what these cannot say is left out, so that readers do not refuse what is valid. */
export function swaggerOfStructural(schema: SchemaObject): SchemaObject {
  const open = schema as { nullable?: unknown; 'x-kubernetes-int-or-string'?: unknown };
  const isVague = open.nullable === true || open['x-kubernetes-int-or-string'] === true;
  const result: Json = {};
  for (const [key, value] of Object.entries(schema)) {
    if (unsaid.has(key) || (isVague && shape.has(key))) continue;
    if (key === 'properties' && typeof value === 'object')
      result[key] = Object.fromEntries(
        Object.entries(value as Record<string, SchemaObject>).map(([name, inner]) => [
          name,
          swaggerOfStructural(inner),
        ]),
      );
    else if ((key === 'items' || key === 'additionalProperties') && typeof value === 'object' && value !== null)
      result[key] = swaggerOfStructural(value as SchemaObject);
    else result[key] = value;
  }
  // Where unknown fields are welcome nothing is said of those that there are.
  return result['x-kubernetes-preserve-unknown-fields'] === true ? (result as SchemaObject) : withEmbedded(result);
}
