// Owns what the documents say in words: descriptions as they were recorded, given to the facts, which have none. Pure.
import type { SchemaObject, Schemas, SlimOperation } from './facts.ts';
import { gvkOf } from './facts.ts';

/** facts/descriptions.json. */
export interface Texts {
  /** By name of the schema: texts by field, "" for the type itself. */
  readonly types: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** "query:dryRun"; where it means something else at a place, "patch query:force" or "pods/log query:container". */
  readonly parameters: Readonly<Record<string, string>>;
  /** By operationId, where there is more to say than the action and the kind. */
  readonly operations: Readonly<Record<string, string>>;
  /** Parameters that version 2 tells once and refers to by these names. */
  readonly shared: Readonly<Record<string, object>>;
}

export const noTexts: Texts = { types: {}, parameters: {}, operations: {}, shared: {} };

/** Schemas with their descriptions; those that have some keep them. */
export function withTexts(schemas: Schemas, { types }: Texts): Schemas {
  return Object.fromEntries(
    Object.entries(schemas).map(([name, schema]) => [name, types[name] ? described(schema, types[name]) : schema]),
  );
}

function described(schema: SchemaObject, { '': whole, ...fields }: Readonly<Record<string, string>>): SchemaObject {
  return {
    ...(whole !== undefined && { description: whole }),
    ...schema,
    ...(schema.properties !== undefined && {
      properties: Object.fromEntries(
        Object.entries(schema.properties).map(([field, property]) => [
          field,
          fields[field] === undefined ? property : { description: fields[field], ...property },
        ]),
      ),
    }),
  };
}

/** Where a parameter is: all operations of a path share it when no method is given. */
export interface Place {
  readonly path: string;
  readonly method?: string;
  /** Of the operation, or of any operation of the path. */
  readonly operation: SlimOperation | undefined;
}

/** `parameter` is "query:dryRun"; undefined when there is nothing to say. */
export function parameterText(
  { parameters }: Texts,
  parameter: string,
  { path, method, operation }: Place,
): string | undefined {
  if (parameter === 'path:name' && operation?.gvk !== undefined) return `name of the ${gvkOf(operation.gvk).kind}`;
  const resource = path
    .split('/')
    .filter((segment) => !segment.startsWith('{'))
    .slice(-2)
    .join('/');
  return parameters[`${method} ${parameter}`] ?? parameters[`${resource} ${parameter}`] ?? parameters[parameter];
}
