// Owns pruning and defaulting of custom objects by their structural schema, in place. Judges nothing.
import { setOwn, thaw } from '../../api/meta.ts';
import type { Frozen } from '../../api/meta.ts';
import { dotted, partOf } from './pathing.ts';
import type { Part } from './pathing.ts';
import { isObject, under } from './structural.ts';
import type { JsonObject, Structural } from './structural.ts';

const metaFields: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata']);
const maxUnknown = 100;

/** That there is nothing for `prune` to take away. */
export function isPruned(value: unknown, schema: Structural | undefined, isResource: boolean): boolean {
  if (Array.isArray(value)) {
    if (schema?.preserveUnknown === true && schema.items === undefined) return true;
    return value.every((item) => isPruned(item, schema?.items, schema?.items?.embedded === true));
  }
  if (!isObject(value)) return true;
  for (const name of Object.keys(value)) {
    if (isResource && metaFields.has(name)) continue;
    const inner = schema?.properties.get(name);
    if (inner === undefined && schema?.additional === undefined) {
      if (schema?.preserveUnknown === true) continue;
      return false;
    }
    const below = inner ?? (schema!.additional === 'any' ? undefined : (schema!.additional as Structural));
    if (!isPruned(value[name], below, below?.embedded === true)) return false;
  }
  return true;
}

/** Takes away what the schema does not name. Answers with the places, "spec.foo", of at most about a hundred of them. */
export function prune(value: unknown, schema: Structural, isRoot: boolean): string[] {
  const unknown: string[] = [];
  pruneValue(value, schema, isRoot, [], unknown);
  return unknown.sort();
}

function pruneValue(
  value: unknown,
  schema: Structural | undefined,
  isResource: boolean,
  place: (string | number)[],
  unknown: string[],
): void {
  if (Array.isArray(value)) {
    if (schema?.preserveUnknown === true && schema.items === undefined) return;
    for (let at = 0; at < value.length; at++) {
      place.push(at);
      pruneValue(value[at], schema?.items, schema?.items?.embedded === true, place, unknown);
      place.pop();
    }
    return;
  }
  if (!isObject(value)) return;
  for (const name of Object.keys(value)) {
    if (isResource && metaFields.has(name)) continue;
    const inner = schema?.properties.get(name);
    const known = inner !== undefined || schema?.additional !== undefined;
    if (!known) {
      if (schema?.preserveUnknown === true) continue;
      delete value[name];
      if (unknown.length < maxUnknown) unknown.push(dotted([...place, name]));
      continue;
    }
    const below = inner ?? (schema!.additional === 'any' ? undefined : (schema!.additional as Structural));
    place.push(name);
    pruneValue(value[name], below, below?.embedded === true, place, unknown);
    place.pop();
  }
}

const holds: ReadonlySet<string> = new Set(['array', 'object']);

/** `merged`: what server-side apply leaves of a list or an object is a null that upstream neither fills nor drops. */
const isRefusedNull = (value: unknown, schema: Structural | undefined, merged: boolean): boolean =>
  value === null && schema !== undefined && !schema.nullable && !(merged && holds.has(schema.type));

/** Fills in defaults where a field is missing, or null and not nullable. `merged`: the value is the outcome of an apply. */
export function applyDefaults(value: unknown, schema: Structural, merged = false): void {
  if (!schema.hasDefaults) return;
  if (Array.isArray(value)) {
    const { items } = schema;
    if (items === undefined) return;
    for (let at = 0; at < value.length; at++) {
      if (isRefusedNull(value[at], items, merged) && items.default !== undefined) value[at] = copy(items.default);
      applyDefaults(value[at], items, merged);
    }
    return;
  }
  if (!isObject(value)) return;
  for (const [name, inner] of schema.properties) {
    if (inner.default === undefined) continue;
    if (!Object.hasOwn(value, name) || isRefusedNull(value[name], inner, merged))
      setOwn(value, name, copy(inner.default));
  }
  for (const name of Object.keys(value)) {
    const inner = under(schema, name);
    if (inner === undefined) continue;
    if (isRefusedNull(value[name], inner, merged) && inner.default !== undefined)
      setOwn(value, name, copy(inner.default));
    applyDefaults(value[name], inner, merged);
  }
}

function copy(value: unknown): unknown {
  return thaw(value as Frozen<unknown>);
}

/** Drops nulls where null is no value and there is no default; those in lists stay, to be refused, as do all that were applied. */
export function dropNulls(value: unknown, schema: Structural, merged = false): void {
  if (Array.isArray(value)) {
    if (schema.items !== undefined) for (const item of value) dropNulls(item, schema.items, merged);
    return;
  }
  if (!isObject(value)) return;
  for (const name of Object.keys(value)) {
    const inner = under(schema, name);
    if (inner === undefined) continue;
    if (!merged && isRefusedNull(value[name], inner, false) && inner.default === undefined) delete value[name];
    else dropNulls(value[name], inner, merged);
  }
}

/** Calls `visit` for each embedded resource. */
export function eachEmbedded(
  value: unknown,
  schema: Structural,
  visit: (resource: JsonObject, place: readonly Part[]) => void,
  place: Part[] = [],
): void {
  if (!schema.hasEmbedded) return;
  if (Array.isArray(value)) {
    const { items } = schema;
    if (items === undefined) return;
    for (let at = 0; at < value.length; at++) {
      place.push(at);
      eachEmbedded(value[at], items, visit, place);
      place.pop();
    }
    return;
  }
  if (!isObject(value)) return;
  if (schema.embedded) visit(value, place);
  for (const name of Object.keys(value)) {
    const inner = under(schema, name);
    if (inner === undefined) continue;
    place.push(partOf(schema.properties, name));
    eachEmbedded(value[name], inner, visit, place);
    place.pop();
  }
}
