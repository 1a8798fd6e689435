// Owns strategic merge patch: merging by the patch strategies of a built-in kind's schema, and what $directives ask.
import { writeJson } from '../codec/json-write.ts';
import { equalJson, isMap, type JsonMap, valueSchema } from '../apply/structure.ts';
import { setOwn } from '../meta.ts';
import type { FieldSchema, Schema } from '../schema/schema.ts';
import { badRequest } from '../status-error.ts';
import { checkDepth } from './depth.ts';
import { mergeObjectLists, mergeScalarLists, ordered } from './strategic-lists.ts';
import {
  checkRetainKeys,
  deletePrefix,
  directive,
  isDirective,
  orderPrefix,
  retainKeys,
  withoutDirectives,
} from './strategic-directives.ts';

/**
 * `patch` is the parsed body; null changes nothing. Throws StatusError 400 for a body or directive that makes no sense.
 * Shares with `object` what stays the same and never changes it.
 */
export function applyStrategicPatch(object: unknown, patch: unknown, schema: Schema): unknown {
  if (patch === null) return object;
  if (!isMap(patch)) throw badRequest('a strategic merge patch must be an object');
  return mergeMaps(isMap(object) ? object : {}, patch, schema, 0);
}

export function mergeMaps(original: JsonMap, patch: JsonMap, schema: Schema, depth: number): JsonMap {
  checkDepth(depth);
  const asked = patch[directive];
  if (asked !== undefined) return replaced(patch, asked);
  const draft = new Draft(original);
  const keep = patch[retainKeys];
  if (keep !== undefined) {
    const kept = checkRetainKeys(keep, patch);
    for (const name of Object.keys(original)) if (!kept.has(name)) draft.remove(name);
  }
  const done = new Set<string>();
  for (const key of Object.keys(patch))
    if (key.startsWith(orderPrefix)) {
      const name = key.slice(orderPrefix.length);
      mergeOrdered(draft, name, patch, schema, depth);
      done.add(name);
    }
  for (const key of Object.keys(patch))
    if (key.startsWith(deletePrefix)) deleteFromList(draft, key.slice(deletePrefix.length), patch[key]);
  for (const name of Object.keys(patch))
    if (!isDirective(name) && !done.has(name)) mergeField(draft, name, patch[name], schema, depth);
  return draft.done();
}

/** `replace` takes the patch over unread, as upstream does. */
function replaced(patch: JsonMap, asked: unknown): JsonMap {
  if (asked === 'delete') return {};
  if (asked !== 'replace') throw badRequest(`unknown patch type: ${writeJson(asked)}`);
  const { [directive]: _, ...rest } = patch;
  return rest;
}

function mergeField(draft: Draft, name: string, wanted: unknown, schema: Schema, depth: number): void {
  if (wanted === null) return draft.remove(name);
  const was = draft.get(name);
  if (was === undefined || was === null) {
    const value = withoutDirectives(wanted, depth + 1);
    if (value !== undefined) draft.set(name, value);
    return;
  }
  const field = fieldOf(schema, name);
  const replace = strategyOf(field) === 'replace';
  if (isMap(was) && isMap(wanted)) {
    draft.set(name, replace ? wanted : mergeMaps(was, wanted, valueSchema(schema, name) ?? schema, depth + 1));
  } else if (Array.isArray(was) && Array.isArray(wanted) && strategyOf(field) === 'merge') {
    draft.set(name, mergeLists(was, wanted, field!, depth + 1));
  } else draft.set(name, wanted);
}

function fieldOf(schema: Schema, name: string): FieldSchema | undefined {
  return schema.type === 'object' ? schema.byName.get(name) : undefined;
}

function strategyOf(field: FieldSchema | undefined): string | undefined {
  return field?.patchStrategy.find((strategy) => strategy !== 'retainKeys');
}

function mergeLists(
  was: readonly unknown[],
  wanted: readonly unknown[],
  field: FieldSchema,
  depth: number,
): readonly unknown[] {
  if (was.length === 0 && wanted.length === 0) return was;
  const items = field.schema.type === 'list' ? field.schema.items : field.schema;
  const mergeKey = field.patchMergeKey;
  if (!isObjectList(was, wanted)) return mergeScalarLists(was, wanted);
  if (mergeKey === undefined) throw badRequest(`cannot merge the list ${field.name}: it has no merge key`);
  return mergeObjectLists(was as JsonMap[], wanted as JsonMap[], mergeKey, (left, right) =>
    mergeMaps(left, right, items, depth + 1),
  );
}

/** Throws when objects and others are mixed. */
function isObjectList(was: readonly unknown[], wanted: readonly unknown[]): boolean {
  let objects = 0;
  let others = 0;
  for (const item of [...was, ...wanted]) {
    if (isMap(item)) objects++;
    else if (Array.isArray(item) || item === null) throw badRequest('lists of lists and nulls cannot be merged');
    else others++;
  }
  if (objects > 0 && others > 0) throw badRequest('a list of the patch holds items of another kind');
  return objects > 0;
}

function mergeOrdered(draft: Draft, name: string, patch: JsonMap, schema: Schema, depth: number): void {
  const order = patch[orderPrefix + name];
  if (!Array.isArray(order)) throw badRequest(`${orderPrefix}${name} must be a list`);
  if (schema.type === 'object' && valueSchema(schema, name) === undefined)
    throw badRequest(`${orderPrefix}${name} names no field`);
  const was = draft.get(name);
  const wanted = Object.hasOwn(patch, name) ? patch[name] : undefined;
  if (wanted === null) return draft.remove(name);
  if ((was !== undefined && !Array.isArray(was)) || (wanted !== undefined && !Array.isArray(wanted)))
    throw badRequest(`${orderPrefix}${name} goes with a list only`);
  if (was === undefined && wanted === undefined) return;
  const field = fieldOf(schema, name);
  const mergeKey = field?.patchMergeKey;
  ordered.check(wanted ?? [], order as unknown[], mergeKey);
  let merged: readonly unknown[];
  if (wanted === undefined) merged = was as unknown[];
  else if (was === undefined) merged = withoutDirectives(wanted, depth + 1) as unknown[];
  else if (strategyOf(field) === 'merge') merged = mergeLists(was, wanted, field!, depth + 1);
  else merged = wanted;
  draft.set(name, ordered.arrange(merged, order as unknown[], was ?? [], mergeKey));
}

function deleteFromList(draft: Draft, name: string, unwanted: unknown): void {
  if (unwanted === null) return draft.remove(name);
  const was = draft.get(name);
  if (!Array.isArray(was) || !Array.isArray(unwanted)) return;
  const types = new Set([...(was as unknown[]), ...(unwanted as unknown[])].map((item) => typeof item));
  if (types.size > 1) throw badRequest(`${deletePrefix}${name} names items of another type`);
  const texts = new Set((unwanted as unknown[]).map((item) => writeJson(item)));
  draft.set(
    name,
    was.filter((item) => !texts.has(writeJson(item))),
  );
}

/** A map under change, copied at the first real one. */
class Draft {
  readonly #original: JsonMap;
  #copy: Record<string, unknown> | undefined;

  constructor(original: JsonMap) {
    this.#original = original;
  }

  get(name: string): unknown {
    const map = this.#copy ?? this.#original;
    return Object.hasOwn(map, name) ? map[name] : undefined;
  }

  set(name: string, value: unknown): void {
    const was = this.get(name);
    if (was === value || (was !== undefined && equalJson(was, value))) return;
    setOwn(this.#writable(), name, value);
  }

  remove(name: string): void {
    if (Object.hasOwn(this.#copy ?? this.#original, name)) delete this.#writable()[name];
  }

  done(): JsonMap {
    return this.#copy ?? this.#original;
  }

  #writable(): Record<string, unknown> {
    if (this.#copy === undefined) {
      this.#copy = {};
      for (const name of Object.keys(this.#original)) setOwn(this.#copy, name, this.#original[name]);
    }
    return this.#copy;
  }
}
